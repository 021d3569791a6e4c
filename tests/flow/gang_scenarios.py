"""What a gang must live through under any scheduler with gangs, on the embedded cluster.

A test class inherits the scenarios and says how its scheduler is set up.
"""

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, ClassVar

import msgspec
import pytest
from grove_sandbox.nodes import node
from grove_sandbox.schedulers.catalog import CATALOG

from grove.api import labels
from grove.api.config import OperatorConfiguration, SchedulerProfile, Schedulers, TopologyAwareScheduling
from grove.api.reasons import RunReason
from grove.cli.explain.cluster import find_subject, read
from grove.plan.explain import explain
from grove.schedulers.kube import Kubernetes
from grove.schedulers.registry import Factory
from tests.flow.operating import GroveCluster, running

Json = dict[str, Any]

SETS = "/apis/grove.io/v1alpha1/namespaces/default/podcliquesets"
PODS = "/api/v1/namespaces/default/pods"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def clique(
    name: str,
    replicas: int,
    *,
    minimum: int | None = None,
    cpu: str = "1",
    tags: Json | None = None,
    **more: Any,
) -> Json:
    containers = [{"name": "main", "image": "app:1", "resources": {"requests": {"cpu": cpu}}}]
    spec: Json = {"roleName": name, "replicas": replicas, "podSpec": {"containers": containers}}
    return {
        "name": name,
        "spec": spec | ({"minAvailable": minimum} if minimum else {}),
        **(tags or {}),
        **more,
    }


