"""Gangs under the real Volcano."""

from __future__ import annotations

from typing import ClassVar

import pytest

from grove.schedulers.registry import Factory
from grove.schedulers.volcano import Volcano
from tests.real.gang_scenarios import RACK, GangScenarios, Json, Space, clique

pytestmark = pytest.mark.scheduler("volcano")


class TestVolcano(GangScenarios):
    scheduler = "volcano"
    scheduler_name = "volcano"
    factory: ClassVar[Factory] = Volcano
    groups = "podgroups.v1beta1.scheduling.volcano.sh"
    queues = "queues.scheduling.volcano.sh"
    queue_tag = ("annotations", "scheduling.grove.io/volcano-queue")
    # Volcano 1.14 prefers near nodes pod by pod: the first pod may start in a rack that is too small.
    keeps_preferences = False

    @classmethod
    def queue(cls, name: str, cpus: int | None = None) -> Json:
        return {
            "apiVersion": "scheduling.volcano.sh/v1beta1",
            "kind": "Queue",
            "metadata": {"name": name},
            "spec": {"weight": 1} | ({"capability": {"cpu": cpus}} if cpus else {}),
        }

    @classmethod
    def topology(cls) -> list[Json]:
        """As Volcano's own discovery makes them from the node label."""
        return [
            {
                "apiVersion": "topology.volcano.sh/v1alpha1",
                "kind": "HyperNode",
                "metadata": {"name": rack},
                "spec": {
                    "tier": 1,
                    "tierName": RACK,
                    "members": [{"type": "Node", "selector": {"labelMatch": {"matchLabels": {RACK: rack}}}}],
                },
            }
            for rack in ("rack-0", "rack-1", "far")
        ]


class TestVolcanoThatAdmits(TestVolcano):
    """The same with `minResources`: gangs are admitted to their queue when it has room for all of them."""

    settings: ClassVar[Json] = {"minResources": True}

    async def test_a_gang_beyond_its_queue_is_not_admitted(self, space: Space) -> None:
        await space.create(self.queue("tiny", cpus=1))
        await space.create(self.set_of(clique("worker", 2), queue="tiny"))

        async def waits() -> bool:
            said = await space.condition("demo-0", "Unschedulable")
            return bool(said.get("reason") == "WaitingForAdmission")

        await space.until("it waits for admission", waits)
        found = await self.group(space)
        assert (found["spec"]["minResources"]["cpu"], found["status"]["phase"]) == ("2", "Pending")
        await space.kubectl("delete", "podcliquesets", "--all", "--timeout=60s")
        await space.kubectl("delete", self.queues, "tiny")
