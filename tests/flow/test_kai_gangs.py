"""Gangs under KAI, on the embedded cluster."""

from typing import ClassVar

from grove.api import labels
from grove.schedulers.kai import Kai
from grove.schedulers.registry import Factory
from tests.flow.gang_scenarios import GangScenarios, Json, clique

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

    async def test_a_shared_claim_names_the_queue_of_its_set(self) -> None:
        devices = {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu.example.com"}}]}
        scopes = {"all": "AllReplicas", "each": "PerReplica"}
        templates = [{"name": name, "templateSpec": {"spec": {"devices": devices}}} for name in scopes]
        sharing = [{"name": name, "scope": scope} for name, scope in scopes.items()]
        manifest = self.set_of(
            clique("worker", 2, resourceSharing=sharing),
            queue="team-a",
            resourceClaimTemplates=templates,
            resourceSharing=sharing,
        )
        async with self.cluster(4) as grove:
            await self.prepare(grove, "team-a")
            await grove.apply(manifest)
            await grove.settle()
            found = await grove.call("GET", "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims")
            ours = [c for c in found["items"] if labels.PART_OF in c["metadata"]["labels"]]
            assert len(ours) == 5
            assert {c["metadata"]["labels"]["kai.scheduler/queue"] for c in ours} == {"team-a"}
