"""Gangs under Koordinator, on the embedded cluster."""

import asyncio
import json
from typing import Any, ClassVar

import pytest
from grove_sandbox.nodes import RACK, node
from grove_sandbox.schedulers.catalog import CATALOG, CatalogEntry
from grove_sandbox.schedulers.koordinator.scheduler import KoordinatorScheduler

from grove.api import labels
from grove.api.config import OperatorConfiguration, SchedulerProfile, Schedulers
from grove.runtime.client.transport import Request, Response, Stream, Transport
from grove.schedulers.koordinator import Koordinator
from grove.schedulers.kube import Kubernetes
from grove.schedulers.registry import Factory
from tests.flow.gang_scenarios import PODS, SETS, GangScenarios, Json, clique
from tests.flow.operating import GroveCluster, cluster_with_crds, operator

LINK = "pod-group.scheduling.sigs.k8s.io"
QUOTA = "quota.scheduling.koordinator.sh/name"
TREES = "/apis/scheduling.koordinator.sh/v1alpha1/clusternetworktopologies"
BINDINGS = "/apis/grove.io/v1alpha1/clustertopologybindings"
BINDING = {
    "apiVersion": "grove.io/v1alpha1",
    "kind": "ClusterTopologyBinding",
    "metadata": {"name": "floor"},
    "spec": {"levels": [{"domain": "rack", "key": RACK}]},
}
IN_A_RACK: Json = {"topologyConstraint": {"topologyName": "floor", "pack": {"required": "rack"}}}


class SlowGates:
    """Gates of the workers open late."""

    delay = 20.0

    def __init__(self, server: Transport) -> None:
        self._server = server

    async def send(self, request: Request) -> Response:
        if b"schedulingGates" in request.body and request.method == "PATCH" and "worker" in request.path:
            await asyncio.sleep(self.delay)
        return await self._server.send(request)

    async def stream(self, request: Request) -> Stream:
        return await self._server.stream(request)

    async def close(self) -> None:
        await self._server.close()


