"""Controllers: which keys are reconciled, when, and what failures cause."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
from structlog.testing import capture_logs

from grove.runtime.cache.informer import Informer
from grove.runtime.client.errors import (
    ApiError,
    Conflict,
    Forbidden,
    NamespaceTerminating,
    NotFound,
    Status,
    TransportError,
    Vanished,
)
from grove.runtime.client.objects import ObjectKey, Origin, PartialObject
from grove.runtime.controller.controller import Controller
from grove.runtime.controller.queue import Queue
from grove.runtime.controller.triggers import Signal, SignalTrigger, Trigger, added_or_deleted, itself, owner
from tests.unit.runtime.scripted import (
    PODS,
    Pod,
    Script,
    ScriptedStream,
    bookmark,
    client,
    decode,
    event,
    until,
)

pytestmark = pytest.mark.looptime

A, B = ObjectKey("default", "a"), ObjectKey("default", "b")


@asynccontextmanager
async def running(controller: Controller[Any]) -> AsyncIterator[asyncio.Task[None]]:
    task = asyncio.create_task(controller.run())
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def filled(*pods: Pod) -> Informer[PartialObject]:
    """An informer that has its initial list."""
    informer = Informer(client(Script()), PODS, decode)
    for pod in pods:
        informer.cache.observe(pod.read)
    informer.synced.set()
    return informer


def controller(
    reconcile: Callable[[ObjectKey], Awaitable[float | None]],
    informer: Informer[PartialObject],
    *,
    workers: int = 2,
    triggers: Sequence[Trigger[Any, ObjectKey]] = (),
) -> Controller[ObjectKey]:
    triggers = triggers or [Trigger(informer, itself, why="a test")]
    return Controller("test", reconcile, triggers, workers=workers)


class Recorder:
    def __init__(self, *outcomes: Exception | float | None) -> None:
        self.seen: list[ObjectKey] = []
        self.outcomes = list(outcomes)

    async def __call__(self, key: ObjectKey) -> float | None:
        self.seen.append(key)
        outcome = self.outcomes.pop(0) if self.outcomes else None
        if isinstance(outcome, Exception):
            raise outcome
        return outcome


async def test_every_object_and_every_change_is_reconciled() -> None:
    informer, reconcile = filled(Pod("a", 1)), Recorder()
    async with running(controller(reconcile, informer)):
        await until(lambda: reconcile.seen == [A])
        informer.cache.observe(Pod("b", 2).read)
        await until(lambda: reconcile.seen == [A, B])
        informer.cache.forget("uid-a", 3)
        await until(lambda: reconcile.seen == [A, B, A])


async def test_nothing_is_reconciled_before_the_initial_lists() -> None:
    informer, reconcile = Informer(client(Script()), PODS, decode), Recorder()
    informer.cache.observe(Pod("a", 1).read)
    async with running(controller(reconcile, informer)):
        await asyncio.sleep(10)
        assert reconcile.seen == []
        informer.synced.set()
        await until(lambda: reconcile.seen == [A])


async def test_a_burst_of_changes_is_one_reconcile() -> None:
    informer, reconcile = filled(), Recorder()
    async with running(controller(reconcile, informer)):
        await asyncio.sleep(1)
        for version in range(1, 100):
            informer.cache.observe(Pod("a", version).read)
        await asyncio.sleep(10)
    assert reconcile.seen == [A]


async def test_an_object_that_changes_its_owner_enqueues_both_owners() -> None:
    def owned_by(name: str, version: int) -> PartialObject:
        ref = {"apiVersion": "v1", "kind": "Set", "name": name, "uid": name, "controller": True}
        return Pod("pod", version, more={"ownerReferences": [ref]}).read

    informer, reconcile = filled(), Recorder()
    informer.cache.observe(owned_by("a", 1))
    trigger = Trigger(informer, owner("Set"), why="a test")
    async with running(controller(reconcile, informer, triggers=[trigger])):
        await until(lambda: reconcile.seen == [A])
        informer.cache.observe(owned_by("b", 2))
        await until(lambda: sorted(reconcile.seen[1:]) == [A, B])


async def test_changes_that_the_predicate_rejects_enqueue_nothing() -> None:
    informer, reconcile = filled(Pod("a", 1)), Recorder()
    trigger = Trigger(informer, itself, why="a test", when=added_or_deleted)
    async with running(controller(reconcile, informer, triggers=[trigger])):
        await until(lambda: reconcile.seen == [A])
        informer.cache.observe(Pod("a", 2).read)
        await asyncio.sleep(10)
        assert reconcile.seen == [A]
        informer.cache.forget("uid-a", 3)
        await until(lambda: reconcile.seen == [A, A])


async def test_a_reconcile_that_raises_is_logged_and_requeued_and_ends_no_worker() -> None:
    reconcile = Recorder(RuntimeError("boom"), RuntimeError("boom"))
    with capture_logs() as logs:
        async with running(controller(reconcile, filled(Pod("a", 1)), workers=1)) as task:
            await until(lambda: len(reconcile.seen) == 3)
            assert not task.done()
    assert [e["event"] for e in logs if e["log_level"] == "error"] == [
        "reconcile failed, requeued with backoff"
    ] * 2


async def test_an_external_error_is_logged_without_a_traceback() -> None:
    no = Forbidden(Status(code=403, message="quota"), "POST /pods")
    reconcile = Recorder(no, ExceptionGroup("PodClique a", [no, no, TransportError("gone")]))
    with capture_logs() as logs:
        async with running(controller(reconcile, filled(Pod("a", 1)))):
            await until(lambda: len(reconcile.seen) == 3)
    alarms = [e for e in logs if e["log_level"] == "error"]
    assert [e["error"] for e in alarms] == ["POST /pods: 403 quota", "POST /pods: 403 quota; gone"]
    assert all("exc_info" not in e for e in alarms)


async def test_a_defect_among_external_errors_is_logged_with_a_traceback() -> None:
    no = Forbidden(Status(code=403, message="quota"))
    reconcile = Recorder(ExceptionGroup("PodClique a", [no, KeyError("defect")]))
    with capture_logs() as logs:
        async with running(controller(reconcile, filled(Pod("a", 1)))):
            await until(lambda: len(reconcile.seen) == 2)
    (alarm,) = [e for e in logs if e["log_level"] == "error"]
    assert alarm["exc_info"]


async def test_a_conflict_is_requeued_without_an_error_in_the_log() -> None:
    reconcile = Recorder(Conflict(Status(code=409)))
    with capture_logs() as logs:
        async with running(controller(reconcile, filled(Pod("a", 1)))):
            await until(lambda: len(reconcile.seen) == 2)
    assert not [e for e in logs if e["log_level"] == "error"]


@pytest.mark.parametrize("gone", [Vanished(Status(code=404)), NamespaceTerminating(Status(code=403))])
async def test_an_object_deleted_meanwhile_is_requeued_without_an_error_in_the_log(gone: ApiError) -> None:
    reconcile = Recorder(gone, ExceptionGroup("many", [gone]))
    with capture_logs() as logs:
        async with running(controller(reconcile, filled(Pod("a", 1)))):
            await until(lambda: len(reconcile.seen) == 3)
    assert {e["log_level"] for e in logs} <= {"debug"}


async def test_a_namespace_that_does_not_exist_is_an_error() -> None:
    reconcile = Recorder(NotFound(Status(code=404)))
    with capture_logs() as logs:
        async with running(controller(reconcile, filled(Pod("a", 1)))):
            await until(lambda: len(reconcile.seen) == 2)
    assert [e["event"] for e in logs if e["log_level"] == "error"] == [
        "reconcile failed, requeued with backoff"
    ]


async def test_a_change_that_caused_a_conflict_requeues_the_key_even_if_the_predicate_rejects_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whether it has come by the time of the conflict, or comes later. No timer is needed for that."""
    monkeypatch.setattr(Queue, "add_after", lambda *_: None)
    informer = filled(Pod("a", 1))
    reconcile = Recorder(Conflict(Status(code=409)), Conflict(Status(code=409)))
    trigger = Trigger(informer, itself, why="a test", when=added_or_deleted)
    async with running(controller(reconcile, informer, triggers=[trigger])):
        await asyncio.sleep(10)
        assert reconcile.seen == [A, A]
        informer.cache.observe(Pod("a", 2).read)
        await until(lambda: reconcile.seen == [A, A, A])
        informer.cache.observe(Pod("a", 3).read)
        await asyncio.sleep(10)
        assert reconcile.seen == [A, A, A]


