"""The dialect of Kubernetes 1.36: PodGroups in v1alpha2, one for a whole gang. All of their spec is immutable."""

from collections.abc import Sequence

from grove.api.podgang import PodGang
from grove.schedulers.kube.fields import (
    gang_policy,
    priority_class,
    scheduling_constraints,
    scheduling_kind,
)
from grove.schedulers.kube.pod_link import SCHEDULING_GROUP
from grove.schedulers.kube.settings import KubernetesSettings
from grove.schedulers.kube.single_podgroup import TEMPLATE, SinglePodGroup, topology_key
from grove.schedulers.types import Json, ObjectKind, Probe, Served

WORKLOADS = scheduling_kind("v1alpha2", "Workload")
POD_GROUPS = scheduling_kind("v1alpha2", "PodGroup")


def _pod_group_probe(name: str, field: str, spec: Json) -> Probe:
    # Without a reference to a template: with one, admission would require that the Workload exists.
    body = {"metadata": {"name": "grove-probe"}, "spec": gang_policy("minCount", 1) | spec}
    return Probe(name, POD_GROUPS, body, f"spec.{field}")


TOPOLOGY = _pod_group_probe(
    "topology-v1alpha2", "schedulingConstraints", scheduling_constraints("kubernetes.io/hostname")
)
DISRUPTION = _pod_group_probe("disruption-v1alpha2", "disruptionMode", {"disruptionMode": "PodGroup"})


class PodGroupV1alpha2(SinglePodGroup):
    name = "PodGroupV1alpha2"
    kinds: Sequence[ObjectKind] = (WORKLOADS, POD_GROUPS)
    probes: Sequence[Probe] = (SCHEDULING_GROUP, TOPOLOGY, DISRUPTION)
    topology_probe = TOPOLOGY
    immutable_fields = ("spec",)

    def spec(self, gang: PodGang, served: Served, settings: KubernetesSettings) -> Json:
        spec = scheduling_constraints(topology_key(gang)) if TOPOLOGY.name in served.kept else {}
        if DISRUPTION.name in served.kept:
            # One feature gate switches both fields: the disruption mode and the priority class of a PodGroup.
            spec |= {"disruptionMode": "PodGroup"} if settings.disruption == "gang" else {}
            spec |= priority_class(gang)
        return spec

    def template_reference(self, workload: str) -> Json:
        template = {"workloadName": workload, "podGroupTemplateName": TEMPLATE}
        return {"podGroupTemplateRef": {"workload": template}}
