"""The kubelet against the embedded API server, in virtual time."""

import asyncio
from typing import Any

import pytest
from grove_sandbox.faults import Faults, Rates
from grove_sandbox.kubelet.node_lifecycle import NOT_READY
from grove_sandbox.kubelet.objects import KubeletPod
from grove_sandbox.nodes import node

from tests.flow.kubelet_cluster import POD_PATH, asks, cluster, condition, pod

pytestmark = pytest.mark.looptime


async def test_a_bound_pod_runs_and_is_ready_after_one_write() -> None:
    async with cluster() as c:
        await c.create(POD_PATH, pod("p", on="node-0"))
        await c.quiet()
        status = (await c.pod("p"))["status"]
        assert status["phase"] == "Running"
        assert {t["type"]: t["status"] for t in status["conditions"]} == {
            "PodReadyToStartContainers": "True",
            "Initialized": "True",
            "Ready": "True",
            "ContainersReady": "True",
        }
        (container,) = status["containerStatuses"]
        assert (container["ready"], container["restartCount"]) == (True, 0)
        assert "running" in container["state"]
        assert status["podIP"] == status["podIPs"][0]["ip"]
        assert status["hostIP"] == "10.0.0.1"
        assert status["startTime"]
        assert status["qosClass"] == "Burstable"
        assert len(c.writes_of("Pod")) == 2


async def test_an_unbound_pod_is_left_alone() -> None:
    async with cluster() as c:
        await c.create(POD_PATH, pod("p"))
        await c.quiet(60)
        assert (await c.pod("p"))["status"]["phase"] == "Pending"


async def test_a_pod_gets_ready_when_it_asks_to() -> None:
    async with cluster() as c:
        await c.create(POD_PATH, pod("p", on="node-0", annotations=asks(ready_after=30)))
        await c.quiet(29)
        waiting = await c.pod("p")
        assert waiting["status"]["phase"] == "Running"
        assert condition(waiting, "Ready")["message"] == "containers with unready status: [main]"
        await c.quiet(2)
        assert condition(await c.pod("p"), "Ready")["status"] == "True"
        assert len(c.writes_of("Pod")) == 3


async def test_a_pod_may_never_get_ready() -> None:
    async with cluster() as c:
        await c.create(POD_PATH, pod("p", on="node-0", annotations=asks(never_ready="true")))
        await c.quiet(86400)
        found = await c.pod("p")
        assert found["status"]["phase"] == "Running"
        assert condition(found, "Ready")["status"] == "False"


async def test_an_image_that_cannot_be_pulled_keeps_the_pod_pending() -> None:
    async with cluster() as c:
        await c.create(POD_PATH, pod("p", on="node-0", annotations=asks(image_error="main")))
        await c.quiet()
        status = (await c.pod("p"))["status"]
        assert status["phase"] == "Pending"
        assert status["containerStatuses"][0]["state"]["waiting"]["reason"] == "ImagePullBackOff"


async def test_init_containers_run_one_after_another() -> None:
    init = [
        {"name": "one", "image": "i"},
        {"name": "side", "image": "i", "restartPolicy": "Always"},
        {"name": "two", "image": "i"},
    ]
    async with cluster() as c:
        await c.create(
            POD_PATH, pod("p", on="node-0", initContainers=init, annotations=asks(init_seconds=10))
        )
        await c.quiet(9)
        first = await c.pod("p")
        assert [next(iter(s["state"])) for s in first["status"]["initContainerStatuses"]] == [
            "running",
            "waiting",
            "waiting",
        ]
        assert (
            condition(first, "Initialized")["message"] == "containers with incomplete status: [one side two]"
        )
        await c.quiet(10)
        second = await c.pod("p")
        assert [next(iter(s["state"])) for s in second["status"]["initContainerStatuses"]] == [
            "terminated",
            "running",
            "running",
        ]
        await c.quiet(2)
        done = await c.pod("p")
        assert done["status"]["phase"] == "Running"
        assert condition(done, "Initialized")["status"] == "True"


