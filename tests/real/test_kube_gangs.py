"""Gangs on real kube-schedulers: the scenarios of the embedded cluster, and what only a real control plane can show.

`--k8s` says which Kubernetes; 1.37 is run with and without CompositePodGroups, and with all gates off.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import pytest
from grove_testbed import flags
from grove_testbed.cluster import Cluster
from grove_testbed.fixtures import started

from grove.api import labels
from grove.api.config import OperatorConfiguration
from grove.api.crds import all_crds
from grove.runtime.client import Client
from grove.schedulers.kube import Kubernetes
from tests.flow import kube_scenarios as scenarios
from tests.flow.kube_scenarios import NODES, PODS, PRIORITY_CLASSES, SETS, TOPOLOGY, Json
from tests.real.operating import Admin, install, operator

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
SWITCHES = {"PodGroupV1beta1": FLAT, "NoGangAPI": OFF}
ROUNDS = 5
HELD_UP_IN_1_35 = (
    scenarios.one_cpu_short_binds_nothing_and_holds_up_no_smaller_gang,
    scenarios.a_scaled_gang_that_does_not_fit_waits_alone,
)

Test = TypeVar("Test", bound=Callable[..., Any])


class RealLab(Admin):
    """A real control plane with an operator of this process in it. `client` is the operator's."""

    def __init__(self, plane: Cluster, client: Client, dialect: str) -> None:
        super().__init__(plane)
        self.client = client
        self.dialect = dialect

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
    spoken = [
        pytest.param(d, marks=pytest.mark.xdist_group(f"kube {d}")) for d in meant if DIALECTS[d] == k8s
    ]
    absent = pytest.mark.skip(reason=f"not in the dialects of Kubernetes {k8s}")
    metafunc.parametrize("dialect", spoken or [pytest.param("", id="absent", marks=absent)], scope="module")


@pytest.fixture(scope="module")
def plane(dialect: str, k8s: str, request: pytest.FixtureRequest) -> Iterator[Cluster]:
    before = flags.GANGS[k8s]
    flags.GANGS[k8s] = SWITCHES.get(dialect, before)
    try:
        for cluster in started(request, k8s, definitions=all_crds(), scheduler="default", nodes=NODES):
            furnish(cluster)
            yield cluster
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


def furnish(plane: Cluster) -> None:
    install(plane, TOPOLOGY, *PRIORITY_CLASSES)
    plane.kubectl("wait", "--for=create", "serviceaccount/default", "--timeout=60s")


@within(*GANGED)
@pytest.mark.parametrize("scenario", scenarios.EVERYWHERE, ids=lambda s: s.__name__)
async def test_a_gang(scenario: Callable[[Any], Awaitable[None]], lab: RealLab, dialect: str) -> None:
    if dialect == "WorkloadV1alpha1" and scenario in HELD_UP_IN_1_35:
        pytest.skip("here a gang that waits holds the places of its pods for up to five minutes")
    await scenario(lab)


@within("CompositePodGroup")
@pytest.mark.parametrize("scenario", scenarios.WITH_TREES, ids=lambda s: s.__name__)
async def test_a_gang_with_constraints_on_its_parts(
    scenario: Callable[[Any], Awaitable[None]], lab: RealLab, dialect: str
) -> None:
    await scenario(lab)


@within("CompositePodGroup", "PodGroupV1beta1", "PodGroupV1alpha2")
@pytest.mark.parametrize("seed", range(ROUNDS))
async def test_competing_gangs_never_deadlock(seed: int, lab: RealLab, dialect: str) -> None:
    await scenarios.competing_gangs_never_deadlock(lab, seed)


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
    from grove.controllers.discovery import Discovery

    backend = Kubernetes({})
    known = await Discovery(lab.client, [backend])._answer(backend)
    kept = known.kept
    assert ("parent" in kept) == (dialect == "CompositePodGroup")
    assert ("schedulingGroup" in kept) == (
        dialect in ("CompositePodGroup", "PodGroupV1beta1", "PodGroupV1alpha2")
    )
    assert ("workloadRef" in kept) == (dialect == "WorkloadV1alpha1")
    assert ("disruption-v1alpha2" in kept) == (dialect == "PodGroupV1alpha2")
    if dialect == "NoGangAPI":
        assert {"schedulingGroup", "workloadRef"} <= known.dropped
