"""One group for a whole gang, for APIs whose groups know nothing of each other.

    required pods   the first minReplicas of every group      one gang, minimum = their number
    surplus pods    the others                                no group at all, released when the gang is scheduled

All pods of the gang are needed, so a plain count is exact: it cannot be reached by too many of one group and too few of
another. A gang of one group needs no such care: its pods stay together, and its minimum is that of the group.
What is lost: constraints on parts of the gang, and the surplus may stand in another domain than the gang.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from copy import deepcopy

from grove.api.podgang import PodGang, PodGroup
from grove.schedulers.kube.dialect import (
    Json,
    Settings,
    controller_ref,
    gang_policy,
    link_probe,
    metadata,
    required_key,
)
from grove.schedulers.types import ObjectKind, Probe, SchedulerObject, Served

TEMPLATE = "gang"
LINK = link_probe({"schedulingGroup": {"podGroupName": "grove-probe"}})


class OnePodGroup(ABC):
    """A dialect in which a gang is a Workload and one PodGroup of it; `kinds` are those two."""

    kinds: Sequence[ObjectKind]
    topology: Probe
    fixed: tuple[str, ...]
    """What of a PodGroup nobody can change. It is kept from deletion while pods refer to it."""

    @abstractmethod
    def spec(self, gang: PodGang, served: Served, settings: Settings) -> Json:
        """Of the group and of its template, beside the minimum."""

    @abstractmethod
    def reference(self, workload: str) -> Json:
        """What ties the group to its template."""

    def offered(self, served: Served) -> bool:
        return all(k in served for k in self.kinds) and LINK.name not in served.dropped

    def objects(self, gang: PodGang, served: Served, settings: Settings) -> list[SchedulerObject]:
        workloads, pod_groups = self.kinds
        spec = gang_policy("minCount", minimum(gang)) | self.spec(gang, served, settings)
        own = gang.metadata.name or ""
        workload = {
            "controllerRef": controller_ref(gang),
            "podGroupTemplates": [{"name": TEMPLATE} | deepcopy(spec)],
        }
        return [
            SchedulerObject(
                workloads,
                {"metadata": metadata(gang, own), "spec": workload},
                owned_fields=(),
                immutable_fields=("spec",),
            ),
            SchedulerObject(
                pod_groups,
                {"metadata": metadata(gang, group_name(gang)), "spec": self.reference(own) | spec},
                owned_fields=("spec.schedulingConstraints",),
                immutable_fields=self.fixed,
                in_use_by_pods=True,
            ),
        ]

    def splits(self, gang: PodGang, group: PodGroup) -> bool:
        return is_split(gang)

    def link(self, gang: PodGang, group: PodGroup, *, surplus: bool) -> Json:
        return {} if surplus else {"schedulingGroup": {"podGroupName": group_name(gang)}}

    def shortfall(self, gang: PodGang, served: Served) -> str:
        if self.topology.name in served.kept:
            return "; ".join(t for t in (lost_keys(gang, topology=True), surplus_apart(gang)) if t)
        lost = lost_keys(gang, topology=False)
        return (
            f"{lost}: the feature gate TopologyAwareWorkloadScheduling of kube-apiserver is off"
            if lost
            else ""
        )


def group_name(gang: PodGang) -> str:
    return f"{gang.metadata.name}.pg"


def minimum(gang: PodGang) -> int:
    return sum(g.min_replicas for g in gang.spec.pod_groups)


def is_split(gang: PodGang) -> bool:
    return len(gang.spec.pod_groups) > 1


def key(gang: PodGang) -> str | None:
    """The one constraint that the merged group can have: that of the gang; of a single group the narrowest."""
    of_gang = required_key(gang.spec.topology_constraint)
    if is_split(gang):
        return of_gang
    return next((k for k in (*_parts(gang).values(), of_gang) if k), None)


def lost_keys(gang: PodGang, *, topology: bool) -> str:
    """The constraints that the merged group cannot have, as a sentence; empty when there are none.

    `topology`: whether a group can have a constraint at all.
    """
    if not topology:
        asked = [k for k in (required_key(gang.spec.topology_constraint), *_parts(gang).values()) if k]
        return f"constraints on {', '.join(dict.fromkeys(asked))} have no effect" if asked else ""
    if not is_split(gang):
        return ""
    lost = [f"{k} of {name}" for name, k in _parts(gang).items() if k and k != key(gang)]
    said = [f"the constraint on {text} has no effect" for text in lost[:3]]
    if len(lost) > 3:
        said.append(f"{len(lost) - 3} more constraints have no effect")
    return "; ".join(said)


def surplus_apart(gang: PodGang) -> str:
    found = key(gang)
    if not is_split(gang) or not found:
        return ""
    return f"pods beyond the minimum may stand in another {found} than the gang"


def _parts(gang: PodGang) -> dict[str, str | None]:
    """The constraints below the gang, narrowest first: of its groups, then of several groups taken together."""
    groups: list[PodGroup] = gang.spec.pod_groups
    found = {g.name: required_key(g.topology_constraint) for g in groups}
    return found | {
        c.name: required_key(c.topology_constraint) for c in gang.spec.topology_constraint_group_configs
    }
