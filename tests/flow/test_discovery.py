"""Discovery asks what the cluster serves until it succeeds: a failed request says nothing."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, ClassVar

import pytest
from grove_sandbox.apiserver.errors import StatusError
from grove_sandbox.apiserver.server import SingleResponseStream
from grove_sandbox.flow.backend.queries import clique, condition, gated
from grove_sandbox.flow.cluster import GroveCluster, Json, cluster_with_crds, operator, running

from grove.api.config import OperatorConfiguration, SchedulerProfile, Schedulers
from grove.runtime.client.transport import Request, Response, Stream, Transport
from grove.schedulers.kube import Kubernetes
from grove.schedulers.volcano import Volcano

pytestmark = pytest.mark.looptime

VOLCANO = "scheduling.volcano.sh/v1beta1"


class Failing:
    """A connection on which some requests fail with 503."""

    fails: ClassVar[Callable[[Request], bool]] = staticmethod(lambda request: False)

    def __init__(self, inner: Transport) -> None:
        self._inner = inner

    async def send(self, request: Request) -> Response:
        if type(self).fails(request):
            return StatusError(503, "ServiceUnavailable", "the server is not ready").respond()
        return await self._inner.send(request)

    async def stream(self, request: Request) -> Stream:
        if type(self).fails(request):
            return SingleResponseStream(
                StatusError(503, "ServiceUnavailable", "the server is not ready").respond()
            )
        return await self._inner.stream(request)

    async def close(self) -> None:
        """The server outlives the operator."""


SETTINGS: dict[str, Any] = {
    "configuration": OperatorConfiguration(
        scheduler=Schedulers(profiles=[SchedulerProfile(name=n) for n in ("volcano", "default-scheduler")])
    ),
    "factories": {"default": Kubernetes, "volcano": Volcano},
    "through": Failing,
}


def asks_for_fields(request: Request) -> bool:
    return request.path == f"/openapi/v3/apis/{VOLCANO}"


def asks_for_kinds(request: Request) -> bool:
    return request.path == f"/apis/{VOLCANO}"


def probes(request: Request) -> bool:
    return request.query.get("dryRun") == "All"


def cluster(
    monkeypatch: pytest.MonkeyPatch, fails: Callable[[Request], bool]
) -> AbstractAsyncContextManager[GroveCluster]:
    monkeypatch.setattr(Failing, "fails", staticmethod(fails))
    return running(schedulers=["volcano"], **SETTINGS)


def a_set(scheduler: str) -> Json:
    workers = clique("worker", 2)
    workers["spec"]["podSpec"]["schedulerName"] = scheduler
    return {
        "apiVersion": "grove.io/v1alpha1",
        "kind": "PodCliqueSet",
        "metadata": {"name": scheduler},
        "spec": {"replicas": 1, "template": {"cliques": [workers]}},
    }


@pytest.mark.parametrize(
    ("fails", "name", "other"),
    [
        (asks_for_fields, "volcano", "default-scheduler"),
        (asks_for_kinds, "volcano", "default-scheduler"),
        (probes, "default-scheduler", "volcano"),
    ],
)
async def test_a_discovery_request_that_fails_is_retried_and_delays_no_other_backend(
    fails: Callable[[Request], bool], name: str, other: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with cluster(monkeypatch, fails) as grove:
        for scheduler in (name, other):
            await grove.apply(a_set(scheduler))
        await asyncio.sleep(30)
        said = await condition(grove, f"{name}-0", "BackendSynced")
        assert (said["status"], said["reason"]) == ("False", "SchedulerNotKnownYet")
        assert "not ready" in said["message"]
        assert (await condition(grove, f"{other}-0", "BackendSynced"))["status"] == "True"
        assert f"{other}-0" not in await gated(grove)
        monkeypatch.setattr(Failing, "fails", staticmethod(lambda request: False))
        await asyncio.sleep(60)
        assert (await condition(grove, f"{name}-0", "BackendSynced"))["status"] == "True"
        assert await gated(grove) == {}


@pytest.mark.parametrize("fails", [asks_for_fields, asks_for_kinds, probes])
async def test_a_restarted_operator_whose_discovery_fails_keeps_what_was_reported(
    fails: Callable[[Request], bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    async with cluster_with_crds(schedulers=["volcano"]) as grove:
        async with operator(grove, **SETTINGS):
            for scheduler in ("volcano", "default-scheduler"):
                await grove.apply(a_set(scheduler))
            await grove.settle()
            assert await gated(grove) == {}
        monkeypatch.setattr(Failing, "fails", staticmethod(fails))
        before = len(grove.writes)
        async with operator(grove, **SETTINGS):
            await asyncio.sleep(30)
            monkeypatch.setattr(Failing, "fails", staticmethod(lambda request: False))
            await grove.settle()
        assert grove.writes[before:] == []