class TestKoordinator(GangScenarios):
    scheduler = "koordinator"
    scheduler_name = "koord-scheduler"
    factory: ClassVar[Factory] = Koordinator
    groups = "/apis/scheduling.sigs.k8s.io/v1alpha1/namespaces/default/podgroups"
    queue_tag = ("labels", QUOTA)

    @pytest.fixture(autouse=True)
    def with_network_topology(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The simulated scheduler has the switch on, as the real one in the testbed."""
        entry = CatalogEntry(lambda: KoordinatorScheduler(network_topology=True), "koordinator/crds.yaml")
        monkeypatch.setitem(CATALOG, "koordinator", entry)

    @classmethod
    def queue(cls, name: str) -> tuple[str, Json]:
        """Found by its name, in whatever namespace it is."""
        body = {
            "apiVersion": "scheduling.sigs.k8s.io/v1alpha1",
            "kind": "ElasticQuota",
            "metadata": {"name": name},
        }
        return "/apis/scheduling.sigs.k8s.io/v1alpha1/namespaces/kube-system/elasticquotas", body

    async def minimums(self, grove: GroveCluster) -> dict[str, int]:
        found = (await grove.call("GET", self.groups))["items"]
        return {g["metadata"]["name"]: g["spec"]["minMember"] for g in found}

    async def quotas(self, grove: GroveCluster) -> set[str]:
        return {p["metadata"]["labels"].get(QUOTA, "") for p in (await grove.list("pods")).values()}

    async def test_one_cpu_short_binds_nothing_and_says_why_and_room_lets_it_through(self) -> None:
        async with self.cluster(4) as grove:
            await grove.apply(self.set_of(clique("router", 1), clique("worker", 4)))
            await grove.settle()
            assert await self.bound(grove) == 0
            said = await self.condition(grove, "demo-0", "Scheduled")
            assert (said["status"], said["reason"]) == ("False", "PodsNotScheduled")
            await grove.cluster.create("/api/v1/nodes", node("node-x", capacity={"cpu": "1"}))
            await grove.settle()
            assert await self.bound(grove) == 5

    async def test_the_groups_of_a_gang_are_one_gang_group(self) -> None:
        async with self.cluster(4) as grove:
            await grove.apply(self.set_of(clique("router", 1), clique("worker", 3)))
            await grove.settle()
            assert await self.minimums(grove) == {"demo-0-router": 1, "demo-0-worker": 3}
            tied = {
                g["metadata"]["annotations"]["gang.scheduling.koordinator.sh/groups"]
                for g in (await grove.call("GET", self.groups))["items"]
            }
            assert [json.loads(t) for t in tied] == [["default/demo-0-router", "default/demo-0-worker"]]

    async def test_nothing_is_bound_before_the_last_gate_is_gone(self) -> None:
        """The scheduler would take gated members along, and the server would refuse to bind those."""
        profiles = Schedulers(
            profiles=[SchedulerProfile(name="koord-scheduler")], default_profile_name="koord-scheduler"
        )
        factories: dict[str, Factory] = {"default": Kubernetes, "koordinator": Koordinator}
        async with (
            cluster_with_crds(nodes=8, schedulers=["koordinator"]) as grove,
            operator(
                grove,
                configuration=OperatorConfiguration(scheduler=profiles),
                factories=factories,
                through=SlowGates,
            ),
        ):
            await grove.apply(self.set_of(clique("router", 2), clique("worker", 6)))
            await grove.until(lambda: self.ungated(grove, 2))
            await asyncio.sleep(SlowGates.delay / 2)
            assert await self.ungated(grove, 2)
            assert await self.bound(grove) == 0
            assert 1_000_000 in (await self.minimums(grove)).values()
            await grove.settle()
            assert await self.bound(grove) == 8

    async def ungated(self, grove: GroveCluster, count: int) -> bool:
        pods = (await grove.list("pods")).values()
        return len([p for p in pods if not p["spec"].get("schedulingGates")]) == count

    async def test_a_gang_held_back_by_a_crash_goes_on(self) -> None:
        """The word of the gang and the minimum both follow from its pods alone."""
        async with self.cluster(4) as grove:
            await grove.apply(self.set_of(clique("router", 1), clique("worker", 2)))
            await grove.settle()
            await grove.call("PATCH", f"{self.groups}/demo-0-router", {"spec": {"minMember": 1_000_000}})
            await grove.settle()
            assert await self.minimums(grove) == {"demo-0-router": 1, "demo-0-worker": 2}

    async def test_a_gang_above_its_minimum_starts_with_the_minimum(self) -> None:
        async with self.cluster(4) as grove:
            await grove.apply(self.set_of(clique("aworker", 6, minimum=2), clique("router", 1)))
            await grove.settle()
            assert await self.bound(grove) == 4
            assert (await grove.list("podgangs"))["demo-0"]["status"]["phase"] == "Running"
            members = {
                p["metadata"]["labels"][labels.POD_INDEX]
                for p in (await grove.list("pods")).values()
                if p["metadata"]["labels"].get(LINK) == "demo-0-aworker"
            }
            assert members == {"0", "1"}

    async def test_a_gang_that_is_lost_as_a_whole_is_placed_as_a_whole_again(self) -> None:
        async with self.cluster(4) as grove:
            await grove.apply(self.set_of(clique("router", 1), clique("worker", 3)))
            await grove.settle()
            await grove.cluster.create("/api/v1/nodes", node("node-x", capacity={"cpu": "1"}))
            for name in await grove.list("pods"):
                await grove.call("DELETE", f"{PODS}/{name}")
            await grove.settle()
            assert await self.bound(grove) == 4
            assert await self.minimums(grove) == {"demo-0-router": 1, "demo-0-worker": 3}

    async def test_the_quota_is_a_label_of_the_pods_and_a_new_one_is_for_new_pods(self) -> None:
        async with self.cluster(4) as grove:
            await self.prepare(grove, "team-a", "team-b")
            await grove.apply(self.set_of(clique("worker", 2), queue="team-a"))
            await grove.settle()
            assert await self.quotas(grove) == {"team-a"}
            await grove.call("PATCH", f"{SETS}/demo", {"metadata": {"labels": {QUOTA: "team-b"}}})
            await grove.settle()
            assert await self.quotas(grove) == {"team-a"}
            await grove.call("DELETE", f"{PODS}/{next(iter(await grove.list('pods')))}")
            await grove.settle()
            assert await self.quotas(grove) == {"team-a", "team-b"}
            assert await self.bound(grove) == 2

    async def test_an_object_that_is_edited_or_deleted_by_hand_is_restored(self) -> None:
        async with self.cluster(4) as grove:
            await grove.apply(self.set_of(clique("worker", 2)))
            await grove.settle()
            before = await self.group(grove)
            path = f"{self.groups}/demo-0-worker"
            mode = {"gang.scheduling.koordinator.sh/mode": "NonStrict"}
            await grove.call("PATCH", path, {"metadata": {"annotations": mode}, "spec": {"minMember": 9}})
            await grove.settle()
            after = await self.group(grove)
            assert after["spec"] == before["spec"]
            assert after["metadata"]["annotations"] == before["metadata"]["annotations"]
            await grove.call("DELETE", path)
            await grove.settle()
            assert (await self.group(grove))["spec"] == before["spec"]
            assert await self.bound(grove) == 2

    async def test_a_pod_with_a_wrong_link_does_not_bind(self) -> None:
        async with self.cluster(4) as grove:
            await grove.apply(self.set_of(clique("worker", 2)))
            await grove.settle()
            stray = {
                "metadata": {"name": "stray", "labels": {LINK: "demo-0"}},
                "spec": {
                    "schedulerName": "koord-scheduler",
                    "containers": [{"name": "main", "image": "app:1"}],
                },
            }
            await grove.call("POST", PODS, {"apiVersion": "v1", "kind": "Pod", **stray})
            await grove.settle()
            assert "nodeName" not in (await grove.list("pods"))["stray"]["spec"]

    async def test_a_gang_keeps_to_a_rack_and_an_unmade_tree_is_named(self) -> None:
        """Racks of two nodes: three pods fit in none of them."""
        async with self.cluster(6, settings={"networkTopology": "existing"}) as grove:
            await grove.cluster.create(BINDINGS, BINDING)
            await grove.apply(self.set_of(clique("worker", 2), **IN_A_RACK))
            await grove.settle()
            said = await self.condition(grove, "demo-0", "BackendSynced")
            assert said["reason"] == "RefusedByBackend"
            assert "no ClusterNetworkTopology 'default'" in said["message"]
            await grove.cluster.create(TREES, _tree())
            await grove.settle()
            assert len(await self.racks(grove)) == 1
            said = await self.condition(grove, "demo-0", "BackendSynced")
            assert (said["status"], said["reason"]) == ("True", "WeakerThanAsked")
            assert said["message"].endswith("; objects: PodGroup demo-0-worker")
            await grove.apply(self.set_of(clique("worker", 3), name="wide", **IN_A_RACK))
            await grove.settle()
            assert await self.bound(grove, "wide-0") == 0

    async def test_the_tree_is_created_from_the_binding_if_so_configured(self) -> None:
        async with self.cluster(4, settings={"networkTopology": "managed"}) as grove:
            await grove.cluster.create(BINDINGS, BINDING)
            await grove.apply(self.set_of(clique("worker", 2), **IN_A_RACK))
            await grove.settle()
            assert (await grove.call("GET", f"{TREES}/default"))["spec"] == _tree()["spec"]
            assert len(await self.racks(grove)) == 1

    async def racks(self, grove: GroveCluster) -> set[int]:
        found = [p["spec"].get("nodeName", "") for p in (await grove.list("pods")).values()]
        return {int(n.removeprefix("node-")) // 2 for n in found if n}

    # Koordinator has quotas and no queues, and priorities, of pods alone.
    test_another_queue_reaches_the_scheduler: Any = None
    test_cliques_may_name_the_queue: Any = None
    test_another_priority_reaches_the_scheduler_and_none_removes_it: Any = None


def _tree() -> Json:
    layers = [
        {"topologyLayer": "rack", "labelKey": [RACK]},
        {"topologyLayer": "NodeTopologyLayer", "parentTopologyLayer": "rack"},
    ]
    return {
        "apiVersion": "scheduling.koordinator.sh/v1alpha1",
        "kind": "ClusterNetworkTopology",
        "metadata": {"name": "default"},
        "spec": {"networkTopologySpec": layers},
    }
