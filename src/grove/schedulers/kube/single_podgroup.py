"""One PodGroup for a whole gang, for the APIs whose PodGroups are independent of each other.

    required pods   the first minReplicas pods of every group    in the PodGroup, whose minimum is their number
    surplus pods    the other pods                               in no PodGroup, released when the gang is scheduled

The PodGroup has exactly the pods that the gang needs, so a plain count is exact: too many pods of one group cannot make
up for missing pods of another. A gang of a single group does not need this: all its pods are in the PodGroup, whose
minimum is that of the group.

What such a dialect cannot express: constraints on parts of a gang. Surplus pods may land in another topology domain.
"""

from abc import abstractmethod
from copy import deepcopy

from grove.api.podgang import PodGang, PodGroup
from grove.schedulers.kube.dialect import Dialect
from grove.schedulers.kube.fields import controller_ref, gang_policy, required_key
from grove.schedulers.kube.pod_link import SCHEDULING_GROUP
from grove.schedulers.kube.settings import KubernetesSettings
from grove.schedulers.types import Json, Probe, SchedulerObject, Served

TEMPLATE = "gang"
"""The name of the only template in a Workload."""


class SinglePodGroup(Dialect):
    """A dialect in which a gang is a Workload with one PodGroup. Its `kinds` are these two, in this order."""

    topology_probe: Probe
    """Whether the server keeps `schedulingConstraints` of a PodGroup."""

    immutable_fields: tuple[str, ...]
    """The immutable fields of a PodGroup. The server protects a PodGroup from deletion while pods refer to it."""

    @abstractmethod
    def spec(self, gang: PodGang, served: Served, settings: KubernetesSettings) -> Json:
        """Fields that the PodGroup and its template both have, except the minimum."""

    @abstractmethod
    def template_reference(self, workload: str) -> Json:
        """The field of the PodGroup that refers to its template."""

    def is_available(self, served: Served) -> bool:
        return all(k in served for k in self.kinds) and SCHEDULING_GROUP.name not in served.dropped

    def objects(self, gang: PodGang, served: Served, settings: KubernetesSettings) -> list[SchedulerObject]:
        workloads, pod_groups = self.kinds
        spec = gang_policy("minCount", required_pods(gang)) | self.spec(gang, served, settings)
        workload_name = gang.metadata.name or ""
        workload = {
            "controllerRef": controller_ref(gang),
            "podGroupTemplates": [{"name": TEMPLATE} | deepcopy(spec)],
        }
        pod_group = self.template_reference(workload_name) | spec
        return [
            SchedulerObject(
                workloads,
                {"metadata": {"name": workload_name}, "spec": workload},
                owned_fields=(),
                immutable_fields=("spec",),
            ),
            SchedulerObject(
                pod_groups,
                {"metadata": {"name": _pod_group_name(gang)}, "spec": pod_group},
                owned_fields=("spec.schedulingConstraints",),
                immutable_fields=self.immutable_fields,
                in_use_by_pods=True,
            ),
        ]

    def separates_surplus(self, gang: PodGang, group: PodGroup) -> bool:
        return has_several_groups(gang)

    def link(self, gang: PodGang, group: PodGroup, *, surplus: bool) -> Json:
        return {} if surplus else {"schedulingGroup": {"podGroupName": _pod_group_name(gang)}}

    def shortfall(self, gang: PodGang, served: Served) -> str:
        if self.topology_probe.name not in served.kept:
            ignored = constraints_without_effect(gang, supported=False)
            if not ignored:
                return ""
            return f"{ignored}: the feature gate TopologyAwareWorkloadScheduling of kube-apiserver is off"
        sentences = (constraints_without_effect(gang, supported=True), _surplus_outside_domain(gang))
        return "; ".join(s for s in sentences if s)


def required_pods(gang: PodGang) -> int:
    return sum(g.min_replicas for g in gang.spec.pod_groups)


def has_several_groups(gang: PodGang) -> bool:
    return len(gang.spec.pod_groups) > 1


def topology_key(gang: PodGang) -> str | None:
    """The constraint of the PodGroup, a node label: that of the gang; for a gang of one group the narrowest one."""
    of_gang = required_key(gang.spec.topology_constraint)
    if has_several_groups(gang):
        return of_gang
    return next((k for k in (*_keys_of_parts(gang).values(), of_gang) if k), None)


def constraints_without_effect(gang: PodGang, *, supported: bool) -> str:
    """The constraints that the PodGroup cannot have, as a sentence; empty if it can have them all.

    `supported` is whether a PodGroup can have a constraint at all.
    """
    parts = _keys_of_parts(gang)
    if not supported:
        asked = [k for k in (required_key(gang.spec.topology_constraint), *parts.values()) if k]
        return f"constraints on {', '.join(dict.fromkeys(asked))} have no effect" if asked else ""
    if not has_several_groups(gang):
        return ""
    ignored = [f"{k} of {name}" for name, k in parts.items() if k and k != topology_key(gang)]
    sentences = [f"the constraint on {text} has no effect" for text in ignored[:3]]
    if len(ignored) > 3:
        sentences.append(f"{len(ignored) - 3} more constraints have no effect")
    return "; ".join(sentences)


def _surplus_outside_domain(gang: PodGang) -> str:
    key = topology_key(gang)
    if not has_several_groups(gang) or not key:
        return ""
    return f"pods beyond the minimum may be placed in another {key} than the gang"


def _pod_group_name(gang: PodGang) -> str:
    return f"{gang.metadata.name}.pg"


def _keys_of_parts(gang: PodGang) -> dict[str, str | None]:
    """The constraints below the gang, narrowest first: those of groups, then those of several groups together."""
    keys = {g.name: required_key(g.topology_constraint) for g in gang.spec.pod_groups}
    return keys | {
        c.name: required_key(c.topology_constraint) for c in gang.spec.topology_constraint_group_configs
    }
