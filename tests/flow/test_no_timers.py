"""The init flow is driven by events alone: while time stands still, so that no timer of anybody ever fires, a set comes
up, gang by gang. YuniKorn is not here: its gangs are released one after another, by a timer, on purpose."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from grove_sandbox.flow.cluster import backend_alone

from grove.api.config import OperatorConfiguration
from grove.api.serialization import codec
from grove.controllers.podgang import controller as gangs
from grove.controllers.podgang.controller import GangController
from grove.controllers.scheduler_objects.discovery import Discovery
from grove.runtime.client.objects import ObjectKey
from grove.schedulers.kai import Kai
from grove.schedulers.koordinator import Koordinator
from grove.schedulers.kube import Kubernetes
from grove.schedulers.registry import Factory
from grove.schedulers.volcano import Volcano
from tests.flow.operating import GroveCluster, Json, cluster_with_crds, operator, quiet
from tests.flow.test_kai_gangs import TestKai as KaiGangs
from tests.flow.test_operator_faults import small

pytestmark = pytest.mark.looptime

PODS = "/api/v1/namespaces/default/pods"
FACTORIES: dict[str, Factory] = {
    "default": Kubernetes,
    "kai": Kai,
    "koordinator": Koordinator,
    "volcano": Volcano,
}
# By profile: the name of the backend, and of the scheduler in the embedded cluster, whose kinds are installed.
BACKENDS = {
    "default-scheduler": ("default", "kube-1.37"),
    "kai-scheduler": ("kai", "kai"),
    "koord-scheduler": ("koordinator", "koordinator"),
    "volcano": ("volcano", "volcano"),
}


@asynccontextmanager
async def standing_still() -> AsyncIterator[None]:
    loop = asyncio.get_running_loop()
    before = loop.time()
    yield
    assert loop.time() == before, "time passed"


@pytest.mark.parametrize("separate", [False, True], ids=["one process", "two processes"])
@pytest.mark.parametrize("profile", BACKENDS)
async def test_a_base_gang_and_a_scaled_gang_come_up_while_time_stands_still(
    profile: str, separate: bool
) -> None:
    backend, scheduler = BACKENDS[profile]
    profiles = [{"name": profile, "separate": separate}]
    settings = {"scheduler": {"profiles": profiles, "defaultProfileName": profile}}
    configuration = codec.decode(codec.encode(settings), OperatorConfiguration)
    async with cluster_with_crds(nodes=0, schedulers=[scheduler]) as grove, standing_still():
        if backend == "kai":
            await grove.cluster.create(*KaiGangs.queue("default-queue"))
        async with operator(grove, configuration=configuration, factories=FACTORIES, batch_window=0.0):
            if separate:
                async with backend_alone(
                    grove, backend, configuration=configuration, factories=FACTORIES, batch_window=0.0
                ):
                    await comes_up(grove)
            else:
                await comes_up(grove)


async def test_cliques_that_wait_for_the_discovery_are_reconciled_when_it_has_a_result(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nothing else triggers them: their gang reports nothing while it has no pods."""
    asking, translating = asyncio.Event(), asyncio.Event()
    monkeypatch.setattr(Discovery, "run", after(asking, Discovery.run))
    monkeypatch.setattr(GangController, "reconcile", after(translating, GangController.reconcile))
    async with cluster_with_crds(nodes=0) as grove, standing_still(), operator(grove, batch_window=0.0):
        await quiet()
        await grove.apply(small())
        await quiet()
        assert await grove.list("podcliques")
        assert not await grove.list("pods")
        asking.set()
        await quiet()
        assert len(await grove.list("pods")) == 6
        translating.set()
        await quiet()
        assert grove.observer.opened


def after(event: asyncio.Event, act: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    async def later(*given: Any) -> Any:
        await event.wait()
        return await act(*given)

    return later


async def test_a_gang_whose_pods_are_being_created_reports_once_they_exist() -> None:
    async with cluster_with_crds(nodes=0) as grove, operator(grove, batch_window=0.0):
        await quiet()
        await grove.apply(small())
        await quiet()
        written, gangs = Counter(grove.writes), len(await grove.list("podgangs"))
        named = reported = gangs
        assert written["MODIFIED podgangs"] == named + reported


async def test_opening_gates_does_not_reconcile_the_gang(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[str] = []
    reconcile = GangController.reconcile
    async with cluster_with_crds(nodes=0) as grove:

        async def noted(self: GangController, key: ObjectKey) -> float | None:
            if grove.observer.opened:
                looked.append(key.name)
            return await reconcile(self, key)

        monkeypatch.setattr(GangController, "reconcile", noted)
        async with operator(grove, batch_window=0.0):
            await quiet()
            await grove.apply(small())
            await quiet()
            assert grove.observer.opened
            base = min(await grove.list("podgangs"), key=len)
            assert base not in looked


async def test_a_flow_that_waits_for_a_timer_stands_still(monkeypatch: pytest.MonkeyPatch) -> None:
    """If no controller waited for the status of a gang, it would only be written at the end of a batch window."""
    monkeypatch.setattr(gangs, "others_wait_for", lambda *_: False)
    async with cluster_with_crds(nodes=0) as grove, operator(grove, batch_window=0.0):
        await quiet()
        await grove.apply(small())
        await quiet()
        assert not grove.observer.opened
        await grove.settle()
        assert grove.observer.opened


async def comes_up(grove: GroveCluster) -> None:
    await quiet()
    await grove.apply(small())
    await quiet()
    assert grove.observer.opened
    assert await gated(grove), "the scaled gang waits until its base gang is placed"
    await place_those_without_gate(grove)
    await quiet()
    # Some schedulers get the pods beyond the minimum only when the gang is placed.
    await place_those_without_gate(grove)
    await quiet()
    assert await gated(grove) == []
    assert grove.observer.opened == len(await grove.list("pods")) == 6
    made = await grove.list("podgangs")
    assert len(made) == 2
    assert all(_true(gang) >= {"Initialized", "BackendSynced"} for gang in made.values())


async def gated(grove: GroveCluster) -> list[str]:
    return [n for n, pod in (await grove.list("pods")).items() if pod["spec"].get("schedulingGates")]


async def place_those_without_gate(grove: GroveCluster) -> None:
    """Does what a scheduler would do. None runs here, because it would need time to pass."""
    said = {"status": {"conditions": [{"type": "PodScheduled", "status": "True"}]}}
    for name in (await grove.list("pods")).keys() - await gated(grove):
        await grove.call("PATCH", f"{PODS}/{name}/status", said)


def _true(gang: Json) -> set[str]:
    return {c["type"] for c in gang["status"]["conditions"] if c["status"] == "True"}
