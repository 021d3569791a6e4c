"""One watch connection: lines out of chunks, events out of lines.

A line is `{"type":"ADDED","object":{...}}` and may be longer than 1.5 MB, the largest object that etcd stores. Only
the type is read here; the object stays bytes for the caller to decode, once, into what it needs.
"""

import asyncio
from collections.abc import Callable

import msgspec

from grove.runtime.client.deadlines import Deadlines
from grove.runtime.client.errors import RequestError, Status, TransportError, error_from_status
from grove.runtime.client.transport import Stream


class WatchEvent(msgspec.Struct, frozen=True, gc=False):
    """`type` is ADDED, MODIFIED, DELETED or BOOKMARK. `body` is a copy of its own, so that `msgspec.Raw` fields
    decoded from it keep alive these bytes and nothing else."""

    type: str
    body: bytes


async def follow(
    stream: Stream, take: Callable[[WatchEvent], None], idle_timeout: Callable[[], float]
) -> None:
    """Takes in the events of one connection, until the server ends it; closes the stream.

    Raises the `ApiError` that the server sends inside the stream (`Gone` for an expired version), and `TransportError`
    when the connection breaks or is silent for `idle_timeout` seconds, asked before each wait: it may be half-open,
    and servers send bookmarks more often.
    """
    chunks = stream.chunks()
    lines = LineBuffer()
    deadlines, clock = Deadlines(), asyncio.get_running_loop().time
    try:
        while True:
            seconds = idle_timeout()
            try:
                with deadlines.until(clock() + seconds):
                    chunk = await anext(chunks, None)
            except TimeoutError as e:
                raise IdleWatchError(f"the watch was silent for {seconds:g} s") from e
            if chunk is None:
                return
            for line in lines.feed(chunk):
                event = split_event(line)
                if event.type == "ERROR":
                    raise _error(event.body)
                take(event)
    finally:
        await stream.close()


def _error(body: bytes) -> RequestError:
    try:
        return error_from_status(msgspec.json.decode(body, type=Status), "in a watch")
    except msgspec.DecodeError:
        return TransportError(f"the watch sent an error that is no Status: {body[:200]!r}")


class IdleWatchError(TransportError):
    """Nothing came for longer than a live connection is silent."""


class LineBuffer:
    """Cuts a stream of chunks into lines. A long line is joined once, however many chunks it came in."""

    def __init__(self) -> None:
        self._begun: list[bytes] = []

    def feed(self, chunk: bytes) -> list[bytes]:
        """The lines that this chunk completes, without line ends, without empty ones."""
        self._begun.append(chunk)
        if b"\n" not in chunk:
            return []
        came, start = b"".join(self._begun), 0
        lines: list[bytes] = []
        # Not `split`, which looks at each byte: on long lines that shows.
        while (end := came.find(b"\n", start)) >= 0:
            if line := came[start:end].strip():
                lines.append(line)
            start = end + 1
        self._begun = [came[start:]] if start < len(came) else []
        return lines


class _Envelope(msgspec.Struct):
    type: str
    object: msgspec.Raw


_envelope = msgspec.json.Decoder(_Envelope)
_TYPES = ("ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR")
_OPENINGS = {b'{"type":"%s","object":' % kind.encode(): kind for kind in _TYPES}


def split_event(line: bytes) -> WatchEvent:
    """Splits off the type without a look at the object.

    API servers write the envelope in one way, which is recognised by its opening; whatever else is valid JSON takes
    the slower way, and anything else is a broken stream.
    """
    start = line.find(b"{", 1)
    kind = _OPENINGS.get(line[:start])
    if kind is not None and line[-1:] == b"}":
        return WatchEvent(kind, line[start:-1])
    try:
        envelope = _envelope.decode(line)
    except msgspec.DecodeError as e:
        raise TransportError(f"the watch sent what is no event: {line[:200]!r}") from e
    return WatchEvent(envelope.type, bytes(envelope.object))
