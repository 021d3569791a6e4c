"""Two backends at once in one cluster, one of them failing: the other's gangs come up, and the failing one recovers."""

from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest
from grove_sandbox.apiserver.errors import StatusError
from grove_sandbox.apiserver.server import SingleResponseStream
from grove_sandbox.cluster import CRDS
from grove_sandbox.flow.backend.queries import clique, condition, gated
from grove_sandbox.flow.cluster import GroveCluster, Json, running
from grove_sandbox.schedulers.catalog import CATALOG

from grove.api import labels
from grove.api.config import OperatorConfiguration, SchedulerProfile, Schedulers
from grove.cli.explain.cluster import find_subject, read
from grove.plan.explain import explain
from grove.runtime.client.transport import Request, Response, Stream, Transport
from grove.schedulers.koordinator import Koordinator
from grove.schedulers.kube import Kubernetes
from grove.schedulers.volcano import Volcano

pytestmark = pytest.mark.looptime

GOOD, BAD = "koord-scheduler", "volcano"
GROUPS_OF_BAD = "/apis/scheduling.volcano.sh/v1beta1"
SETS = "/apis/grove.io/v1alpha1/namespaces/default/podcliquesets"


class Trouble:
    """What is wrong with Volcano just now: nothing, one of its methods raises, or its API is forbidden."""

    method = ""
    forbidden = False


@pytest.fixture(autouse=True)
def _no_trouble() -> Iterator[None]:
    yield
    Trouble.method, Trouble.forbidden = "", False


class Fragile(Volcano):
    """Volcano, but any of its methods may have a defect."""

    def __getattribute__(self, name: str) -> Any:
        if name == Trouble.method:
            return _defect
        return super().__getattribute__(name)


def _defect(*_: Any) -> Any:
    raise RuntimeError("a defect")


class Guarded:
    """A connection on which a part of the API may be forbidden."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner

    async def send(self, request: Request) -> Response:
        return self._refusal(request) or await self._inner.send(request)

    async def stream(self, request: Request) -> Stream:
        refusal = self._refusal(request)
        return SingleResponseStream(refusal) if refusal is not None else await self._inner.stream(request)

    async def close(self) -> None:
        """The server outlives the operator."""

    def _refusal(self, request: Request) -> Response | None:
        if not Trouble.forbidden or not request.path.startswith(f"{GROUPS_OF_BAD}/"):
            return None
        return StatusError(
            403, "Forbidden", "podgroups is forbidden: grove-operator may not use it"
        ).respond()


def cluster(
    *, schedulers: tuple[str, ...] = ("koordinator", "volcano")
) -> AbstractAsyncContextManager[GroveCluster]:
    profiles = [SchedulerProfile(name=name) for name in (GOOD, BAD)]
    return running(
        configuration=OperatorConfiguration(scheduler=Schedulers(profiles=profiles)),
        factories={"default": Kubernetes, "koordinator": Koordinator, "volcano": Fragile},
        schedulers=list(schedulers),
        through=Guarded,
    )


def a_set(scheduler: str) -> Json:
    workers = clique("worker", 2)
    workers["spec"]["podSpec"]["schedulerName"] = scheduler
    return {
        "apiVersion": "grove.io/v1alpha1",
        "kind": "PodCliqueSet",
        "metadata": {"name": scheduler},
        "spec": {"replicas": 1, "template": {"cliques": [workers]}},
    }


async def running_sets(grove: GroveCluster) -> set[str]:
    """The schedulers whose set has all its pods running."""
    pods = (await grove.list("pods")).values()
    up = [p["spec"]["schedulerName"] for p in pods if p["status"]["phase"] == "Running"]
    return {s for s in up if up.count(s) == 2}


async def test_two_backends_work_side_by_side() -> None:
    async with cluster() as grove:
        for scheduler in (GOOD, BAD):
            await grove.apply(a_set(scheduler))
        await grove.settle()
        assert await running_sets(grove) == {GOOD, BAD}


@pytest.mark.parametrize("gate", [labels.Gate.KOORDINATOR, labels.Gate.VOLCANO])
async def test_the_gate_of_a_backend_in_the_users_pod_spec_recreates_no_pods(gate: str) -> None:
    gated_by_user = a_set(GOOD)
    gated_by_user["spec"]["template"]["cliques"][0]["spec"]["podSpec"]["schedulingGates"] = [{"name": gate}]
    async with cluster() as grove:

        async def up_or_recreated() -> bool:
            return grove.writes.count("ADDED pods") > 2 or await running_sets(grove) == {GOOD}

        await grove.apply(gated_by_user)
        await grove.until(up_or_recreated)
        assert grove.writes.count("ADDED pods") == 2
        await grove.settle()
        assert grove.writes.count("ADDED pods") == 2
        assert await running_sets(grove) == {GOOD}


class Imitator(Koordinator):
    """Another backend that serves Volcano's name."""

    name = "imitator"
    scheduler_name = "imitator"

    def matches(self, scheduler_name: str) -> bool:
        return scheduler_name in ("imitator", BAD)


