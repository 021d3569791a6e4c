"""What can come back on a connection, byte by byte, and what must never be used again."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from grove.runtime.client.client import Client
from grove.runtime.client.connection import MOST_UNREAD, Connection, wake
from grove.runtime.client.credentials import FixedToken
from grove.runtime.client.errors import TransportError
from grove.runtime.client.flow_control import Window
from grove.runtime.client.http import GATHER, SLOW, HttpStream, HttpTransport
from grove.runtime.client.kubeconfig import Cluster
from grove.runtime.client.requests import Call
from grove.runtime.client.transport import Request

GET = Request("GET", "/x")
OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}"

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def talking_to(handler: Handler) -> AsyncIterator[HttpTransport]:
    """A transport to a server that says what `handler` writes, once per connection."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await handler(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the client hung up: the tests look at the client
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()
    transport = HttpTransport(Cluster(f"http://{host}:{port}", FixedToken()))
    try:
        async with asyncio.timeout(20):
            yield transport
    finally:
        await transport.close()
        server.close()
        await server.wait_closed()


async def request_of(reader: asyncio.StreamReader) -> bytes:
    return await reader.readuntil(b"\r\n\r\n")


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (OK, b"{}"),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n", b"abcde"),
        (b"HTTP/1.1 100 Continue\r\n\r\n" + OK, b"{}"),
        (b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nall of it", b"all of it"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", b""),
    ],
    ids=["length", "chunks", "continue", "until the end", "empty"],
)
@pytest.mark.parametrize("at_once", [True, False], ids=["at once", "byte by byte"])
async def test_an_answer_is_read_whole_however_it_is_cut(said: bytes, expected: bytes, at_once: bool) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await request_of(reader)
        for piece in [said] if at_once else [said[i : i + 1] for i in range(len(said))]:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0)

    async with talking_to(answer) as transport:
        found = await transport.send(GET)
    assert (found.status, found.body) == (200, expected)


async def test_a_server_that_wants_the_connection_closed_gets_a_new_one() -> None:
    connections = 0

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        await request_of(reader)
        writer.write(OK.replace(b"\r\n\r\n", b"\r\nconnection: close\r\n\r\n"))
        await reader.read()

    async with talking_to(answer) as transport:
        for _ in range(3):
            assert (await transport.send(GET)).status == 200
    assert connections == 3


async def test_a_connection_that_the_server_closed_while_idle_is_not_used_again() -> None:
    closed = asyncio.Event()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await request_of(reader)
        writer.write(OK)
        await writer.drain()
        writer.close()
        await writer.wait_closed()
        closed.set()

    async with talking_to(answer) as transport:
        assert (await transport.send(GET)).status == 200
        await closed.wait()
        while any(c.usable for c in transport._open):  # noqa: ASYNC110 the kernel tells us in its own time
            await asyncio.sleep(0)
        assert (await transport.send(GET)).status == 200


async def test_an_answer_that_nobody_waited_for_is_never_taken_for_another_one() -> None:
    asked = asyncio.Event()
    go_on = asyncio.Event()

    async def late(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await request_of(reader)
        if b"/first" in request:
            asked.set()
            await go_on.wait()
            writer.write(OK.replace(b"200 OK", b"500 Late"))
        else:
            writer.write(OK)
        await reader.read()

    async with talking_to(late) as transport:
        first = asyncio.create_task(transport.send(Request("GET", "/first")))
        await asked.wait()
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        go_on.set()
        assert (await transport.send(GET)).status == 200


async def test_who_gives_up_when_the_answer_is_there_does_not_break_the_next_request() -> None:
    """As when the time for a request runs out in the same turn of the loop in which its answer comes."""
    transport, idle = _Deaf(), list[Connection]()
    connection = Connection(idle.append, wake)
    connection.connection_made(transport)
    first = connection.begin(b"", whole=True)
    waiting = asyncio.create_task(connection.wait(first))
    await asyncio.sleep(0)
    connection.data_received(OK)
    waiting.cancel()
    assert idle == [connection]
    second = connection.begin(b"", whole=True)
    await asyncio.gather(waiting, return_exceptions=True)
    assert not transport.aborted
    connection.data_received(OK)
    assert second.complete


async def test_an_answer_without_a_question_ends_the_connection() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await request_of(reader)
        writer.write(OK + OK.replace(b"200 OK", b"500 Extra"))
        await reader.read()

    async with talking_to(answer) as transport:
        assert (await transport.send(GET)).status == 200
        assert (await transport.send(GET)).status == 200


@pytest.mark.parametrize(
    "said",
    [
        b"\x16\x03\x01 this is something else\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n",
    ],
    ids=["never was", "no longer"],
)
async def test_what_is_no_http_is_an_error_that_says_so(said: bytes) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await request_of(reader)
        writer.write(said)
        await reader.read()

    async with talking_to(answer) as transport:
        with pytest.raises(TransportError, match="no HTTP"):
            await transport.send(GET)


@pytest.mark.parametrize(
    "said",
    [
        OK[:-1],
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nab",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n5\r\nab",
    ],
    ids=["length", "chunks", "Chunks"],
)
async def test_an_answer_cut_short_is_an_error(said: bytes) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await request_of(reader)
        writer.write(said)

    async with talking_to(answer) as transport:
        with pytest.raises(TransportError, match="connection broke"):
            await transport.send(GET)


async def test_a_slow_reader_of_a_stream_holds_the_server_back_and_loses_nothing() -> None:
    size, piece = 64 * MOST_UNREAD, b"x" * 65536
    sent = 0

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        await request_of(reader)
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % size)
        while sent < size:
            writer.write(piece)
            await writer.drain()
            sent += len(piece)
        await reader.read()

    async with talking_to(answer) as transport:
        stream = await transport.stream(GET)
        before = -1
        while before != sent:  # until the server cannot go on
            before = sent
            await asyncio.sleep(0.05)
        assert sent < size / 2
        assert sum([len(chunk) async for chunk in stream.chunks()]) == size
        await stream.close()


