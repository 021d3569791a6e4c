"""One watch connection: chunks to lines, lines to events.

A line is `{"type":"ADDED","object":{...}}` and may be longer than 1.5 MB, the largest object that etcd stores. Only the
type is decoded here. The object stays bytes, which the informer decodes once into the caller's class.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from grove.runtime.client.errors import RequestError, Status, TransportError, error_from_status
from grove.runtime.client.transport import Stream

# etcd stores objects up to 1.5 MiB. JSON writes some characters with six bytes, and the server adds managedFields.
MAX_LINE_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class WatchEvent:
    """`type` is ADDED, MODIFIED, DELETED or BOOKMARK. `body` is a copy, so `msgspec.Raw` fields that are decoded from
    it keep only these bytes alive."""

    type: str
    body: bytes


async def read_events(
    stream: Stream, deliver: Callable[[list[WatchEvent]], None], idle_timeout: Callable[[], float]
) -> None:
    """Delivers the events of one connection, chunk by chunk, until the server ends it. Closes the stream.

    Raises the `ApiError` that the server sends inside the stream (`Gone` for an expired version). Raises
    `TransportError` when the connection breaks, or is silent for `idle_timeout()` seconds: servers send bookmarks more
    often, so such a connection may be half open.
    """
    chunks = stream.chunks()
    lines = LineBuffer()
    try:
        while True:
            seconds = idle_timeout()
            try:
                async with asyncio.timeout(seconds):
                    chunk = await anext(chunks, None)
            except TimeoutError as e:
                raise IdleWatchError(f"the watch was silent for {seconds:g} s") from e
            if chunk is None:
                return
            events: list[WatchEvent] = []
            try:
                for line in lines.feed(chunk):
                    event = split_event(line)
                    if event.type == "ERROR":
                        raise _error(event.body)
                    events.append(event)
            finally:
                deliver(events)
    finally:
        await stream.close()


def _error(body: bytes) -> RequestError:
    try:
        return error_from_status(msgspec.json.decode(body, type=Status), "in a watch")
    except msgspec.DecodeError:
        return TransportError(f"the watch sent an error that is not a Status: {body[:200]!r}")


class IdleWatchError(TransportError):
    """The connection was silent for longer than a live one ever is."""


class LineBuffer:
    """Splits a stream of chunks into lines. A long line is joined once, however many chunks it came in."""

    def __init__(self) -> None:
        self._incomplete: list[bytes] = []
        self._incomplete_bytes = 0

    def feed(self, chunk: bytes) -> list[bytes]:
        """The non-empty lines that this chunk completes, without line ends. Raises `TransportError` for a line that no
        object can be as long as: the rest of it would fill the memory."""
        first, *rest = chunk.split(b"\n")
        self._incomplete.append(first)
        self._incomplete_bytes += len(first)
        if self._incomplete_bytes > MAX_LINE_BYTES:
            raise TransportError(
                f"the watch sent a line of more than {MAX_LINE_BYTES} bytes; is there a proxy in between?"
            )
        if not rest:
            return []
        *complete, last = rest
        lines = [b"".join(self._incomplete), *complete]
        self._incomplete = [last]
        self._incomplete_bytes = len(last)
        return [stripped for line in lines if (stripped := line.strip())]


class _Envelope(msgspec.Struct):
    type: str
    object: msgspec.Raw


_envelope = msgspec.json.Decoder(_Envelope)


def split_event(line: bytes) -> WatchEvent:
    """Splits a line into the type and the bytes of the object."""
    try:
        envelope = _envelope.decode(line)
    except msgspec.DecodeError as e:
        raise TransportError(f"the watch sent a line that is not an event: {line[:200]!r}") from e
    return WatchEvent(envelope.type, bytes(envelope.object))
