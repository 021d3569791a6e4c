"""The dialect of Kubernetes 1.37 without CompositePodGroups: PodGroups in v1beta1, one for a whole gang.

In this version a gated pod blocks every pod of its PodGroup. This is one more reason to keep surplus pods, which stay
gated until the gang is scheduled, out of the PodGroup.
"""

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

WORKLOADS = scheduling_kind("v1beta1", "Workload")
POD_GROUPS = scheduling_kind("v1beta1", "PodGroup")
TOPOLOGY = Probe(
    "topology",
    POD_GROUPS,
    {
        "metadata": {"name": "grove-probe"},
        "spec": gang_policy("minCount", 1) | scheduling_constraints("kubernetes.io/hostname"),
    },
    "spec.schedulingConstraints",
)


class PodGroupV1beta1(SinglePodGroup):
    name = "PodGroupV1beta1"
    kinds: Sequence[ObjectKind] = (WORKLOADS, POD_GROUPS)
    probes: Sequence[Probe] = (SCHEDULING_GROUP, TOPOLOGY)
    one_priority = True
    topology_probe = TOPOLOGY
    # Not all of spec: the server fills in the other fields.
    immutable_fields = (
        "spec.workloadRef",
        "spec.schedulingConstraints",
        "spec.disruptionMode",
        "spec.priorityClassName",
    )

    def spec(self, gang: PodGang, served: Served, settings: KubernetesSettings) -> Json:
        constraint = scheduling_constraints(topology_key(gang)) if TOPOLOGY.name in served.kept else {}
        mode: Json = {"disruptionMode": {"all": {}}} if settings.disruption == "gang" else {}
        return constraint | mode | priority_class(gang)

    def template_reference(self, workload: str) -> Json:
        return {"workloadRef": {"workloadName": workload, "templateName": TEMPLATE}}
