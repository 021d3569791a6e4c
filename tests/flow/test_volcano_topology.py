"""Topology and queue admission under Volcano, on the embedded cluster."""

import pytest
from grove_sandbox.nodes import RACK, node

from tests.flow.gang_scenarios import PODS, Json, clique
from tests.flow.operating import GroveCluster
from tests.flow.test_volcano_gangs import TestVolcano as Volcano

pytestmark = pytest.mark.looptime

BINDINGS = "/apis/grove.io/v1alpha1/clustertopologybindings"
HYPER_NODES = "/apis/topology.volcano.sh/v1alpha1/hypernodes"

volcano = Volcano()

NEAR: Json = {"topologyConstraint": {"topologyName": "floor", "pack": {"required": "rack"}}}


async def prepare(grove: GroveCluster, racks: int = 2) -> None:
    binding = {
        "apiVersion": "grove.io/v1alpha1",
        "kind": "ClusterTopologyBinding",
        "metadata": {"name": "floor"},
        "spec": {"levels": [{"domain": "rack", "key": RACK}]},
    }
    await grove.cluster.create(BINDINGS, binding)
    for i in range(racks):
        await grove.cluster.create(HYPER_NODES, hyper_node(f"rack-{i}"))


def hyper_node(rack: str) -> Json:
    return {
        "apiVersion": "topology.volcano.sh/v1alpha1",
        "kind": "HyperNode",
        "metadata": {"name": rack},
        "spec": {
            "tier": 1,
            "tierName": RACK,
            "members": [{"type": "Node", "selector": {"labelMatch": {"matchLabels": {RACK: rack}}}}],
        },
    }


def filler() -> Json:
    container = {"name": "main", "image": "app:1", "resources": {"requests": {"cpu": "1"}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "filler", "labels": {"app": "filler"}},
        "spec": {"nodeName": "node-0", "containers": [container]},
    }


@pytest.mark.parametrize(
    "manifest",
    [
        volcano.set_of(clique("worker", 2), **NEAR),
        volcano.set_of(clique("worker", 2, **NEAR)),
        volcano.set_of(
            clique("leader", 1),
            clique("worker", 1),
            podCliqueScalingGroups=[{"name": "unit", "cliqueNames": ["leader", "worker"], **NEAR}],
        ),
    ],
    ids=["on the set", "on a clique", "on a scaling group"],
)
async def test_a_required_rack_is_kept(manifest: Json) -> None:
    """The first node is full: its rack has room for one pod, and only the other for the gang."""
    async with volcano.cluster(4) as grove:
        await prepare(grove)
        await grove.call("POST", PODS, filler())
        await grove.apply(manifest)
        await grove.settle()
        nodes = {p["spec"].get("nodeName") for p in (await grove.list("pods")).values()}
        assert nodes == {"node-0", "node-2", "node-3"}


async def test_a_rack_that_is_too_small_binds_nothing() -> None:
    async with volcano.cluster(4) as grove:
        await prepare(grove)
        await grove.apply(volcano.set_of(clique("worker", 3), **NEAR))
        await grove.settle()
        assert await volcano.bound(grove) == 0


async def test_a_level_without_hyper_nodes_is_named_and_their_arrival_heals() -> None:
    async with volcano.cluster(4) as grove:
        await prepare(grove, racks=0)
        await grove.apply(volcano.set_of(clique("worker", 2), **NEAR))
        await grove.settle()
        said = await volcano.condition(grove, "demo-0", "BackendSynced")
        assert said["reason"] == "RefusedByBackend"
        assert RACK in said["message"]
        for rack in ("rack-0", "rack-1"):
            await grove.cluster.create(HYPER_NODES, hyper_node(rack))
        await grove.settle()
        assert await volcano.bound(grove) == 2


async def test_a_gang_waits_for_admission_until_there_is_room_for_all_of_it() -> None:
    async with volcano.cluster(4, settings={"minResources": True}) as grove:
        await grove.apply(volcano.set_of(clique("worker", 5)))
        await grove.settle()
        group = await volcano.group(grove)
        assert group["spec"]["minResources"] == {"cpu": "5"}
        assert group["status"]["phase"] == "Pending"
        assert (await volcano.condition(grove, "demo-0", "Unschedulable"))["reason"] == "WaitingForAdmission"
        await grove.cluster.create("/api/v1/nodes", node("node-x", capacity={"cpu": "1"}))
        await grove.settle()
        assert (await volcano.group(grove))["status"]["phase"] == "Running"


async def test_a_set_whose_pods_request_nothing_is_invalid() -> None:
    manifest = volcano.set_of(clique("worker", 2))
    del manifest["spec"]["template"]["cliques"][0]["spec"]["podSpec"]["containers"][0]["resources"]
    async with volcano.cluster(4) as grove:
        await grove.apply(manifest)
        await grove.settle()
        (found,) = (await grove.list("podcliquesets")).values()
        (said,) = [c for c in found["status"]["conditions"] if c["type"] == "Invalid"]
        assert "request at least some cpu" in said["message"]
        assert await grove.list("pods") == {}
