"""Gangs on real kube-schedulers: the scenarios of the embedded cluster, and what only a real control plane can show.

`--k8s` says which Kubernetes; 1.37 is run with and without CompositePodGroups, and with all gates off.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import msgspec
import pytest
from grove_sandbox.nodes import ZONE, node
from grove_testbed import flags
from grove_testbed.cluster import Cluster

from grove.api import labels
from grove.api.config import OperatorConfiguration
from grove.api.pod_view import Pod
from grove.controllers.shared.companions import PODS as PODS_KIND
from grove.runtime.cache.cache import Change
from grove.runtime.cache.informer import Informer
from grove.runtime.client.client import Client
from grove.schedulers.guarantees import Guarantee
from grove.schedulers.kube import Kubernetes
from grove.schedulers.registry import Factory
from tests.flow import kube_scenarios as scenarios
from tests.flow.kube_scenarios import NODES, PODS, PRIORITY_CLASSES, SETS, TOPOLOGY, Json
from tests.real.operating import Admin, backend_alone, operator, prepared
from tests.recording import shows

pytestmark = [pytest.mark.real, pytest.mark.scheduler("default"), pytest.mark.timeout(600)]

DIALECTS = {
    "CompositePodGroup": "1.37",
    "PodGroupV1beta1": "1.37",
    "NoGangAPI": "1.37",
    "PodGroupV1alpha2": "1.36",
    "WorkloadV1alpha1": "1.35",
}
OFF = flags.Gangs((), (), (), ())
FLAT = flags.Gangs(
    ("v1beta1",),
    ("GenericWorkload", "TopologyAwareWorkloadScheduling"),
    ("GenericWorkload", "TopologyAwareWorkloadScheduling"),
    ("GenericWorkload",),
)
GANGED = tuple(d for d in DIALECTS if d != "NoGangAPI")
OBJECTS: list[Json] = [TOPOLOGY, *PRIORITY_CLASSES]
SWITCHES = {"PodGroupV1beta1": FLAT, "NoGangAPI": OFF}
ROUNDS = {"CompositePodGroup": 50, "PodGroupV1beta1": 10, "PodGroupV1alpha2": 50, "WorkloadV1alpha1": 20}
# Rounds are played side by side, each lane on six CPUs of its own.
LANES = 5
LANE = "example.com/lane"
LANE_NODES = [
    node(
        f"lane-{lane}-{i}",
        capacity={"cpu": "2"},
        labels={LANE: str(lane)},
        taints=[{"key": LANE, "value": str(lane), "effect": "NoSchedule"}],
    )
    for lane in range(LANES)
    for i in range(3)
]

Test = TypeVar("Test", bound=Callable[..., Any])


class RealLab(Admin):
    """A real control plane with an operator of this process in it. `client` is the operator's."""

    def __init__(self, plane: Cluster, client: Client, dialect: str) -> None:
        super().__init__(plane)
        self.client = client
        self.dialect = dialect
        self.deleted: set[str] = set()

    async def call(
        self,
        method: str,
        path: str,
        body: Json | None = None,
        kind: str = "merge-patch+json",
        query: Mapping[str, str] | None = None,
    ) -> Json:
        if method == "DELETE":
            self.deleted.add(path)
        return await super().call(method, path, body, kind, query)

    async def until(self, holds: Callable[[], Awaitable[Any]], within: float = 120.0) -> None:
        async with asyncio.timeout(max(within, 120.0)):
            while not await holds():  # noqa: ASYNC110 the cluster is another process
                await asyncio.sleep(0.2)

    async def settle(self) -> None:
        await asyncio.sleep(5.0)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test runs in each dialect that it is about and that this Kubernetes speaks."""
    k8s = metafunc.config.getoption("--k8s")
    meant = getattr(metafunc.function, "dialects", DIALECTS)
    # Each dialect has a cluster of its own.
    spoken = [d for d in meant if DIALECTS[d] == k8s]
    absent = pytest.mark.skip(reason=f"not in the dialects of Kubernetes {k8s}")
    metafunc.parametrize("dialect", spoken or [pytest.param("", id="absent", marks=absent)], scope="module")


@pytest.fixture(scope="module")
def plane(dialect: str, k8s: str, request: pytest.FixtureRequest) -> Iterator[Cluster]:
    before = flags.GANGS[k8s]
    flags.GANGS[k8s] = SWITCHES.get(dialect, before)
    try:
        yield from prepared(request, k8s, *OBJECTS, scheduler="default", nodes=[*NODES, *LANE_NODES])
    finally:
        flags.GANGS[k8s] = before


def within(*dialects: str) -> Callable[[Test], Test]:
    """The dialects that a test is about."""

    def mark(test: Test) -> Test:
        test.dialects = dialects  # type: ignore[attr-defined]
        return test

    return mark


@pytest.fixture
async def lab(plane: Cluster, dialect: str) -> AsyncIterator[RealLab]:
    async with working(plane, dialect) as lab:
        yield lab
        for name in await scenarios.items(lab, SETS):  # left by a test that failed
            await scenarios.remove(lab, name)
        for name in await scenarios.items(lab, PODS):
            await lab.call("DELETE", f"{PODS}/{name}")


@asynccontextmanager
async def working(plane: Cluster, dialect: str) -> AsyncIterator[RealLab]:
    configuration = OperatorConfiguration()
    configuration.topology_aware_scheduling.enabled = True
    async with operator(plane, configuration, {"default": Kubernetes}) as client:
        lab = RealLab(plane, client, dialect)
        try:
            yield lab
        finally:
            await lab.close()


@within(*GANGED)
@pytest.mark.parametrize("scenario", scenarios.EVERYWHERE, ids=lambda s: s.__name__)
async def test_a_gang(scenario: Callable[[Any], Awaitable[None]], lab: RealLab, dialect: str) -> None:
    await scenario(lab)


@within("CompositePodGroup", "PodGroupV1beta1", "PodGroupV1alpha2")
@pytest.mark.parametrize("scenario", scenarios.WITHOUT_HOLDING, ids=lambda s: s.__name__)
async def test_a_gang_that_holds_no_room(
    scenario: Callable[[Any], Awaitable[None]], lab: RealLab, dialect: str
) -> None:
    await scenario(lab)


@within(*GANGED)
@shows(Guarantee.PREEMPTION)
async def test_an_urgent_gang_takes_the_place_of_a_lesser_one(lab: RealLab, dialect: str) -> None:
    """Which goes as a whole; in 1.35 it loses single pods."""
    meek = scenarios.a_set("meek", {"a": (3, 3), "b": (3, 3)})
    meek["spec"]["template"]["priorityClassName"] = "lazy"
    await lab.call("POST", SETS, meek)
    await lab.until(lambda: scenarios.bound(lab, "meek", 6))
    first = scenarios.a_set("first", {"a": (1, 1), "b": (1, 1)})
    first["spec"]["template"]["priorityClassName"] = "greedy"
    await lab.call("POST", SETS, first)
    await lab.until(lambda: scenarios.bound(lab, "first", 2))
    left = 4 if dialect in scenarios.HOLDING else 0
    await lab.until(lambda: scenarios.bound(lab, "meek", left))
    await lab.settle()
    assert await scenarios.bound(lab, "meek", left)
    await scenarios.remove(lab, "first")
    await lab.until(lambda: scenarios.bound(lab, "meek", 6))
    await scenarios.remove(lab, "meek")


@within(*GANGED)
async def test_a_live_gang_follows_its_spec_and_no_pod_is_disturbed(plane: Cluster, dialect: str) -> None:
    """Sets cannot change these; others who write PodGangs can. What cannot be changed while it is in use is said."""
    async with working(plane, dialect) as lab:
        await lab.call("POST", SETS, scenarios.a_set("live", {"a": (2, 2), "b": (1, 1)}))
        await lab.until(lambda: scenarios.bound(lab, "live", 3))
        pods = {p["metadata"]["uid"] for p in await scenarios.pods_of(lab, "live")}
        gang = (await scenarios.items(lab, scenarios.GANGS))["live-0"]
    a, b = gang["spec"]["podgroups"]
    fewer, in_zone = a | {"minReplicas": 1}, {"packConstraint": {"required": ZONE}}
    async with following(plane, dialect) as lab:

        async def becomes(**change: Any) -> None:
            await lab.call("PATCH", f"{scenarios.GANGS}/live-0", {"spec": change})
            await lab.until(lambda: in_sync(lab, "live-0"))
            await lab.until(lambda: none_is_going(lab))
            assert {p["metadata"]["uid"] for p in await scenarios.pods_of(lab, "live")} == pods

        await becomes(podgroups=[fewer, b])
        await becomes(podgroups=[a, b])
        await becomes(topologyConstraint=in_zone)
        await becomes(topologyConstraint=None)
        (gone,) = (p for p in await scenarios.pods_of(lab, "live") if scenarios.clique_of(p) == "live-0-b")
        await lab.call("DELETE", f"{PODS}/{gone['metadata']['name']}")
        pods.remove(gone["metadata"]["uid"])
        await becomes(podgroups=[a])
        await becomes(podgroups=[a, b])
    async with working(plane, dialect) as lab:
        await scenarios.remove(lab, "live")


@asynccontextmanager
async def following(plane: Cluster, dialect: str) -> AsyncIterator[RealLab]:
    """Only the backend runs."""
    factories: dict[str, Factory] = {"default": Kubernetes}
    async with backend_alone(plane, OperatorConfiguration(), factories, "default") as client:
        lab = RealLab(plane, client, dialect)
        try:
            yield lab
        finally:
            await lab.close()


async def in_sync(lab: RealLab, name: str) -> bool:
    gang = (await scenarios.items(lab, scenarios.GANGS))[name]
    said = scenarios.condition(gang, "BackendSynced")
    return bool(said["status"] == "True" and said["observedGeneration"] == gang["metadata"]["generation"])


async def none_is_going(lab: RealLab) -> bool:
    found = [o for kind in (await scenarios.native(lab)).values() for o in kind.values()]
    return bool(found) and not any(o["metadata"].get("deletionTimestamp") for o in found)


@within("CompositePodGroup")
@pytest.mark.parametrize("scenario", scenarios.WITH_TREES, ids=lambda s: s.__name__)
async def test_a_gang_with_constraints_on_its_parts(
    scenario: Callable[[Any], Awaitable[None]], lab: RealLab, dialect: str
) -> None:
    await scenario(lab)


@within("CompositePodGroup", "PodGroupV1beta1", "PodGroupV1alpha2")
async def test_competing_gangs_never_deadlock(lab: RealLab, dialect: str) -> None:
    async def rounds(lane: int) -> None:
        for seed in range(lane, ROUNDS[dialect], LANES):
            await scenarios.competing_gangs_never_deadlock(lab, seed, in_lane(lane))

    async with refereed(lab) as faults, asyncio.TaskGroup() as group:
        for lane in range(LANES):
            group.create_task(rounds(lane))
    assert faults == []


@within("WorkloadV1alpha1")
async def test_of_competing_gangs_no_part_ever_runs_alone(lab: RealLab, dialect: str) -> None:
    """They may hold up each other for five minutes: that long nobody waits here."""

    async def rounds(lane: int) -> None:
        for seed in range(lane, ROUNDS[dialect], LANES):
            names = await scenarios.compete(lab, seed, in_lane(lane))
            await lab.settle()
            for name in names:
                pods = await scenarios.pods_of(lab, name)
                assert len({bool(p["spec"].get("nodeName")) for p in pods}) == 1, f"a part of {name} runs"
            for name in names:
                await scenarios.remove(lab, name)

    async with refereed(lab) as faults, asyncio.TaskGroup() as group:
        for lane in range(LANES):
            group.create_task(rounds(lane))
    assert faults == []


@asynccontextmanager
async def refereed(lab: RealLab) -> AsyncIterator[list[str]]:
    """Looks at every change of a pod, and notes when both sets of a round have pods on nodes before one is deleted."""
    pods: Informer[Pod] = Informer(
        lab.client, PODS_KIND, msgspec.json.Decoder(Pod).decode, labels=labels.PART_OF
    )
    placed: dict[str, set[str]] = defaultdict(set)
    faults: list[str] = []

    def look(change: Change[Pod]) -> None:
        pod, name = change.object, change.object.metadata.name or ""
        side, _, number = pod.metadata.labels[labels.PART_OF].partition("-")
        if change.new is None:
            placed[f"{side}-{number}"].discard(name)
        elif change.new.spec.node_name:
            placed[f"{side}-{number}"].add(name)
            both = [f"left-{number}", f"right-{number}"]
            if all(placed[s] for s in both) and not any(f"{SETS}/{s}" in lab.deleted for s in both):
                faults.append(f"both of round {number} have places")

    pods.cache.subscribe(look)
    following = asyncio.create_task(pods.run())
    try:
        await pods.synced.wait()
        yield faults
    finally:
        following.cancel()


def in_lane(lane: int) -> Json:
    """What keeps pods to the nodes of a lane, as a taint keeps others off."""
    return {"nodeSelector": {LANE: str(lane)}, "tolerations": [{"key": LANE, "operator": "Exists"}]}


@within("NoGangAPI")
async def test_without_a_gang_api_a_set_runs_and_says_what_it_lacks(lab: RealLab, dialect: str) -> None:
    await lab.call("POST", SETS, scenarios.a_set("plain", {"a": (2, 2), "b": (1, 1)}))
    await lab.until(lambda: scenarios.bound(lab, "plain", 3))
    gang = (await scenarios.items(lab, scenarios.GANGS))["plain-0"]
    assert scenarios.condition(gang, "SchedulerDialect")["reason"] == "NoGangAPI"
    assert scenarios.condition(gang, "BackendSynced")["reason"] == "WeakerThanAsked"
    assert "GenericWorkload" in scenarios.condition(gang, "BackendSynced")["message"]
    await scenarios.remove(lab, "plain")


@within("NoGangAPI")
async def test_a_set_that_insists_on_its_guarantee_stays_gated(lab: RealLab, dialect: str) -> None:
    wanted = scenarios.a_set("proud", {"a": (2, 2)})
    wanted["metadata"]["annotations"] = {labels.GANG_GUARANTEE: labels.GUARANTEE_STRICT}
    await lab.call("POST", SETS, wanted)
    await lab.until(lambda: scenarios.count_is(lab, "proud", 2))
    await lab.until(lambda: scenarios.says(lab, "proud-0", "BackendSynced", "refused"))
    await lab.settle()
    for pod in await scenarios.pods_of(lab, "proud"):
        assert scenarios.condition(pod, "PodScheduled")["reason"] == "SchedulingGated"
    await scenarios.remove(lab, "proud")


@within(*GANGED)
async def test_pods_without_their_group_wait_for_it(lab: RealLab, dialect: str) -> None:
    """What the operator relies on: a link to a group that is not there yet keeps a pod waiting, ungated or not."""
    link = (
        {"workloadRef": {"name": "late", "podGroup": "gang"}}
        if dialect == "WorkloadV1alpha1"
        else {"schedulingGroup": {"podGroupName": "late.pg"}}
    )
    pod = scenarios.a_pod("late-0", "1")
    pod["spec"] |= link
    await lab.call("POST", PODS, pod)
    await lab.settle()
    assert not await scenarios.is_bound(lab, "late-0")
    kind = scenarios.NATIVE[dialect][-1]
    policy = {"gang": {"minCount": 1}}
    spec: Json = {"schedulingPolicy": policy}
    name = "late.pg"
    if dialect == "WorkloadV1alpha1":
        name, spec = "late", {"podGroups": [{"name": "gang", "policy": policy}]}
    title = "Workload" if kind.endswith("workloads") else "PodGroup"
    version = f"scheduling.k8s.io/{kind.split('/')[0]}"
    body = {"apiVersion": version, "kind": title, "metadata": {"name": name}, "spec": spec}
    await lab.call("POST", scenarios.native_path(kind), body)
    await lab.until(lambda: scenarios.is_bound(lab, "late-0"))
    await lab.call("DELETE", f"{PODS}/late-0")
    await lab.call("DELETE", f"{scenarios.native_path(kind)}/{name}")


async def test_probes_tell_what_the_server_keeps(lab: RealLab, dialect: str) -> None:
    """Each dialect is chosen by its own probes, on a server with exactly its switches."""
    from grove.controllers.scheduler_objects.probing import discover_kinds

    found = await discover_kinds(lab.client, Kubernetes({}))
    kept = found.kept
    assert ("parent" in kept) == (dialect == "CompositePodGroup")
    assert ("schedulingGroup" in kept) == (
        dialect in ("CompositePodGroup", "PodGroupV1beta1", "PodGroupV1alpha2")
    )
    assert ("workloadRef" in kept) == (dialect == "WorkloadV1alpha1")
    assert ("disruption-v1alpha2" in kept) == (dialect == "PodGroupV1alpha2")
    if dialect == "NoGangAPI":
        assert {"schedulingGroup", "workloadRef"} <= found.dropped
