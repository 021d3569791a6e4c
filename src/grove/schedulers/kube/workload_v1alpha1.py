"""The dialect of Kubernetes 1.35: a Workload lists its groups of pods, and pods name the Workload and the group.

The scheduler places pods one by one. A pod that has a place reserves it until enough pods of the gang have one, for
five minutes at most. No part of a gang runs alone, but two gangs that do not fit together can block each other until
then.
"""

from collections.abc import Sequence

from grove.api.podgang import PodGang, PodGroup
from grove.schedulers.kube.dialect import Dialect
from grove.schedulers.kube.fields import controller_ref, scheduling_kind
from grove.schedulers.kube.pod_link import WORKLOAD_REF
from grove.schedulers.kube.settings import KubernetesSettings
from grove.schedulers.kube.single_podgroup import (
    TEMPLATE,
    constraints_without_effect,
    has_several_groups,
    required_pods,
)
from grove.schedulers.types import Json, ObjectKind, Probe, SchedulerObject, Served

WORKLOADS = scheduling_kind("v1alpha1", "Workload")


class WorkloadV1alpha1(Dialect):
    name = "WorkloadV1alpha1"
    kinds: Sequence[ObjectKind] = (WORKLOADS,)
    probes: Sequence[Probe] = (WORKLOAD_REF,)

    def is_available(self, served: Served) -> bool:
        return WORKLOADS in served and WORKLOAD_REF.name not in served.dropped

    def objects(self, gang: PodGang, served: Served, settings: KubernetesSettings) -> list[SchedulerObject]:
        group = {"name": TEMPLATE, "policy": {"gang": {"minCount": required_pods(gang)}}}
        spec = {"controllerRef": controller_ref(gang), "podGroups": [group]}
        body = {"metadata": {"name": gang.metadata.name}, "spec": spec}
        return [SchedulerObject(WORKLOADS, body, owned_fields=(), immutable_fields=("spec",))]

    def separates_surplus(self, gang: PodGang, group: PodGroup) -> bool:
        return has_several_groups(gang)

    def link(self, gang: PodGang, group: PodGroup, *, surplus: bool) -> Json:
        if surplus:
            return {}
        return {"workloadRef": {"name": gang.metadata.name, "podGroup": TEMPLATE}}

    def shortfall(self, gang: PodGang, served: Served) -> str:
        ignored = constraints_without_effect(gang, supported=False)
        return f"{ignored}: this version of kube-scheduler supports none" if ignored else ""
