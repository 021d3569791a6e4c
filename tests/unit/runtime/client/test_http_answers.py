"""What an API server, or whatever sits in front of it, can answer on a connection, byte by byte."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from grove.runtime.client.credentials import FixedToken
from grove.runtime.client.errors import TransportError
from grove.runtime.client.http_transport import HttpTransport
from grove.runtime.client.kubeconfig import ClusterConnection
from grove.runtime.client.transport import Request

GET = Request("GET", "/x")
OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}"

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def talking_to(handler: Handler) -> AsyncIterator[HttpTransport]:
    """A transport to a server that runs `handler` once per connection."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await handler(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the client closed the connection: the tests assert on the client
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()
    transport = HttpTransport(ClusterConnection(f"http://{host}:{port}", FixedToken()))
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


async def test_a_connection_that_the_server_wants_closed_is_not_reused() -> None:
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
        assert (await transport.send(GET)).status == 200


async def test_the_answer_to_a_cancelled_request_is_never_taken_for_another_one() -> None:
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


async def test_an_answer_without_a_request_is_never_taken_for_the_next_one() -> None:
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
    ids=["no HTTP at all", "a protocol upgrade"],
)
async def test_an_answer_that_is_not_http_is_an_error(said: bytes) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await request_of(reader)
        writer.write(said)
        await reader.read()

    async with talking_to(answer) as transport:
        with pytest.raises(TransportError):
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
    size, piece = 64 << 20, b"x" * 65536
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


async def test_a_header_cannot_smuggle_in_another_one() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await request_of(reader)
        writer.write(OK)

    async with talking_to(answer) as transport:
        with pytest.raises(ValueError, match="header injection"):
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
