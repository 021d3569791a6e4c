"""Gangs under Volcano, on the embedded cluster."""

from typing import ClassVar

from grove.schedulers.registry import Factory
from grove.schedulers.volcano import Volcano
from tests.flow.gang_scenarios import PODS, GangScenarios, Json, clique

GANGS = "/apis/scheduler.grove.io/v1alpha1/namespaces/default/podgangs"


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

    async def test_an_old_object_that_is_not_deleted_is_named_and_no_gate_opens_until_it_is_gone(
        self,
    ) -> None:
        theirs = {"metadata": {"finalizers": ["example.com/theirs"]}}
        async with self.cluster(4) as grove:
            await grove.apply(self.set_of(clique("worker", 2)))
            await grove.settle()
            await grove.call("PATCH", f"{self.groups}/demo-0", theirs)
            await grove.call("DELETE", f"{GANGS}/demo-0")
            await grove.settle()
            said = await self.condition(grove, "demo-0", "BackendSynced")
            assert (said["status"], said["reason"]) == ("False", "OldObjectGoing")
            assert "PodGroup demo-0" in said["message"]
            opened = grove.observer.opened
            await grove.call("DELETE", f"{PODS}/{next(iter(await grove.list('pods')))}")
            await grove.settle()
            assert grove.observer.opened == opened
            await grove.call("PATCH", f"{self.groups}/demo-0", {"metadata": {"finalizers": None}})
            await grove.settle()
            assert (await self.condition(grove, "demo-0", "BackendSynced"))["status"] == "True"
            assert grove.observer.opened == opened + 1
            assert await self.bound(grove) == 2

    async def test_somebody_elses_object_of_the_same_name_is_no_defect(self) -> None:
        async with self.cluster(4) as grove:
            theirs = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup"}
            await grove.call("POST", self.groups, theirs | {"metadata": {"name": "demo-0"}})
            await grove.apply(self.set_of(clique("worker", 2)))
            await grove.settle()
            said = await self.condition(grove, "demo-0", "BackendSynced")
            assert (said["status"], said["reason"]) == ("False", "BackendFailed")
            assert "defect" not in said["message"]
            assert "does not belong to PodGang demo-0; delete it" in said["message"]
            await grove.call("DELETE", f"{self.groups}/demo-0")
            await grove.settle(quiet=120)
            assert await self.bound(grove) == 2
