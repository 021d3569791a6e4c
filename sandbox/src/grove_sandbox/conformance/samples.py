"""Sets whose gangs every backend gets, and how to build gangs from a set.

The operator's own plan builds the gangs, so they are as in a cluster: with names, labels, annotations and a uid, first
without the names of their pods and then with them.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from grove.api.podcliqueset import PodCliqueSet
from grove.api.podgang import NamespacedName, PodGang
from grove.api.serialization import codec
from grove.api.serialization.model import replace
from grove.api.topology import ClusterTopologyBinding
from grove.plan.gangs.membership import gang_members
from grove.plan.layout.set_layout import SetLayout
from grove.plan.objects.podgangs import pod_gang
from grove.schedulers.backend import Backend
from grove.schedulers.recorded_dialect import with_dialect
from grove.schedulers.registry import Selection
from grove.schedulers.types import Json, Served

ZONE = "topology.kubernetes.io/zone"
RACK = "grove.io/rack"
HOST = "kubernetes.io/hostname"

TOPOLOGY = codec.decode(
    codec.encode(
        {
            "apiVersion": "grove.io/v1alpha1",
            "kind": "ClusterTopologyBinding",
            "metadata": {"name": "floor", "uid": "uid-of-floor"},
            "spec": {
                "levels": [
                    {"domain": "zone", "key": ZONE},
                    {"domain": "rack", "key": RACK},
                    {"domain": "host", "key": HOST},
                ]
            },
        }
    ),
    ClusterTopologyBinding,
)


def clique(name: str, replicas: int, minimum: int | None = None, **more: Any) -> Json:
    """A clique of a set; each of its pods requests one CPU."""
    container = {"name": "main", "image": "app:1", "resources": {"requests": {"cpu": "1"}}}
    spec: Json = {"roleName": name, "replicas": replicas, "podSpec": {"containers": [container]}}
    return {"name": name, "spec": spec | ({"minAvailable": minimum} if minimum else {}), **more}


def pod_clique_set(
    name: str,
    *cliques: Json,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    replicas: int = 1,
    **template: Any,
) -> PodCliqueSet:
    manifest = {
        "apiVersion": "grove.io/v1alpha1",
        "kind": "PodCliqueSet",
        "metadata": {
            "name": name,
            "namespace": "default",
            "uid": f"uid-of-{name}",
            "labels": dict(labels or {}),
            "annotations": dict(annotations or {}),
        },
        "spec": {"replicas": replicas, "template": {"cliques": list(cliques), **template}},
    }
    return codec.decode(codec.encode(manifest), PodCliqueSet)


@dataclass(frozen=True)
class Sample:
    """`constrained` samples ask for topology. A backend may refuse those, and no others."""

    name: str
    pcs: PodCliqueSet
    constrained: bool = False


def packed(**pack: str) -> Json:
    return {"topologyConstraint": {"topologyName": "floor", "pack": pack}}


def _unit(**more: Any) -> Json:
    return {"name": "unit", "cliqueNames": ["leader", "worker"], "replicas": 3, "minAvailable": 2, **more}


def _topologies() -> list[Sample]:
    """Constraints on the set, on a scaling group, on a clique: required, preferred, both; and nested ones."""
    packs = {
        "required": {"required": "rack"},
        "preferred": {"preferred": "rack"},
        "both": {"required": "zone", "preferred": "rack"},
    }
    single = [
        Sample(f"{kind}-on-{level}", _packed(f"{kind}-{level}", level, pack), constrained=True)
        for kind, pack in packs.items()
        for level in ("set", "group", "clique")
    ]
    nested = pod_clique_set(
        "nested",
        clique("router", 1),
        clique("leader", 1, **packed(required="host")),
        clique("worker", 3),
        podCliqueScalingGroups=[_unit(**packed(required="rack"))],
        **packed(required="zone"),
    )
    return [*single, Sample("nested", nested, constrained=True)]


def _packed(name: str, level: str, pack: Mapping[str, str]) -> PodCliqueSet:
    """The same set with a constraint at one of its levels; without one if the level is empty."""
    at: Any = {level: packed(**pack)} if level else {}
    return pod_clique_set(
        name,
        clique("router", 2, **at.get("clique", {})),
        clique("leader", 1),
        clique("worker", 3),
        podCliqueScalingGroups=[_unit(**at.get("group", {}))],
        **at.get("set", {}),
    )


_LONG = "a-set-with-a-long-na"

SAMPLES: Sequence[Sample] = (
    Sample("one-pod", pod_clique_set("one", clique("worker", 1))),
    Sample("several-groups", pod_clique_set("several", clique("router", 1), clique("worker", 4))),
    Sample("minimum-below-replicas", pod_clique_set("spare", clique("router", 2, 1), clique("worker", 6, 4))),
    Sample(
        "scaled",
        pod_clique_set(
            "scaled",
            clique("router", 1),
            clique("leader", 1),
            clique("worker", 3, 2),
            podCliqueScalingGroups=[_unit()],
        ),
    ),
    Sample("replicas", pod_clique_set("copies", clique("router", 1), clique("worker", 2), replicas=3)),
    Sample("many-groups", pod_clique_set("many", *(clique(f"c{i}", 1 + i % 3) for i in range(40)))),
    Sample(
        "long-names",
        pod_clique_set(
            _LONG,
            clique("a-clique-with-long-name-x", 2),
            clique("a-member-of-it", 1),
            podCliqueScalingGroups=[
                {"name": "a-group-xyz", "cliqueNames": ["a-member-of-it"], "replicas": 12, "minAvailable": 10}
            ],
        ),
    ),
    Sample(
        "user-labels-and-annotations",
        pod_clique_set(
            "tagged",
            clique("worker", 2, labels={"team": "a"}, annotations={"example.com/note": "any {text}"}),
            labels={"team": "a", "example.com/cost-centre": "17"},
            annotations={"example.com/note": "any text: {}"},
        ),
    ),
    Sample("priority", pod_clique_set("urgent", clique("worker", 2), priorityClassName="high")),
    *_topologies(),
)


def sample_named(name: str) -> Sample:
    return next(s for s in SAMPLES if s.name == name)


UNCONSTRAINED = _packed("same", "", {})
CONSTRAINED = {
    f"{kind}-on-{level}": _packed("same", level, {kind: "rack"})
    for kind in ("required", "preferred")
    for level in ("set", "group", "clique")
}


def gangs_of(backend: Backend, pcs: PodCliqueSet, served: Served, *, named: bool = False) -> list[PodGang]:
    """All gangs of a set, as the backend gets them; `named` ones name their pods. Raises Refusal."""
    layout = SetLayout(pcs)
    topology = TOPOLOGY if layout.topology_name else None
    selection = Selection(backend, backend.scheduler_name)
    gangs = [
        pod_gang(layout, members, selection.scheduling(layout, members, topology))
        for i in range(layout.replicas)
        for members in gang_members(layout, i, {})
    ]
    return [_with_recorded_dialect(backend, _in_cluster(g, named=named), served) for g in gangs]


def _in_cluster(gang: PodGang, *, named: bool) -> PodGang:
    """The gang as the API server returns it."""
    meta = gang.metadata
    uid = hashlib.sha256(f"{meta.namespace}/{meta.name}".encode()).hexdigest()
    metadata = replace(
        meta, uid=f"{uid[:8]}-{uid[8:12]}-4{uid[13:16]}-8{uid[17:20]}-{uid[20:32]}", generation=1
    )
    groups = [
        replace(
            g,
            pod_references=[
                NamespacedName(namespace=meta.namespace or "", name=f"{g.name}-{n:05}")
                for n in range(g.min_replicas if named else 0)
            ],
        )
        for g in gang.spec.pod_groups
    ]
    return replace(gang, metadata=metadata, spec=replace(gang.spec, pod_groups=groups))


def _with_recorded_dialect(backend: Backend, gang: PodGang, served: Served) -> PodGang:
    """The framework records the dialect before it translates a gang."""
    return with_dialect(gang, backend.dialect(gang, (), served)) if backend.has_dialects else gang
