"""Gangs, pods and clusters for the tests of the backend for kube-scheduler."""

from typing import Any

import msgspec
from grove_sandbox.conformance.samples import clique, pod_clique_set

from grove.api import labels
from grove.api.pod_view import Pod
from grove.api.podcliqueset import PodCliqueSet
from grove.api.podgang import PodGang
from grove.schedulers.kube import Kubernetes
from grove.schedulers.kube.backend import DIALECTS
from grove.schedulers.kube.dialect import Dialect
from grove.schedulers.types import Served
from tests.unit.schedulers.gangs import gang as plain_gang
from tests.unit.schedulers.gangs import group, packed, together

Json = dict[str, Any]


ZONE, RACK = "topology.kubernetes.io/zone", "example.com/rack"


BY_NAME: dict[str, Dialect] = {d.name: d for d in DIALECTS}


NAMES = list(BY_NAME)


def gang(dialect: str, *groups: Json, **more: Any) -> PodGang:
    condition = {
        "type": "SchedulerDialect",
        "status": "True",
        "reason": dialect,
        "message": "",
        "lastTransitionTime": "2030-01-01T00:00:00Z",
    }
    return plain_gang(*groups, status={"phase": "Pending", "conditions": [condition]}, **more)


def cluster(*dialects: str, without: tuple[str, ...] = ()) -> Served:
    """A cluster with some dialects that keeps the fields of all their probes, except those of `without`."""
    wanted = [BY_NAME[d] for d in dialects]
    kept = frozenset(p.name for d in wanted for p in d.probes) - frozenset(without)
    return Served(
        dict.fromkeys([k for d in wanted for k in d.kinds], frozenset()),
        kept,
        frozenset(p.name for d in DIALECTS for p in d.probes) - kept,
    )


def chat(dialect: str, **more: Any) -> PodGang:
    """A router, and a prefill group in one rack, all in one zone."""
    return gang(
        dialect,
        group("chat-0-router", 1),
        group("chat-0-prefill-0-leader", 1),
        group("chat-0-prefill-0-worker", 2),
        name="chat-0",
        topologyConstraint=packed(required=ZONE),
        topologyConstraintGroupConfigs=[
            together(
                "chat-0-prefill-0",
                "chat-0-prefill-0-leader",
                "chat-0-prefill-0-worker",
                pack={"required": RACK},
            )
        ],
        priorityClassName="serving",
        **more,
    )


def objects(backend: Kubernetes, found: PodGang, served: Served) -> dict[str, Json]:
    return {f"{o.kind.kind} {o.name}": o.body["spec"] for o in backend.translate(found, served)}


def pod(name: str, clique: str, index: int, spec: Json | None = None, *, gated: bool = False) -> Pod:
    gates = [{"name": labels.Gate.KUBERNETES}] if gated else []
    body = {
        "metadata": {
            "name": name,
            "uid": name,
            "labels": {labels.POD_CLIQUE: clique, labels.POD_INDEX: str(index)},
        },
        "spec": {"schedulingGates": gates, **(spec or {})},
    }
    return msgspec.json.decode(msgspec.json.encode(body), type=Pod)


def in_group(name: str) -> Json:
    return {"schedulingGroup": {"podGroupName": name}}


TWO = (group("a", 1), group("b", 1))


def with_priorities(set_: str | None = None, **classes: str | None) -> PodCliqueSet:
    """A set whose cliques each name a class in their podSpec, or none.

    `b` and `c` form a scaling group with two copies.
    """
    cliques = [clique(name, 1) for name in classes]
    for made, found in zip(cliques, classes.values(), strict=True):
        made["spec"]["podSpec"] |= {"priorityClassName": found} if found is not None else {}
    grouped = [n for n in classes if n in "bc"]
    group = {"name": "g", "cliqueNames": grouped, "replicas": 2}
    more: Json = {"priorityClassName": set_} if set_ else {}
    return pod_clique_set("demo", *cliques, **more, podCliqueScalingGroups=[group] if grouped else [])
