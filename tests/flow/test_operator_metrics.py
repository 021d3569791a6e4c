"""What the operator counts while it works."""

import pytest

from grove.api.config import OperatorConfiguration
from grove.operator.assembly import Operator
from grove.schedulers.kube import Kubernetes
from grove.schedulers.registry import Registry
from tests.flow.operating import GroveCluster, cluster_with_crds, example

pytestmark = pytest.mark.looptime

SETS = "/apis/grove.io/v1alpha1/namespaces/default/podcliquesets"


def counting_operator(grove: GroveCluster, selections: list[str]) -> Operator:
    configuration = OperatorConfiguration()
    return Operator(
        grove.cluster.client("grove-operator"),
        configuration,
        Registry(configuration.scheduler, {"default": Kubernetes}),
        now=grove.cluster.now,
        count_selection=selections.append,
    )


async def test_a_selection_is_counted_once_per_version_of_a_set() -> None:
    selections: list[str] = []
    async with cluster_with_crds() as grove:
        process = counting_operator(grove, selections)
        async with process.running():
            manifest = example("simple")
            name = manifest["metadata"]["name"]
            await grove.apply(manifest)
            await grove.settle()
            assert selections == ["default"]
            await grove.call("PATCH", f"{SETS}/{name}", {"spec": {"replicas": 3}})
            await grove.settle()
            assert selections == ["default"] * 2
            await grove.call("PATCH", f"{SETS}/{name}", {"metadata": {"annotations": {"other": "1"}}})
            await grove.settle()
            assert selections == ["default"] * 3
            await grove.call("DELETE", f"{SETS}/{name}")
            await grove.settle()
            assert selections == ["default"] * 3


async def test_reconciles_of_every_controller_are_counted() -> None:
    async with cluster_with_crds() as grove:
        process = counting_operator(grove, [])
        async with process.running():
            await grove.apply(example("disaggregated"))
            await grove.settle()
        text = process.context.metrics.text().decode()
        for controller in (
            "podcliqueset",
            "podcliqueset-replica",
            "podcliquescalinggroup",
            "podclique",
            "podgang",
        ):
            assert f'reconciles_total{{controller="{controller}",result="done"}}' in text
            assert f'queue_depth{{controller="{controller}"}} 0.0' in text
