"""The condition Running of a set: why it does not run, in the words of `grove explain`, and at what cost."""

import asyncio
from typing import Any

import orjson
import pytest
from grove_sandbox.nodes import node
from structlog.testing import capture_logs

from grove.api.podgang import PodGang, PodGroup
from grove.api.reasons import RunReason
from grove.cli.explain.cluster import find_subject, read
from grove.plan.explain import explain
from grove.plan.objects.pod_draft import PodDraft
from grove.runtime.client.transport import Request
from grove.schedulers.kube import Kubernetes
from grove.schedulers.types import Refusal
from tests.flow.operating import GroveCluster, Json, cluster_with_crds, example, operator, running

pytestmark = pytest.mark.looptime

SETS = "/apis/grove.io/v1alpha1/namespaces/default/podcliquesets"


def train(replicas: int = 1, **annotations: str) -> Json:
    """Replicas of four workers; the annotations are for the kubelet."""
    found = example("simple")
    found["spec"]["replicas"] = replicas
    asked = {f"sandbox.grove.io/{k.replace('_', '-')}": v for k, v in annotations.items()}
    found["spec"]["template"]["cliques"][0]["annotations"] = asked
    return found


async def running_condition(grove: GroveCluster, name: str = "train") -> Json:
    status = (await grove.list("podcliquesets"))[name]["status"]
    return next(dict(c) for c in status["conditions"] if c["type"] == "Running")


