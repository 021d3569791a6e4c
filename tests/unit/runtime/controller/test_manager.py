"""The manager: caches first, then work; the end in good order. And what it shows to the outside."""

import asyncio
import json
from datetime import UTC, datetime

import aiohttp
import pytest
import structlog

from grove.runtime.client.objects import ObjectKey, PartialObject
from grove.runtime.controller.controller import Controller
from grove.runtime.controller.leader import Elector, LeadershipLostError
from grove.runtime.controller.manager import Manager
from grove.runtime.controller.triggers import Trigger, itself
from grove.runtime.telemetry import logs
from grove.runtime.telemetry.current_reconcile import CURRENT_RECONCILE
from grove.runtime.telemetry.health import HealthServer
from tests.unit.runtime.controller.test_leader import LeaseServer
from tests.unit.runtime.scripted import (
    PODS,
    Pod,
    Script,
    ScriptedStream,
    bookmark,
    client,
    decode,
    event,
    refusal,
    until,
)

A = ObjectKey("default", "a")


def with_one_pod() -> Script:
    script = Script()
    script.streams.append(ScriptedStream(event("ADDED", Pod("a", 3)), bookmark(9, end=True)))
    return script


@pytest.mark.looptime
async def test_controllers_start_after_the_initial_lists_and_stop_after_the_running_reconcile() -> None:
    manager = Manager(client(with_one_pod()))
    pods = manager.informer(PODS, decode)
    finished: list[ObjectKey] = []

    async def reconcile(key: ObjectKey) -> None:
        await asyncio.sleep(5)
        finished.append(key)

    controller = Controller("test", reconcile, [Trigger(pods, itself, why="a test")])
    manager.add(controller)
    stop = asyncio.Event()
    assert manager.readiness() == {"cache of pods": False}
    running = asyncio.create_task(manager.run(stop))
    await until(lambda: not controller.queue.idle and pods.synced.is_set())
    assert manager.readiness() == {"cache of pods": True}
    stop.set()
    async with asyncio.timeout(10):
        await running
    assert finished == [A]


@pytest.mark.looptime
async def test_a_reconcile_that_does_not_end_is_cancelled_after_the_grace_period() -> None:
    manager = Manager(client(with_one_pod()), grace=20)
    pods = manager.informer(PODS, decode)
    begun = asyncio.Event()

    async def reconcile(key: ObjectKey) -> None:
        begun.set()
        await asyncio.Event().wait()

    manager.add(Controller("test", reconcile, [Trigger(pods, itself, why="a test")]))
    stop = asyncio.Event()
    running = asyncio.create_task(manager.run(stop))
    await begun.wait()
    stop.set()
    async with asyncio.timeout(30):
        await running


@pytest.mark.looptime
async def test_a_controller_without_its_initial_list_delays_neither_others_nor_the_shutdown() -> None:
    script = with_one_pod()
    missing = [ScriptedStream(refusal(404).body, None, status=404) for _ in range(100)]
    manager = Manager(client(script))
    pods = manager.informer(PODS, decode)
    absent = manager.informer(PODS, decode, labels="of=a-crd-that-is-missing")
    seen: list[ObjectKey] = []

    async def reconcile(key: ObjectKey) -> None:
        seen.append(key)

    manager.add(Controller("fine", reconcile, [Trigger(pods, itself, why="a test")]))
    manager.add(Controller("stuck", reconcile, [Trigger(absent, itself, why="a test")]))
    script.streams.extend(missing)
    stop = asyncio.Event()
    running = asyncio.create_task(manager.run(stop))
    await until(lambda: seen == [A])
    assert absent.trouble is not None
    stop.set()
    async with asyncio.timeout(1):
        await running


@pytest.mark.looptime
async def test_a_lost_lease_ends_the_work_and_the_manager() -> None:
    leases = LeaseServer()
    elector = Elector(leases, ObjectKey("system", "grove"), "me", now=lambda: datetime.now(UTC))
    manager = Manager(client(with_one_pod()), elector=elector)
    pods = manager.informer(PODS, decode)
    working = False

    async def reconcile(key: ObjectKey) -> None:
        nonlocal working
        working = True
        try:
            await asyncio.Event().wait()
        finally:
            working = False

    manager.add(Controller("test", reconcile, [Trigger(pods, itself, why="a test")]))
    running = asyncio.create_task(manager.run(asyncio.Event()))
    await until(lambda: working)
    leases.down = refusal(500)
    with pytest.raises(LeadershipLostError):
        await asyncio.wait_for(running, 15)
    assert not working


def test_controllers_share_one_informer_and_each_adds_the_indexes_it_needs() -> None:
    def names(obj: PartialObject) -> list[str]:
        return [obj.metadata.name or ""]

    manager = Manager(client(Script()))
    first = manager.informer(PODS, decode)
    first.cache.observe(Pod("a", 1).read)
    second = manager.informer(PODS, decode, indexes={"name": names})
    assert second is first
    assert [o.metadata.name for o in first.cache.by_index("name", "a")] == ["a"]
    assert manager.informer(PODS, decode, indexes={"name": names}) is first
    assert manager.informer(PODS, decode, labels="a=b") is not first
    with pytest.raises(ValueError, match="another index"):
        manager.informer(PODS, decode, indexes={"name": lambda o: []})
    with pytest.raises(ValueError, match="decodes into another class"):
        manager.informer(PODS, lambda body: decode(body))


async def test_the_health_server_reports_initial_lists_and_metrics() -> None:
    script_client = client(Script())
    manager = Manager(script_client)
    pods = manager.informer(PODS, decode)
    server = HealthServer(script_client.metrics, manager.readiness)
    port = await server.start("127.0.0.1", 0)
    async with aiohttp.ClientSession(f"http://127.0.0.1:{port}") as session:

        async def ask(path: str) -> tuple[int, str]:
            async with session.get(path) as answer:
                return answer.status, await answer.text()

        assert await ask("/healthz") == (200, "ok\n")
        assert await ask("/readyz") == (503, "waiting for cache of pods\n")
        pods.synced.set()
        pods.cache.observe(Pod("a", 1).read)
        assert await ask("/readyz") == (200, "ok\n")
        status, text = await ask("/metrics")
        assert status == 200
        assert 'cache_objects{resource="pods"} 1.0' in text
    await server.stop()


def test_a_log_line_carries_the_key_that_is_being_reconciled(capsys: pytest.CaptureFixture[str]) -> None:
    before = structlog.get_config()
    try:
        logs.configure("info", "json")
        CURRENT_RECONCILE.set(("test", A))
        structlog.get_logger().warning("gate removed", pods=3)
        structlog.get_logger().debug("not shown")
    finally:
        CURRENT_RECONCILE.set(None)
        structlog.configure(**before)
    (line,) = capsys.readouterr().err.splitlines()
    entry = json.loads(line)
    assert (entry["event"], entry["key"], entry["controller"], entry["pods"], entry["level"]) == (
        "gate removed",
        "default/a",
        "test",
        3,
        "warning",
    )
