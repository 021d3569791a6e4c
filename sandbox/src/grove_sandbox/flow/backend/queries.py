"""Manifests to apply, and questions to ask about the cluster of a test."""

from collections import Counter
from typing import Any

from grove.api import labels
from grove.schedulers.types import ObjectKind

from grove_sandbox.flow.cluster import GroveCluster, Json
from grove_sandbox.flow.object_observer import gates_of

PODS = "/api/v1/namespaces/default/pods"
NODES = "/api/v1/nodes"
GANGS = "/apis/scheduler.grove.io/v1alpha1/namespaces/default/podgangs"
SETS = "/apis/grove.io/v1alpha1/namespaces/default/podcliquesets"
GROUPS = "/apis/grove.io/v1alpha1/namespaces/default/podcliquescalinggroups"

Objects = dict[tuple[ObjectKind, str], Json]


def clique(name: str, replicas: int, *, minimum: int | None = None) -> Json:
    """A clique whose pods request one CPU each and stop without a grace period."""
    container = {"name": "main", "image": "app:1", "resources": {"requests": {"cpu": "1"}}}
    pod = {"terminationGracePeriodSeconds": 0, "containers": [container]}
    spec: Json = {"roleName": name, "replicas": replicas, "podSpec": pod}
    return {"name": name, "spec": spec | ({"minAvailable": minimum} if minimum else {})}


async def bound(grove: GroveCluster) -> int:
    """The number of pods that have a node."""
    return sum(1 for p in (await grove.list("pods")).values() if p["spec"].get("nodeName"))


async def gated(grove: GroveCluster) -> dict[str, int]:
    """The number of pods with gates, by gang."""
    pods = (await grove.list("pods")).values()
    return dict(Counter(p["metadata"]["labels"][labels.POD_GANG] for p in pods if gates_of(p)))


async def schedulers(grove: GroveCluster) -> dict[str, int]:
    """The number of pods by `schedulerName`."""
    return dict(Counter(p["spec"]["schedulerName"] for p in (await grove.list("pods")).values()))


async def condition(grove: GroveCluster, gang: str, kind: str) -> Json:
    """The condition of type `kind` of a PodGang."""
    found = (await grove.list("podgangs"))[gang]
    return next(dict(c) for c in found["status"]["conditions"] if c["type"] == kind)


def object_path(kind: ObjectKind) -> str:
    where = f"/apis/{kind.api_version}" if kind.group else f"/api/{kind.version}"
    return f"{where}/namespaces/default/{kind.plural}" if kind.namespaced else f"{where}/{kind.plural}"


def specs(objects: Objects, *, uids: bool = True) -> dict[str, Any]:
    """The specs of objects by kind and name. `uids=False` masks the gang's uid, which names may contain."""
    found: dict[str, Any] = {}
    for (kind, name), obj in objects.items():
        owner = obj["metadata"]["ownerReferences"][0]["uid"]
        key = f"{kind.kind} {name}"
        found[key if uids else key.replace(owner, "UID")] = obj.get("spec", {})
    return found


def edits_of(value: Json) -> list[Json]:
    """Merge patches, each of which changes one scalar or shortens one list."""
    found: list[Json] = []
    for key, old in value.items():
        if isinstance(old, dict):
            found += [{key: inner} for inner in edits_of(old)]
        elif isinstance(old, bool):
            found.append({key: not old})
        elif isinstance(old, int):
            found.append({key: old + 1})
        elif isinstance(old, str):
            found.append({key: f"{old}-edited"})
        elif isinstance(old, list) and old:
            found.append({key: old[1:]})
    return found
