"""Gangs under YuniKorn, on the embedded cluster."""

import asyncio
import json
from typing import Any, ClassVar

from grove_sandbox.nodes import RACK, node

from grove.api.labels import POD_GANG
from grove.schedulers.registry import Factory
from grove.schedulers.yunikorn import YuniKorn
from tests.flow.gang_scenarios import PODS, SETS, GangScenarios, Json, clique
from tests.flow.operating import GroveCluster

APPLICATION = "yunikorn.apache.org/app-id"
QUEUE = "yunikorn.apache.org/queue"
TASK_GROUPS = "yunikorn.apache.org/task-groups"


class TestYuniKorn(GangScenarios):
    scheduler = "yunikorn"
    scheduler_name = "yunikorn"
    factory: ClassVar[Factory] = YuniKorn
    queue_tag = ("labels", QUEUE)

    async def labelled(self, grove: GroveCluster, key: str) -> set[str]:
        return {p["metadata"]["labels"].get(key, "") for p in (await grove.list("pods")).values()}

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

    async def test_all_pods_of_a_gang_say_the_same(self) -> None:
        """Whichever is the first without a gate is the one that YuniKorn reads."""
        async with self.cluster(5) as grove:
            await grove.apply(self.set_of(clique("router", 1), clique("worker", 4, minimum=3)))
            await grove.settle()
            said = {p["metadata"]["annotations"][TASK_GROUPS] for p in (await grove.list("pods")).values()}
            (groups,) = map(json.loads, said)
            assert [(g["name"], g["minMember"], g["minResource"]) for g in groups] == [
                ("demo-0-router", 1, {"cpu": "1"}),
                ("demo-0-worker", 3, {"cpu": "1"}),
            ]
            assert len(await self.labelled(grove, APPLICATION)) == 1

    async def test_a_base_gang_and_a_scaled_gang_are_two_applications(self) -> None:
        group = {"name": "unit", "cliqueNames": ["worker"], "replicas": 2, "minAvailable": 1}
        async with self.cluster(6) as grove:
            await grove.apply(
                self.set_of(clique("router", 2), clique("worker", 2), podCliqueScalingGroups=[group])
            )
            await grove.settle()
            assert await self.bound(grove) == 6
            assert len(await self.labelled(grove, APPLICATION)) == 2

    async def test_a_gang_that_ran_out_of_time_tries_again_in_a_new_application(self) -> None:
        """In the old one no pod would ever be placed."""
        async with self.cluster(4, settings={"placeholderTimeoutInSeconds": 120}) as grove:
            await grove.apply(self.set_of(clique("router", 1), clique("worker", 4)))
            await asyncio.sleep(60)
            (first,) = await self.labelled(grove, APPLICATION)
            await asyncio.sleep(120)
            (second,) = await self.labelled(grove, APPLICATION)
            assert second != first
            assert await self.bound(grove) == 0
            await grove.cluster.create("/api/v1/nodes", node("node-x", capacity={"cpu": "1"}))
            await grove.settle(60)
            assert await self.bound(grove) == 5
            assert (await grove.list("podgangs"))["demo-0"]["status"]["phase"] == "Running"

    async def test_a_gang_that_cannot_be_placed_is_not_tried_faster_and_faster(self) -> None:
        created = 0
        async with self.cluster(4, settings={"placeholderTimeoutInSeconds": 30}) as grove:
            await grove.apply(self.set_of(clique("worker", 5)))
            await asyncio.sleep(3600)
            created = grove.writes.count("ADDED pods")
        assert 5 < created < 5 * 3600 / 150

    async def test_a_gang_that_loses_all_its_pods_at_once_is_a_gang_again(self) -> None:
        async with self.cluster(4) as grove:
            await grove.apply(self.set_of(clique("router", 1), clique("worker", 3)))
            await grove.settle()
            before = await self.labelled(grove, APPLICATION)
            await grove.call("DELETE", "/api/v1/nodes/node-3")
            for name in await grove.list("pods"):
                await grove.call("DELETE", f"{PODS}/{name}")
            await grove.settle()
            assert await self.bound(grove) == 0
            assert not before & await self.labelled(grove, APPLICATION)

    async def test_a_gang_that_loses_its_pods_one_after_another_is_a_gang_again_when_none_is_left(
        self,
    ) -> None:
        """Those that were made for the first ones in the meantime would be placed alone."""
        async with self.cluster(4) as grove:
            await grove.apply(self.set_of(clique("router", 1), clique("worker", 3)))
            await grove.settle()
            before = await self.labelled(grove, APPLICATION)
            for i in range(4):
                await grove.call("PATCH", f"/api/v1/nodes/node-{i}", {"spec": {"unschedulable": True}})
            for name in await grove.list("pods"):
                await grove.call("DELETE", f"{PODS}/{name}")
                await asyncio.sleep(1)
            await grove.settle()
            assert await self.bound(grove) == 0
            assert not before & await self.labelled(grove, APPLICATION)
            for i in range(3):
                await grove.call("PATCH", f"/api/v1/nodes/node-{i}", {"spec": {"unschedulable": None}})
            await grove.settle()
            assert await self.bound(grove) == 0, "a part of a gang was placed"
            await grove.call("PATCH", "/api/v1/nodes/node-3", {"spec": {"unschedulable": None}})
            await grove.settle()
            assert await self.bound(grove) == 4

    async def test_gangs_are_released_one_after_another(self) -> None:
        """YuniKorn would mix up those of the same second."""
        async with self.cluster(6) as grove:
            wanted = self.set_of(clique("worker", 2))
            wanted["spec"]["replicas"] = 3
            await grove.apply(wanted)
            seen = []
            for _ in range(5):
                await asyncio.sleep(1)
                seen.append(await self.released(grove))
            assert seen == sorted(seen)
            assert set(seen) == {1, 2, 3}
            await grove.settle()
            assert await self.bound(grove) == 6

    async def released(self, grove: GroveCluster) -> int:
        """How many gangs have pods without a gate."""
        pods = (await grove.list("pods")).values()
        return len({p["metadata"]["labels"][POD_GANG] for p in pods if not p["spec"].get("schedulingGates")})

    async def test_a_pod_that_is_lost_joins_the_application_that_runs(self) -> None:
        async with self.cluster(4) as grove:
            await grove.apply(self.set_of(clique("worker", 3)))
            await grove.settle()
            before = await self.labelled(grove, APPLICATION)
            await grove.call("DELETE", f"{PODS}/{next(iter(await grove.list('pods')))}")
            await grove.settle()
            assert await self.bound(grove) == 3
            assert await self.labelled(grove, APPLICATION) == before

    async def test_the_queue_is_a_label_of_the_pods_and_cliques_may_name_it(self) -> None:
        async with self.cluster(4) as grove:
            await grove.apply(self.set_of(clique("worker", 2), queue="root.team-a"))
            tags = {"annotations": {QUEUE: "root.team-b"}}
            await grove.apply(self.set_of(clique("worker", 2, tags=tags), name="other"))
            await grove.settle()
            assert await self.labelled(grove, QUEUE) == {"root.team-a", "root.team-b"}
            assert await self.bound(grove) == 4

    async def test_a_required_topology_is_refused_before_anything_is_created(self) -> None:
        binding = {
            "apiVersion": "grove.io/v1alpha1",
            "kind": "ClusterTopologyBinding",
            "metadata": {"name": "floor"},
            "spec": {"levels": [{"domain": "rack", "key": RACK}]},
        }
        within: Json = {"topologyName": "floor", "pack": {"required": "rack"}}
        async with self.cluster(4) as grove:
            await grove.cluster.create("/apis/grove.io/v1alpha1/clustertopologybindings", binding)
            await grove.apply(self.set_of(clique("worker", 2), topologyConstraint=within))
            await grove.settle()
            (said, _) = (await grove.list("podcliquesets"))["demo"]["status"]["conditions"]
            assert (said["type"], said["status"]) == ("Invalid", "True")
            assert "YuniKorn does not support topology" in said["message"]
            assert await grove.list("pods") == {}
            within = {"topologyName": "floor", "pack": {"preferred": "rack"}}
            await grove.apply(self.set_of(clique("worker", 2), name="soft", topologyConstraint=within))
            await grove.settle()
            said = await self.condition(grove, "soft-0", "BackendSynced")
            assert (said["status"], said["reason"]) == ("True", "WeakerThanAsked")
            assert "objects" not in said["message"]
            assert await self.bound(grove) == 2

    async def test_a_deleted_set_leaves_nothing(self) -> None:
        async with self.cluster(4) as grove:
            await grove.apply(self.set_of(clique("worker", 2)))
            await grove.settle()
            await grove.call("DELETE", f"{SETS}/demo")
            await grove.settle()
            assert await grove.list("pods") == {}
            assert await grove.list("podgangs") == {}

    async def test_a_pod_with_a_wrong_link_is_no_member(self) -> None:
        """It keeps its gate; it would be an application of its own."""
        async with self.cluster(4, schedulers=[]) as grove:
            await grove.apply(self.set_of(clique("worker", 2)))
            await grove.until(lambda: self.opened(grove, 2))
            (name, *_) = await grove.list("pods")
            await grove.call("PATCH", f"{PODS}/{name}", {"metadata": {"labels": {APPLICATION: "other"}}})
            await grove.settle()
            assert "other" not in await self.labelled(grove, APPLICATION)

    async def opened(self, grove: GroveCluster, count: int) -> bool:
        return grove.observer.opened == count

    # There is no object that could be missing, edited or deleted; queues and priorities are those of the pods.
    test_a_queue_that_does_not_exist_is_named_and_its_arrival_heals: Any = None
    test_another_queue_reaches_the_scheduler: Any = None
    test_cliques_may_name_the_queue: Any = None
    test_another_priority_reaches_the_scheduler_and_none_removes_it: Any = None
    test_an_object_that_is_edited_or_deleted_by_hand_is_restored: Any = None
    test_its_objects_name_gang_and_set_and_older_ones_without_these_labels_get_them: Any = None
    test_a_pod_with_a_wrong_link_does_not_bind: Any = None
    test_a_missing_kind_is_named_and_its_arrival_heals: Any = None
