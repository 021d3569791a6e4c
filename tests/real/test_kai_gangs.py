"""Gangs under the real KAI scheduler and binder."""

from __future__ import annotations

from typing import ClassVar

import pytest

from grove.schedulers.kai import Kai
from grove.schedulers.registry import Factory
from tests.real.gang_scenarios import GangScenarios, Json, Space

pytestmark = pytest.mark.scheduler("kai")


class TestKai(GangScenarios):
    scheduler = "kai"
    scheduler_name = "kai-scheduler"
    factory: ClassVar[Factory] = Kai
    groups = "podgroups.v2alpha2.scheduling.run.ai"
    queues = "queues.scheduling.run.ai"
    evicts_gangs = True
    queue_tag = ("labels", "kai.scheduler/queue")

    async def minimum(self, space: Space) -> int:
        return sum([s["minMember"] for s in (await self.group(space))["spec"]["subGroups"]])

    @classmethod
    def queue(cls, name: str, cpus: int | None = None) -> Json:
        free = {"quota": -1, "limit": -1, "overQuotaWeight": 1}
        cpu = {"quota": cpus * 1000, "limit": cpus * 1000, "overQuotaWeight": 1} if cpus else free
        return {
            "apiVersion": "scheduling.run.ai/v2",
            "kind": "Queue",
            "metadata": {"name": name},
            "spec": {
                "parentQueue": "default-parent-queue",
                "resources": {"cpu": cpu, "memory": free, "gpu": free},
            },
        }