async def test_a_reconcile_can_requeue_its_key_after_a_delay() -> None:
    reconcile = Recorder(300.0)
    async with running(controller(reconcile, filled(Pod("a", 1)))):
        await asyncio.sleep(299)
        assert len(reconcile.seen) == 1
        await asyncio.sleep(2)
        assert len(reconcile.seen) == 2


async def test_two_workers_never_have_the_same_key() -> None:
    in_work: list[ObjectKey] = []
    overlaps = 0

    async def reconcile(key: ObjectKey) -> None:
        nonlocal overlaps
        overlaps += key in in_work
        in_work.append(key)
        await asyncio.sleep(1)
        in_work.remove(key)

    informer = filled(Pod("a", 1))
    async with running(controller(reconcile, informer, workers=8)):
        for version in range(2, 50):
            informer.cache.observe(Pod("a", version).read)
            await asyncio.sleep(0.3)
    assert overlaps == 0


async def test_stopping_finishes_the_running_reconcile_and_starts_no_other() -> None:
    finished: list[ObjectKey] = []

    async def reconcile(key: ObjectKey) -> None:
        await asyncio.sleep(5)
        finished.append(key)

    subject = controller(reconcile, filled(Pod("a", 1), Pod("b", 2)), workers=1)
    async with running(subject) as task:
        await asyncio.sleep(1)
        subject.stop()
        async with asyncio.timeout(10):
            await task
    assert finished == [A]


