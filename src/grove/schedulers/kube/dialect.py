"""What a dialect is: one of the gang APIs that kube-scheduler has had, and what all of them share.

The API changes with each release of Kubernetes. Which one a cluster has is found by asking it, never by its version. A
new one is a module with an object that has the members of `Dialect`, and a line in `backend.DIALECTS`.
"""

from collections.abc import Sequence
from typing import Any, Literal, Protocol

import msgspec

from grove.api import labels
from grove.api.pod_view import Pod
from grove.api.podgang import GangTopologyConstraint, PodGang, PodGroup
from grove.schedulers.types import ObjectKind, Probe, SchedulerObject, Served

Json = dict[str, Any]

GROUP = "scheduling.k8s.io"
PODS = ObjectKind("", "v1", "pods", "Pod")


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The `config` of the profile."""

    strict: bool = False
    """Refuse gangs that ask for more than the cluster can promise, instead of warning."""
    disruption: Literal["gang", "pod"] = "gang"
    """What preemption takes away: the gang as a whole, or single pods of it."""


class Dialect(Protocol):
    name: str
    """What the condition SchedulerDialect of a gang gives as its reason."""

    kinds: Sequence[ObjectKind]
    probes: Sequence[Probe]

    one_priority: bool
    """Whether the scheduler refuses a gang with a pod whose priority is not that of the gang."""

    def offered(self, served: Served) -> bool:
        """Whether the cluster has this API, and keeps the field that ties pods to it."""
        ...

    def objects(self, gang: PodGang, served: Served, settings: Settings) -> list[SchedulerObject]: ...

    def splits(self, gang: PodGang, group: PodGroup) -> bool:
        """Whether pods beyond the minimum stay out of the gang: they follow it, each on its own."""
        ...

    def link(self, gang: PodGang, group: PodGroup, *, surplus: bool) -> Json:
        """The fields of a pod's spec that tie it to its gang; `surplus` for a pod that stays out of it."""
        ...

    def shortfall(self, gang: PodGang, served: Served) -> str: ...


def kind(version: str, name: str) -> ObjectKind:
    return ObjectKind(GROUP, version, f"{name.lower()}s", name)


def link_of(pod: Pod) -> Json:
    """The fields that tie a pod to its gang, as they are in the cluster; comparable with `Dialect.link`."""
    found: Json = {}
    if pod.spec.scheduling_group is not None:
        found["schedulingGroup"] = {"podGroupName": pod.spec.scheduling_group.pod_group_name}
    if pod.spec.workload_ref is not None:
        ref = pod.spec.workload_ref
        found["workloadRef"] = {"name": ref.name, "podGroup": ref.pod_group}
    return found


def link_probe(link: Json) -> Probe:
    """Asks whether a pod keeps its link. It is a pod that any policy for pods lets through."""
    field = next(iter(link))
    confined = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    small = {"cpu": "1m", "memory": "1Mi"}
    container = {
        "name": "probe",
        "image": "registry.k8s.io/pause:3.10",
        "securityContext": confined,
        "resources": {"requests": small, "limits": small},
    }
    spec = {
        "schedulingGates": [{"name": labels.Gate.KUBERNETES}],
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": 65535,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [container],
        **link,
    }
    return Probe(field, PODS, {"metadata": {"name": "grove-probe"}, "spec": spec}, f"spec.{field}")


def metadata(gang: PodGang, name: str) -> Json:
    own = gang.metadata
    kept = (labels.MANAGED_BY, labels.PART_OF)
    tags = {k: own.labels[k] for k in kept if k in own.labels} | {labels.POD_GANG: own.name or ""}
    return {"name": name, "labels": tags}


def controller_ref(gang: PodGang) -> Json:
    return {"apiGroup": gang.resource.group, "kind": gang.resource.kind, "name": gang.metadata.name}


def required_key(constraint: GangTopologyConstraint | None) -> str | None:
    """The node label whose value all pods must share."""
    return constraint.pack_constraint.required if constraint and constraint.pack_constraint else None


def topology(key: str | None) -> Json:
    return {"schedulingConstraints": {"topology": [{"key": key}]}} if key else {}


def priority(gang: PodGang) -> Json:
    name = gang.spec.priority_class_name
    return {"priorityClassName": name} if name else {}


def gang_policy(count: str, minimum: int) -> Json:
    return {"schedulingPolicy": {"gang": {count: minimum}}}
