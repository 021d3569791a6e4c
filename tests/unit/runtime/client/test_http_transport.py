"""The HTTP transport, on real sockets: those of asyncio, and those of the loop that the operator runs on."""

import asyncio
import inspect
import os
import socket
import ssl
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import cast

import pytest
import trustme
import uvloop
from aiohttp import web

from grove.runtime.cache.informer import Informer
from grove.runtime.client import requests
from grove.runtime.client.client import Client
from grove.runtime.client.credentials import FixedToken, TokenFile
from grove.runtime.client.errors import TransportError
from grove.runtime.client.http_transport import HttpTransport
from grove.runtime.client.kubeconfig import ClusterConnection
from grove.runtime.client.objects import ObjectKey
from grove.runtime.client.transport import Request
from tests.unit.runtime.scripted import PODS, Pod, bookmark, decode, event
from tests.unit.runtime.servers import server_tls, serving

GET = Request("GET", "/api/v1/pods", {"labelSelector": "a in (b,c)"})


async def test_a_request_arrives_as_it_was_built() -> None:
    async def echo(request: web.Request) -> web.Response:
        body = await request.text()
        said = f"{request.method} {request.path} {dict(request.query)} {request.content_type} {body}"
        return web.Response(status=201, text=said, headers={"X-Thing": "1"})

    async with serving(echo) as address:
        transport = HttpTransport(ClusterConnection(address + "/prefix", FixedToken()))
        request = Request("POST", "/api/v1/pods", {"a": "b c&d"}, {"content-type": "application/json"}, b"{}")
        answer = await transport.send(request)
        await transport.close()
    assert answer.status == 201
    assert answer.headers["x-thing"] == "1"
    assert answer.body == b"POST /prefix/api/v1/pods {'a': 'b c&d'} application/json {}"


async def test_a_connection_is_reused() -> None:
    peers = set()

    async def note(request: web.Request) -> web.Response:
        assert request.transport is not None
        peers.add(request.transport.get_extra_info("peername"))
        return web.Response(text="{}")

    async with serving(note) as address:
        transport = HttpTransport(ClusterConnection(address, FixedToken()))
        for _ in range(5):
            await transport.send(GET)
        await transport.close()
    assert len(peers) == 1


@pytest.fixture
def authority() -> trustme.CA:
    return trustme.CA()


def client_tls(authority: trustme.CA) -> ssl.SSLContext:
    return ssl.create_default_context(cadata=authority.cert_pem.bytes().decode())


async def hello(request: web.Request) -> web.Response:
    return web.Response(text="{}")


async def test_a_server_with_the_right_certificate_is_trusted_and_any_other_is_not(
    authority: trustme.CA,
) -> None:
    async with serving(hello, server_tls(authority)) as address:
        transport = HttpTransport(ClusterConnection(address, FixedToken(), tls=client_tls(authority)))
        assert (await transport.send(GET)).status == 200
        await transport.close()

        stranger = HttpTransport(ClusterConnection(address, FixedToken(), tls=client_tls(trustme.CA())))
        with pytest.raises(TransportError, match="cannot connect") as caught:
            await stranger.send(GET)
        assert not caught.value.sent
        await stranger.close()


async def test_a_token_is_sent_with_every_request() -> None:
    async def check(request: web.Request) -> web.Response:
        return web.Response(status=200 if request.headers.get("Authorization") == "Bearer t0" else 401)

    async with serving(check) as address:
        transport = HttpTransport(ClusterConnection(address, FixedToken("t0")))
        assert (await transport.send(GET)).status == 200
        await transport.close()