async def test_a_slow_reconcile_does_not_block_the_informer() -> None:
    script = Script()
    stream = ScriptedStream(event("ADDED", Pod("a", 3)), bookmark(9, end=True))
    script.streams.append(stream)
    informer = Informer(client(script), PODS, decode)
    begun = asyncio.Event()

    async def never_ends(key: ObjectKey) -> None:
        begun.set()
        await asyncio.Event().wait()

    reading = asyncio.create_task(informer.run())
    async with running(controller(never_ends, informer, workers=1)):
        await begun.wait()
        for number in range(1000):
            stream.send(event("ADDED", Pod(f"p{number}", 10 + number)))
        await until(lambda: len(informer.cache) == 1001)
    reading.cancel()
    await asyncio.gather(reading, return_exceptions=True)


async def test_reconciling_ten_thousand_unchanged_objects_sends_no_request() -> None:
    script = Script()
    informer = Informer(client(script), PODS, decode)
    for number in range(10_000):
        informer.cache.observe(Pod(f"p{number}", number + 1).read)
    informer.synced.set()
    looked_at = 0

    async def reconcile(key: ObjectKey) -> None:
        nonlocal looked_at
        found = informer.cache.get(key)
        assert found is not None
        if found.metadata.labels.get("wanted") == "yes":
            await informer.objects.merge_patch(key, b"{}")
        looked_at += 1

    async with running(controller(reconcile, informer)):
        await until(lambda: looked_at == 10_000)
    assert script.requests == []
    assert script.watches == []


async def test_the_expected_result_of_a_write_requeues_other_keys_but_not_that_of_its_reconcile() -> None:
    """Here a reconcile of A changes A and B in the cache, as the answers to two creates would."""
    informer = filled(Pod("a", 1), Pod("b", 2))
    seen: list[ObjectKey] = []

    async def reconcile(key: ObjectKey) -> None:
        seen.append(key)
        if key == A and seen.count(A) == 1:
            informer.cache.observe(Pod("a", 3).read, Origin.EXPECTED_WRITE)
            informer.cache.observe(Pod("b", 4).read, Origin.EXPECTED_WRITE)

    async with running(controller(reconcile, informer, workers=1)):
        await until(lambda: seen == [A, B])
        await asyncio.sleep(60)
        assert seen == [A, B]  # B was still waiting for a worker
        informer.cache.observe(Pod("a", 5).read)
        await until(lambda: seen == [A, B, A])


async def test_the_answer_to_any_other_write_requeues_the_key_since_it_may_bring_a_change_of_others() -> None:
    informer = filled(Pod("a", 1))
    seen: list[ObjectKey] = []

    async def reconcile(key: ObjectKey) -> None:
        seen.append(key)
        if len(seen) == 1:
            informer.cache.observe(Pod("a", 2).read, Origin.OWN_WRITE)

    async with running(controller(reconcile, informer)):
        await until(lambda: seen == [A, A])


async def test_a_change_by_others_during_a_reconcile_requeues_its_key() -> None:
    informer = filled(Pod("a", 1))
    begun, seen = asyncio.Event(), []

    async def reconcile(key: ObjectKey) -> None:
        seen.append(key)
        if len(seen) == 1:
            begun.set()
            await asyncio.sleep(1)

    async with running(controller(reconcile, informer)):
        await begun.wait()
        informer.cache.observe(Pod("a", 2).read)
        await until(lambda: seen == [A, A])


async def test_a_signal_enqueues_the_keys_that_its_value_maps_to() -> None:
    informer, seen = filled(), []
    signal: Signal[str] = Signal()

    async def reconcile(key: ObjectKey) -> None:
        seen.append(key)

    trigger = SignalTrigger(signal, lambda name: [ObjectKey("default", name)], why="a test")
    async with running(Controller("test", reconcile, [Trigger(informer, itself, why="a test"), trigger])):
        await asyncio.sleep(1)
        signal.fire("a")
        await until(lambda: seen == [A])


async def test_a_signal_that_is_only_worth_a_report_enqueues_its_keys_later() -> None:
    loop, seen = asyncio.get_running_loop(), []
    signal: Signal[str] = Signal()

    async def reconcile(key: ObjectKey) -> None:
        seen.append(loop.time())

    trigger = SignalTrigger(signal, lambda _: [A], why="a test", after_seconds=10.0)
    async with running(Controller("test", reconcile, [trigger])):
        fired_at = loop.time()
        signal.fire("")
        await until(lambda: bool(seen))
    assert seen[0] - fired_at >= 10.0


async def test_a_controller_does_not_wait_for_the_informer_of_an_optional_trigger() -> None:
    never_served = Informer(client(Script()), PODS, decode)
    informer, seen = filled(Pod("a", 1)), []

    async def reconcile(key: ObjectKey) -> None:
        seen.append(key)

    triggers = [
        Trigger(informer, itself, why="a test"),
        Trigger(never_served, itself, why="a test", optional=True),
    ]
    async with running(Controller("test", reconcile, triggers)):
        await until(lambda: seen == [A])
