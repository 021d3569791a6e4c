"""A backend as its own deployment: the operator waits for its word on the gang, whoever restarts meanwhile."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from grove.api import codec
from grove.api.config import OperatorConfiguration
from grove.operator.assembly import BackendProcess
from grove.schedulers.kai import Kai
from grove.schedulers.kube import Kubernetes
from grove.schedulers.registry import Factory, Registry
from tests.flow.operating import Grove, cluster_with_crds, example, operator

pytestmark = pytest.mark.looptime

FACTORIES: dict[str, Factory] = {"default": Kubernetes, "kai": Kai}


def configuration(*, separate: str) -> OperatorConfiguration:
    profiles = [{"name": n, "separate": n == separate} for n in ("default-scheduler", "kai-scheduler")]
    return codec.decode(codec.encode({"scheduler": {"profiles": profiles}}), OperatorConfiguration)


@asynccontextmanager
async def backend(grove: Grove, name: str, settings: OperatorConfiguration) -> AsyncIterator[None]:
    registry = Registry(settings.scheduler, FACTORIES)
    found = registry.get(name)
    assert found is not None
    process = BackendProcess(grove.cluster.client("grove-backend"), settings, found, now=grove.cluster.now)
    stop = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        running = group.create_task(process.run(stop))
        yield
        stop.set()
        await running


async def gates(grove: Grove) -> int:
    return sum(bool(p["spec"].get("schedulingGates")) for p in (await grove.list("pods")).values())


async def conditions(grove: Grove, gang: str) -> dict[str, str]:
    found = (await grove.list("podgangs"))[gang]["status"]["conditions"]
    return {c["type"]: c["status"] for c in found}


async def test_no_gate_opens_until_the_backend_has_spoken() -> None:
    settings = configuration(separate="default-scheduler")
    async with cluster_with_crds() as grove, operator(grove, configuration=settings, factories=FACTORIES):
        await grove.apply(example("simple"))
        await grove.settle()
        assert "BackendSynced" not in await conditions(grove, "train-0")
        assert await gates(grove) == len(await grove.list("pods"))
        async with backend(grove, "default", settings):
            await grove.settle()
            assert (await conditions(grove, "train-0"))["BackendSynced"] == "True"
            assert await gates(grove) == 0
            assert grove.observer.opened == 8


async def test_either_side_may_restart_on_the_way() -> None:
    settings = configuration(separate="default-scheduler")
    async with cluster_with_crds() as grove:
        await grove.apply(example("disaggregated"))
        for _ in range(4):
            async with operator(grove, configuration=settings, factories=FACTORIES):
                await asyncio.sleep(0.3)
            async with backend(grove, "default", settings):
                await asyncio.sleep(0.3)
        async with (
            operator(grove, configuration=settings, factories=FACTORIES),
            backend(grove, "default", settings),
        ):
            await grove.settle()
        assert {p["status"]["phase"] for p in (await grove.list("pods")).values()} == {"Running"}
        assert await gates(grove) == 0


async def test_gangs_of_other_backends_are_left_alone() -> None:
    settings = configuration(separate="kai-scheduler")
    async with (
        cluster_with_crds() as grove,
        operator(grove, configuration=settings, factories=FACTORIES),
        backend(grove, "kai", settings),
    ):
        await grove.apply(example("simple"))
        await grove.settle()
        assert {p["status"]["phase"] for p in (await grove.list("pods")).values()} == {"Running"}
