"""ComputeDomains of NVLink groups: created and deleted with their replica, recreated if somebody deletes them."""

from typing import Any

import pytest

from grove.api import labels
from grove.api.config import Network, OperatorConfiguration
from tests.flow.operating import GroveCluster, Json, cluster_with_crds, example, operator, running

pytestmark = pytest.mark.looptime

GROVE = "/apis/grove.io/v1alpha1/namespaces/default"
DOMAINS = "/apis/resource.nvidia.com/v1beta1/namespaces/default/computedomains"
DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "computedomains.resource.nvidia.com"},
    "spec": {
        "group": "resource.nvidia.com",
        "scope": "Namespaced",
        "names": {"plural": "computedomains", "singular": "computedomain", "kind": "ComputeDomain"},
        "versions": [
            {
                "name": "v1beta1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
                },
            }
        ],
    },
}
SETTINGS: dict[str, Any] = {"configuration": OperatorConfiguration(network=Network(auto_mnnvl_enabled=True))}


def enrolled() -> Json:
    found = example("simple")
    found["metadata"]["annotations"] = {labels.MNNVL_GROUP: "gpus"}
    [clique] = found["spec"]["template"]["cliques"]
    clique["spec"]["podSpec"]["containers"][0]["resources"] = {"limits": {"nvidia.com/gpu": 1}}
    return found


async def domains(grove: GroveCluster) -> dict[str, str]:
    """Their uids by their names."""
    found = (await grove.call("GET", DOMAINS))["items"]
    return {d["metadata"]["name"]: d["metadata"]["uid"] for d in found}


async def test_a_domain_is_deleted_with_its_replica() -> None:
    async with running(definitions=[DEFINITION], **SETTINGS) as grove:
        await grove.apply(enrolled())
        await grove.settle()
        first, second = await domains(grove)
        assert (first, second) == ("train-0-gpus", "train-1-gpus")
        await grove.call("PATCH", f"{GROVE}/podcliquesets/train/scale", {"spec": {"replicas": 1}})
        await grove.settle()
        assert [*await domains(grove)] == [first]


@pytest.mark.parametrize("policy", ["Background", "Foreground"])
async def test_domains_are_deleted_with_their_set_and_created_with_the_next_one(policy: str) -> None:
    async with running(definitions=[DEFINITION], **SETTINGS) as grove:
        await grove.apply(enrolled())
        await grove.settle()
        before = await domains(grove)
        await grove.call("DELETE", f"{GROVE}/podcliquesets/train", {"propagationPolicy": policy})
        await grove.settle()
        assert await domains(grove) == {}
        assert await grove.list("podcliquesets") == {}
        await grove.apply(enrolled())
        await grove.settle()
        assert [*await domains(grove)] == [*before]


async def test_a_domain_whose_set_was_deleted_while_no_operator_ran_is_released_by_the_next() -> None:
    async with cluster_with_crds(definitions=[DEFINITION]) as grove:
        async with operator(grove, **SETTINGS):
            await grove.apply(enrolled())
            await grove.settle()
        await grove.call("PATCH", f"{GROVE}/podcliquesets/train", {"metadata": {"finalizers": None}})
        await grove.call("DELETE", f"{GROVE}/podcliquesets/train")
        await grove.settle()
        assert len(await domains(grove)) == 2
        async with operator(grove, **SETTINGS):
            await grove.settle()
        assert await domains(grove) == {}


async def test_a_domain_that_is_deleted_by_hand_is_recreated() -> None:
    async with running(definitions=[DEFINITION], **SETTINGS) as grove:
        await grove.apply(enrolled())
        await grove.settle()
        before = await domains(grove)
        await grove.call("DELETE", f"{DOMAINS}/train-0-gpus")
        await grove.settle()
        after = await domains(grove)
        assert after.keys() == before.keys()
        assert after["train-0-gpus"] != before["train-0-gpus"]
        assert after["train-1-gpus"] == before["train-1-gpus"]
