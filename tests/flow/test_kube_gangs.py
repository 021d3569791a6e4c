"""Gangs on every kube-scheduler that ever had them, on the embedded cluster."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from grove.api.config import OperatorConfiguration
from grove.runtime.client.transport import Request, Response, Stream, Transport
from tests.flow import kube_scenarios as scenarios
from tests.flow.kube_scenarios import NODES, PRIORITY_CLASSES, TOPOLOGIES, TOPOLOGY, Lab
from tests.flow.operating import GroveCluster, cluster_with_crds, operator

pytestmark = pytest.mark.looptime


class Without:
    """A server that does not serve what begins with a path."""

    def __init__(self, server: Transport, path: str) -> None:
        self._server = server
        self._path = path

    async def send(self, request: Request) -> Response:
        if request.path.startswith(self._path):
            return Response(
                404, {}, b'{"kind":"Status","code":404,"reason":"NotFound","message":"not served"}'
            )
        return await self._server.send(request)

    async def stream(self, request: Request) -> Stream:
        return await self._server.stream(request)

    async def close(self) -> None:
        await self._server.close()


def flat(server: Transport) -> Transport:
    return Without(server, "/apis/scheduling.k8s.io/v1alpha3")


@asynccontextmanager
async def laboratory(dialect: str, **settings: Any) -> AsyncIterator[GroveCluster]:
    release: dict[str, dict[str, Any]] = {
        "CompositePodGroup": {"dialect": "1.37"},
        "PodGroupV1beta1": {"dialect": "1.37", "schedulers": ["kube-1.37-flat"]},
        "PodGroupV1alpha2": {"dialect": "1.36"},
        "WorkloadV1alpha1": {"dialect": "1.35"},
    }
    configuration = OperatorConfiguration()
    configuration.topology_aware_scheduling.enabled = True
    async with (
        cluster_with_crds(nodes=NODES, **release[dialect], **settings) as grove,
        operator(grove, configuration=configuration, through=flat if dialect == "PodGroupV1beta1" else None),
    ):
        grove.dialect = dialect  # type: ignore[attr-defined]
        await grove.call("POST", TOPOLOGIES, TOPOLOGY)
        for obj in PRIORITY_CLASSES:
            await grove.call("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", obj)
        yield grove


DIALECTS = ["CompositePodGroup", "PodGroupV1beta1", "PodGroupV1alpha2", "WorkloadV1alpha1"]
Scenario = Callable[[Lab], Awaitable[None]]


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("scenario", scenarios.EVERYWHERE, ids=lambda s: s.__name__)
async def test_a_gang(scenario: Scenario, dialect: str) -> None:
    async with laboratory(dialect) as lab:
        await scenario(lab)  # type: ignore[arg-type]


@pytest.mark.parametrize("dialect", [d for d in DIALECTS if d not in scenarios.HOLDING])
@pytest.mark.parametrize("scenario", scenarios.WITHOUT_HOLDING, ids=lambda s: s.__name__)
async def test_a_gang_that_holds_no_room(scenario: Scenario, dialect: str) -> None:
    async with laboratory(dialect) as lab:
        await scenario(lab)  # type: ignore[arg-type]


@pytest.mark.parametrize("scenario", scenarios.WITH_TREES, ids=lambda s: s.__name__)
async def test_a_gang_with_constraints_on_its_parts(scenario: Scenario) -> None:
    async with laboratory("CompositePodGroup") as lab:
        await scenario(lab)  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(20))
async def test_competing_gangs_never_deadlock(seed: int) -> None:
    async with laboratory("CompositePodGroup", seed=seed) as lab:
        await scenarios.competing_gangs_never_deadlock(lab, seed)  # type: ignore[arg-type]


@pytest.mark.parametrize("dialect", DIALECTS[1:])
@pytest.mark.parametrize("seed", range(4))
async def test_competing_gangs_never_deadlock_in_older_dialects(dialect: str, seed: int) -> None:
    async with laboratory(dialect, seed=seed) as lab:
        await scenarios.competing_gangs_never_deadlock(lab, seed)  # type: ignore[arg-type]
