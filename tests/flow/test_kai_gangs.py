"""Gangs under KAI, on the embedded cluster."""

from typing import ClassVar

from grove.schedulers.kai import Kai
from grove.schedulers.registry import Factory
from tests.flow.gang_scenarios import GangScenarios, Json

SHARE = {"quota": -1, "limit": -1, "overQuotaWeight": 1}


class TestKai(GangScenarios):
    scheduler = "kai"
    scheduler_name = "kai-scheduler"
    factory: ClassVar[Factory] = Kai
    groups = "/apis/scheduling.run.ai/v2alpha2/namespaces/default/podgroups"
    queue_tag = ("labels", "kai.scheduler/queue")
    default_queues = ("default-queue",)
    queues_of_an_installation = ("default-queue",)

    @classmethod
    def queue(cls, name: str) -> tuple[str, Json]:
        spec = {"resources": {"cpu": SHARE, "memory": SHARE, "gpu": SHARE}}
        body = {
            "apiVersion": "scheduling.run.ai/v2",
            "kind": "Queue",
            "metadata": {"name": name},
            "spec": spec,
        }
        return "/apis/scheduling.run.ai/v2/queues", body
