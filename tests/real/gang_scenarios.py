"""What a gang must live through under any scheduler with gangs, on a real control plane with the real scheduler.

A test class inherits the scenarios and says how its scheduler is set up. The operator runs in the test's own process.
Each scenario has a namespace of its own, and leaves the cluster empty.
"""

from __future__ import annotations

import asyncio
import itertools
import json
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Any, ClassVar

import msgspec
import pytest
from grove_sandbox.nodes import node
from grove_testbed.cluster import Cluster

from grove.api import labels
from grove.api.config import OperatorConfiguration, SchedulerProfile, Schedulers, TopologyAwareScheduling
from grove.schedulers.guarantees import Guarantee
from grove.schedulers.kube import Kubernetes
from grove.schedulers.registry import Factory
from tests.real.operating import Admin, backend_alone, operator, prepared
from tests.recording import shows

Json = dict[str, Any]

# Long enough for a scheduler to make the mistake.
A_WHILE = 6.0
PATIENCE = 90.0
# Two pools: nodes of one CPU, two to a rack, for gangs that count them; and a crowd's.
SMALL, CROWD = 4, 10
POOL = "example.com/pool"
RACK = "example.com/rack"
SETS = "podcliquesets.v1alpha1.grove.io"
GANGS = "podgangs.v1alpha1.scheduler.grove.io"

PRIORITY_CLASSES: list[Json] = [
    {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": value,
    }
    for name, value in (("urgent", 90), ("meek", 10))
]

numbers = itertools.count()


def clique(
    name: str, replicas: int, *, minimum: int | None = None, cpu: str = "1", pool: str = "small", **more: Any
) -> Json:
    resources = {"requests": {"cpu": cpu, "memory": "16Mi"}}
    spec: Json = {
        "automountServiceAccountToken": False,
        "nodeSelector": {POOL: pool},
        "containers": [{"name": "main", "image": "app:1", "resources": resources}],
    }
    own: Json = {"roleName": name, "replicas": replicas, "podSpec": spec}
    return {"name": name, "spec": own | ({"minAvailable": minimum} if minimum else {}), **more}


class Space:
    """A namespace of the cluster, with an operator that serves it."""

    def __init__(
        self, cluster: Cluster, namespace: str, operator: Callable[[], AbstractAsyncContextManager[Any]]
    ) -> None:
        self.cluster = cluster
        self.namespace = namespace
        self.admin = Admin(cluster)
        self._operator = operator
        self._running: AsyncExitStack | None = None

    async def start(self) -> None:
        """The operator, unless it runs."""
        if self._running is None:
            self._running = AsyncExitStack()
            await self._running.enter_async_context(self._operator())

    async def stop(self) -> None:
        running, self._running = self._running, None
        if running is not None:
            await running.aclose()

    async def kubectl(self, *arguments: str, body: Json | None = None) -> str:
        stdin = json.dumps(body) if body is not None else None
        return await asyncio.to_thread(
            self.cluster.kubectl, *arguments, f"--namespace={self.namespace}", stdin=stdin
        )

    async def create(self, *objects: Json) -> None:
        await self.kubectl(
            "create", "--filename=-", body={"apiVersion": "v1", "kind": "List", "items": objects}
        )

    async def patch(self, what: str, change: Json) -> None:
        await self.kubectl("patch", what, "--type=merge", f"--patch={json.dumps(change)}")

    async def list(self, kind: str) -> list[Json]:
        """All objects of PLURAL, or of PLURAL.VERSION.GROUP; kubectl knows it by the same name."""
        plural, *rest = kind.split(".", 2)
        api = f"/apis/{rest[1]}/{rest[0]}" if rest else "/api/v1"
        path = f"{api}/namespaces/{self.namespace}/{plural}"
        return list((await self.admin.call("GET", path))["items"])

    async def bound(self) -> Counter[str]:
        """Pods on nodes, by gang."""
        return Counter(
            p["metadata"]["labels"][labels.POD_GANG]
            for p in await self.list("pods")
            if p["spec"].get("nodeName") and labels.POD_GANG in p["metadata"].get("labels", {})
        )

    async def condition(self, gang: str, kind: str) -> Json:
        for found in await self.list(GANGS):
            if found["metadata"]["name"] == gang:
                for said in found.get("status", {}).get("conditions", []):
                    if said["type"] == kind:
                        return dict(said)
        return {}

    async def until(self, what: str, holds: Callable[[], Awaitable[Any]], patience: float = PATIENCE) -> None:
        try:
            async with asyncio.timeout(patience):
                while not await holds():  # noqa: ASYNC110 the cluster is another process
                    await asyncio.sleep(0.2)
        except TimeoutError:
            waiting = [
                f"{g['metadata']['name']}: {c['type']} {c['status']} {c['reason']}: {c['message']}"
                for g in await self.list(GANGS)
                for c in g.get("status", {}).get("conditions", [])
                if g["status"]["phase"] != "Running"
            ]
            found = await self.bound()
            raise AssertionError(f"not within {patience} s: {what}; {found}; {waiting[:20]}") from None

    async def until_bound(self, **counts: int) -> None:
        async def so() -> bool:
            return await self.bound() == {g.replace("_", "-"): n for g, n in counts.items() if n}

        await self.until(f"bound are {counts}", so)

    async def until_explained(self, gang: str) -> None:
        """Until the scheduler has looked at a gang, and said why it waits."""

        async def so() -> bool:
            return bool((await self.condition(gang, "Unschedulable")).get("message"))

        await self.until(f"{gang} says why it waits", so)

    async def until_released(self, name: str, count: int) -> None:
        """Until so many pods of a set have no gate."""

        async def so() -> bool:
            pods = [p for p in await self.list("pods") if p["metadata"]["name"].startswith(f"{name}-")]
            return len([p for p in pods if not p["spec"].get("schedulingGates")]) == count

        await self.until(f"{count} pods of {name} are released", so)

    async def stays_bound(self, **counts: int) -> None:
        wanted = {g.replace("_", "-"): n for g, n in counts.items() if n}
        for _ in range(int(A_WHILE)):
            assert await self.bound() == wanted
            await asyncio.sleep(1)


