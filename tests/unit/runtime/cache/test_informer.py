"""Informers: whatever the server does, the cache ends up equal to it."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest
from structlog.testing import capture_logs

from grove.runtime.cache.cache import Change
from grove.runtime.cache.informer import BATCH_WINDOW_SECONDS, Informer
from grove.runtime.client.errors import TransportError
from grove.runtime.client.objects import ObjectKey, PartialObject
from grove.runtime.client.transport import Response
from tests.unit.runtime.scripted import (
    HANG,
    PODS,
    Pod,
    Script,
    ScriptedStream,
    bookmark,
    client,
    decode,
    error_event,
    event,
    ok,
    pod_list,
    refusal,
    until,
)

pytestmark = pytest.mark.looptime

REFUSED = msgspec.json.encode(
    {"kind": "Status", "code": 422, "reason": "Invalid", "message": "sendInitialEvents"}
)


def without_streaming_lists(*streams: ScriptedStream | Exception) -> list[ScriptedStream | Exception]:
    """A server that refuses `sendInitialEvents`, as before Kubernetes 1.34."""
    return [ScriptedStream(REFUSED, None, status=422), *streams]


@asynccontextmanager
async def running(script: Script, **options: Any) -> AsyncIterator[Informer[PartialObject]]:
    informer = Informer(client(script), PODS, options.pop("decode", decode), **options)
    task = asyncio.create_task(informer.run())
    try:
        yield informer
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def known(informer: Informer[PartialObject]) -> dict[str, str]:
    return {o.metadata.name or "": o.metadata.resource_version or "" for o in informer.cache}


async def test_the_initial_list_is_streamed_where_the_server_can() -> None:
    script = Script()
    stream = ScriptedStream(event("ADDED", Pod("a", 3)), event("ADDED", Pod("b", 7)))
    script.streams.append(stream)
    async with running(script) as informer:
        await until(lambda: len(informer.cache) == 2)
        assert not informer.synced.is_set()
        stream.send(bookmark(9, end=True))
        await informer.synced.wait()
        stream.send(event("MODIFIED", Pod("a", 10)))
        await until(lambda: known(informer) == {"a": "10", "b": "7"})
    assert script.requests == []
    assert script.watches[0].query["sendInitialEvents"] == "true"
    assert script.watches[0].query["resourceVersionMatch"] == "NotOlderThan"
    assert stream.closed


async def test_a_server_without_streaming_lists_is_listed_in_pages_and_then_watched() -> None:
    script = Script(pod_list(Pod("a", 3), version=9, more="next"), pod_list(Pod("b", 7), version=9))
    script.streams.extend(without_streaming_lists())
    async with running(script, labels="app=x", fields="spec.nodeName=n") as informer:
        await informer.synced.wait()
        assert known(informer) == {"a": "3", "b": "7"}
        await until(lambda: len(script.watches) == 2)
    first, second = script.requests
    assert first.query == {"labelSelector": "app=x", "fieldSelector": "spec.nodeName=n", "limit": "500"}
    assert second.query["continue"] == "next"
    assert script.watches[1].query["resourceVersion"] == "9"
    assert script.watches[1].query["labelSelector"] == "app=x"
    assert "sendInitialEvents" not in script.watches[1].query


async def test_a_server_that_ignores_sendinitialevents_is_listed() -> None:
    script = Script(pod_list(Pod("a", 3), version=9))
    script.streams.append(ScriptedStream(event("ADDED", Pod("a", 3))))
    async with running(script) as informer:
        await informer.synced.wait()
        assert known(informer) == {"a": "3"}


async def test_a_continue_token_that_expires_between_pages_leads_to_one_full_list() -> None:
    script = Script(
        pod_list(Pod("a", 3), version=9, more="next"),
        refusal(410, "Expired"),
        pod_list(Pod("b", 12), version=13),
    )
    script.streams.extend(without_streaming_lists())
    async with running(script) as informer:
        await informer.synced.wait()
        assert known(informer) == {"b": "12"}
    assert "limit" not in script.requests[2].query


async def test_a_watch_that_ends_is_resumed_where_it_was() -> None:
    script = Script()
    script.streams.append(ScriptedStream(bookmark(9, end=True), event("ADDED", Pod("a", 12)), None))
    script.streams.append(ScriptedStream(event("DELETED", Pod("a", 15))))
    async with running(script) as informer:
        await until(lambda: len(script.watches) == 2)
        assert script.watches[1].query["resourceVersion"] == "12"
        await until(lambda: not informer.cache)


async def test_a_bookmark_advances_the_resume_position() -> None:
    script = Script()
    script.streams.append(ScriptedStream(bookmark(9, end=True), bookmark(5000), None))
    async with running(script):
        await until(lambda: len(script.watches) == 2)
        assert script.watches[1].query["resourceVersion"] == "5000"


async def test_a_replayed_event_does_not_move_the_resume_position_backwards() -> None:
    script = Script()
    script.streams.append(
        ScriptedStream(
            bookmark(9, end=True), event("ADDED", Pod("a", 12)), event("ADDED", Pod("a", 10)), None
        )
    )
    async with running(script) as informer:
        await until(lambda: len(script.watches) == 2)
        assert script.watches[1].query["resourceVersion"] == "12"
        assert known(informer) == {"a": "12"}


@pytest.mark.parametrize(
    "expiry",
    [
        ScriptedStream(error_event(410, "Expired")),
        ScriptedStream(b'{"kind":"Status","code":410,"reason":"Expired"}', None, status=410),
    ],
    ids=["in the stream", "as a status"],
)
async def test_an_expired_version_causes_a_relist_that_reports_deletions(expiry: ScriptedStream) -> None:
    script = Script()
    script.streams.append(
        ScriptedStream(event("ADDED", Pod("a", 3)), event("ADDED", Pod("b", 4)), bookmark(9, end=True), None)
    )
    script.streams.append(expiry)
    script.streams.append(ScriptedStream(event("ADDED", Pod("b", 15)), bookmark(20, end=True)))
    deleted: list[str] = []

    def note(change: Change[PartialObject]) -> None:
        if change.new is None:
            deleted.append(change.object.metadata.name or "")

    async with running(script) as informer:
        informer.cache.subscribe(note)
        await until(lambda: known(informer) == {"b": "15"})
        assert deleted == ["a"]
        assert script.watches[2].query["sendInitialEvents"] == "true"
        assert "resourceVersion" not in script.watches[2].query


async def test_an_interrupted_initial_list_is_read_again_from_the_start() -> None:
    script = Script()
    script.streams.append(ScriptedStream(event("ADDED", Pod("a", 3)), TransportError("reset")))
    script.streams.append(ScriptedStream(event("ADDED", Pod("b", 4)), bookmark(9, end=True)))
    async with running(script) as informer:
        await informer.synced.wait()
        assert known(informer) == {"b": "4"}
        assert "resourceVersion" not in script.watches[1].query


async def test_a_silent_connection_is_closed_and_resumed() -> None:
    script = Script()
    silent = ScriptedStream(bookmark(9, end=True))
    script.streams.append(silent)
    script.streams.append(ScriptedStream(event("ADDED", Pod("a", 12))))
    async with running(script) as informer:
        await until(lambda: known(informer) == {"a": "12"})
        assert silent.closed
        assert script.watches[1].query["resourceVersion"] == "9"
        assert informer.trouble is None


async def test_a_quiet_connection_is_kept_once_the_initial_list_is_complete() -> None:
    script = Script()
    script.streams.append(ScriptedStream(bookmark(9, end=True)))
    async with running(script) as informer:
        await informer.synced.wait()
        await asyncio.sleep(60)
        assert len(script.watches) == 1


async def test_trouble_is_over_as_soon_as_a_watch_is_up_again() -> None:
    script = Script()
    script.streams.append(ScriptedStream(bookmark(9, end=True), None))
    script.streams.append(TransportError("reset"))
    async with running(script) as informer:
        await until(lambda: informer.trouble is not None)
        await asyncio.sleep(5)
        assert informer.trouble is None


@pytest.mark.parametrize("code", [401, 403, 404, 429, 500, 503])
async def test_a_temporary_refusal_does_not_end_the_informer(code: int) -> None:
    def refused() -> ScriptedStream:
        return ScriptedStream(refusal(code).body, None, status=code)

    script = Script()
    script.streams.extend([refused(), refused(), ScriptedStream(bookmark(9, end=True), None)])
    script.streams.extend([refused(), refused(), ScriptedStream(event("ADDED", Pod("a", 12)))])
    async with running(script) as informer:
        await until(lambda: informer.trouble is not None)
        await until(lambda: known(informer) == {"a": "12"})
        assert informer.trouble is None


async def test_a_server_that_ends_every_watch_at_once_is_watched_with_backoff() -> None:
    script = Script()
    script.streams.append(ScriptedStream(bookmark(9, end=True), None))
    script.streams.extend(ScriptedStream(None) for _ in range(1000))
    async with running(script):
        await asyncio.sleep(120)
    assert len(script.watches) < 30


async def test_retry_after_delays_the_next_watch() -> None:
    busy = ScriptedStream(
        b'{"kind":"Status","code":429,"details":{"retryAfterSeconds":20}}', None, status=429
    )
    script = Script()
    script.streams.extend([busy, ScriptedStream(bookmark(9, end=True))])
    started = asyncio.get_running_loop().time()
    async with running(script) as informer:
        await informer.synced.wait()
        assert asyncio.get_running_loop().time() - started >= 20


async def test_a_malformed_answer_does_not_end_the_informer() -> None:
    script = Script()
    script.streams.append(ScriptedStream(b"<html>gateway</html>\n"))
    script.streams.append(ScriptedStream(b'{"type":"DELETED","object":{}}\n'))
    script.streams.append(ScriptedStream(event("ADDED", Pod("a", 12)), bookmark(19, end=True)))
    async with running(script) as informer:
        await informer.synced.wait()
        assert known(informer) == {"a": "12"}


async def test_an_object_that_cannot_be_decoded_is_reported_and_skipped() -> None:
    def picky(body: bytes) -> PartialObject:
        found = decode(body)
        if found.metadata.labels.get("broken"):
            raise ValueError("spec.replicas: expected an int")
        return found

    script = Script()
    broken = {"labels": {"broken": "yes"}}
    stream = ScriptedStream(
        event("ADDED", Pod("a", 3)),
        event("ADDED", Pod("b", 4, more=broken)),
        event("ADDED", Pod("c", 5)),
        bookmark(9, end=True),
        event("MODIFIED", Pod("a", 10, more=broken)),
        None,
    )
    script.streams.append(stream)
    with capture_logs() as logs:
        async with running(script, decode=picky) as informer:
            await until(lambda: len(script.watches) == 2)
            assert known(informer) == {"a": "3", "c": "5"}
            assert script.watches[1].query["resourceVersion"] == "10"
    reports = [entry for entry in logs if entry["log_level"] == "error"]
    assert [entry["key"] for entry in reports] == ["default/b", "default/a"]
    assert "spec.replicas" in reports[0]["error"]


async def test_an_object_that_a_relist_cannot_decode_is_not_reported_as_deleted() -> None:
    readable = True

    def picky(body: bytes) -> PartialObject:
        if not readable:
            raise ValueError("broken")
        return decode(body)

    script = Script()
    script.streams.append(ScriptedStream(event("ADDED", Pod("a", 3)), bookmark(9, end=True)))
    async with running(script, decode=picky) as informer:
        await informer.synced.wait()
        readable = False
        script.streams.append(ScriptedStream(error_event(410, "Expired")))
        script.streams.append(ScriptedStream(event("ADDED", Pod("a", 30)), bookmark(40, end=True), None))
        await until(lambda: len(script.watches) == 4)
        assert known(informer) == {"a": "3"}


async def test_a_line_longer_than_the_largest_object_is_read_whole() -> None:
    script = Script()
    stream = ScriptedStream(bookmark(9, end=True))
    script.streams.append(stream)
    line = event("ADDED", Pod("big", 12, more={"annotations": {"x": "y" * 3_000_000}}))
    async with running(script) as informer:
        for start in range(0, len(line), 10_000):
            stream.send(line[start : start + 10_000])
        await until(lambda: known(informer) == {"big": "12"})


async def test_a_write_is_in_the_cache_before_its_watch_event() -> None:
    script = Script(ok(Pod("a", 12).json, 201), ok(Pod("a", 14).json))
    stream = ScriptedStream(bookmark(9, end=True))
    script.streams.append(stream)
    async with running(script) as informer:
        await informer.synced.wait()
        await informer.objects.create("default", b"{}")
        assert known(informer) == {"a": "12"}
        await informer.objects.merge_patch(ObjectKey("default", "a"), b"{}")
        assert known(informer) == {"a": "14"}
        stream.send(event("ADDED", Pod("a", 12)))
        stream.send(event("ADDED", Pod("b", 15)))
        await until(lambda: len(informer.cache) == 2)
        assert known(informer) == {"a": "14", "b": "15"}


async def test_the_echo_of_a_write_is_not_decoded_and_still_advances_the_resume_position() -> None:
    read: list[bytes] = []

    def counting(body: bytes) -> PartialObject:
        read.append(body)
        return decode(body)

    script = Script(ok(Pod("a", 12).json, 201))
    stream = ScriptedStream(bookmark(9, end=True))
    script.streams.append(stream)
    async with running(script, decode=counting) as informer:
        await informer.synced.wait()
        await informer.objects.create("default", b"{}")
        stream.send(event("ADDED", Pod("a", 12)))
        stream.send(None)
        await until(lambda: len(script.watches) == 2)
        assert script.watches[1].query["resourceVersion"] == "12"
        assert read == [Pod("a", 12).body]


async def test_an_echo_in_an_initial_list_counts_as_an_existing_object() -> None:
    script = Script(ok(Pod("a", 12).json, 201))
    script.streams.append(ScriptedStream(bookmark(9, end=True)))
    async with running(script) as informer:
        await informer.synced.wait()
        await informer.objects.create("default", b"{}")
        script.streams.append(ScriptedStream(error_event(410, "Expired")))
        script.streams.append(ScriptedStream(event("ADDED", Pod("a", 12)), bookmark(40, end=True), None))
        await until(lambda: len(script.watches) == 4)
        assert known(informer) == {"a": "12"}


async def test_no_event_is_taken_for_the_echo_of_another() -> None:
    holding = {"annotations": {"x": "y"}, "held": {"resourceVersion": "12"}, "owner": "uid-a"}
    script = Script(ok(Pod("a", 12).json, 201))
    stream = ScriptedStream(bookmark(9, end=True))
    script.streams.append(stream)
    async with running(script) as informer:
        await informer.synced.wait()
        await informer.objects.create("default", b"{}")
        stream.send(
            event("ADDED", Pod("b", 12))
        )  # of a server on which versions tell nothing of other objects
        stream.send(event("MODIFIED", Pod("a", 13, more=holding)))
        await until(lambda: known(informer) == {"a": "13", "b": "12"})


async def test_events_within_the_batch_window_are_delivered_as_one_batch() -> None:
    """So nobody acts on the first of two deletions before the second is known."""
    script = Script()
    stream = ScriptedStream(event("ADDED", Pod("a", 3)), event("ADDED", Pod("b", 4)), bookmark(9, end=True))
    script.streams.append(stream)
    loop = asyncio.get_running_loop()
    async with running(script) as informer:
        await informer.synced.wait()
        delivered: list[float] = []
        informer.cache.subscribe(lambda change: delivered.append(loop.time()) if change.new is None else None)
        stream.send(event("DELETED", Pod("a", 10)))
        await asyncio.sleep(BATCH_WINDOW_SECONDS / 2)
        assert delivered == []
        stream.send(event("DELETED", Pod("b", 11)))
        await until(lambda: bool(delivered))
        assert len(delivered) == 2
        assert delivered[0] == delivered[1]


async def test_without_a_batch_window_an_event_is_delivered_when_it_arrives() -> None:
    script = Script()
    stream = ScriptedStream(bookmark(9, end=True))
    script.streams.append(stream)
    informer = Informer(client(script), PODS, decode, batch_window=0.0)
    task = asyncio.create_task(informer.run())
    await informer.synced.wait()
    before = asyncio.get_running_loop().time()
    stream.send(event("ADDED", Pod("a", 10)))
    for _ in range(10):
        await asyncio.sleep(0)
    assert known(informer) == {"a": "10"}
    assert asyncio.get_running_loop().time() == before
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_events_that_arrived_before_the_connection_broke_are_delivered() -> None:
    script = Script()
    stream = ScriptedStream(bookmark(9, end=True))
    script.streams.extend([stream, ScriptedStream()])
    async with running(script) as informer:
        await informer.synced.wait()
        stream.send(event("ADDED", Pod("a", 10)))
        stream.send(None)
        await until(lambda: len(script.watches) == 2)
        assert known(informer) == {"a": "10"}
        assert script.watches[1].query["resourceVersion"] == "10"


async def test_an_event_without_a_version_ends_the_connection_and_loses_nothing_before_it() -> None:
    script = Script()
    stream = ScriptedStream(bookmark(9, end=True))
    script.streams.extend([stream, ScriptedStream()])
    async with running(script) as informer:
        await informer.synced.wait()
        stream.send(event("ADDED", Pod("a", 10)))
        stream.send(
            b'{"type":"MODIFIED","object":{"metadata":{"name":"b","uid":"u","resourceVersion":"x"}}}\n'
        )
        await until(lambda: len(script.watches) == 2)
        assert known(informer) == {"a": "10"}


async def test_a_relist_that_started_before_a_write_does_not_lose_what_was_written() -> None:
    script = Script()

    def slow_list(request: object) -> Response:
        informer.cache.observe(Pod("written", 20).read)  # the answer to a write arrives during the list
        return pod_list(Pod("a", 3), version=10)

    script.answers.append(slow_list)
    script.streams.extend(without_streaming_lists())
    async with running(script) as informer:
        await informer.synced.wait()
        assert known(informer) == {"a": "3", "written": "20"}


async def test_what_a_delete_removed_is_not_brought_back_by_the_watch() -> None:
    gone = {"kind": "Status", "status": "Success", "details": {"uid": "uid-a"}}
    script = Script(ok(gone))
    stream = ScriptedStream(event("ADDED", Pod("a", 3)), bookmark(9, end=True))
    script.streams.append(stream)
    async with running(script) as informer:
        await informer.synced.wait()
        await informer.objects.delete(ObjectKey("default", "a"), uid="uid-a")
        stream.send(event("MODIFIED", Pod("a", 10)))
        stream.send(event("ADDED", Pod("a", 12, uid="new")))
        await until(lambda: known(informer) == {"a": "12"})


async def test_an_object_with_a_finalizer_stays_known_after_its_delete() -> None:
    script = Script(ok(Pod("a", 11, more={"deletionTimestamp": "2030-01-01T00:00:00Z"}).json))
    script.streams.append(ScriptedStream(event("ADDED", Pod("a", 3)), bookmark(9, end=True)))
    async with running(script) as informer:
        await informer.synced.wait()
        await informer.objects.delete(ObjectKey("default", "a"))
        found = informer.cache.get(ObjectKey("default", "a"))
        assert found is not None
        assert found.metadata.deletion_timestamp is not None


async def test_a_watch_request_without_an_answer_is_retried() -> None:
    class Deaf(Script):
        async def stream(self, request: Any) -> ScriptedStream:
            if not self.watches:
                self.watches.append(request)
                await asyncio.Event().wait()
            return await super().stream(request)

    script = Deaf()
    script.streams.append(ScriptedStream(bookmark(9, end=True)))
    async with running(script) as informer:
        await informer.synced.wait()


async def test_hanging_lists_are_retried() -> None:
    script = Script(HANG, pod_list(Pod("a", 3), version=9))
    script.streams.extend(without_streaming_lists())
    async with running(script) as informer:
        await informer.synced.wait()
        assert known(informer) == {"a": "3"}


async def test_the_same_random_seed_gives_the_same_delays() -> None:
    """So that a test that fails can be repeated."""

    async def waits() -> list[str]:
        script = Script()
        script.streams.append(ScriptedStream(bookmark(1, end=True), None))
        script.streams.extend(TransportError("reset") for _ in range(5))
        informer = Informer(client(script, chance=random.Random(7)), PODS, decode)
        task = asyncio.create_task(informer.run())
        await until(lambda: len(script.watches) == 7)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return [watch.query["timeoutSeconds"] for watch in script.watches]

    first = await waits()
    assert len(set(first)) > 1
    assert await waits() == first
