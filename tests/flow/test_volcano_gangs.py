"""Gangs under Volcano, on the embedded cluster."""

from typing import ClassVar

from grove.schedulers.registry import Factory
from grove.schedulers.volcano import Volcano
from tests.flow.gang_scenarios import GangScenarios, Json


class TestVolcano(GangScenarios):
    scheduler = "volcano"
    scheduler_name = "volcano"
    factory: ClassVar[Factory] = Volcano
    groups = "/apis/scheduling.volcano.sh/v1beta1/namespaces/default/podgroups"
    queue_tag = ("annotations", "scheduling.grove.io/volcano-queue")
    queues_of_an_installation = ("default",)

    @classmethod
    def queue(cls, name: str) -> tuple[str, Json]:
        body = {
            "apiVersion": "scheduling.volcano.sh/v1beta1",
            "kind": "Queue",
            "metadata": {"name": name},
            "spec": {"weight": 1},
        }
        return "/apis/scheduling.volcano.sh/v1beta1/queues", body
