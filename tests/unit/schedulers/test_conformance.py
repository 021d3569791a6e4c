"""The backends of this repository pass the conformance suite for backends."""

from typing import ClassVar

from grove_sandbox.conformance import BackendConformance, served_by
from grove_sandbox.conformance.samples import HOST, RACK, TOPOLOGY, ZONE
from grove_sandbox.schedulers.catalog import CATALOG

from grove.schedulers.kai import Kai
from grove.schedulers.kai.backend import QUEUES as KAI_QUEUES
from grove.schedulers.koordinator import Koordinator
from grove.schedulers.koordinator.topology import topology_object
from grove.schedulers.kube import Kubernetes
from grove.schedulers.kube.backend import DIALECTS
from grove.schedulers.kube.composite_podgroup import CompositePodGroup
from grove.schedulers.kube.dialect import Dialect
from grove.schedulers.kube.no_gang_api import NoGangApi
from grove.schedulers.kube.podgroup_v1alpha2 import PodGroupV1alpha2
from grove.schedulers.kube.podgroup_v1beta1 import PodGroupV1beta1
from grove.schedulers.kube.workload_v1alpha1 import WorkloadV1alpha1
from grove.schedulers.registry import Factory
from grove.schedulers.types import Json, Served
from grove.schedulers.volcano import Volcano
from grove.schedulers.yunikorn import YuniKorn


def serving(dialect: Dialect) -> Served:
    """A cluster that serves the kinds of one dialect and keeps all of its fields."""
    return Served(
        fields=dict.fromkeys(dialect.kinds, frozenset()),
        kept=frozenset(p.name for p in dialect.probes),
        dropped=frozenset(p.name for d in DIALECTS for p in d.probes) - {p.name for p in dialect.probes},
    )


class KubernetesConformance(BackendConformance):
    factory: ClassVar[Factory] = Kubernetes


class TestCompositePodGroup(KubernetesConformance):
    served = serving(CompositePodGroup())


class TestPodGroupV1beta1(KubernetesConformance):
    served = serving(PodGroupV1beta1())


class TestPodGroupV1alpha2(KubernetesConformance):
    served = serving(PodGroupV1alpha2())


class TestWorkloadV1alpha1(KubernetesConformance):
    served = serving(WorkloadV1alpha1())


class TestNoGangApi(KubernetesConformance):
    served = serving(NoGangApi())


def objects(api_version: str, kind: str, *names: str, **spec: object) -> list[Json]:
    return [
        {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, "spec": spec} for name in names
    ]


class TestKai(BackendConformance):
    factory: ClassVar[Factory] = Kai
    served = served_by(
        CATALOG["kai"].definitions(),
        objects=objects(KAI_QUEUES.api_version, "Queue", "default-queue", "team-a", "team-b"),
    )
    queue_tag = ("labels", "kai.scheduler/queue")


class TestVolcano(BackendConformance):
    factory: ClassVar[Factory] = Volcano
    served = served_by(
        CATALOG["volcano"].definitions(),
        objects=objects("scheduling.volcano.sh/v1beta1", "Queue", "default", "team-a", "team-b"),
    )
    settings: ClassVar = {"tiers": {HOST: 1, RACK: 2, ZONE: 3}}
    queue_tag = ("annotations", "scheduling.grove.io/volcano-queue")


QUOTAS = objects("scheduling.sigs.k8s.io/v1alpha1", "ElasticQuota", "team-a", "team-b")


class TestKoordinator(BackendConformance):
    factory: ClassVar[Factory] = Koordinator
    served = served_by(
        CATALOG["koordinator"].definitions(),
        objects=[
            {
                "apiVersion": "scheduling.koordinator.sh/v1alpha1",
                "kind": "ClusterNetworkTopology",
                **topology_object(TOPOLOGY).body,
            },
            *QUOTAS,
        ],
    )
    settings: ClassVar = {"networkTopology": "managed"}
    queue_tag = ("labels", "quota.scheduling.koordinator.sh/name")


class TestKoordinatorWithoutTopology(BackendConformance):
    factory: ClassVar[Factory] = Koordinator
    served = served_by(CATALOG["koordinator"].definitions(), objects=QUOTAS)
    queue_tag = ("labels", "quota.scheduling.koordinator.sh/name")


class TestYuniKorn(BackendConformance):
    factory: ClassVar[Factory] = YuniKorn
    served = Served()
    queue_tag = ("labels", "yunikorn.apache.org/queue")
