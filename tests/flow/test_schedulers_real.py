"""The simulated schedulers agree with the real ones: the same gangs, right and wrong, end with the same pods bound.

Each case has a namespace and nodes of its own, so that all run side by side on one real control plane. What the
simulated scheduler bound in the embedded cluster, the real one must come to, and keep to for a while.
"""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import aiohttp
import looptime
import pytest
from grove_sandbox.nodes import node
from grove_testbed.cluster import Cluster
from grove_testbed.fixtures import started
from grove_testbed.schedulers import SCHEDULERS
from grove_testbed.sessions import session_to

from tests.flow.kubelet_cluster import Json, cluster, pod
from tests.flow.scheduler_gangs import (
    GANGS,
    GATE,
    KNOW_TOPOLOGY,
    PODS,
    ROLES,
    WRONG_LINKS,
    WRONG_OBJECTS,
    Gang,
    on_one_rack,
)

# Long enough for a scheduler to make a mistake, and to get over its back-off; and what it may take on a busy machine.
SETTLE_SECONDS = 20.0
PATIENCE = 120.0
# koord-scheduler leaves it to chance whether it tries a member beyond the minimum; Grove makes none.
LEFT_TO_CHANCE = {"koordinator": ("surplus", "surplus-gated")}
SIMULATED = {
    ("default", "1.35"): "kube-1.35",
    ("default", "1.36"): "kube-1.36",
    ("default", "1.37"): "kube-1.37",
    "kai": "kai",
    "koordinator": "koordinator",
    "volcano": "volcano",
    "yunikorn": "yunikorn",
}


@dataclass(frozen=True)
class Case:
    gang: Gang
    cpus: tuple[int, ...] = (9,)
    left_out: int = -1
    gated: frozenset[str] = frozenset()
    surplus: int = 0


def cases(name: str) -> dict[str, Case]:
    make = GANGS[name]
    names = frozenset(pod_name for _, pod_name in PODS)
    found = {
        "fits": Case(make(), (2, 2)),
        "does-not-fit": Case(make(), (2,)),
        "gated": Case(make(), gated=names),
        "half-gated": Case(make(), gated=frozenset(["worker-1"])),
        "surplus": Case(make(), (2, 2), surplus=2),
        "surplus-gated": Case(make(), (9,), surplus=1, gated=frozenset(["worker-2"])),
    }
    if name in KNOW_TOPOLOGY:
        for title, cpus in {"rack-fits": (2, 3), "rack-too-small": (2, 2)}.items():
            found[title] = Case(on_one_rack(name, [f"{title}-{number}" for number in range(2)]), cpus)
    for number in range(len(make().objects)):
        found[f"without-object-{number}"] = Case(make(), left_out=number)
    for number, wrong in enumerate(w for n, w in WRONG_LINKS if n == name):
        found[f"wrong-link-{number}"] = Case(_relinked(make(), wrong))
    for number, change in enumerate(c for n, c in WRONG_OBJECTS if n == name):
        gang = make()
        change(gang)
        found[f"wrong-object-{number}"] = Case(gang)
    return found


def _relinked(gang: Gang, wrong: Callable[[Json], Json]) -> Gang:
    right = gang.link
    return replace(gang, link=lambda role: wrong(right(role)))


@dataclass
class Written:
    """Everything of a case, as it is created; names that must be unique in a cluster carry those of the case."""

    nodes: list[Json]
    objects: list[tuple[str, Json]]
    pods: list[Json]
    namespace: str


def written(case: Case, title: str) -> Written:
    nodes = [
        node(
            f"{title}-{number}", rack=f"{title}-{number}", capacity={"cpu": str(cpu)}, labels={"case": title}
        )
        for number, cpu in enumerate(case.cpus)
    ]
    workers = [("worker", f"worker-{2 + number}") for number in range(case.surplus)]
    pods = [
        pod(
            name,
            scheduler=case.gang.scheduler,
            nodeSelector={"case": title},
            **case.gang.link(role),
            **_gates(name in case.gated),
        )
        # Those with a gate first: else the others may be bound before a scheduler can know of them.
        for role, name in sorted([*PODS, *workers], key=lambda item: item[1] not in case.gated)
    ]
    objects = [o for number, o in enumerate(case.gang.objects) if number != case.left_out]
    # Queues are of the whole cluster; KAI tells PodGroups and YuniKorn applications apart by name alone.
    unique = {
        f'"{word}"': f'"{word}-{title}"'
        for word in ("default-queue", "default-parent", "cluster-topology", "pg-g")
    }
    unique['"yunikorn.apache.org/app-id": "g"'] = f'"yunikorn.apache.org/app-id": "{title}"'
    unique["default/g-"] = f"{title}/g-"
    # YuniKorn's placeholders go where their group says, not where its pods do.
    unique[r"\"minMember\""] = rf"\"nodeSelector\": {{\"case\": \"{title}\"}}, \"minMember\""

    def own(obj: Any) -> Any:
        text = json.dumps(obj)
        for word, instead in unique.items():
            text = text.replace(word, instead)
        return json.loads(text)

    moved = [
        (path.replace("/namespaces/default/", f"/namespaces/{title}/"), own(obj)) for path, obj in objects
    ]
    return Written(nodes, moved, [own(p) for p in pods], title)


