"""Kubernetes events: written beside the work, never in its way."""

import asyncio
import dataclasses
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from structlog.testing import capture_logs

from grove.runtime.client.transport import Request, Response
from grove.runtime.controller.events import EventRecorder, EventReference, reference
from tests.unit.runtime.scripted import PODS, Pod, Script, client, ok, refusal, until

pytestmark = pytest.mark.looptime

POD = EventReference("v1", "Pod", "default", "a", "uid-a")


class EventServer(Script):
    """Keeps events; `refused` is its answer to every write, if it takes none."""

    def __init__(self) -> None:
        super().__init__()
        self.events: dict[str, dict[str, Any]] = {}
        self.writes = 0
        self.refused: Response | None = None

    async def send(self, request: Request) -> Response:
        self.writes += 1
        if self.refused is not None:
            return self.refused
        body = msgspec.json.decode(request.body)
        if request.method == "POST":
            name = body["metadata"]["name"]
            assert name not in self.events
            self.events[name] = body
            return ok(body)
        name = request.path.rpartition("/")[2]
        if name not in self.events:
            return refusal(404, "NotFound")
        self.events[name] |= body
        return ok(self.events[name])


@asynccontextmanager
async def recording(server: EventServer) -> AsyncIterator[EventRecorder]:
    loop = asyncio.get_running_loop()
    start = datetime(2030, 1, 1, tzinfo=UTC)
    recorder = EventRecorder(
        client(server), "example.com/test", "pod-1", now=lambda: start + timedelta(seconds=loop.time())
    )
    task = asyncio.create_task(recorder.run())
    try:
        yield recorder
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def say(recorder: EventRecorder, note: str = "no node fits", regarding: EventReference = POD) -> None:
    recorder.record(regarding, "Unschedulable", note, action="Scheduling", type="Warning")


async def test_an_event_says_what_happened_to_which_object() -> None:
    server = EventServer()
    async with recording(server) as recorder:
        say(recorder)
        await until(lambda: bool(server.events))
    (written,) = server.events.values()
    assert written["metadata"]["name"].startswith("a.")
    del written["metadata"]["name"]
    assert written == {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"namespace": "default"},
        "eventTime": "2030-01-01T00:00:00.000000Z",
        "reportingController": "example.com/test",
        "reportingInstance": "pod-1",
        "action": "Scheduling",
        "reason": "Unschedulable",
        "type": "Warning",
        "note": "no node fits",
        "regarding": {"apiVersion": "v1", "kind": "Pod", "namespace": "default", "name": "a", "uid": "uid-a"},
    }


async def test_a_repeated_event_is_counted_in_a_series() -> None:
    server = EventServer()
    async with recording(server) as recorder:
        for _ in range(100):
            say(recorder)
            await asyncio.sleep(1)
        await asyncio.sleep(60)
    (written,) = server.events.values()
    assert written["series"]["count"] == 100
    assert server.writes < 10


async def test_an_event_with_another_note_or_object_is_a_new_event() -> None:
    server = EventServer()
    async with recording(server) as recorder:
        say(recorder, "no node fits")
        say(recorder, "no quota left")
        say(recorder, regarding=dataclasses.replace(POD, uid="uid-of-its-successor"))
        await until(lambda: len(server.events) == 3)


async def test_a_repetition_after_the_end_of_a_series_is_a_new_event() -> None:
    server = EventServer()
    async with recording(server) as recorder:
        say(recorder)
        await asyncio.sleep(1000)
        say(recorder)
        await until(lambda: len(server.events) == 2)


async def test_a_series_whose_event_is_gone_begins_a_new_one() -> None:
    server = EventServer()
    async with recording(server) as recorder:
        say(recorder)
        await until(lambda: bool(server.events))
        server.events.clear()
        say(recorder)
        await until(lambda: bool(server.events))
    (written,) = server.events.values()
    assert written["series"]["count"] == 2


async def test_events_that_the_server_refuses_are_dropped_and_counted() -> None:
    server = EventServer()
    server.refused = refusal(403, "Forbidden")
    async with recording(server) as recorder:
        say(recorder)
        await until(lambda: server.writes == 1)
        server.refused = None
        say(recorder, "another")
        await until(lambda: len(server.events) == 1)
        assert b"events_dropped_total 1.0" in recorder._metrics.text()


async def test_events_of_a_deleted_namespace_do_not_count_as_dropped() -> None:
    server = EventServer()
    server.refused = refusal(404, "NotFound", 'namespaces "default" not found')
    with capture_logs() as logs:
        async with recording(server) as recorder:
            say(recorder)
            await until(lambda: server.writes == 1)
            assert b"events_dropped_total 0.0" in recorder._metrics.text()
    assert logs == []


async def test_a_flood_of_events_is_bounded() -> None:
    server = EventServer()
    async with recording(server) as recorder:
        for number in range(20_000):
            say(recorder, f"note {number}")
        assert len(recorder._series) == 5000
        assert b"events_dropped_total 15000.0" in recorder._metrics.text()


async def test_the_last_events_are_written_when_the_process_ends() -> None:
    server = EventServer()
    async with recording(server) as recorder:
        say(recorder)
    await recorder.flush()
    assert len(server.events) == 1


async def test_an_event_about_a_cluster_scoped_object_lives_in_the_default_namespace() -> None:
    server = EventServer()
    async with recording(server) as recorder:
        say(recorder, regarding=EventReference("v1", "Node", "", "n1", "u"))
        await until(lambda: bool(server.events))
    (written,) = server.events.values()
    assert written["metadata"]["namespace"] == "default"


def test_a_reference_is_taken_from_an_object() -> None:
    assert reference(PODS, Pod("a", 1).read) == POD