@pytest.mark.looptime
class GangScenarios:
    """`scheduler` is a name of the catalog, `groups` where the scheduler's objects of gangs are, and how they name
    their queue in a set."""

    scheduler: ClassVar[str]
    scheduler_name: ClassVar[str]
    factory: ClassVar[Factory]
    groups: ClassVar[str]
    queue_tag: ClassVar[tuple[str, str]]

    @classmethod
    def queue(cls, name: str) -> tuple[str, Json]:
        """Where to create a queue, and the queue, without limits."""
        raise NotImplementedError

    def cluster(
        self, cpus: int = 4, *, settings: Mapping[str, Any] | None = None, **more: Any
    ) -> AbstractAsyncContextManager[GroveCluster]:
        """Nodes of one CPU each, so that a gang that is one CPU short is one node short."""
        profile = SchedulerProfile(
            name=self.scheduler_name, config=msgspec.Raw(msgspec.json.encode(settings or {}))
        )
        configuration = OperatorConfiguration(
            scheduler=Schedulers(profiles=[profile], default_profile_name=self.scheduler_name),
            topology_aware_scheduling=TopologyAwareScheduling(enabled=True),
        )
        return running(
            nodes=[node(f"node-{i}", rack=f"rack-{i // 2}", capacity={"cpu": "1"}) for i in range(cpus)],
            **{
                "schedulers": [self.scheduler],
                "configuration": configuration,
                "factories": {"default": Kubernetes, self.scheduler: type(self).factory},
                **more,
            },
        )

    def set_of(self, *cliques: Json, name: str = "demo", queue: str = "", **template: Any) -> Json:
        kind, key = self.queue_tag
        metadata: Json = {"name": name} | ({kind: {key: queue}} if queue else {})
        return {
            "apiVersion": "grove.io/v1alpha1",
            "kind": "PodCliqueSet",
            "metadata": metadata,
            "spec": {"replicas": 1, "template": {"cliques": list(cliques), **template}},
        }

    async def prepare(self, grove: GroveCluster, *queues: str) -> None:
        for name in queues:
            await grove.cluster.create(*self.queue(name))

    async def bound(self, grove: GroveCluster, gang: str = "") -> int:
        found = await grove.list("pods")
        return sum(
            1
            for p in found.values()
            if p["spec"].get("nodeName")
            and gang in ("", p["metadata"].get("labels", {}).get(labels.POD_GANG))
        )

    async def group(self, grove: GroveCluster) -> Json:
        (found,) = (await grove.call("GET", self.groups))["items"]
        return dict(found)

    async def condition(self, grove: GroveCluster, gang: str, kind: str) -> Json:
        found = (await grove.list("podgangs"))[gang]
        return next(dict(c) for c in found["status"]["conditions"] if c["type"] == kind)

    default_queues: ClassVar[tuple[str, ...]] = ()

    async def test_a_gang_that_fits_binds_whole(self) -> None:
        async with self.cluster(4) as grove:
            await self.prepare(grove, *self.default_queues)
            await grove.apply(self.set_of(clique("router", 1), clique("worker", 3)))
            await grove.settle()
            assert await self.bound(grove) == 4
            assert (await grove.list("podgangs"))["demo-0"]["status"]["phase"] == "Running"

    async def test_one_cpu_short_binds_nothing_and_says_why_and_room_lets_it_through(self) -> None:
        async with self.cluster(4) as grove:
            await self.prepare(grove, *self.default_queues)
            await grove.apply(self.set_of(clique("router", 1), clique("worker", 4)))
            await grove.settle()
            assert await self.bound(grove) == 0
            said = await self.condition(grove, "demo-0", "Scheduled")
            assert (said["status"], said["reason"]) == ("False", "PodsNotScheduled")
            assert (await self.condition(grove, "demo-0", "Unschedulable"))["message"]
            await grove.cluster.create("/api/v1/nodes", node("node-x", capacity={"cpu": "1"}))
            await grove.settle()
            assert await self.bound(grove) == 5
            said = (await grove.list("podgangs"))["demo-0"]["status"]["conditions"]
            assert "Unschedulable" not in [c["type"] for c in said]

    async def test_a_gang_above_its_minimum_starts_with_the_minimum(self) -> None:
        async with self.cluster(4) as grove:
            await self.prepare(grove, *self.default_queues)
            await grove.apply(self.set_of(clique("router", 1), clique("worker", 6, minimum=2)))
            await grove.settle()
            assert await self.bound(grove) == 4
            assert (await grove.list("podgangs"))["demo-0"]["status"]["phase"] == "Running"

    async def test_each_group_needs_its_own_minimum(self) -> None:
        async with self.cluster(4) as grove:
            await self.prepare(grove, *self.default_queues)
            await grove.apply(self.set_of(clique("worker", 4, minimum=1), clique("whale", 1, cpu="2")))
            await grove.settle()
            assert await self.bound(grove) == 0

    async def test_a_queue_that_does_not_exist_is_named_and_its_arrival_heals(self) -> None:
        async with self.cluster(4) as grove:
            await self.prepare(grove, *self.default_queues)
            await grove.apply(self.set_of(clique("worker", 2), queue="team-a"))
            await grove.settle()
            said = await self.condition(grove, "demo-0", "BackendSynced")
            assert (said["status"], said["reason"]) == ("False", "QueueMissing")
            assert "'team-a'" in said["message"]
            assert grove.observer.opened == 0
            client = grove.cluster.client("explain")
            answer = explain(await read(client, await find_subject(client, "default", "demo")))
            assert answer.reason is RunReason.QUEUE_MISSING
            assert "'team-a'" in answer.said[0].text
            await self.prepare(grove, "team-a")
            await grove.settle()
            assert (await self.condition(grove, "demo-0", "BackendSynced"))["status"] == "True"
            assert await self.bound(grove) == 2

    async def test_another_queue_reaches_the_scheduler(self) -> None:
        async with self.cluster(4) as grove:
            await self.prepare(grove, *self.default_queues, "team-a", "team-b")
            await grove.apply(self.set_of(clique("worker", 2), queue="team-a"))
            await grove.settle()
            assert (await self.group(grove))["spec"]["queue"] == "team-a"
            kind, key = self.queue_tag
            await grove.call("PATCH", f"{SETS}/demo", {"metadata": {kind: {key: "team-b"}}})
            await grove.settle()
            assert (await self.group(grove))["spec"]["queue"] == "team-b"
            await grove.call("PATCH", f"{SETS}/demo", {"metadata": {kind: {key: None}}})
            await grove.settle()
            assert (await self.group(grove))["spec"]["queue"] not in ("team-a", "team-b")
            assert await self.bound(grove) == 2

    async def test_cliques_may_name_the_queue(self) -> None:
        kind, key = self.queue_tag
        async with self.cluster(4) as grove:
            await self.prepare(grove, *self.default_queues, "team-a")
            await grove.apply(
                self.set_of(clique("worker", 2, tags={kind: {key: "team-a"}}), clique("router", 1))
            )
            await grove.settle()
            assert (await self.group(grove))["spec"]["queue"] == "team-a"
            assert await self.bound(grove) == 3

    async def test_another_priority_reaches_the_scheduler_and_none_removes_it(self) -> None:
        async with self.cluster(4) as grove:
            await self.prepare(grove, *self.default_queues)
            await grove.apply(self.set_of(clique("worker", 2), priorityClassName="system-node-critical"))
            await grove.settle()
            assert (await self.group(grove))["spec"]["priorityClassName"] == "system-node-critical"
            template = {"priorityClassName": "system-cluster-critical"}
            await grove.call("PATCH", f"{SETS}/demo", {"spec": {"template": template}})
            await grove.settle()
            assert (await self.group(grove))["spec"]["priorityClassName"] == "system-cluster-critical"

    async def test_an_object_that_is_edited_or_deleted_by_hand_is_restored(self) -> None:
        async with self.cluster(4) as grove:
            await self.prepare(grove, *self.default_queues)
            await grove.apply(self.set_of(clique("worker", 2)))
            await grove.settle()
            before = await self.group(grove)
            path = f"{self.groups}/{before['metadata']['name']}"
            await grove.call("PATCH", path, {"spec": {"queue": "stray", "priorityClassName": "stray"}})
            await grove.settle()
            assert (await self.group(grove))["spec"] == before["spec"]
            await grove.call("DELETE", path)
            await grove.settle()
            assert (await self.group(grove))["spec"] == before["spec"]
            assert await self.bound(grove) == 2

    async def test_its_objects_name_gang_and_set_and_older_ones_without_these_labels_get_them(self) -> None:
        async with self.cluster(4) as grove:
            await self.prepare(grove, *self.default_queues)
            await grove.apply(self.set_of(clique("worker", 2)))
            await grove.settle()
            before = await self.group(grove)
            names = {labels.POD_GANG: "demo-0", labels.PART_OF: "demo"}
            assert before["metadata"]["labels"].items() >= names.items()
            path = f"{self.groups}/{before['metadata']['name']}"
            await grove.call("PATCH", path, {"metadata": {"labels": dict.fromkeys(names)}})
            await grove.settle()
            after = await self.group(grove)
            assert after["metadata"]["labels"] == before["metadata"]["labels"]
            assert after["metadata"]["uid"] == before["metadata"]["uid"]

    async def test_a_pod_that_is_lost_comes_back_into_the_gang(self) -> None:
        async with self.cluster(4) as grove:
            await self.prepare(grove, *self.default_queues)
            await grove.apply(self.set_of(clique("worker", 3)))
            await grove.settle()
            await grove.call("DELETE", f"{PODS}/{next(iter(await grove.list('pods')))}")
            await grove.settle()
            assert await self.bound(grove) == 3

    async def test_a_scaled_gang_waits_for_its_base_gang(self) -> None:
        group = {"name": "unit", "cliqueNames": ["worker"], "replicas": 2, "minAvailable": 1}
        async with self.cluster(3) as grove:
            await self.prepare(grove, *self.default_queues)
            await grove.apply(
                self.set_of(clique("router", 2), clique("worker", 2), podCliqueScalingGroups=[group])
            )
            await grove.settle()
            assert await self.bound(grove) == 0
            await grove.cluster.create("/api/v1/nodes", node("node-x", capacity={"cpu": "1"}))
            await grove.settle()
            assert (await self.bound(grove, "demo-0"), await self.bound(grove)) == (4, 4)

    async def test_a_deleted_set_leaves_nothing(self) -> None:
        async with self.cluster(4) as grove:
            await self.prepare(grove, *self.default_queues)
            await grove.apply(self.set_of(clique("worker", 2)))
            await grove.settle()
            await grove.call("DELETE", f"{SETS}/demo")
            await grove.settle()
            assert (await grove.call("GET", self.groups))["items"] == []
            assert await grove.list("pods") == {}

    async def test_a_pod_with_a_wrong_link_does_not_bind(self) -> None:
        async with self.cluster(4) as grove:
            await self.prepare(grove, *self.default_queues)
            await grove.apply(self.set_of(clique("worker", 2)))
            await grove.settle()
            (pod, *_) = (await grove.list("pods")).values()
            stray = {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {
                    "name": "stray",
                    "annotations": {k: f"{v}-no" for k, v in pod["metadata"]["annotations"].items()},
                },
                "spec": {"schedulerName": self.scheduler_name, "containers": pod["spec"]["containers"]},
            }
            await grove.call("POST", PODS, stray)
            await grove.settle()
            assert "nodeName" not in (await grove.list("pods"))["stray"]["spec"]

    async def test_a_missing_kind_is_named_and_its_arrival_heals(self) -> None:
        async with self.cluster(4, schedulers=[]) as grove:
            await grove.apply(self.set_of(clique("worker", 2)))
            await grove.settle()
            said = await self.condition(grove, "demo-0", "BackendSynced")
            assert said["reason"] == "SchedulerNotInstalled"
            assert "PodGroup" in said["message"]
            assert grove.observer.opened == 0
            for definition in CATALOG[self.scheduler].definitions():
                await grove.cluster.create(CRDS, definition)
            await self.prepare(grove, *self.queues_of_an_installation)
            await grove.settle()
            assert (await self.condition(grove, "demo-0", "BackendSynced"))["status"] == "True"
            assert grove.observer.opened == 2

    queues_of_an_installation: ClassVar[tuple[str, ...]] = ()

    async def test_a_second_reconcile_writes_nothing(self) -> None:
        async with self.cluster(4) as grove:
            await self.prepare(grove, *self.default_queues)
            await grove.apply(self.set_of(clique("worker", 2)))
            await grove.settle()
            before = len(grove.writes)
            await grove.call(
                "PATCH", f"{SETS}/demo", {"metadata": {"annotations": {"grove.io/look": "again"}}}
            )
            await grove.settle()
            assert grove.writes[before:] == ["MODIFIED podcliquesets"]
