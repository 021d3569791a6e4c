"""What is wrong with a set on the embedded cluster, and what `grove explain` says about it."""

import asyncio
from typing import Any

import pytest
from grove_sandbox.nodes import nodes

from grove.api.config import OperatorConfiguration
from grove.api.reasons import Actor, RunReason, Step
from grove.cli.explain.cluster import find_subject, read, watch_subject
from grove.cli.output import CommandError
from grove.plan.explain import Explanation, explain, top_reason
from grove.schedulers.kai import Kai
from grove.schedulers.kube import Kubernetes
from grove.schedulers.registry import Factory
from tests.flow.operating import GroveCluster, Json, cluster_with_crds, example, running

pytestmark = pytest.mark.looptime

SETS = "/apis/grove.io/v1alpha1/namespaces/default/podcliquesets"


async def explained(grove: GroveCluster, name: str) -> Explanation:
    """Checks on the way that nothing is written, and that the short form says the same."""
    client = grove.cluster.client("explain")
    before = len(grove.writes)
    subject = await find_subject(client, "default", name)
    seen = await read(client, subject)
    answer = explain(seen)
    assert len(grove.writes) == before
    assert top_reason(seen) == answer.findings[0]
    return answer


def train(**clique: Any) -> Json:
    """One replica of four workers; the keys are those of the clique, or of its spec."""
    found = example("simple")
    found["spec"]["replicas"] = 1
    worker = found["spec"]["template"]["cliques"][0]
    for key, value in clique.items():
        (worker if key in ("annotations", "labels") else worker["spec"])[key] = value
    return found


def pod_of(found: Json) -> Json:
    pod: Json = found["spec"]["template"]["cliques"][0]["spec"]["podSpec"]
    return pod


async def settled(grove: GroveCluster, manifest: Json, name: str = "train") -> Explanation:
    await grove.apply(manifest)
    await grove.settle()
    return await explained(grove, name)


async def test_what_runs_is_said_to_run() -> None:
    async with running() as grove:
        answer = await settled(grove, example("disaggregated"), "llama")
        assert (answer.reason, answer.state, answer.next) == (RunReason.RUNNING, "Running", Actor.NOBODY)
        assert answer.running
        assert {(c.wanted, c.created, c.gated, c.scheduled, c.ready) for c in answer.cliques} == {
            (1, 1, 0, 1, 1),
            (4, 4, 0, 4, 4),
            (3, 3, 0, 3, 3),
        }
        assert (answer.backend, answer.scheduler) == ("default", "default-scheduler")
        for kind in ("pg/llama-0", "llama-0-prefill", "clique/llama-0-decode"):
            assert (await explained(grove, kind)).reason is RunReason.RUNNING, kind
        pod = next(iter(await grove.list("pods")))
        assert (await explained(grove, pod)).kind == "Pod"


async def test_too_few_cpus_are_explained_in_the_schedulers_words() -> None:
    big = example("disaggregated")
    decode = big["spec"]["template"]["cliques"][1]["spec"]
    decode["podSpec"]["containers"][0]["resources"] = {"requests": {"cpu": "3"}}
    async with running(nodes=nodes(2, {"cpu": "4"})) as grove:
        answer = await settled(grove, big, "llama")
        assert (answer.reason, answer.state) == (RunReason.UNSCHEDULABLE, "NotRunning")
        assert (answer.step, answer.next) == (Step.SCHEDULED, Actor.SCHEDULER)
        assert answer.about == "PodGang/llama-0"
        assert answer.said[0].by == "default-scheduler"
        assert "Insufficient cpu" in answer.said[0].text
        decoding = next(c for c in answer.cliques if c.name == "llama-0-decode")
        assert (decoding.wanted, decoding.minimum, decoding.created, decoding.scheduled) == (4, 3, 4, 0)
        scaled = await explained(grove, "gang/llama-0-prefill-0")
        assert scaled.reason is RunReason.UNSCHEDULABLE
        assert scaled.about == "PodGang/llama-0"
        assert RunReason.WAITING_FOR_BASE_GANG in {f.reason for f in scaled.findings}
        assert {c.reason for c in scaled.cliques} == {RunReason.WAITING_FOR_BASE_GANG}


