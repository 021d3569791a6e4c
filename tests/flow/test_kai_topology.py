"""Topology under KAI, on the embedded cluster: the scheduler's Topology, its drift, and gangs that keep to a rack."""

from typing import Any

import pytest
from grove_sandbox.nodes import RACK, ZONE

from tests.flow.gang_scenarios import Json, clique
from tests.flow.operating import GroveCluster
from tests.flow.test_kai_gangs import TestKai as Kai

pytestmark = pytest.mark.looptime

BINDINGS = "/apis/grove.io/v1alpha1/clustertopologybindings"
TOPOLOGIES = "/apis/kai.scheduler/v1alpha1/topologies"
LEVELS = [{"domain": "zone", "key": ZONE}, {"domain": "rack", "key": RACK}]

kai = Kai()


def binding(name: str = "floor", levels: list[Json] = LEVELS, **spec: Any) -> Json:
    return {
        "apiVersion": "grove.io/v1alpha1",
        "kind": "ClusterTopologyBinding",
        "metadata": {"name": name},
        "spec": {"levels": levels, **spec},
    }


def topology(name: str, *keys: str) -> Json:
    return {
        "apiVersion": "kai.scheduler/v1alpha1",
        "kind": "Topology",
        "metadata": {"name": name},
        "spec": {"levels": [{"nodeLabel": k} for k in keys]},
    }


def within(domain: str) -> Json:
    return {"topologyConstraint": {"topologyName": "floor", "pack": {"required": domain}}}


async def keys_of(grove: GroveCluster, name: str) -> list[str]:
    return [
        level["nodeLabel"] for level in (await grove.call("GET", f"{TOPOLOGIES}/{name}"))["spec"]["levels"]
    ]


async def drift(grove: GroveCluster, name: str = "floor") -> tuple[str, str]:
    status = (await grove.call("GET", f"{BINDINGS}/{name}"))["status"]
    (found,) = [c for c in status["conditions"] if c["type"] == "SchedulerTopologyDrift"]
    return found["status"], found["reason"]


