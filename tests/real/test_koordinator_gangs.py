"""Gangs under the real koord-scheduler."""

from __future__ import annotations

from collections import Counter
from typing import Any, ClassVar

import pytest

from grove.schedulers.koordinator import Koordinator
from grove.schedulers.registry import Factory
from tests.real.gang_scenarios import SETS, GangScenarios, Json, Space, clique

pytestmark = pytest.mark.scheduler("koordinator")


class TestKoordinator(GangScenarios):
    scheduler = "koordinator"
    scheduler_name = "koord-scheduler"
    factory: ClassVar[Factory] = Koordinator
    groups = "podgroups.v1alpha1.scheduling.sigs.k8s.io"
    queue_tag = ("labels", "quota.scheduling.koordinator.sh/name")
    settings: ClassVar[Json] = {"networkTopology": "managed"}

    async def test_a_pod_beyond_the_minimum_does_not_keep_the_gang_from_its_place(self, space: Space) -> None:
        """Its group is tried before the other one, and a member that fits nowhere would end the attempt."""
        await space.create(self.set_of(clique("aworker", 6, minimum=2), clique("zrouter", 2)))
        await space.until_bound(demo_0=4)
        await space.stays_bound(demo_0=4)

    async def test_the_true_minimum_is_there_in_the_end(self, space: Space) -> None:
        await space.create(self.set_of(clique("router", 1), clique("worker", 2)))
        await space.until_bound(demo_0=3)
        found = Counter(
            {g["metadata"]["name"]: g["spec"]["minMember"] for g in await space.list(self.groups)}
        )
        assert found == {"demo-0-router": 1, "demo-0-worker": 2}

    async def test_a_rack_of_a_clique_that_is_too_small_binds_nothing(self, space: Space) -> None:
        """It is refused: Koordinator gathers only whole gangs."""
        near: Json = {"topologyConstraint": {"topologyName": "floor", "pack": {"required": "rack"}}}
        await space.create(self.set_of(clique("worker", 3, **near), clique("router", 1)))

        async def refused() -> bool:
            (found,) = await space.list(SETS)
            return "whole gangs" in str(found.get("status", {}).get("conditions"))

        await space.until("the set says that it cannot be served", refused)
        await space.stays_bound()

    # It has quotas and no queues; the scheduler of the testbed has no quotas.
    test_a_full_queue_holds_its_gangs_and_another_does_not: Any = None
    test_a_queue_that_does_not_exist_is_named_and_its_arrival_heals: Any = None
