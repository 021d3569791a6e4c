"""Everything that a backend returns for a gang, as JSON: its objects, and what the pods of each group get."""

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


def drafts(backend: Backend, gang: PodGang) -> dict[str, PodDraft]:
    """By group; surplus pods that the backend separates have an entry of their own."""
    by_group: dict[str, PodDraft] = {}
    for group in gang.spec.pod_groups:
        by_group[group.name] = draft = new_draft(backend)
        backend.prepare_pod(gang, group, draft)
        if backend.separates_surplus(gang, group):
            by_group[f"{group.name} (surplus)"] = surplus = new_draft(backend)
            backend.prepare_surplus_pod(gang, group, surplus)
    return by_group


def all_outputs(backend: Backend, gang: PodGang, served: Served) -> Json:
    """A deep copy, so that it can be compared with later results. Raises Refusal."""
    return {
        "objects": [_as_json(o) for o in backend.translate(gang, served)],
        "pods": {name: asdict(d) for name, d in drafts(backend, gang).items()},
    }


def _as_json(made: SchedulerObject) -> Json:
    return {
        "kind": made.kind.kind,
        "body": copy.deepcopy(made.body),
        "owned_fields": made.owned_fields,
        "immutable_fields": made.immutable_fields,
        "in_use_by_pods": made.in_use_by_pods,
    }


def object_names(outputs: Json) -> list[tuple[str, str]]:
    return [(o["kind"], o["body"]["metadata"]["name"]) for o in outputs["objects"]]


def new_draft(backend: Backend) -> PodDraft:
    return PodDraft(scheduler_name=backend.scheduler_name, gate=backend.gate)


def pod_from(gang: PodGang, group: PodGroup, draft: PodDraft, index: int = 0) -> Pod:
    """A pod that was created from a draft, as the operator sees it."""
    pod_labels = {
        labels.POD_CLIQUE: group.name,
        labels.POD_GANG: gang.metadata.name,
        labels.POD_INDEX: str(index),
    }
    body = {
        "metadata": {
            "name": f"{group.name}-{index:05}",
            "namespace": gang.metadata.namespace,
            "labels": pod_labels | draft.labels,
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


def corrupt(value: Any) -> None:
    """Overwrites a value in place, so that anybody who still holds a part of it notices."""
    if isinstance(value, dict):
        for inner in value.values():
            corrupt(inner)
        value.clear()
        value["corrupted"] = "corrupted"
    elif isinstance(value, list):
        for inner in value:
            corrupt(inner)
        value.clear()
