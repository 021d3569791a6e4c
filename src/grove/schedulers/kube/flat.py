"""Kubernetes 1.37 without CompositePodGroups: PodGroups in v1beta1, one for a whole gang.

Here a gated pod holds back every pod of its group. Surplus pods, which stay gated until the gang is scheduled, are in
none for that reason too.
"""

from collections.abc import Sequence

from grove.api.podgang import PodGang
from grove.schedulers.kube import merged
from grove.schedulers.kube.dialect import Json, Settings, gang_policy, kind, priority, topology
from grove.schedulers.kube.merged import LINK, OnePodGroup
from grove.schedulers.types import ObjectKind, Probe, Served

WORKLOADS = kind("v1beta1", "Workload")
POD_GROUPS = kind("v1beta1", "PodGroup")
TOPOLOGY = Probe(
    "topology",
    POD_GROUPS,
    {
        "metadata": {"name": "grove-probe"},
        "spec": gang_policy("minCount", 1) | topology("kubernetes.io/hostname"),
    },
    "spec.schedulingConstraints",
)


class Flat(OnePodGroup):
    name = "PodGroupV1beta1"
    kinds: Sequence[ObjectKind] = (WORKLOADS, POD_GROUPS)
    topology = TOPOLOGY
    probes: Sequence[Probe] = (LINK, TOPOLOGY)
    one_priority = True
    # The server fills in the rest of a PodGroup.
    fixed = (
        "spec.workloadRef",
        "spec.schedulingConstraints",
        "spec.disruptionMode",
        "spec.priorityClassName",
    )

    def spec(self, gang: PodGang, served: Served, settings: Settings) -> Json:
        constraint = topology(merged.key(gang)) if TOPOLOGY.name in served.kept else {}
        mode: Json = {"disruptionMode": {"all": {}}} if settings.disruption == "gang" else {}
        return constraint | mode | priority(gang)

    def reference(self, workload: str) -> Json:
        return {"workloadRef": {"workloadName": workload, "templateName": merged.TEMPLATE}}
