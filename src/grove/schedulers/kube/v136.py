"""Kubernetes 1.36: PodGroups in v1alpha2, one for a whole gang. Nothing of a PodGroup can be changed."""

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
from grove.schedulers.kube.flat import merged_shortfall

WORKLOADS = kind("v1alpha2", "Workload")
POD_GROUPS = kind("v1alpha2", "PodGroup")
LINK = link_probe({"schedulingGroup": {"podGroupName": "grove-probe"}})


def _probe(name: str, field: str, spec: Json) -> Probe:
    # Without a reference to a template: with one, admission would ask for a Workload that exists.
    body = {"metadata": {"name": "grove-probe"}, "spec": gang_policy("minCount", 1) | spec}
    return Probe(name, POD_GROUPS, body, f"spec.{field}")


TOPOLOGY = _probe("topology-v1alpha2", "schedulingConstraints", topology("kubernetes.io/hostname"))
DISRUPTION = _probe("disruption-v1alpha2", "disruptionMode", {"disruptionMode": "PodGroup"})


class V136:
    name = "PodGroupV1alpha2"
    kinds: Sequence[ObjectKind] = (WORKLOADS, POD_GROUPS)
    probes: Sequence[Probe] = (LINK, TOPOLOGY, DISRUPTION)
    one_priority = False

    def offered(self, served: Served) -> bool:
        return all(k in served for k in self.kinds) and LINK.name not in served.dropped

    def objects(self, gang: PodGang, served: Served, settings: Settings) -> list[SchedulerObject]:
        spec = gang_policy("minCount", merged.minimum(gang))
        if TOPOLOGY.name in served.kept:
            spec |= topology(merged.key(gang))
        if DISRUPTION.name in served.kept:
            # One feature gate for both: the disruption mode and the priority of a group.
            spec |= {"disruptionMode": "PodGroup"} if settings.disruption == "gang" else {}
            spec |= priority(gang)
        own = gang.metadata.name or ""
        workload = {
            "controllerRef": controller_ref(gang),
            "podGroupTemplates": [{"name": merged.TEMPLATE} | deepcopy(spec)],
        }
        template = {"workloadName": own, "podGroupTemplateName": merged.TEMPLATE}
        group = {"podGroupTemplateRef": {"workload": template}} | spec
        return [
            SchedulerObject(
                WORKLOADS, {"metadata": metadata(gang, own), "spec": workload}, ours=(), fixed=("spec",)
            ),
            SchedulerObject(
                POD_GROUPS,
                {"metadata": metadata(gang, merged.group_name(gang)), "spec": group},
                ours=("spec.schedulingConstraints",),
                fixed=("spec",),
                held=True,
            ),
        ]

    def splits(self, gang: PodGang, group: PodGroup) -> bool:
        return merged.is_split(gang)

    def link(self, gang: PodGang, group: PodGroup, *, surplus: bool) -> Json:
        return merged.pod_group_link(gang, surplus=surplus)

    def shortfall(self, gang: PodGang, served: Served) -> str:
        return merged_shortfall(gang, topology=TOPOLOGY.name in served.kept)