async def test_a_token_rotated_on_disk_is_used_after_a_401(tmp_path: Path) -> None:
    valid = "first"
    refused = 0

    async def check(request: web.Request) -> web.Response:
        nonlocal refused
        if request.headers.get("Authorization") == f"Bearer {valid}":
            return web.Response(text="{}")
        refused += 1
        return web.Response(status=401)

    file = tmp_path / "token"
    file.write_text("first\n")
    async with serving(check) as address:
        transport = HttpTransport(ClusterConnection(address, TokenFile(file)))
        assert (await transport.send(GET)).status == 200
        valid = "second"
        file.write_text("second\n")
        answers = await asyncio.gather(*[transport.send(GET) for _ in range(10)])
        assert {a.status for a in answers} == {200}
        assert (await transport.send(GET)).status == 200
        assert refused <= 10
        valid = "third"
        assert (await transport.send(GET)).status == 401
        await transport.close()


async def test_a_watch_survives_the_rotation_of_its_token(tmp_path: Path) -> None:
    valid = "first"
    rotate = asyncio.Event()
    tokens: list[str] = []

    async def watch(request: web.Request) -> web.StreamResponse:
        token = request.headers["Authorization"].removeprefix("Bearer ")
        tokens.append(token)
        if token != valid:
            return web.Response(status=401, text="{}")
        answer = web.StreamResponse(headers={"Content-Type": "application/json"})
        await answer.prepare(request)
        if token == "first":
            await answer.write(event("ADDED", Pod("a", 3)) + bookmark(9, end=True))
            await rotate.wait()  # then the server ends the watch, as it does now and then
            return answer
        await answer.write(event("ADDED", Pod("b", 12)))
        await asyncio.sleep(60)
        return answer

    file = tmp_path / "token"
    file.write_text("first")
    async with serving(watch) as address:
        transport = HttpTransport(ClusterConnection(address, TokenFile(file)))
        informer = Informer(Client(transport), PODS, decode)
        reading = asyncio.create_task(informer.run())
        await informer.synced.wait()
        second = asyncio.Event()
        informer.cache.subscribe(lambda change: second.set() if change.object.metadata.name == "b" else None)
        valid = "second"
        file.write_text("second")
        rotate.set()
        await asyncio.wait_for(second.wait(), 10)
        assert informer.cache.get(ObjectKey("default", "a")) is not None
        assert tokens == ["first", "first", "second"]
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
        await transport.close()


async def test_a_half_open_connection_is_noticed() -> None:
    """A half-open socket: the peer took the request, sent the head and the first events, and fell silent for ever."""
    connections = 0

    async def half_open(request: web.Request) -> web.StreamResponse:
        nonlocal connections
        connections += 1
        answer = web.StreamResponse(headers={"Content-Type": "application/json"})
        await answer.prepare(request)
        if connections == 1:
            await answer.write(bookmark(9, end=True))
        else:
            await answer.write(event("ADDED", Pod("a", 12)))
        await asyncio.sleep(60)
        return answer

    async with serving(half_open) as address:
        transport = HttpTransport(ClusterConnection(address, FixedToken()))
        informer = Informer(Client(transport), PODS, decode, idle_timeout=0.3)
        reading = asyncio.create_task(informer.run())
        found = asyncio.Event()
        informer.cache.subscribe(lambda change: found.set())
        await asyncio.wait_for(found.wait(), 10)
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
        await transport.close()


async def test_a_server_that_accepts_and_never_answers_ends_in_an_error() -> None:
    async def silent(request: web.Request) -> web.Response:
        await asyncio.sleep(60)
        return web.Response()

    async with serving(silent) as address:
        transport = HttpTransport(ClusterConnection(address, FixedToken()))
        client = Client(transport, timeout=0.2, attempts=1)
        with pytest.raises(TransportError, match="no answer within"):
            await client.send(requests.get(PODS, "default", "a"))
        await transport.close()


async def test_a_refused_connection_says_that_nothing_was_sent() -> None:
    async with serving(hello) as address:
        pass
    transport = HttpTransport(ClusterConnection(address, FixedToken()))
    with pytest.raises(TransportError, match="cannot connect") as caught:
        await transport.send(GET)
    assert not caught.value.sent
    await transport.close()