def _gates(gated: bool) -> dict[str, Any]:
    return {"schedulingGates": [{"name": GATE}]} if gated else {}


def roles(pods: list[Json]) -> dict[str, int]:
    """How many of each role are bound; which of several equal pods, no scheduler promises."""
    bound = Counter(p["metadata"]["name"].split("-")[0] for p in pods if p["spec"].get("nodeName"))
    return {role: bound[role] for role in ROLES}


@pytest.fixture(scope="module", params=[pytest.param(s, marks=pytest.mark.scheduler(s)) for s in SCHEDULERS])
def scheduler(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture(scope="module")
def control_plane(scheduler: str, k8s: str, request: pytest.FixtureRequest) -> Iterator[Cluster]:
    yield from started(request, k8s, scheduler=scheduler, nodes=1, skip_admission=("ServiceAccount",))


@pytest.fixture
async def session(control_plane: Cluster) -> AsyncIterator[aiohttp.ClientSession]:
    headers = {"Authorization": f"Bearer {control_plane.token()}"}
    async with session_to(control_plane, base_url=control_plane.url, headers=headers) as made:
        yield made


async def create_really(session: aiohttp.ClientSession, case: Written) -> None:
    async def create(path: str, obj: Json) -> None:
        async with session.post(path, json=obj) as answer:
            assert answer.status == 201, await answer.text()

    await create(
        "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": case.namespace}}
    )
    for manifest in case.nodes:
        await create("/api/v1/nodes", manifest)
    for path, obj in case.objects:
        await create(path, obj)
    for manifest in case.pods:
        await create(f"/api/v1/namespaces/{case.namespace}/pods", manifest)


async def bound_really(session: aiohttp.ClientSession) -> dict[str, dict[str, int]]:
    """By namespace."""
    async with session.get("/api/v1/pods") as answer:
        found = (await answer.json())["items"]
    spaces = {p["metadata"]["namespace"] for p in found}
    return {space: roles([p for p in found if p["metadata"]["namespace"] == space]) for space in spaces}


async def bound_in_simulation(name: str, case: Written) -> dict[str, int]:
    async with cluster(name, nodes=case.nodes) as c:
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": case.namespace}}
        await c.create("/api/v1/namespaces", namespace)
        for path, obj in case.objects:
            await c.create(path, obj)
        pods = f"/api/v1/namespaces/{case.namespace}/pods"
        for manifest in case.pods:
            await c.create(pods, manifest)
        await c.quiet(SETTLE_SECONDS)
        found = (await c.get(pods))["items"]
        return roles(found)


async def simulate(name: str) -> dict[str, dict[str, int]]:
    return {
        title: await bound_in_simulation(name, written(case, title)) for title, case in cases(name).items()
    }


@pytest.mark.real
@pytest.mark.timeout(300)
async def test_the_simulated_scheduler_agrees_with_the_real_one(
    scheduler: str, k8s: str, session: aiohttp.ClientSession
) -> None:
    name = SIMULATED.get(scheduler) or SIMULATED[scheduler, k8s]
    expected = await asyncio.to_thread(_in_virtual_time, name)
    wanted = {title: written(case, title) for title, case in cases(name).items()}
    await asyncio.gather(*(create_really(session, case) for case in wanted.values()))

    async def agrees() -> bool:
        found = await bound_really(session)
        chance = LEFT_TO_CHANCE.get(scheduler, ())
        return all(
            found[title] == bound or (title in chance and Counter(found[title]) <= Counter(bound))
            for title, bound in expected.items()
        )

    with suppress(TimeoutError):
        async with asyncio.timeout(PATIENCE):
            while not await agrees():  # noqa: ASYNC110 the cluster is another process
                await asyncio.sleep(0.5)
    await asyncio.sleep(SETTLE_SECONDS)
    assert await agrees(), f"{await bound_really(session)} is not {expected}"


def _in_virtual_time(name: str) -> dict[str, dict[str, int]]:
    """In a thread of its own: the loop of the test runs in real time."""
    loop = looptime.new_event_loop()
    try:
        return loop.run_until_complete(simulate(name))
    finally:
        loop.close()