async def racks(grove: GroveCluster) -> set[int]:
    """Two nodes to a rack."""
    found = [p["spec"].get("nodeName", "") for p in (await grove.list("pods")).values()]
    return {int(n.removeprefix("node-")) // 2 for n in found if n}


async def test_a_binding_becomes_a_topology_which_is_recreated_when_the_levels_change() -> None:
    async with kai.cluster() as grove:
        await grove.cluster.create(BINDINGS, binding())
        await grove.settle()
        assert await keys_of(grove, "floor") == [ZONE, RACK]
        status = (await grove.call("GET", f"{BINDINGS}/floor"))["status"]
        assert status["schedulerTopologyStatuses"] == [
            {"schedulerName": "kai-scheduler", "topologyReference": "floor", "inSync": True}
        ]
        assert status["observedGeneration"] == 1
        assert await drift(grove) == ("False", "InSync")
        host = {"domain": "host", "key": "kubernetes.io/hostname"}
        await grove.call("PATCH", f"{BINDINGS}/floor", {"spec": {"levels": [*LEVELS, host]}})
        await grove.settle()
        assert await keys_of(grove, "floor") == [ZONE, RACK, "kubernetes.io/hostname"]
        await grove.call("DELETE", f"{TOPOLOGIES}/floor")
        await grove.settle()
        assert len(await keys_of(grove, "floor")) == 3
        await grove.call("DELETE", f"{BINDINGS}/floor")
        await grove.settle()
        assert (await grove.call("GET", TOPOLOGIES))["items"] == []


async def test_a_topology_of_somebody_else_is_compared_and_left_alone() -> None:
    reference = {"schedulerName": "kai-scheduler", "topologyReference": "theirs"}
    async with kai.cluster() as grove:
        await grove.cluster.create(BINDINGS, binding(schedulerTopologyBindings=[reference]))
        await grove.settle()
        assert await drift(grove) == ("True", "Drift")
        await grove.cluster.create(TOPOLOGIES, topology("theirs", ZONE))
        await grove.settle()
        assert await drift(grove) == ("True", "Drift")
        assert await keys_of(grove, "theirs") == [ZONE]
        await grove.call("DELETE", f"{TOPOLOGIES}/theirs")
        await grove.cluster.create(TOPOLOGIES, topology("theirs", ZONE, RACK))
        await grove.settle()
        assert await drift(grove) == ("False", "InSync")
        reasons = {e["reason"] for e in (await grove.list("events")).values()}
        assert {"TopologyDriftDetected", "TopologyInSync"} <= reasons


async def test_a_topology_that_grove_did_not_create_is_not_adopted() -> None:
    async with kai.cluster() as grove:
        await grove.cluster.create(TOPOLOGIES, topology("floor", ZONE))
        await grove.cluster.create(BINDINGS, binding())
        await grove.settle()
        assert await drift(grove) == ("True", "Drift")
        assert await keys_of(grove, "floor") == [ZONE]


async def test_a_reference_to_a_scheduler_that_is_not_enabled_is_not_found() -> None:
    reference = {"schedulerName": "other", "topologyReference": "theirs"}
    async with kai.cluster() as grove:
        await grove.cluster.create(BINDINGS, binding(schedulerTopologyBindings=[reference]))
        await grove.settle()
        assert await drift(grove) == ("Unknown", "TopologyNotFound")


async def test_without_kai_a_binding_has_nothing_to_say() -> None:
    async with kai.cluster(schedulers=[]) as grove:
        await grove.cluster.create(BINDINGS, binding())
        await grove.settle()
        assert "conditions" not in (await grove.call("GET", f"{BINDINGS}/floor"))["status"]


@pytest.mark.parametrize(
    "manifest",
    [
        kai.set_of(clique("worker", 2), **within("rack")),
        kai.set_of(clique("worker", 2, **within("rack"))),
        kai.set_of(
            clique("leader", 1),
            clique("worker", 1),
            podCliqueScalingGroups=[{"name": "unit", "cliqueNames": ["leader", "worker"], **within("rack")}],
        ),
    ],
    ids=["on the set", "on a clique", "on a scaling group"],
)
async def test_a_required_rack_is_kept(manifest: Json) -> None:
    """The first node is full: its rack has room for one pod, and only the other for the gang."""
    async with kai.cluster(4) as grove:
        await kai.prepare(grove, "default-queue")
        await grove.cluster.create(BINDINGS, binding())
        filler = {"name": "filler", "image": "app:1", "resources": {"requests": {"cpu": "1"}}}
        pod = {
            "metadata": {"name": "filler", "labels": {"app": "filler"}},
            "spec": {"nodeName": "node-0", "containers": [filler]},
        }
        await grove.call(
            "POST", "/api/v1/namespaces/default/pods", {"apiVersion": "v1", "kind": "Pod", **pod}
        )
        await grove.apply(manifest)
        await grove.settle()
        assert await racks(grove) == {0, 1}
        assert await kai.bound(grove, "demo-0") == 2


async def test_a_rack_that_is_too_small_binds_nothing() -> None:
    async with kai.cluster(4) as grove:
        await kai.prepare(grove, "default-queue")
        await grove.cluster.create(BINDINGS, binding())
        await grove.apply(kai.set_of(clique("worker", 3), **within("rack")))
        await grove.settle()
        assert await kai.bound(grove) == 0


async def test_a_gang_names_the_topology_that_its_binding_refers_to() -> None:
    reference = {"schedulerName": "kai-scheduler", "topologyReference": "theirs"}
    async with kai.cluster(4) as grove:
        await kai.prepare(grove, "default-queue")
        await grove.cluster.create(BINDINGS, binding(schedulerTopologyBindings=[reference]))
        await grove.cluster.create(TOPOLOGIES, topology("theirs", ZONE, RACK))
        await grove.apply(kai.set_of(clique("worker", 2), **within("rack")))
        await grove.settle()
        assert (await kai.group(grove))["spec"]["topologyConstraint"]["topology"] == "theirs"
        assert len(await racks(grove)) == 1