async def test_a_set_with_its_minimum_runs_in_part() -> None:
    async with running(nodes=nodes(1, {"cpu": "2"})) as grove:
        answer = await settled(grove, train(minAvailable=2))
        assert (answer.reason, answer.state, answer.running) == (RunReason.UNSCHEDULABLE, "Degraded", False)
        [clique] = answer.cliques
        assert (clique.ready, clique.minimum, clique.wanted) == (2, 2, 4)


@pytest.mark.parametrize(
    ("annotations", "reason", "says"),
    [
        ({"image-error": "*"}, RunReason.IMAGE_PULL_FAILING, "cannot pull the image of container worker"),
        ({"exit-after": "0", "exit-code": "3"}, RunReason.CRASH_LOOPING, "exits with code 3"),
        ({"never-ready": "true"}, RunReason.NOT_READY, "container worker is not ready"),
        ({"ready-after": "soon"}, RunReason.CANNOT_START, "CreateContainerConfigError"),
    ],
)
async def test_pods_that_do_not_come_up(annotations: Json, reason: RunReason, says: str) -> None:
    async with running() as grove:
        asked = {f"sandbox.grove.io/{k}": v for k, v in annotations.items()}
        await grove.apply(train(annotations=asked))
        await asyncio.sleep(60)
        answer = await explained(grove, "train")
        assert (answer.reason, answer.state, answer.next) == (reason, "NotRunning", Actor.YOU)
        assert says in answer.message
        assert answer.pods == 4
        [clique] = answer.cliques
        assert (clique.scheduled, clique.ready, clique.reason) == (4, 0, reason)
        pod = next(iter(await grove.list("pods")))
        assert (await explained(grove, f"pod/{pod}")).reason is reason


async def test_pods_that_end_are_replaced_and_explained() -> None:
    bad = train(annotations={"sandbox.grove.io/exit-after": "0"})
    pod_of(bad)["restartPolicy"] = "Never"
    async with running() as grove:
        await grove.apply(bad)
        await asyncio.sleep(100)
        answer = await explained(grove, "train")
        assert answer.reason is RunReason.PODS_FAILED
        assert "exited with code 1" in answer.message


async def test_the_clique_that_others_wait_for_is_the_cause() -> None:
    ordered = example("simple")
    ordered["spec"]["replicas"] = 1
    template = ordered["spec"]["template"]
    [worker] = template["cliques"]
    leader = {**worker, "name": "leader", "annotations": {"sandbox.grove.io/never-ready": "true"}}
    leader["spec"] = {**worker["spec"], "roleName": "leader", "replicas": 1}
    worker["annotations"] = {"sandbox.grove.io/init-seconds": "100000"}
    template |= {"cliques": [leader, worker], "cliqueStartupType": "CliqueStartupTypeInOrder"}
    async with running() as grove:
        for answer in (await settled(grove, ordered), await explained(grove, "train-0-worker")):
            assert (answer.reason, answer.about) == (RunReason.NOT_READY, "PodClique/train-0-leader")
            waiting = next(f for f in answer.findings if f.reason is RunReason.WAITING_FOR_START_ORDER)
            assert waiting.message.endswith("waits for train-0-leader")


async def test_an_invalid_set_is_yours_to_correct() -> None:
    async with running() as grove:
        answer = await settled(grove, train(minAvailable=9))
        assert (answer.reason, answer.step, answer.next) == (RunReason.INVALID_SET, Step.VALIDATED, Actor.YOU)
        assert "minAvailable" in answer.message
        assert answer.cliques == ()


async def test_pods_that_the_server_refuses_hold_back_their_gang() -> None:
    bad = example("disaggregated")
    bad["spec"]["template"]["cliques"][0]["spec"]["podSpec"]["containers"][0]["name"] = "Not A Name"
    async with running() as grove:
        await grove.apply(bad)
        await asyncio.sleep(30)
        for name in ("llama", "llama-0", "llama-0-decode"):
            answer = await explained(grove, name)
            assert (answer.reason, answer.step) == (RunReason.PODS_REFUSED_BY_SERVER, Step.CREATED), name
            assert answer.about == "PodClique/llama-0-router"
            assert "Not A Name" in answer.said[0].text
        reasons = {c.name: c.reason for c in (await explained(grove, "llama")).cliques}
        assert reasons["llama-0-decode"] is RunReason.WAITING_FOR_INITIALIZATION