@pytest.mark.real
@pytest.mark.timeout(600)
class GangScenarios:
    """`groups` is the resource of the scheduler's objects of gangs, `queue_tag` how a set names its queue."""

    scheduler: ClassVar[str]
    scheduler_name: ClassVar[str]
    factory: ClassVar[Factory]
    groups: ClassVar[str]
    queue_tag: ClassVar[tuple[str, str]]
    settings: ClassVar[Json] = {}
    keeps_preferences: ClassVar[bool] = True
    evicts_gangs: ClassVar[bool] = False
    """Whether preemption takes whole gangs."""
    evicts_too_many: ClassVar[bool] = False
    """Whether preemption of single pods may take one that need not go."""
    settles_in: ClassVar[float] = 2 * PATIENCE
    """How long a crowd of gangs may take until those that there is room for have it."""
    moves: ClassVar[bool] = True
    """Whether a waiting gang follows its set into another queue; else its pods must be recreated."""

    @classmethod
    def queue(cls, name: str, cpus: int | None = None) -> Json:
        """A queue, perhaps with a limit."""
        raise NotImplementedError

    @classmethod
    def topology(cls) -> list[Json]:
        """What the scheduler needs to know of racks, beside the binding."""
        return []

    @pytest.fixture(scope="class")
    @classmethod
    def real_cluster(cls, k8s: str, request: pytest.FixtureRequest) -> Iterator[Cluster]:
        nodes = [
            node(f"small-{i}", capacity={"cpu": "1"}, labels={POOL: "small", RACK: f"rack-{i // 2}"})
            for i in range(SMALL)
        ]
        nodes += [
            node(f"crowd-{i}", capacity={"cpu": "20"}, labels={POOL: "crowd", RACK: "far"})
            for i in range(CROWD)
        ]
        objects = [cls.binding(), *PRIORITY_CLASSES, *cls.topology()]
        admission = ("ServiceAccount",)
        yield from prepared(
            request, k8s, *objects, scheduler=cls.scheduler, nodes=nodes, skip_admission=admission
        )

    @pytest.fixture
    async def space(self, real_cluster: Cluster) -> AsyncIterator[Space]:
        namespace = f"space-{next(numbers)}"
        await asyncio.to_thread(real_cluster.kubectl, "create", "namespace", namespace)
        space = Space(real_cluster, namespace, lambda: operator(real_cluster, *self.configured()))
        await space.start()
        try:
            yield space
            await space.start()
            await space.kubectl("delete", "podcliquesets", "--all", "--wait=true", "--timeout=60s")
            await space.kubectl("delete", "pods", "--all", "--timeout=60s")
        finally:
            await space.stop()
            await space.admin.close()

    def configured(self) -> tuple[OperatorConfiguration, dict[str, Factory]]:
        profile = SchedulerProfile(
            name=self.scheduler_name, config=msgspec.Raw(msgspec.json.encode(self.settings))
        )
        configuration = OperatorConfiguration(
            scheduler=Schedulers(profiles=[profile], default_profile_name=self.scheduler_name),
            topology_aware_scheduling=TopologyAwareScheduling(enabled=True),
        )
        return configuration, {"default": Kubernetes, self.scheduler: type(self).factory}

    @staticmethod
    def binding() -> Json:
        return {
            "apiVersion": "grove.io/v1alpha1",
            "kind": "ClusterTopologyBinding",
            "metadata": {"name": "floor"},
            "spec": {"levels": [{"domain": "rack", "key": RACK}]},
        }

    async def test_the_annotation_decides_which_scheduler_sees_the_pods(self, space: Space) -> None:
        """The pods' own schedulerName names a scheduler that knows nothing of the gang."""
        worker = clique("worker", SMALL + 1)
        worker["spec"]["podSpec"]["schedulerName"] = "somebody-else"
        pcs = self.set_of(worker)
        pcs["metadata"].setdefault("annotations", {})[labels.SCHEDULER_BACKEND] = type(self).factory({}).name
        await space.create(pcs)
        await space.until_released("demo", SMALL + 1)
        await space.until_explained("demo-0")
        await space.stays_bound()
        assert {p["spec"]["schedulerName"] for p in await space.list("pods")} == {self.scheduler_name}

    def set_of(
        self, *cliques: Json, name: str = "demo", queue: str = "", replicas: int = 1, **template: Any
    ) -> Json:
        kind, key = self.queue_tag
        metadata: Json = {"name": name} | ({kind: {key: queue}} if queue else {})
        return {
            "apiVersion": "grove.io/v1alpha1",
            "kind": "PodCliqueSet",
            "metadata": metadata,
            "spec": {"replicas": replicas, "template": {"cliques": list(cliques), **template}},
        }

    @staticmethod
    def filler(machine: str) -> Json:
        """A pod that takes a node, beside all schedulers."""
        container = {"name": "main", "image": "app:1", "resources": {"requests": {"cpu": "1"}}}
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"filler-{machine}"},
            "spec": {"nodeName": machine, "automountServiceAccountToken": False, "containers": [container]},
        }

    async def group(self, space: Space) -> Json:
        (found,) = await space.list(self.groups)
        return found

    async def minimum(self, space: Space) -> int:
        """How many pods the scheduler's objects ask for."""
        return sum([int(g["spec"]["minMember"]) for g in await space.list(self.groups)])

    async def test_a_gang_that_fits_binds_whole(self, space: Space) -> None:
        await space.create(self.set_of(clique("router", 1), clique("worker", 3)))
        await space.until_bound(demo_0=4)

        async def runs() -> bool:
            (gang,) = await space.list(GANGS)
            return bool(gang["status"]["phase"] == "Running")

        await space.until("the gang runs", runs)

    @shows(Guarantee.ALL_OR_NOTHING)
    async def test_one_cpu_short_binds_nothing_and_freed_room_lets_it_through(self, space: Space) -> None:
        await space.create(self.filler("small-0"))
        await space.create(self.set_of(clique("router", 1), clique("worker", 3)))

        await space.until_explained("demo-0")
        await space.stays_bound()
        await space.kubectl("delete", "pod", "filler-small-0")
        await space.until_bound(demo_0=4)

    @shows(Guarantee.WAITING_HOLDS_NO_ROOM)
    async def test_a_gang_that_waits_holds_up_no_smaller_one(self, space: Space) -> None:
        await space.create(self.filler("small-0"))
        await space.create(self.set_of(clique("router", 1), clique("worker", 3)))
        await space.until_released("demo", 4)
        await space.create(self.set_of(clique("worker", 3), name="less"))
        await space.until_bound(less_0=3)

    @shows(Guarantee.MINIMUM_BELOW_REPLICAS)
    async def test_a_gang_above_its_minimum_starts_with_the_minimum(self, space: Space) -> None:
        await space.create(self.set_of(clique("router", 1), clique("worker", 6, minimum=2)))
        await space.until_bound(demo_0=4)

    @shows(Guarantee.ALL_OR_NOTHING)
    async def test_each_group_needs_its_own_minimum(self, space: Space) -> None:
        await space.create(self.set_of(clique("worker", 4, minimum=1), clique("whale", 1, cpu="2")))
        await space.until_explained("demo-0")
        await space.stays_bound()

    @shows(Guarantee.QUEUES)
    async def test_a_full_queue_holds_its_gangs_and_another_does_not(self, space: Space) -> None:
        await space.create(self.queue("narrow", cpus=1), self.queue("wide"))
        try:
            await space.create(self.set_of(clique("worker", 2), name="held", queue="narrow"))
            await space.create(self.set_of(clique("worker", 2), name="free", queue="wide"))
            await space.until_bound(free_0=2)
            await space.stays_bound(free_0=2)
            kind, key = self.queue_tag
            await space.patch("podcliqueset/held", {"metadata": {kind: {key: "wide"}}})
            if not self.moves:
                await space.kubectl("delete", "pods", "--selector=grove.io/podgang=held-0")
            await space.until_bound(free_0=2, held_0=2)
        finally:
            await space.kubectl("delete", "podcliquesets", "--all", "--timeout=60s")
            for name in ("narrow", "wide"):
                await space.kubectl("delete", self.queues, name)

    queues: ClassVar[str]

    async def test_a_queue_that_does_not_exist_is_named_and_its_arrival_heals(self, space: Space) -> None:
        await space.create(self.set_of(clique("worker", 2), queue="late"))

        async def named() -> bool:
            return "'late'" in (await space.condition("demo-0", "BackendSynced")).get("message", "")

        await space.until("the queue is named", named)
        await space.create(self.queue("late"))
        await space.until_bound(demo_0=2)
        await space.kubectl("delete", "podcliquesets", "--all", "--timeout=60s")
        await space.kubectl("delete", self.queues, "late")

    @shows(Guarantee.PREEMPTION)
    async def test_an_urgent_gang_takes_the_place_of_a_lesser_one(self, space: Space) -> None:
        """Which goes as a whole, or loses single pods."""
        await space.create(self.set_of(clique("worker", 4), name="meek", priorityClassName="meek"))
        await space.until_bound(meek_0=4)
        await space.create(self.set_of(clique("worker", 2), name="urgent", priorityClassName="urgent"))
        most = 0 if self.evicts_gangs else 2
        least = 0 if self.evicts_too_many else most

        async def displaced() -> bool:
            found = await space.bound()
            return found["urgent-0"] == 2 and least <= found["meek-0"] <= most

        await space.until("the urgent gang has its place", displaced)
        for _ in range(int(A_WHILE)):
            assert await displaced()
            await asyncio.sleep(1)
        await space.kubectl("delete", "podcliqueset", "urgent", "--timeout=60s")
        await space.until_bound(meek_0=4)

    async def test_a_pod_that_is_lost_comes_back(self, space: Space) -> None:
        await space.create(self.set_of(clique("worker", 3)))
        await space.until_bound(demo_0=3)
        lost = (await space.list("pods"))[0]["metadata"]["name"]
        await space.kubectl("delete", "pod", lost)
        await space.until_bound(demo_0=3)
        assert lost not in [p["metadata"]["name"] for p in await space.list("pods")]

    @shows(Guarantee.RESCHEDULED_AS_GANG)
    async def test_a_gang_that_is_lost_as_a_whole_is_placed_as_a_whole(self, space: Space) -> None:
        await space.create(self.set_of(clique("router", 1), clique("worker", 3)))
        await space.until_bound(demo_0=4)
        await space.create(self.filler("small-0"))
        path = f"/api/v1/namespaces/{space.namespace}/pods"
        await space.admin.call("DELETE", path, query={"labelSelector": f"{labels.POD_GANG}=demo-0"})

        async def four_new() -> bool:
            pods = [p for p in await space.list("pods") if labels.POD_GANG in p["metadata"]["labels"]]
            return len(pods) == 4 and not any(p["spec"].get("nodeName") for p in pods)

        await space.until("four new pods wait", four_new)
        await space.stays_bound()
        await space.kubectl("delete", "pod", "filler-small-0")
        await space.until_bound(demo_0=4)

    async def test_an_object_that_is_deleted_by_hand_comes_back(self, space: Space) -> None:
        await space.create(self.set_of(clique("worker", 2)))
        await space.until_bound(demo_0=2)
        before = await self.group(space)
        await space.kubectl("delete", self.groups, before["metadata"]["name"])

        async def back() -> bool:
            found = await space.list(self.groups)
            return bool(found) and found[0]["spec"] == before["spec"]

        await space.until("the object is back", back)
        await space.stays_bound(demo_0=2)

    async def test_a_scaled_gang_waits_for_its_base_gang(self, space: Space) -> None:
        unit = {"name": "unit", "cliqueNames": ["worker"], "replicas": 2, "minAvailable": 1}
        await space.create(self.filler("small-0"))
        await space.create(
            self.set_of(clique("router", 2), clique("worker", 2), podCliqueScalingGroups=[unit])
        )
        await space.until_explained("demo-0")
        await space.stays_bound()
        await space.kubectl("delete", "pod", "filler-small-0")
        await space.until_bound(demo_0=4)
        await space.patch("podcliqueset/demo", {"spec": {"replicas": 0}})

        async def empty() -> bool:
            return not await space.list("pods") and not await space.list(self.groups)

        await space.until("nothing is left", empty)

    @shows(Guarantee.TOPOLOGY_REQUIRED)
    async def test_a_required_rack_is_kept(self, space: Space) -> None:
        await space.create(self.filler("small-0"))
        near: Json = {"topologyConstraint": {"topologyName": "floor", "pack": {"required": "rack"}}}
        await space.create(self.set_of(clique("worker", 2), **near))
        await space.until_bound(demo_0=2)
        nodes = {p["spec"]["nodeName"] for p in await space.list("pods")} - {"small-0"}
        assert nodes == {"small-2", "small-3"}

    @shows(Guarantee.TOPOLOGY_PREFERRED)
    async def test_a_preferred_rack_is_kept_where_it_can_be_and_given_up_where_not(
        self, space: Space
    ) -> None:
        near: Json = {"topologyConstraint": {"topologyName": "floor", "pack": {"preferred": "rack"}}}
        await space.create(self.filler("small-0"))
        await space.create(self.set_of(clique("worker", 2), name="pair", **near))
        await space.until_bound(pair_0=2)
        nodes = {p["spec"]["nodeName"] for p in await space.list("pods")} - {"small-0"}
        assert nodes == {"small-2", "small-3"} or not self.keeps_preferences
        await space.kubectl("delete", "podcliqueset", "pair", "--timeout=60s")
        await space.until_bound()
        await space.create(self.set_of(clique("worker", 3), name="trio", **near))
        await space.until_bound(trio_0=3)

    async def test_a_clique_that_is_scaled_out_and_in_again(self, space: Space) -> None:
        await space.create(self.set_of(clique("worker", 2, minimum=2)))
        await space.until_bound(demo_0=2)
        await space.kubectl("scale", "podcliques.grove.io", "demo-0-worker", "--replicas=4")
        await space.until_bound(demo_0=4)
        await space.kubectl("scale", "podcliques.grove.io", "demo-0-worker", "--replicas=2")
        await space.until_bound(demo_0=2)

    async def test_a_minimum_that_changes_reaches_the_scheduler_and_disturbs_no_pod(
        self, real_cluster: Cluster, space: Space
    ) -> None:
        """Sets cannot change it; others who write PodGangs can."""
        await space.create(self.set_of(clique("worker", 3)))
        await space.until_bound(demo_0=3)
        before = {p["metadata"]["uid"] for p in await space.list("pods")}
        await space.stop()
        async with backend_alone(real_cluster, *self.configured(), self.scheduler):
            for number in (2, 3):
                (gang,) = await space.list(GANGS)
                groups = [g | {"minReplicas": number} for g in gang["spec"]["podgroups"]]
                await space.patch("podgang/demo-0", {"spec": {"podgroups": groups}})

                async def followed(wanted: int = number) -> bool:
                    return await self.minimum(space) == wanted

                await space.until(f"the minimum is {number}", followed)
            await space.stays_bound(demo_0=3)
        assert {p["metadata"]["uid"] for p in await space.list("pods")} == before

    async def test_a_rack_of_a_clique_that_is_too_small_binds_nothing(self, space: Space) -> None:
        near: Json = {"topologyConstraint": {"topologyName": "floor", "pack": {"required": "rack"}}}
        await space.create(self.set_of(clique("worker", 3, **near), clique("router", 1)))
        await space.until_explained("demo-0")
        await space.stays_bound()

    @shows(Guarantee.ALL_OR_NOTHING)
    async def test_a_crowd_of_gangs_runs_as_many_as_there_is_room_for_and_no_part_of_one(
        self, space: Space
    ) -> None:
        """50 gangs of 8 pods of one CPU; room for 25 of them."""
        await space.create(self.set_of(clique("worker", 8, pool="crowd"), name="crowd", replicas=50))

        clock = asyncio.get_running_loop().time
        parts: dict[str, float] = {}

        async def whole() -> int:
            """How many gangs are; none has been in part for long."""
            found = await space.bound()
            now = clock()
            alone = {g: parts.get(g, now) for g, n in found.items() if n < 8}
            parts.clear()
            parts.update(alone)
            assert not [g for g, since in parts.items() if now - since > A_WHILE], f"in part: {found}"
            return Counter(found.values())[8]

        async def full() -> bool:
            return await whole() == CROWD * 20 // 8

        await space.until("the room is full", full, patience=self.settles_in)
        for _ in range(int(A_WHILE)):
            assert await full()
            assert not parts
            await asyncio.sleep(1)