async def test_a_set_that_two_backends_would_serve_names_them_until_it_says_which() -> None:
    profiles = [SchedulerProfile(name=name) for name in (BAD, "imitator")]
    async with running(
        configuration=OperatorConfiguration(scheduler=Schedulers(profiles=profiles)),
        factories={"default": Kubernetes, "volcano": Volcano, "imitator": Imitator},
        schedulers=["volcano", "koordinator"],
    ) as grove:
        await grove.apply(a_set(BAD))
        await grove.settle()
        assert await running_sets(grove) == {BAD}
        conditions = await _conditions(grove, BAD)
        said = conditions["SeveralBackendsMatch"]
        assert (said["status"], said["reason"]) == ("True", "FirstProfileWins")
        assert "volcano, imitator; volcano is used" in said["message"]
        assert conditions["Running"]["status"] == "True"
        events = [e for e in (await grove.list("events")).values() if e["reason"] == "SeveralBackendsMatch"]
        assert [e["message"] for e in events] == [said["message"]]
        client = grove.cluster.client("explain")
        answer = explain(await read(client, await find_subject(client, "default", BAD)))
        assert [f.reason for f in answer.findings] == ["Running", "SeveralBackendsMatch"]
        patch = {"metadata": {"annotations": {labels.SCHEDULER_BACKEND: "volcano"}}}
        await grove.call("PATCH", f"{SETS}/{BAD}", patch)
        await grove.settle()
        assert "SeveralBackendsMatch" not in await _conditions(grove, BAD)


async def test_cliques_that_name_different_schedulers_are_named_with_a_remedy() -> None:
    mixed = a_set(BAD)
    other = clique("other", 1)
    other["spec"]["podSpec"]["schedulerName"] = GOOD
    mixed["spec"]["template"]["cliques"].append(other)
    async with cluster() as grove:
        await grove.apply(mixed)
        await grove.settle()
        said = (await _conditions(grove, BAD))["Invalid"]["message"]
        assert f"worker uses {BAD}, other uses {GOOD}" in said
        assert "write the same schedulerName in every clique" in said
        assert await grove.list("podgangs") == {}


async def _conditions(grove: GroveCluster, name: str) -> dict[str, Json]:
    found = (await grove.list("podcliquesets"))[name]["status"]["conditions"]
    return {c["type"]: c for c in found}


async def test_a_backend_that_raises_says_so_on_its_gangs_and_heals() -> None:
    Trouble.method = "translate"
    async with cluster() as grove:
        for scheduler in (BAD, GOOD):
            await grove.apply(a_set(scheduler))
        await grove.until(lambda: _are(grove, {GOOD}))
        said = await condition(grove, f"{BAD}-0", "BackendSynced")
        assert (said["status"], said["reason"]) == ("False", "BackendFailed")
        assert "volcano" in said["message"]
        assert "a defect" in said["message"]
        assert await gated(grove) == {f"{BAD}-0": 2}
        Trouble.method = ""
        await grove.until(lambda: _are(grove, {GOOD, BAD}))


@pytest.mark.parametrize("method", ["prepare_pod", "validate", "annotate", "observe", "shortfall"])
async def test_whatever_part_of_a_backend_raises_the_other_is_not_disturbed(method: str) -> None:
    Trouble.method = method
    async with cluster() as grove:
        for scheduler in (BAD, GOOD):
            await grove.apply(a_set(scheduler))
        await grove.until(lambda: _are(grove, {GOOD}, at_least=True))
        Trouble.method = ""
        await grove.until(lambda: _are(grove, {GOOD, BAD}), within=3600)


async def test_a_backend_whose_api_is_forbidden_says_so_on_its_gangs_and_heals() -> None:
    Trouble.forbidden = True
    async with cluster() as grove:
        for scheduler in (BAD, GOOD):
            await grove.apply(a_set(scheduler))
        await grove.settle()
        assert await running_sets(grove) == {GOOD}
        said = await condition(grove, f"{BAD}-0", "BackendSynced")
        assert (said["status"], said["reason"]) == ("False", "BackendFailed")
        assert "podgroups is forbidden" in said["message"]
        assert "give Grove the right to list and watch" in said["message"]
        Trouble.forbidden = False
        await grove.until(lambda: _are(grove, {GOOD, BAD}), within=3600)


async def test_a_backend_that_becomes_forbidden_keeps_what_runs() -> None:
    async with cluster() as grove:
        for scheduler in (BAD, GOOD):
            await grove.apply(a_set(scheduler))
        await grove.settle()
        Trouble.forbidden = True
        for name in (await grove.call("GET", f"{GROUPS_OF_BAD}/namespaces/default/podgroups"))["items"]:
            path = f"{GROUPS_OF_BAD}/namespaces/default/podgroups/{name['metadata']['name']}"
            await grove.call("DELETE", path)
        await grove.settle()
        assert await running_sets(grove) == {GOOD, BAD}
        assert (await condition(grove, f"{BAD}-0", "BackendSynced"))["status"] == "False"
        Trouble.forbidden = False
        await grove.settle(quiet=600)
        assert (await condition(grove, f"{BAD}-0", "BackendSynced"))["status"] == "True"
        assert len((await grove.call("GET", f"{GROUPS_OF_BAD}/namespaces/default/podgroups"))["items"]) == 1


async def test_a_backend_whose_kinds_are_missing_says_so_on_its_gangs_and_heals() -> None:
    async with cluster(schedulers=("koordinator",)) as grove:
        for scheduler in (BAD, GOOD):
            await grove.apply(a_set(scheduler))
        await grove.settle()
        assert await running_sets(grove) == {GOOD}
        said = await condition(grove, f"{BAD}-0", "BackendSynced")
        assert (said["status"], said["reason"]) == ("False", "SchedulerNotInstalled")
        for definition in CATALOG["volcano"].definitions():
            await grove.cluster.create(CRDS, definition)
        queue = {
            "apiVersion": "scheduling.volcano.sh/v1beta1",
            "kind": "Queue",
            "metadata": {"name": "default"},
        }
        await grove.cluster.create(f"{GROUPS_OF_BAD}/queues", queue | {"spec": {"weight": 1}})
        await grove.settle()
        assert (await condition(grove, f"{BAD}-0", "BackendSynced"))["status"] == "True"
        assert await gated(grove) == {}


async def _are(grove: GroveCluster, expected: set[str], *, at_least: bool = False) -> bool:
    found = await running_sets(grove)
    return expected <= found if at_least else found == expected