async def test_a_scheduler_that_is_not_installed_is_named() -> None:
    profiles = "scheduler: {profiles: [{name: default-scheduler}, {name: kai-scheduler}]}"
    kai = train()
    pod_of(kai)["schedulerName"] = "kai-scheduler"
    factories: dict[str, Factory] = {"default": Kubernetes, "kai": Kai}
    configuration = OperatorConfiguration.from_yaml(profiles)
    async with running(configuration=configuration, factories=factories) as grove:
        answer = await settled(grove, kai)
        assert (answer.reason, answer.next) == (RunReason.SCHEDULER_NOT_INSTALLED, Actor.YOU)
        assert "scheduling.run.ai" in answer.said[0].text
        assert (answer.backend, answer.chosen_by) == ("kai", "the schedulerName of its pods")
        assert {c.gated for c in answer.cliques} == {4}


async def test_a_gate_of_somebody_else_is_named() -> None:
    held = train()
    pod_of(held)["schedulingGates"] = [{"name": "example.com/quota"}]
    async with running() as grove:
        answer = await settled(grove, held)
        assert (answer.reason, answer.step) == (RunReason.HELD_BY_OTHER_GATE, Step.UNGATED)
        assert "example.com/quota" in answer.message


async def test_without_an_operator_the_set_is_not_seen() -> None:
    async with cluster_with_crds() as grove:
        answer = await settled(grove, train())
        assert (answer.reason, answer.next) == (RunReason.NOT_SEEN_YET, Actor.GROVE)


async def test_a_set_that_is_being_deleted_says_so() -> None:
    async with running() as grove:
        await settled(grove, train(annotations={"sandbox.grove.io/stop-seconds": "20"}))
        await grove.call("DELETE", f"{SETS}/train")
        await asyncio.sleep(5)
        answer = await explained(grove, "train")
        assert answer.reason is RunReason.TERMINATING
        assert "4 pods left" in answer.message


async def test_nothing_is_wrong_with_nothing() -> None:
    async with running() as grove:
        await settled(grove, train())
        await grove.call("PATCH", f"{SETS}/train", {"spec": {"replicas": 0}})
        await grove.settle()
        assert (await explained(grove, "train")).reason is RunReason.SCALED_TO_ZERO


async def test_a_watch_tells_what_changes_and_ends_with_its_object() -> None:
    async with running() as grove:
        await grove.apply(
            train(annotations={f"sandbox.grove.io/{k}": "20" for k in ("ready-after", "stop-seconds")})
        )
        client = grove.cluster.client("explain")
        subject = await find_subject(client, "default", "train")
        told: list[RunReason] = []
        async with asyncio.TaskGroup() as group:
            group.create_task(watch_subject(client, subject, lambda seen: told.append(explain(seen).reason)))
            await grove.settle()
            assert told[-1] is RunReason.RUNNING
            assert RunReason.NOT_READY in told
            quiet = len(told)
            await asyncio.sleep(1000)
            assert len(told) == quiet
            await grove.call("DELETE", f"{SETS}/train")
        assert RunReason.TERMINATING in told[quiet:]


@pytest.mark.parametrize("name", ["nothing", "pg/train", "nonsense/train"])
async def test_what_is_not_there_cannot_be_explained(name: str) -> None:
    async with cluster_with_crds() as grove:
        await grove.apply(train())
        with pytest.raises(CommandError, match="there is no"):
            await find_subject(grove.cluster.client("explain"), "default", name)


async def test_a_pod_of_somebody_else_is_not_groves() -> None:
    async with cluster_with_crds() as grove:
        pod = {"metadata": {"name": "other"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
        await grove.cluster.create("/api/v1/namespaces/default/pods", pod)
        with pytest.raises(CommandError, match="pod default/other does not belong to a PodCliqueSet"):
            await find_subject(grove.cluster.client("explain"), "default", "other")
