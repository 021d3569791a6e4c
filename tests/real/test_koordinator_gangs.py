"""Gangs under the real koord-scheduler."""

from __future__ import annotations

from collections import Counter
from typing import ClassVar

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
    queues = "elasticquotas.scheduling.sigs.k8s.io"
    queue_tag = ("labels", "quota.scheduling.koordinator.sh/name")
    evicts_too_many = True
    # A label of pods says the quota.
    moves = False
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

    @classmethod
    def queue(cls, name: str, cpus: int | None = None) -> Json:
        most = {"cpu": cpus or 1000, "memory": "1000Gi"}
        return {
            "apiVersion": "scheduling.sigs.k8s.io/v1alpha1",
            "kind": "ElasticQuota",
            "metadata": {
                "name": name,
                "labels": {
                    "quota.scheduling.koordinator.sh/parent": "koordinator-root-quota",
                    "quota.scheduling.koordinator.sh/is-parent": "false",
                },
            },
            "spec": {"min": {"cpu": 0, "memory": 0}, "max": most},
        }