async def columns(grove: GroveCluster, path: str) -> list[dict[str, Any]]:
    """What `kubectl get` shows."""
    accept = {"accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
    answer = await grove.cluster.server.send(Request("GET", path, {}, accept))
    table = orjson.loads(answer.body)
    names = [c["name"] for c in table["columnDefinitions"]]
    return [dict(zip(names, row["cells"], strict=True)) for row in table["rows"]]


async def test_kubectl_get_shows_the_reason_of_sets_and_how_far_gangs_are() -> None:
    async with running(nodes=[node(f"n{i}", capacity={"cpu": "1"}) for i in range(3)]) as grove:
        manifest = train()
        worker = manifest["spec"]["template"]["cliques"][0]["spec"]
        worker["podSpec"]["containers"][0]["resources"] = {"requests": {"cpu": "1"}}
        worker["minAvailable"] = 2
        await grove.apply(manifest)
        await grove.settle()
        [row] = await columns(grove, SETS)
        assert (row["Available"], row["Reason"]) == (1, "Unschedulable")
        [gang] = await columns(grove, "/apis/scheduler.grove.io/v1alpha1/namespaces/default/podgangs")
        assert [gang[c] for c in ("Name", "Backend", "Phase", "Scheduled", "Pods")] == [
            "train-0",
            "default",
            "Running",
            3,
            4,
        ]


async def test_a_set_that_runs_says_so_with_its_last_replica() -> None:
    async with running() as grove:
        await grove.apply(train(replicas=3))
        await grove.until(lambda: _available(grove, 3))
        said = await running_condition(grove)
        assert (said["status"], said["reason"], said["observedGeneration"]) == ("True", "Running", 1)


async def _available(grove: GroveCluster, replicas: int) -> bool:
    status = (await grove.list("podcliquesets"))["train"].get("status", {})
    return bool(status.get("availableReplicas") == replicas)


async def test_a_set_without_room_says_what_the_scheduler_says_until_there_is_room() -> None:
    async with running(nodes=[node("small", capacity={"cpu": "1"})]) as grove:
        manifest = train()
        container = manifest["spec"]["template"]["cliques"][0]["spec"]["podSpec"]["containers"][0]
        container["resources"] = {"requests": {"cpu": "1"}}
        await grove.apply(manifest)
        await grove.settle()
        said = await running_condition(grove)
        assert (said["status"], said["reason"]) == ("False", "Unschedulable")
        assert said["message"].startswith("PodClique/train-0-worker: 4 pods, e.g. train-0-worker-")
        assert "default-scheduler: " in said["message"]
        for i in range(3):
            await grove.cluster.create("/api/v1/nodes", node(f"more-{i}", capacity={"cpu": "1"}))
        await grove.settle()
        assert (await running_condition(grove))["status"] == "True"


@pytest.mark.parametrize(
    ("annotations", "reason"),
    [
        ({"image_error": "*"}, RunReason.IMAGE_PULL_FAILING),
        ({"exit_after": "0", "exit_code": "3"}, RunReason.CRASH_LOOPING),
        ({"never_ready": "true"}, RunReason.NOT_READY),
        ({"ready_after": "soon"}, RunReason.CANNOT_START),
    ],
)
async def test_the_reason_is_the_one_that_explain_gives(annotations: Any, reason: RunReason) -> None:
    async with running() as grove:
        await grove.apply(train(**annotations))
        await asyncio.sleep(60)
        client = grove.cluster.client("explain")
        answer = explain(await read(client, await find_subject(client, "default", "train")))
        said = await running_condition(grove)
        assert (said["status"], said["reason"]) == ("False", reason)
        assert (answer.reason, answer.message in said["message"]) == (reason, True)


async def one_of_four_does_not_run(grove: GroveCluster) -> None:
    """It is train-2: a pod of it goes, and no node takes another."""
    await grove.apply(train(replicas=4))
    await grove.settle()
    taints = [{"key": "full", "effect": "NoSchedule"}]
    for name in await _nodes(grove):
        await grove.call("PATCH", f"/api/v1/nodes/{name}", {"spec": {"taints": taints}})
    victim = next(n for n in await grove.list("pods") if n.startswith("train-2-"))
    await grove.call("DELETE", f"/api/v1/namespaces/default/pods/{victim}")
    await grove.settle()


async def test_one_replica_of_many_that_does_not_run_is_named_and_its_end_clears_the_set() -> None:
    async with running() as grove:
        await one_of_four_does_not_run(grove)
        said = await running_condition(grove)
        assert (said["status"], said["reason"]) == ("False", "Unschedulable")
        assert "train-2-worker" in said["message"]
        await grove.call("PATCH", f"{SETS}/train", {"spec": {"replicas": 2}})
        await grove.settle()
        assert (await running_condition(grove))["reason"] == "Running"
        await grove.call("PATCH", f"{SETS}/train", {"spec": {"replicas": 0}})
        await grove.settle()
        assert (await running_condition(grove))["reason"] == "ScaledToZero"


async def test_an_operator_that_finds_parts_and_no_status_looks_at_every_replica() -> None:
    async with cluster_with_crds() as grove:
        async with operator(grove):
            await one_of_four_does_not_run(grove)
        await grove.call("PATCH", f"{SETS}/train/status", {"status": None})
        assert "status" not in (await grove.list("podcliquesets"))["train"]
        async with operator(grove):
            await grove.settle()
            said = await running_condition(grove)
            assert (said["status"], said["reason"]) == ("False", "Unschedulable")
            assert "train-2-worker" in said["message"]


async def test_every_message_of_a_scheduler_is_reported_however_soon_it_follows_the_last() -> None:
    """Such a message changes nothing but the reason: no change of a clique or gang triggers the set."""
    async with running(nodes=[node("full", capacity={"cpu": "0"})]) as grove:
        await grove.apply(train(replicas=2))
        await grove.settle()
        for pauses in ((0.0,), (0.1, 3.0), (9.9, 0.2), (11.0, 12.0, 0.0), (4.0, 4.0, 4.0)):
            for number, pause in enumerate(pauses):
                word = f"word {number} of {pauses}"
                for name in await grove.list("pods"):
                    await _say(grove, name, word)
                await asyncio.sleep(pause)
            await grove.settle()
            assert word in (await running_condition(grove))["message"]


async def _say(grove: GroveCluster, pod: str, word: str) -> None:
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": word}
    path = f"/api/v1/namespaces/default/pods/{pod}/status"
    await grove.call("PATCH", path, {"status": {"conditions": [condition]}})


@pytest.mark.parametrize("name", ["simple", "disaggregated"])
async def test_a_set_whose_parts_are_all_scaled_to_zero_says_so_as_explain_does(name: str) -> None:
    async with running() as grove:
        manifest = example(name)
        own = manifest["metadata"]["name"]
        await grove.apply(manifest)
        await grove.settle()
        parts = await _scalable(grove)
        seen: list[tuple[str, str, str]] = []
        for share in (0, 1):
            for path, replicas in parts.items():
                await grove.call("PATCH", f"{path}/scale", {"spec": {"replicas": share * replicas}})
            await grove.settle()
            said = await running_condition(grove, own)
            client = grove.cluster.client("explain")
            answer = explain(await read(client, await find_subject(client, "default", own)))
            assert said["message"] == answer.meaning
            seen.append((said["status"], said["reason"], answer.reason.value))
        assert seen == [("True", "ScaledToZero", "ScaledToZero"), ("True", "Running", "Running")]


async def _scalable(grove: GroveCluster) -> dict[str, int]:
    """The scaling groups, and the cliques that are in none: their paths, and how many replicas each has."""
    found: dict[str, int] = {}
    for plural in ("podcliquescalinggroups", "podcliques"):
        for name, part in (await grove.list(plural)).items():
            if "grove.io/podcliquescalinggroup" not in part["metadata"]["labels"]:
                path = f"/apis/grove.io/v1alpha1/namespaces/default/{plural}/{name}"
                found[path] = part["spec"]["replicas"]
    return found


async def _nodes(grove: GroveCluster) -> list[str]:
    return [n["metadata"]["name"] for n in (await grove.call("GET", "/api/v1/nodes"))["items"]]


async def test_pods_that_start_one_by_one_do_not_each_write_the_set() -> None:
    """Thirty cliques get ready a second after one another; the reason would be another each second."""
    slow = train()
    [worker] = slow["spec"]["template"]["cliques"]
    slow["spec"]["template"]["cliques"] = [
        {
            **worker,
            "name": f"w{i}",
            "spec": {**worker["spec"], "roleName": f"w{i}", "replicas": 1, "minAvailable": 1},
            "annotations": {"sandbox.grove.io/ready-after": str(5 + i)},
        }
        for i in range(30)
    ]
    async with running() as grove:
        await grove.apply(slow)
        await grove.settle()
        assert (await running_condition(grove))["status"] == "True"
        assert grove.writes.count("MODIFIED podcliquesets") <= 10


async def test_a_restarted_operator_writes_no_status() -> None:
    async with cluster_with_crds(nodes=1) as grove:
        async with operator(grove):
            await grove.apply(train(replicas=2, never_ready="true"))
            await grove.settle()
        before = len(grove.writes)
        async with operator(grove):
            await grove.settle()
        assert grove.writes[before:] == []


class Unwilling(Kubernetes):
    """Cannot tie any pod to its gang."""

    def prepare_pod(self, gang: PodGang, group: PodGroup, pod: PodDraft) -> None:
        raise Refusal(f"{group.name} is too long for this scheduler", "choose a shorter name")


async def test_pods_that_a_backend_refuses_are_reported_on_the_set_and_logged_without_a_traceback() -> None:
    said = "train-0-worker is too long for this scheduler; choose a shorter name"
    with capture_logs() as logs:
        async with running(factories={"default": Unwilling}) as grove:
            await grove.apply(train())
            await grove.settle()
            condition = await running_condition(grove)
            assert (condition["reason"], said in condition["message"]) == ("RefusedByBackend", True)
    alarms = [e for e in logs if e["log_level"] == "error"]
    assert {e["error"] for e in alarms} == {said}
    assert all("exc_info" not in e for e in alarms)


async def test_validation_warnings_are_an_event_once_per_version_of_the_set() -> None:
    async with cluster_with_crds() as grove:
        manifest = train()
        cliques = manifest["spec"]["template"]["cliques"]
        cliques.append({**cliques[0], "name": "a.b", "spec": {**cliques[0]["spec"], "roleName": "other"}})
        cliques[1]["spec"]["podSpec"] = {**cliques[0]["spec"]["podSpec"], "priorityClassName": "high"}
        await grove.apply(manifest)
        for _ in range(2):
            async with operator(grove):
                await grove.settle()
        async with operator(grove):
            await grove.call("DELETE", f"{SETS}/train")
            await grove.settle()
        said = [e for e in (await grove.list("events")).values() if e["reason"] == "ValidationWarning"]
        [event] = said
        assert event["type"] == "Warning"
        assert event.get("count", 1) == 1
        assert "worker: none, a.b: high" in event["message"]
        assert "write it without dots" in event["message"]
