"""Everything that a backend makes of a gang, as JSON: its objects, and what the pods of each group get."""

import copy
from dataclasses import asdict
from typing import Any

import msgspec
from grove.api import labels
from grove.api.pod_view import Pod
from grove.api.podgang import PodGang, PodGroup
from grove.plan.objects.pod_draft import PodDraft
from grove.schedulers.backend import Backend
from grove.schedulers.types import Json, SchedulerObject, Served


def objects(backend: Backend, gang: PodGang, served: Served) -> list[SchedulerObject]:
    return list(backend.translate(gang, served))


def drafts(backend: Backend, gang: PodGang) -> dict[str, PodDraft]:
    """By group; of a group that is split, the pods beyond the minimum are another entry."""
    found: dict[str, PodDraft] = {}
    for group in gang.spec.pod_groups:
        found[group.name] = draft = new_draft(backend)
        backend.prepare_pod(gang, group, draft)
        if backend.separates_surplus(gang, group):
            found[f"{group.name} (surplus)"] = surplus = new_draft(backend)
            backend.prepare_surplus_pod(gang, group, surplus)
    return found


def everything(backend: Backend, gang: PodGang, served: Served) -> Json:
    """A copy, so that it can be compared with what is made later."""
    return {
        "objects": [picture(o) for o in objects(backend, gang, served)],
        "pods": {name: asdict(d) for name, d in drafts(backend, gang).items()},
    }


def picture(made: SchedulerObject) -> Json:
    return {
        "kind": made.kind.kind,
        "body": copy.deepcopy(made.body),
        "owned_fields": made.owned_fields,
        "immutable_fields": made.immutable_fields,
        "in_use_by_pods": made.in_use_by_pods,
    }


def names(made: Json) -> list[tuple[str, str]]:
    return [(o["kind"], o["body"]["metadata"]["name"]) for o in made["objects"]]


def new_draft(backend: Backend) -> PodDraft:
    return PodDraft(scheduler_name=backend.scheduler_name, gate=backend.gate)


def pod_of(gang: PodGang, group: PodGroup, draft: PodDraft, index: int = 0) -> Pod:
    """A pod that was made from a draft, as the operator sees it."""
    tags = {
        labels.POD_CLIQUE: group.name,
        labels.POD_GANG: gang.metadata.name,
        labels.POD_INDEX: str(index),
    }
    body = {
        "metadata": {
            "name": f"{group.name}-{index:05}",
            "namespace": gang.metadata.namespace,
            "labels": tags | draft.labels,
            "annotations": draft.annotations,
        },
        "spec": {
            "schedulerName": draft.scheduler_name,
            "schedulingGates": [{"name": draft.gate}],
            "hostname": f"{group.name}-{index}",
            **draft.spec,
        },
    }
    return msgspec.json.decode(msgspec.json.encode(body), type=Pod)


def spoil(value: Any) -> None:
    """Ruins a value from the inside, as careless callers do: whoever else holds a part of it will notice."""
    if isinstance(value, dict):
        for inner in value.values():
            spoil(inner)
        value.clear()
        value["spoiled"] = "spoiled"
    elif isinstance(value, list):
        for inner in value:
            spoil(inner)
        value.clear()