class _Deaf(asyncio.Transport):
    """Takes whatever is written."""

    aborted = False

    def write(self, data: object) -> None:
        pass

    def is_closing(self) -> bool:
        return False

    def abort(self) -> None:
        self.aborted = True


class Talk:
    """A stream of which a test says, piece by piece, what the server says."""

    def __init__(self, transport: HttpTransport) -> None:
        self._connection = transport.connection()
        self._connection.connection_made(_Deaf())
        answer = self._connection.begin(b"", whole=False)
        self._connection.data_received(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
        self.pieces = HttpStream(GET, self._connection, answer).chunks()

    def say(self, piece: bytes) -> None:
        self._connection.data_received(b"%x\r\n%b\r\n" % (len(piece), piece))

    def break_off(self) -> None:
        self._connection.connection_lost(ConnectionError("cable"))


@pytest.mark.looptime
async def test_what_comes_within_a_moment_on_any_stream_is_told_together() -> None:
    loop, transport = asyncio.get_running_loop(), HttpTransport(Cluster("http://here", FixedToken()))
    one, other = Talk(transport), Talk(transport)
    for _ in range(2):
        begun = loop.time() + 1
        loop.call_at(begun, one.say, b"a")
        loop.call_at(begun + GATHER / 2, one.say, b"b")
        loop.call_at(begun + GATHER / 2, other.say, b"c")
        assert [*await asyncio.gather(anext(one.pieces), anext(other.pieces))] == [b"ab", b"c"]
        assert loop.time() - begun == pytest.approx(GATHER)


@pytest.mark.looptime
@pytest.mark.parametrize(("took", "later"), [(SLOW * 0.9, 0.0), (SLOW * 1.1, GATHER)])
async def test_answers_are_told_together_only_if_the_server_is_slow(took: float, later: float) -> None:
    loop, transport = asyncio.get_running_loop(), HttpTransport(Cluster("http://here", FixedToken()))
    connections = [transport.connection() for _ in range(3)]
    for connection in connections:
        connection.connection_made(_Deaf())
        transport._idle.append(connection)
    asked = [asyncio.create_task(transport.send(GET)) for _ in connections]
    await asyncio.sleep(took)
    begun = loop.time()
    connections[0].data_received(OK)
    connections[1].data_received(OK)
    answered, waiting = await asyncio.wait(asked, return_when=asyncio.FIRST_COMPLETED)
    assert loop.time() - begun == pytest.approx(later)
    assert [task.result().status for task in answered] == [200, 200]
    for task in waiting:
        task.cancel()


class _Prompt(_Deaf):
    """Answers whatever is asked, soon."""

    def __init__(self, connection: Connection, after: float) -> None:
        super().__init__()
        self._connection = connection
        self._after = after

    def write(self, data: object) -> None:
        asyncio.get_running_loop().call_later(self._after, self._connection.data_received, OK)


@pytest.mark.looptime
@pytest.mark.parametrize("took", [0.003, SLOW])
async def test_telling_answers_together_does_not_keep_the_window_from_opening(took: float) -> None:
    """Else the window would stay as it is, though the server could do more."""
    transport = HttpTransport(Cluster("http://here", FixedToken()))
    for _ in range(200):
        connection = transport.connection()
        connection.connection_made(_Prompt(connection, took))
        transport._idle.append(connection)
    window = Window(start=20)
    client = Client(transport, window=window)
    call = Call(GET, "get", "pods")
    await client.send(call)
    for _ in range(20):
        await asyncio.gather(*(client.send(call) for _ in range(100)))
    assert window.limit > 50


@pytest.mark.looptime
async def test_what_a_stream_gathered_before_it_broke_is_told_first() -> None:
    talk = Talk(HttpTransport(Cluster("http://here", FixedToken())))
    talk.say(b"a")
    talk.break_off()
    assert await anext(talk.pieces) == b"a"
    with pytest.raises(TransportError, match="cable"):
        await anext(talk.pieces)


async def test_a_header_cannot_smuggle_in_another_one() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await request_of(reader)
        writer.write(OK)

    async with talking_to(answer) as transport:
        with pytest.raises(ValueError, match="line break"):
            await transport.send(
                Request("GET", "/x", headers={"content-type": "a\r\nimpersonate-user: admin"})
            )


async def test_a_path_cannot_smuggle_in_a_header_either() -> None:
    seen = b""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal seen
        seen = await request_of(reader)
        writer.write(OK)

    async with talking_to(answer) as transport:
        await transport.send(Request("GET", "/x y\r\nimpersonate-user: admin", {"a": "b\r\nc"}))
    assert seen.startswith(b"GET /x%20y%0D%0Aimpersonate-user%3A%20admin?a=b%0D%0Ac HTTP/1.1\r\n")
    assert b"\r\nimpersonate" not in seen