async def test_an_init_container_can_run_a_program() -> None:
    opened = asyncio.Event()
    seen: list[str] = []

    async def wait_for_parents(found: KubeletPod) -> int:
        seen.append(found.metadata.name or "")
        await opened.wait()
        return 0

    async with cluster(programs={"wait": wait_for_parents}) as c:
        await c.create(POD_PATH, pod("p", on="node-0", initContainers=[{"name": "wait", "image": "i"}]))
        await c.quiet(600)
        assert (await c.pod("p"))["status"]["phase"] == "Pending"
        opened.set()
        await c.quiet()
        assert (await c.pod("p"))["status"]["phase"] == "Running"
        assert seen == ["p"]


@pytest.mark.parametrize(
    ("policy", "code", "phase"),
    [("Never", 1, "Failed"), ("Never", 0, "Succeeded"), ("OnFailure", 0, "Succeeded")],
)
async def test_a_pod_that_is_not_to_be_restarted_ends(policy: str, code: int, phase: str) -> None:
    async with cluster() as c:
        script = asks(exit_after=5, exit_code=code)
        await c.create(POD_PATH, pod("p", on="node-0", restartPolicy=policy, annotations=script))
        await c.quiet(6)
        found = await c.pod("p")
        assert found["status"]["phase"] == phase
        assert condition(found, "Ready")["status"] == "False"
        assert found["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] == code


@pytest.mark.parametrize(("policy", "code"), [("Always", 1), ("Always", 0), ("OnFailure", 1)])
async def test_a_pod_that_is_to_be_restarted_waits_longer_each_time(policy: str, code: int) -> None:
    async with cluster() as c:
        script = asks(exit_after=5, exit_code=code)
        await c.create(POD_PATH, pod("p", on="node-0", restartPolicy=policy, annotations=script))
        await c.quiet(6)
        container = (await c.pod("p"))["status"]["containerStatuses"][0]
        assert container["state"]["waiting"]["reason"] == "CrashLoopBackOff"
        assert container["restartCount"] == 1
        assert container["lastState"]["terminated"]["exitCode"] == code
        await c.quiet(10)  # 5 + 10 + 1: runs for the second time
        assert condition(await c.pod("p"), "Ready")["status"] == "True"
        await c.quiet(5)
        again = (await c.pod("p"))["status"]
        assert again["phase"] == "Running"
        assert again["containerStatuses"][0]["restartCount"] == 2
        assert "back-off 20s" in again["containerStatuses"][0]["state"]["waiting"]["message"]


async def test_a_pod_may_stay_after_some_crashes() -> None:
    async with cluster() as c:
        await c.create(POD_PATH, pod("p", on="node-0", annotations=asks(exit_after=1, exit_times=2)))
        await c.quiet(3600)
        found = await c.pod("p")
        assert condition(found, "Ready")["status"] == "True"
        assert found["status"]["containerStatuses"][0]["restartCount"] == 2


async def test_a_deleted_pod_is_gone_when_it_has_stopped() -> None:
    async with cluster() as c:
        await c.create(POD_PATH, pod("quick", on="node-0"))
        await c.create(POD_PATH, pod("slow", on="node-0", annotations=asks(stop_seconds=20)))
        await c.create(POD_PATH, pod("late", on="node-0", annotations=asks(stop_seconds=3600)))
        await c.quiet()
        for name in ("quick", "slow", "late"):
            await c.delete(f"{POD_PATH}/{name}")
        await c.quiet(10)
        assert sorted(await c.pods()) == ["late", "slow"]
        await c.quiet(15)
        assert sorted(await c.pods()) == ["late"]  # at most its grace period, which is 30 seconds
        await c.quiet(10)
        assert await c.pods() == {}


async def test_a_pod_recreated_under_its_name_starts_over() -> None:
    async with cluster() as c:
        first = await c.create(POD_PATH, pod("p", on="node-0"))
        await c.quiet()
        await c.delete(f"{POD_PATH}/p")
        await c.quiet()
        second = await c.create(POD_PATH, pod("p", on="node-0"))
        await c.quiet()
        assert first["metadata"]["uid"] != second["metadata"]["uid"]
        assert condition(await c.pod("p"), "Ready")["status"] == "True"


@pytest.mark.parametrize(
    "annotations", [asks(ready_after="soon"), asks(raedy_after=1), asks(never_ready="yes")]
)
async def test_an_annotation_that_cannot_be_read_is_shown_on_the_pod(annotations: dict[str, str]) -> None:
    async with cluster() as c:
        await c.create(POD_PATH, pod("p", on="node-0", annotations=annotations))
        await c.quiet()
        waiting = (await c.pod("p"))["status"]["containerStatuses"][0]["state"]["waiting"]
        assert waiting["reason"] == "CreateContainerConfigError"
        assert next(iter(annotations)) in waiting["message"]


async def test_a_node_is_rid_of_the_taint_of_new_nodes_and_keeps_others() -> None:
    mine = {"key": "gpu", "value": "yes", "effect": "NoSchedule"}
    fresh = {"key": NOT_READY, "effect": "NoSchedule"}
    async with cluster(nodes=[node("a", taints=[mine, fresh])]) as c:
        assert (await c.get("/api/v1/nodes/a"))["spec"]["taints"] == [mine]


async def test_pods_of_a_lost_node_are_evicted_in_time_and_stay_terminating() -> None:
    async with cluster() as c:
        await c.create(POD_PATH, pod("p", on="node-0"))
        await c.quiet()
        await c.keeper.lose("node-0")
        await c.quiet()
        lost = await c.get("/api/v1/nodes/node-0")
        assert condition(lost, "Ready")["status"] == "Unknown"
        assert {t["effect"] for t in lost["spec"]["taints"]} == {"NoSchedule", "NoExecute"}
        assert condition(await c.pod("p"), "Ready")["status"] == "False"
        await c.quiet(290)
        assert "deletionTimestamp" not in (await c.pod("p"))["metadata"]
        await c.quiet(20)
        assert "deletionTimestamp" in (await c.pod("p"))["metadata"]
        await c.quiet(86400)
        assert "p" in await c.pods()
        await c.keeper.remove("node-0")
        await c.quiet()
        assert await c.pods() == {}


async def test_a_node_that_comes_back_in_time_has_its_pods_ready_again() -> None:
    async with cluster() as c:
        await c.create(POD_PATH, pod("p", on="node-0"))
        await c.quiet()
        before = await c.pod("p")
        await c.keeper.lose("node-0")
        await c.quiet(100)
        await c.keeper.recover("node-0")
        await c.quiet(3600)
        after = await c.pod("p")
        assert condition(after, "Ready")["status"] == "True"
        assert after["status"]["podIP"] == before["status"]["podIP"]
        assert "taints" not in (await c.get("/api/v1/nodes/node-0"))["spec"]


async def test_pods_that_stay_bring_no_further_writes() -> None:
    async with cluster() as c:
        for number in range(20):
            await c.create(POD_PATH, pod(f"p{number}", on="node-0"))
        await c.quiet()
        count = len(c.writes)
        await c.quiet(86400)
        assert len(c.writes) == count


async def test_other_conditions_of_a_pod_are_kept() -> None:
    async with cluster() as c:
        await c.create(POD_PATH, pod("p", on="node-0", annotations=asks(ready_after=10)))
        await c.quiet()
        mine: dict[str, Any] = {"type": "example.com/mine", "status": "True", "lastProbeTime": None}
        known = (await c.pod("p"))["status"]["conditions"]
        await c.patch(f"{POD_PATH}/p/status", {"status": {"conditions": [*known, mine]}})
        await c.quiet(20)
        assert condition(await c.pod("p"), "example.com/mine")["status"] == "True"


@pytest.mark.parametrize("seed", range(5))
async def test_whatever_fails_pods_run_and_go_in_the_end(seed: int) -> None:
    faults = Faults(seed, Rates.all(0.1))
    async with cluster(faults=faults) as c:
        for number in range(10):
            await c.create(POD_PATH, pod(f"p{number}", on="node-0", annotations=asks(ready_after=number)))
        await c.quiet(600)
        faults.stop()
        await c.quiet(600)
        ready = {condition(p, "Ready")["status"] for p in (await c.pods()).values()}
        assert ready == {"True"}
        faults.active = True
        for number in range(10):
            await c.delete(f"{POD_PATH}/p{number}")
        await c.quiet(600)
        faults.stop()
        await c.quiet(600)
        assert await c.pods() == {}
        assert faults.log
