"""Kubernetes 1.35: a Workload that lists its groups; pods name the Workload and the group.

Pods are placed one by one, and those that have a place hold it until enough of the gang have one, five minutes at most.
Nothing of a gang runs alone, but two gangs that do not fit together can hold each other up until then.
"""

from collections.abc import Sequence

from grove.api.podgang import PodGang, PodGroup
from grove.schedulers.kube import merged
from grove.schedulers.kube.dialect import Json, Settings, controller_ref, kind, link_probe, metadata
from grove.schedulers.types import ObjectKind, Probe, SchedulerObject, Served

WORKLOADS = kind("v1alpha1", "Workload")
LINK = link_probe({"workloadRef": {"name": "grove-probe", "podGroup": "gang"}})


class V135:
    name = "WorkloadV1alpha1"
    kinds: Sequence[ObjectKind] = (WORKLOADS,)
    probes: Sequence[Probe] = (LINK,)
    one_priority = False

    def offered(self, served: Served) -> bool:
        return WORKLOADS in served and LINK.name not in served.dropped

    def objects(self, gang: PodGang, served: Served, settings: Settings) -> list[SchedulerObject]:
        group = {"name": merged.TEMPLATE, "policy": {"gang": {"minCount": merged.minimum(gang)}}}
        spec = {"controllerRef": controller_ref(gang), "podGroups": [group]}
        body = {"metadata": metadata(gang, gang.metadata.name or ""), "spec": spec}
        return [SchedulerObject(WORKLOADS, body, owned_fields=(), immutable_fields=("spec",))]

    def splits(self, gang: PodGang, group: PodGroup) -> bool:
        return merged.is_split(gang)

    def link(self, gang: PodGang, group: PodGroup, *, surplus: bool) -> Json:
        if surplus:
            return {}
        return {"workloadRef": {"name": gang.metadata.name, "podGroup": merged.TEMPLATE}}

    def shortfall(self, gang: PodGang, served: Served) -> str:
        lost = merged.lost_keys(gang, topology=False)
        return f"{lost}: this version of kube-scheduler knows none" if lost else ""