async def test_a_connection_that_breaks_says_that_the_request_may_have_arrived() -> None:
    async def abort(request: web.Request) -> web.Response:
        assert request.transport is not None
        request.transport.abort()
        return web.Response()

    async with serving(abort) as address:
        transport = HttpTransport(ClusterConnection(address, FixedToken()))
        with pytest.raises(TransportError, match="connection broke") as caught:
            await transport.send(Request("POST", "/x", body=b"{}"))
        assert caught.value.sent
        await transport.close()


async def test_a_broken_stream_is_an_error_and_not_an_end() -> None:
    async def broken(request: web.Request) -> web.StreamResponse:
        answer = web.StreamResponse(headers={"Content-Type": "application/json"})
        await answer.prepare(request)
        await answer.write(b"half a li")
        assert request.transport is not None
        request.transport.abort()
        return answer

    async with serving(broken) as address:
        transport = HttpTransport(ClusterConnection(address, FixedToken()))
        stream = await transport.stream(GET)
        with pytest.raises(TransportError, match="connection broke"):
            async for _ in stream.chunks():
                pass
        await stream.close()
        await transport.close()


async def test_after_close_no_connection_is_left_open(authority: trustme.CA) -> None:
    """Neither a pooled one, nor that of a closed stream or a cancelled request, though its peer ends no TLS session."""

    async def slow(request: web.Request) -> web.StreamResponse:
        answer = web.StreamResponse(headers={"Content-Type": "application/json"})
        if request.path != "/quick":
            await answer.prepare(request)
            await answer.write(b"x")
            deaf = cast(asyncio.Transport, request.transport)
            deaf.pause_reading()
            try:
                await asyncio.sleep(60)
            finally:
                deaf.abort()
        return answer

    async with serving(slow, server_tls(authority)) as address:
        transport = HttpTransport(ClusterConnection(address, FixedToken(), tls=client_tls(authority)))
        closed, left_open = await transport.stream(GET), await transport.stream(GET)
        given_up = asyncio.create_task(transport.send(GET))
        await transport.send(Request("GET", "/quick"))
        assert len(connections_to(address)) == 4
        await closed.close()
        given_up.cancel()
        await asyncio.gather(given_up, return_exceptions=True)
        await transport.close()
        # The kernel and the event loop need a moment. A TLS shutdown would take 30 s.
        async with asyncio.timeout(10):
            while connections_to(address):  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        await left_open.close()


def connections_to(address: str) -> list[int]:
    """The client's open sockets, whichever loop made them."""
    port = int(address.rpartition(":")[2])
    found: list[int] = []
    for number in [int(p.name) for p in Path("/dev/fd").iterdir()]:
        try:
            with socket.socket(fileno=os.dup(number)) as seen:
                if seen.getpeername()[1:2] == (port,):
                    found.append(number)
        except OSError:  # no socket, or not connected
            continue
    return found


@pytest.mark.parametrize(
    "behaviour",
    [
        test_a_request_arrives_as_it_was_built,
        test_a_connection_is_reused,
        test_a_server_with_the_right_certificate_is_trusted_and_any_other_is_not,
        test_a_watch_survives_the_rotation_of_its_token,
        test_a_half_open_connection_is_noticed,
        test_a_server_that_accepts_and_never_answers_ends_in_an_error,
        test_a_refused_connection_says_that_nothing_was_sent,
        test_a_connection_that_breaks_says_that_the_request_may_have_arrived,
        test_a_broken_stream_is_an_error_and_not_an_end,
        test_after_close_no_connection_is_left_open,
    ],
)
def test_the_transport_behaves_the_same_on_uvloop(
    behaviour: Callable[..., Coroutine[None, None, None]], authority: trustme.CA, tmp_path: Path
) -> None:
    given = {"authority": authority, "tmp_path": tmp_path}
    uvloop.run(behaviour(**{name: given[name] for name in inspect.signature(behaviour).parameters}))
