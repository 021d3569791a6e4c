"""Kubernetes 1.36: PodGroups in v1alpha2, one for a whole gang. Nothing of a PodGroup can be changed."""

from collections.abc import Sequence

from grove.api.podgang import PodGang
from grove.schedulers.kube import merged
from grove.schedulers.kube.dialect import Json, Settings, gang_policy, kind, priority, topology
from grove.schedulers.kube.merged import LINK, OnePodGroup
from grove.schedulers.types import ObjectKind, Probe, Served

WORKLOADS = kind("v1alpha2", "Workload")
POD_GROUPS = kind("v1alpha2", "PodGroup")


def _probe(name: str, field: str, spec: Json) -> Probe:
    # Without a reference to a template: with one, admission would ask for a Workload that exists.
    body = {"metadata": {"name": "grove-probe"}, "spec": gang_policy("minCount", 1) | spec}
    return Probe(name, POD_GROUPS, body, f"spec.{field}")


TOPOLOGY = _probe("topology-v1alpha2", "schedulingConstraints", topology("kubernetes.io/hostname"))
DISRUPTION = _probe("disruption-v1alpha2", "disruptionMode", {"disruptionMode": "PodGroup"})


class V136(OnePodGroup):
    name = "PodGroupV1alpha2"
    kinds: Sequence[ObjectKind] = (WORKLOADS, POD_GROUPS)
    topology = TOPOLOGY
    probes: Sequence[Probe] = (LINK, TOPOLOGY, DISRUPTION)
    one_priority = False
    fixed = ("spec",)

    def spec(self, gang: PodGang, served: Served, settings: Settings) -> Json:
        found = topology(merged.key(gang)) if TOPOLOGY.name in served.kept else {}
        if DISRUPTION.name in served.kept:
            # One feature gate for both: the disruption mode and the priority of a group.
            found |= {"disruptionMode": "PodGroup"} if settings.disruption == "gang" else {}
            found |= priority(gang)
        return found

    def reference(self, workload: str) -> Json:
        template = {"workloadName": workload, "podGroupTemplateName": merged.TEMPLATE}
        return {"podGroupTemplateRef": {"workload": template}}
