"""Kubernetes 1.37 without CompositePodGroups: PodGroups in v1beta1, one for a whole gang.

Here a gated pod holds back every pod of its group. Surplus pods, which stay gated until the gang is scheduled, are in
none for that reason too.
"""

from collections.abc import Sequence
from copy import deepcopy

from grove.api.podgang import PodGang, PodGroup
from grove.schedulers.backend import ObjectKind, Probe, SchedulerObject, Served
from grove.schedulers.kube import merged
from grove.schedulers.kube.dialect import (
    Json,
    Settings,
    controller_ref,
    gang_policy,
    kind,
    link_probe,
    metadata,
    priority,
    topology,
)

WORKLOADS = kind("v1beta1", "Workload")
POD_GROUPS = kind("v1beta1", "PodGroup")
LINK = link_probe({"schedulingGroup": {"podGroupName": "grove-probe"}})
TOPOLOGY = Probe(
    "topology",
    POD_GROUPS,
    {
        "metadata": {"name": "grove-probe"},
        "spec": gang_policy("minCount", 1) | topology("kubernetes.io/hostname"),
    },
    "spec.schedulingConstraints",
)

# The server fills in the rest of a PodGroup. It is kept from deletion while pods refer to it.
_FIXED = ("spec.workloadRef", "spec.schedulingConstraints", "spec.disruptionMode", "spec.priorityClassName")


class Flat:
    name = "PodGroupV1beta1"
    kinds: Sequence[ObjectKind] = (WORKLOADS, POD_GROUPS)
    probes: Sequence[Probe] = (LINK, TOPOLOGY)
    one_priority = True

    def offered(self, served: Served) -> bool:
        return all(k in served for k in self.kinds) and LINK.name not in served.dropped

    def objects(self, gang: PodGang, served: Served, settings: Settings) -> list[SchedulerObject]:
        constraint = topology(merged.key(gang)) if TOPOLOGY.name in served.kept else {}
        mode: Json = {"disruptionMode": {"all": {}}} if settings.disruption == "gang" else {}
        spec = gang_policy("minCount", merged.minimum(gang)) | constraint | mode | priority(gang)
        own = gang.metadata.name or ""
        workload = {
            "controllerRef": controller_ref(gang),
            "podGroupTemplates": [{"name": merged.TEMPLATE} | deepcopy(spec)],
        }
        group = {"workloadRef": {"workloadName": own, "templateName": merged.TEMPLATE}} | spec
        return [
            SchedulerObject(
                WORKLOADS, {"metadata": metadata(gang, own), "spec": workload}, ours=(), fixed=("spec",)
            ),
            SchedulerObject(
                POD_GROUPS,
                {"metadata": metadata(gang, merged.group_name(gang)), "spec": group},
                ours=("spec.schedulingConstraints",),
                fixed=_FIXED,
                held=True,
            ),
        ]

    def splits(self, gang: PodGang, group: PodGroup) -> bool:
        return merged.is_split(gang)

    def link(self, gang: PodGang, group: PodGroup, *, surplus: bool) -> Json:
        return merged.pod_group_link(gang, surplus=surplus)

    def shortfall(self, gang: PodGang, served: Served) -> str:
        return merged_shortfall(gang, topology=TOPOLOGY.name in served.kept)


def merged_shortfall(gang: PodGang, *, topology: bool) -> str:
    said = [merged.lost_keys(gang, topology=topology)]
    if topology:
        said.append(merged.surplus_apart(gang))
    text = "; ".join(t for t in said if t)
    if text and not topology:
        return f"{text}: the feature gate TopologyAwareWorkloadScheduling of kube-apiserver is off"
    return text
