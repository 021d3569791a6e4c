"""Every simulated scheduler against the embedded API server: a right translation binds, a wrong one does not."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from grove_sandbox.apiserver.errors import GroupResource
from grove_sandbox.faults import Faults, Rates
from grove_sandbox.nodes import node

from tests.flow.kubelet_cluster import POD_PATH, Json, TestCluster, cluster, condition, pod
from tests.flow.scheduler_gangs import (
    GANGS,
    GATE,
    KNOW_TOPOLOGY,
    PODS,
    WRONG_LINKS,
    WRONG_OBJECTS,
    Gang,
    kai,
    koordinator,
    kube_135,
    kube_137,
    kube_flat,
    meta,
    on_one_rack,
    yunikorn,
)

pytestmark = pytest.mark.looptime

ALL = pytest.mark.parametrize("name", GANGS)
WITH_OBJECTS = pytest.mark.parametrize("name", [n for n in GANGS if n != "yunikorn"])


def cpus(*amounts: int) -> list[Json]:
    return [node(f"node-{i}", capacity={"cpu": str(amount)}) for i, amount in enumerate(amounts)]


async def create_pods(c: TestCluster, gang: Gang, *, gated: bool = False, cpu: str = "1") -> None:
    gates: dict[str, Any] = {"schedulingGates": [{"name": GATE}]} if gated else {}
    for role, name in PODS:
        await c.create(POD_PATH, pod(name, scheduler=gang.scheduler, cpu=cpu, **gang.link(role), **gates))


async def create_objects(c: TestCluster, gang: Gang) -> None:
    for path, obj in gang.objects:
        await c.create(path, obj)


async def ungate(c: TestCluster, name: str) -> None:
    await c.patch(f"{POD_PATH}/{name}", {"spec": {"schedulingGates": None}})


@ALL
async def test_a_gang_that_fits_runs(name: str) -> None:
    gang = GANGS[name]()
    async with cluster(name, nodes=cpus(2, 2)) as c:
        await create_objects(c, gang)
        await create_pods(c, gang)
        await c.quiet()
        pods = await c.pods()
        assert {condition(p, "Ready")["status"] for p in pods.values()} == {"True"}


@ALL
async def test_a_gang_that_does_not_fit_binds_no_pod_until_there_is_room(name: str) -> None:
    gang = GANGS[name]()
    async with cluster(name, nodes=cpus(2)) as c:
        await create_objects(c, gang)
        await create_pods(c, gang)
        await c.quiet(30)
        assert await c.bound() == []
        await c.keeper.join([node("node-9", capacity={"cpu": "1"})])
        await c.quiet(1)
        assert await c.bound() == ["leader-0", "worker-0", "worker-1"]


@ALL
async def test_pods_behind_a_gate_are_not_bound(name: str) -> None:
    gang = GANGS[name]()
    async with cluster(name, nodes=cpus(4)) as c:
        await create_objects(c, gang)
        await create_pods(c, gang, gated=True)
        await c.quiet(60)
        assert await c.bound() == []
        for _, pod_name in PODS:
            await ungate(c, pod_name)
        await c.quiet(1)
        assert await c.bound() == ["leader-0", "worker-0", "worker-1"]


@WITH_OBJECTS
async def test_pods_whose_objects_are_missing_wait_for_them(name: str) -> None:
    gang = GANGS[name]()
    async with cluster(name, nodes=cpus(4)) as c:
        await create_pods(c, gang)
        await c.quiet(60)
        assert await c.bound() == []
        await create_objects(c, gang)
        await c.quiet(1)
        assert await c.bound() == ["leader-0", "worker-0", "worker-1"]


@WITH_OBJECTS
async def test_one_missing_object_is_enough_to_hold_the_gang(name: str) -> None:
    gang = GANGS[name]()
    for left_out in range(len(gang.objects)):
        async with cluster(name, nodes=cpus(4)) as c:
            for number, (path, obj) in enumerate(gang.objects):
                if number != left_out:
                    await c.create(path, obj)
            await create_pods(c, gang)
            await c.quiet(60)
            assert await c.bound() == [], gang.objects[left_out]


@pytest.mark.parametrize(("name", "wrong"), WRONG_LINKS)
async def test_a_wrong_link_binds_no_pod(name: str, wrong: Callable[[Json], Json]) -> None:
    gang = GANGS[name]()
    right = gang.link
    gang.link = lambda role: wrong(right(role))
    async with cluster(name, nodes=cpus(9)) as c:
        await create_objects(c, gang)
        await create_pods(c, gang)
        await c.quiet(60)
        assert await c.bound() == []


@pytest.mark.parametrize(("name", "change"), WRONG_OBJECTS)
async def test_a_wrong_object_binds_no_pod(name: str, change: Callable[[Gang], None]) -> None:
    gang = GANGS[name]()
    change(gang)
    async with cluster(name, nodes=cpus(9)) as c:
        await create_objects(c, gang)
        await create_pods(c, gang)
        await c.quiet(60)
        assert await c.bound() == []


@ALL
async def test_pods_of_another_scheduler_are_not_touched(name: str) -> None:
    gang = GANGS[name]()
    gang.scheduler = "somebody-else"
    async with cluster(name, nodes=cpus(4)) as c:
        await create_objects(c, gang)
        await create_pods(c, gang)
        await c.quiet(60)
        if name == "kai":  # KAI goes by the annotation alone, whatever schedulerName says
            assert await c.bound() == ["leader-0", "worker-0", "worker-1"]
        else:
            assert await c.bound() == []


@ALL
async def test_a_settled_cluster_sees_no_rounds_and_no_writes(name: str) -> None:
    gang = GANGS[name]()
    async with cluster(name, nodes=cpus(2)) as c:
        await create_objects(c, gang)
        await create_pods(c, gang)
        await c.quiet(30)
        assert c.simulator is not None
        rounds, writes = c.simulator.rounds, len(c.writes)
        await c.quiet(240)
        assert (c.simulator.rounds, len(c.writes)) == (rounds, writes)


@pytest.mark.parametrize("name", ["kube-1.36", "kube-1.37", "kai", "koordinator", "volcano"])
async def test_what_does_not_fit_is_reported_on_the_pod_and_in_an_event(name: str) -> None:
    gang = GANGS[name]()
    async with cluster(name, nodes=cpus(2)) as c:
        await create_objects(c, gang)
        await create_pods(c, gang)
        await c.quiet(5)
        told = condition(await c.pod("worker-0"), "PodScheduled")
        assert told["status"] == "False"
        assert told["message"]
        events = (await c.get("/apis/events.k8s.io/v1/namespaces/default/events"))["items"]
        about = {e["regarding"]["name"] for e in events if e["reason"] == "FailedScheduling"}
        assert about == {"leader-0", "worker-0", "worker-1"}
        assert (await c.get(gang.group_path))["status"]


@pytest.mark.parametrize("name", KNOW_TOPOLOGY)
async def test_a_gang_that_must_be_on_one_rack_is_there_or_nowhere(name: str) -> None:
    for cpu, expected in ((3, ["node-1"] * 3), (2, [])):
        gang = on_one_rack(name, ["r0", "r1"])
        nodes = [node(f"node-{i}", rack=f"r{i}", capacity={"cpu": str(c)}) for i, c in enumerate((2, cpu))]
        async with cluster(name, nodes=nodes) as c:
            await create_objects(c, gang)
            await create_pods(c, gang)
            await c.quiet(10)
            placed = [p["spec"]["nodeName"] for p in (await c.pods()).values() if p["spec"].get("nodeName")]
            assert placed == expected


async def test_room_that_a_pod_leaves_goes_to_the_gang_that_waits() -> None:
    async with cluster("kube-1.37", nodes=cpus(3)) as c:
        await c.create(POD_PATH, pod("first"))
        await c.quiet()
        gang = kube_137()
        await create_objects(c, gang)
        await create_pods(c, gang)
        await c.quiet(30)
        assert await c.bound() == ["first"]
        await c.delete(f"{POD_PATH}/first")
        await c.quiet()
        assert await c.bound() == ["leader-0", "worker-0", "worker-1"]


async def test_two_gangs_never_share_what_is_enough_for_one() -> None:
    async with cluster("kube-1.37-flat", nodes=cpus(5)) as c:
        for name in ("x", "y"):
            group = kube_flat("v1beta1").objects[0]
            await c.create(group[0], {**group[1], **meta(name)})
            for number in range(3):
                link: dict[str, Any] = {"schedulingGroup": {"podGroupName": name}}
                await c.create(POD_PATH, pod(f"{name}-{number}", **link))
        await c.quiet(30)
        assert await c.bound() == ["x-0", "x-1", "x-2"]


async def test_a_half_ungated_gang_is_bound_in_part_by_koordinator() -> None:
    """The trap of the real one: it takes gated members along, and the API server refuses to bind them."""
    gang = koordinator()
    async with cluster("koordinator", nodes=cpus(4)) as c:
        await create_objects(c, gang)
        await create_pods(c, gang, gated=True)
        await ungate(c, "leader-0")
        await c.quiet(5)
        assert await c.bound() == ["leader-0"]


async def test_kube_1_35_gives_up_half_a_gang_after_five_minutes() -> None:
    gang = kube_135()
    async with cluster("kube-1.35", nodes=cpus(2)) as c:
        await create_objects(c, gang)
        await create_pods(c, gang)
        await c.quiet(5)
        nominated = [p["status"].get("nominatedNodeName") for p in (await c.pods()).values()]
        assert sorted(map(str, nominated)) == ["None", "node-0", "node-0"]
        await c.quiet(300)
        assert not any(p["status"].get("nominatedNodeName") for p in (await c.pods()).values())


async def test_yunikorn_fails_the_pods_of_a_hard_gang_when_time_is_up() -> None:
    gang = yunikorn()
    async with cluster("yunikorn", nodes=cpus(2)) as c:
        await create_pods(c, gang)
        await c.quiet(890)
        assert {p["status"]["phase"] for p in (await c.pods()).values()} == {"Pending"}
        await c.quiet(20)
        pods = await c.pods()
        assert {p["status"]["phase"] for p in pods.values()} == {"Failed"}
        assert {p["status"]["reason"] for p in pods.values()} == {"ResourceReservationTimeout"}


async def test_kai_evicts_a_gang_that_stays_short() -> None:
    gang = kai()
    async with cluster("kai", nodes=cpus(3)) as c:
        await create_objects(c, gang)
        await create_pods(c, gang)
        await c.quiet()
        await c.delete(f"{POD_PATH}/worker-1")
        await c.quiet(55)
        assert sorted(await c.pods()) == ["leader-0", "worker-0"]
        await c.quiet(10)
        assert await c.pods() == {}


@pytest.mark.parametrize("seed", range(3))
@ALL
async def test_whatever_fails_no_node_is_overbooked_and_the_gang_runs(name: str, seed: int) -> None:
    gang = GANGS[name]()
    faults = Faults(seed, Rates.all(0.05))
    async with cluster(name, nodes=cpus(2, 2), faults=faults) as c:
        c.server.on_write(lambda write: no_overbooking(c, 2))
        await create_objects(c, gang)
        await create_pods(c, gang)
        for number in range(6):
            await c.create(POD_PATH, pod(f"other-{number}", scheduler=gang.scheduler))
        await c.quiet(600)
        faults.stop()
        await c.quiet(600)
        assert c.server.observer_errors == []
        placed = [n for n in await c.bound() if not n.startswith("other")]
        assert placed in ([], ["leader-0", "worker-0", "worker-1"])


def no_overbooking(c: TestCluster, cpu: int) -> None:
    table = c.server.state.store.table(GroupResource("", "pods"))
    used = Counter(s.obj["spec"]["nodeName"] for s in table.scan(None) if s.obj["spec"].get("nodeName"))
    assert max(used.values(), default=0) <= cpu, used
