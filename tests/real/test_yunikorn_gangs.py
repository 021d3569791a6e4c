"""Gangs under the real YuniKorn. Its port is fixed: one at a time on a machine."""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar

import pytest
from grove_testbed.cluster import Cluster

from grove.schedulers.guarantees import Guarantee
from grove.schedulers.registry import Factory
from grove.schedulers.yunikorn import YuniKorn
from grove.schedulers.yunikorn.policy_parameters import PARAMETERS
from tests.real.gang_scenarios import GANGS, PATIENCE, SETS, GangScenarios, Json, Space, clique
from tests.recording import shows

pytestmark = pytest.mark.scheduler("yunikorn")

QUEUES = """\
partitions:
- name: default
  placementrules:
  - {{name: provided, create: {create}}}
  - {{name: tag, value: namespace, create: {create}}}
  queues:
  - name: root
    submitacl: '*'
    queues:
    - name: narrow
      resources: {{max: {{vcore: {cpus}}}}}
    - name: wide
"""


NEAR: Json = {"topologyConstraint": {"topologyName": "floor", "pack": {"required": "rack"}}}


class TestYuniKorn(GangScenarios):
    scheduler = "yunikorn"
    scheduler_name = "yunikorn"
    factory: ClassVar[Factory] = YuniKorn
    # It has no objects of its own: those that must go with a gang are the gang itself.
    groups = GANGS
    queue_tag = ("labels", "yunikorn.apache.org/queue")
    keeps_preferences = False
    settings: ClassVar[Json] = {"placeholderTimeoutInSeconds": 60}
    # The last room may be shared by the placeholders of several, who must time out first.
    settles_in = 5 * PATIENCE

    @pytest.fixture(autouse=True)
    def forgetful(self, real_cluster: Cluster) -> None:
        """YuniKorn 1.8 never gives back the room of a pod that is deleted while it takes over its placeholder, as
        the last act of a test may do; the next test must not inherit that."""
        real_cluster.restart_scheduler("yunikorn")

    async def minimum(self, space: Space) -> int:
        """What the next application would ask for: the one that runs keeps its own."""
        return sum([g["minReplicas"] for g in (await self.group(space))["spec"]["podgroups"]])

    async def configure(self, space: Space, narrow: int, *, create: bool = True) -> None:
        queues = QUEUES.format(cpus=narrow, create=str(create).lower())
        path = "/api/v1/namespaces/yunikorn/configmaps/yunikorn-configs"
        await space.admin.call("PATCH", path, {"data": {"queues.yaml": queues}})

    async def test_a_gang_that_runs_out_of_time_is_tried_anew(self, space: Space) -> None:
        """YuniKorn fails its pods, and would place no other pod of that application, ever."""
        await space.create(self.filler("small-0"))
        demo = self.set_of(clique("router", 1), clique("worker", 3))
        demo["metadata"]["annotations"] = {PARAMETERS: "placeholderTimeoutInSeconds=8"}
        await space.create(demo)

        async def another() -> bool:
            return (await space.condition("demo-0", "SchedulerDialect")).get("reason") == "Application2"

        await space.until("there is another application", another)
        assert await space.bound() == {}
        await space.kubectl("delete", "pod", "filler-small-0")
        await space.until_bound(demo_0=4)

    async def test_a_gang_that_was_gated_longer_than_its_time_out_is_placed(self, space: Space) -> None:
        """Time behind a gate counts: the first application of the scaled gang may be over as soon as it begins."""
        fillers = [f"small-{i}" for i in range(3)]
        await space.create(*map(self.filler, fillers))
        unit = {"name": "unit", "cliqueNames": ["worker"], "replicas": 2, "minAvailable": 1}
        demo = self.set_of(clique("worker", 2), podCliqueScalingGroups=[unit])
        demo["metadata"]["annotations"] = {PARAMETERS: "placeholderTimeoutInSeconds=5"}
        await space.create(demo)
        await asyncio.sleep(8)
        await space.stays_bound()
        for name in fillers:
            await space.kubectl("delete", "pod", f"filler-{name}")
        await space.until_bound(demo_0=2, demo_0_unit_0=2)

    @shows(Guarantee.QUEUES)
    async def test_a_queue_that_is_too_small_rejects_its_gangs_until_it_grows(self, space: Space) -> None:
        await self.configure(space, narrow=1)
        await asyncio.sleep(2)
        await space.create(self.set_of(clique("worker", 2), name="held", queue="root.narrow"))
        await space.create(self.set_of(clique("worker", 2), name="free", queue="root.wide"))
        await space.until_bound(free_0=2)

        async def said() -> bool:
            events = await space.list("events")
            return any("ApplicationRejected" in str(e.get("note") or e.get("message")) for e in events)

        await space.until("the rejection is an event of the clique", said)
        await space.stays_bound(free_0=2)
        await self.configure(space, narrow=4)
        await space.until_bound(free_0=2, held_0=2)

    async def test_a_gang_that_is_rejected_follows_its_set_into_another_queue(self, space: Space) -> None:
        """With its next application."""
        await self.configure(space, narrow=1)
        await space.create(self.set_of(clique("worker", 2), queue="root.narrow"))

        async def said() -> bool:
            found = await space.condition("demo-0", "Unschedulable")
            return bool(found.get("reason") == "ApplicationRejected")

        await space.until("the gang says why it waits", said)
        kind, key = self.queue_tag
        await space.patch("podcliqueset/demo", {"metadata": {kind: {key: "root.wide"}}})
        await space.until_bound(demo_0=2)

    async def test_a_queue_that_does_not_exist_is_said_to_be_missing_and_its_arrival_heals(
        self, space: Space
    ) -> None:
        await self.configure(space, narrow=4, create=False)
        await asyncio.sleep(2)
        await space.create(self.set_of(clique("worker", 2), queue="root.nowhere"))

        async def missed() -> bool:
            [pcs] = await space.list(SETS)
            said = pcs.get("status", {}).get("conditions", ())
            return ("Running", "QueueMissing") in [(c["type"], c["reason"]) for c in said]

        await space.until("the queue is said to be missing", missed)
        await self.configure(space, narrow=4)
        await space.until_bound(demo_0=2)

    async def test_a_required_rack_is_kept(self, space: Space) -> None:
        """By refusing it: YuniKorn does not support topology."""
        await space.create(self.set_of(clique("worker", 2), **NEAR))
        await self.is_refused(space)

    async def test_a_rack_of_a_clique_that_is_too_small_binds_nothing(self, space: Space) -> None:
        """So is this one."""
        await space.create(self.set_of(clique("worker", 3, **NEAR), clique("router", 1)))
        await self.is_refused(space)

    async def is_refused(self, space: Space) -> None:
        async def refused() -> bool:
            (found,) = await space.list(SETS)
            return "does not support topology" in str(found.get("status", {}).get("conditions"))

        await space.until("the set says that it cannot be served", refused)
        assert await space.list("pods") == []

    # Its placeholders hold what they have.
    test_a_gang_that_waits_holds_up_no_smaller_one: Any = None
    # It preempts across queues only, for those below their guarantee.
    test_an_urgent_gang_takes_the_place_of_a_lesser_one: Any = None
    # A queue is made by its first application, or by the configuration; there is no object to lose.
    test_a_full_queue_holds_its_gangs_and_another_does_not: Any = None
    test_a_queue_that_does_not_exist_is_named_and_its_arrival_heals: Any = None
    test_an_object_that_is_deleted_by_hand_comes_back: Any = None
