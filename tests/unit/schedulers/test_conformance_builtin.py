"""Every backend that comes with Grove passes the suite that it gives to others."""

from typing import ClassVar

from grove_sandbox.conformance import BackendConformance, served_by
from grove_sandbox.conformance.samples import HOST, RACK, TOPOLOGY, ZONE
from grove_sandbox.schedulers.catalog import CATALOG

from grove.schedulers.kai.backend import QUEUES as KAI_QUEUES
from grove.schedulers.kai.backend import Kai
from grove.schedulers.koordinator import Koordinator
from grove.schedulers.koordinator.topology import tree_of
from grove.schedulers.kube import Kubernetes
from grove.schedulers.kube.backend import DIALECTS
from grove.schedulers.kube.composite import Composite
from grove.schedulers.kube.dialect import Dialect
from grove.schedulers.kube.flat import Flat
from grove.schedulers.kube.none import NoGangApi
from grove.schedulers.kube.v135 import V135
from grove.schedulers.kube.v136 import V136
from grove.schedulers.registry import Factory
from grove.schedulers.types import Json, Served
from grove.schedulers.volcano import Volcano
from grove.schedulers.yunikorn.backend import YuniKorn


def native(dialect: Dialect) -> Served:
    """A Kubernetes that has the kinds of one gang API, whose fields it keeps."""
    return Served(
        fields=dict.fromkeys(dialect.kinds, frozenset()),
        kept=frozenset(p.name for p in dialect.probes),
        dropped=frozenset(p.name for d in DIALECTS for p in d.probes) - {p.name for p in dialect.probes},
    )


class KubernetesConformance(BackendConformance):
    factory: ClassVar[Factory] = Kubernetes


class TestKubernetesWithTrees(KubernetesConformance):
    served = native(Composite())


class TestKubernetesWithFlatGroups(KubernetesConformance):
    served = native(Flat())


class TestKubernetes136(KubernetesConformance):
    served = native(V136())


class TestKubernetes135(KubernetesConformance):
    served = native(V135())


class TestKubernetesWithoutGangs(KubernetesConformance):
    served = native(NoGangApi())


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
                **tree_of(TOPOLOGY).body,
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
