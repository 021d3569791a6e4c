"""Gangs to translate, and golden files with their translation.

A golden file has the gang, then the scheduler's objects, then what the pods of each group get. After an intended
change, rewrite it with GROVE_WRITE_GOLDEN=1 and review the difference.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from grove.api import labels
from grove.api.podgang import PodGang
from grove.api.serialization import codec
from grove.plan.objects.pod_draft import PodDraft
from grove.schedulers.backend import Backend
from grove.schedulers.types import Served

Json = dict[str, Any]

GOLDEN = Path(__file__).with_name("golden")


class AllFieldsExcept(frozenset[str]):
    """All fields of a kind, except those in the set and the fields below them."""

    def __contains__(self, path: object) -> bool:
        text = str(path)
        return not any(text == m or text.startswith(f"{m}.") for m in self)


def served(backend: Backend, *missing: str, **objects: Mapping[str, Json]) -> Served:
    """A cluster that serves all kinds of the backend, without the `missing` fields. `objects` are by plural."""
    return Served(
        fields=dict.fromkeys(backend.kinds, AllFieldsExcept(missing)),
        objects={k: objects[k.plural] for k in backend.reads if k.plural in objects},
    )


def gang(
    *groups: Json,
    name: str = "demo-0",
    tags: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    status: Json | None = None,
    **spec: Any,
) -> PodGang:
    manifest = {
        "apiVersion": "scheduler.grove.io/v1alpha1",
        "kind": "PodGang",
        "metadata": {
            "name": name,
            "namespace": "team-a",
            "uid": "5d1c7a52-0000-4000-8000-000000000001",
            "labels": {labels.PART_OF: "demo", **(tags or {})},
            "annotations": dict(annotations or {}),
        },
        "spec": {"podgroups": list(groups), **spec},
        **({"status": status} if status else {}),
    }
    return codec.decode(codec.encode(manifest), PodGang)


def group(name: str, minimum: int, pack: Json | None = None) -> Json:
    constraint = {"topologyConstraint": {"packConstraint": pack}} if pack is not None else {}
    return {"name": name, "podReferences": [], "minReplicas": minimum, **constraint}


def together(name: str, *members: str, pack: Json | None = None) -> Json:
    constraint = {"topologyConstraint": {"packConstraint": pack}} if pack is not None else {}
    return {"name": name, "podGroupNames": list(members), **constraint}


def packed(**pack: str) -> Json:
    return {"packConstraint": pack}


def translated(backend: Backend, found: PodGang, cluster: Served) -> list[Json]:
    objects = [o.owned_by(found) for o in backend.translate(found, cluster)]
    for made in objects:
        del made["metadata"]["ownerReferences"], made["metadata"]["namespace"]
    drafts: list[Json] = []
    for part in found.spec.pod_groups:
        draft = PodDraft(backend.scheduler_name, backend.gate)
        backend.prepare_pod(found, part, draft)
        drafts.append(
            {
                "group": part.name,
                "schedulerName": draft.scheduler_name,
                "gate": draft.gate,
                "labels": draft.labels,
                "annotations": draft.annotations,
                **({"spec": draft.spec} if draft.spec else {}),
            }
        )
    return [{"gang": codec.to_builtins(found)}, {"objects": objects}, {"pods": drafts}]


def check_golden(path: str, made: list[Json]) -> None:
    file = GOLDEN / f"{path}.yaml"
    if os.environ.get("GROVE_WRITE_GOLDEN"):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(yaml.safe_dump_all(made, sort_keys=False, width=110))
    assert made == list(yaml.safe_load_all(file.read_text()))
