"""One HTTP/1.1 connection, with one request under way at a time.

An operator's work is mostly small requests, so what one costs here is much of what the operator costs: the request is
one write, the answer is parsed in C as it comes off the socket, and a task is woken once per answer.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from typing import cast

import httptools

# A reader that is slower than the server makes the server wait from here on.
MOST_UNREAD = 1 << 20


class Headers(Mapping[str, str]):
    """By lower-case name. What came is kept as it came, and read when somebody asks: mostly nobody does."""

    __slots__ = ("_came", "_read")

    def __init__(self, came: Mapping[bytes, bytes]) -> None:
        self._came = came
        self._read: dict[str, str] | None = None

    def __getitem__(self, name: str) -> str:
        return self._by_name[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def __len__(self) -> int:
        return len(self._by_name)

    @property
    def _by_name(self) -> dict[str, str]:
        if self._read is None:
            self._read = {n.decode("latin-1").lower(): v.decode("latin-1") for n, v in self._came.items()}
        return self._read


NO_HEADERS = Headers({})


class Answer:
    """What has come so far. `status` is 0 until the head is there; `error` says that no more will come.

    `asked_at` and `came_at` are the times of the question and of the answer's end.
    """

    __slots__ = (
        "asked_at",
        "came_at",
        "complete",
        "error",
        "headers",
        "pieces",
        "status",
        "unread",
        "waiter",
    )

    def __init__(self, asked_at: float) -> None:
        self.asked_at = asked_at
        self.status = 0
        self.headers = NO_HEADERS
        self.pieces: list[bytes] = []
        self.unread = 0
        self.complete = False
        self.came_at = 0.0
        self.error: Exception | None = None
        self.waiter: asyncio.Future[None] | None = None


class Connection(asyncio.Protocol):
    """Made by `loop.create_connection`. `on_idle` is called when it can take a request again, `on_news` when a whole
    answer is there, or more of one that is read in pieces: it wakes who waits, now or later. `used_at`: when it was
    made, or last given a request."""

    def __init__(self, on_idle: "Callable[[Connection], None]", on_news: Callable[[Answer], None]) -> None:
        loop = asyncio.get_running_loop()
        self.lost: asyncio.Future[None] = loop.create_future()
        self.used_at = loop.time()
        self._loop = loop
        self._on_idle = on_idle
        self._on_news = on_news
        self._transport: asyncio.Transport | None = None
        # Of the message that the parser is at. The parser fills it in C.
        self._headers: dict[bytes, bytes] = {}
        self.on_header = self._headers.__setitem__
        self._parser = httptools.HttpResponseParser(self)
        self._answer: Answer | None = None
        self._whole = False
        self._paused = False

    @property
    def usable(self) -> bool:
        return self._answer is None and self._transport is not None and not self._transport.is_closing()

    def begin(self, request: bytes, *, whole: bool) -> Answer:
        """Sends a request. With `whole`, a waiter is woken only when all of the answer is there."""
        if self._transport is None or self._answer is not None:
            raise RuntimeError("the connection is in use")
        answer = self._answer = Answer(self._loop.time())
        self._whole = whole
        self._transport.write(request)
        return answer

    async def wait(self, answer: Answer) -> None:
        """Until there is more of the answer. Raises what ended the connection; cancelled before the end, it ends it."""
        if answer.error is None:
            answer.waiter = self._loop.create_future()
            try:
                await answer.waiter
            except asyncio.CancelledError:
                if self._answer is answer:  # else all of it came, and somebody else may be asking by now
                    self.abort()
                raise
            finally:
                answer.waiter = None
        if answer.error is not None:
            raise answer.error

    def take(self, answer: Answer) -> bytes:
        """All that has come and was not taken; the server may go on if it had to wait."""
        found = b"".join(answer.pieces)
        answer.pieces.clear()
        answer.unread = 0
        if self._paused and self._transport is not None:
            self._paused = False
            self._transport.resume_reading()
        return found

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        """At once, without a word to the server: for an answer that nobody waits for any more."""
        if self._transport is not None:
            self._transport.abort()

    # What asyncio calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as e:
            self._fail(ConnectionError(f"the answer is no HTTP: {e!r}"))
            self.abort()

    def eof_received(self) -> bool:
        answer = self._answer
        if answer is not None and answer.status and not _is_delimited(answer):
            self.on_message_complete()
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._fail(exc or ConnectionError("the server closed the connection"))
        if not self.lost.done():
            self.lost.set_result(None)

    # What the parser calls.

    def on_message_begin(self) -> None:
        self._headers.clear()
        if self._answer is None:
            self.abort()  # nothing was asked

    def on_headers_complete(self) -> None:
        answer, status = self._answer, self._parser.get_status_code()
        if answer is None or status < 200:  # the answer itself is still to come
            return
        answer.status = status
        answer.headers = Headers(self._headers.copy())
        if not self._whole:
            wake(answer)

    def on_body(self, piece: bytes) -> None:
        answer = self._answer
        if answer is None:
            return
        answer.pieces.append(piece)
        if self._whole:
            return
        answer.unread += len(piece)
        if answer.unread >= MOST_UNREAD and not self._paused and self._transport is not None:
            self._paused = True
            self._transport.pause_reading()
        self._on_news(answer)

    def on_message_complete(self) -> None:
        answer = self._answer
        if answer is None or not answer.status:
            return
        answer.complete = True
        answer.came_at = self._loop.time()
        self._answer = None
        self._on_news(answer)
        if self._paused and self._transport is not None:
            self._paused = False
            self._transport.resume_reading()
        if self._parser.should_keep_alive():
            self._on_idle(self)
        else:
            self.close()

    def _fail(self, error: Exception) -> None:
        answer, self._answer = self._answer, None
        if answer is not None and not answer.complete:
            answer.error = error
            wake(answer)


def wake(answer: Answer) -> None:
    if answer.waiter is not None and not answer.waiter.done():
        answer.waiter.set_result(None)


def _is_delimited(answer: Answer) -> bool:
    """Whether the answer says itself where it ends; else it ends with the connection."""
    coding = answer.headers.get("transfer-encoding", "")
    return "content-length" in answer.headers or "chunked" in coding.lower()
