"""Serves the embedded API server on a port, for kubectl: plain HTTP on the loopback interface."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from aiohttp import StreamReader, web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.http import RawRequestMessage
from grove.runtime.client.transport import Request, Response, Transport

from grove_sandbox.apiserver.errors import too_large

MAX_BODY_BYTES = 3 * 1024 * 1024  # the limit of a real API server


@asynccontextmanager
async def serve(transport: Transport, *, port: int = 0, host: str = "127.0.0.1") -> AsyncIterator[str]:
    """Yields the base URL, such as `http://127.0.0.1:40123`. Port 0 picks a free port."""
    # handler_cancellation: a watch ends when its client disconnects.
    server = web.Server(
        _handler(transport), request_factory=_make_request, handler_cancellation=True, access_log=None
    )
    runner = web.ServerRunner(server, handle_signals=False, shutdown_timeout=0.2)
    await runner.setup()
    try:
        site = web.TCPSite(runner, host, port)
        await site.start()
        bound = runner.addresses[0][1]
        yield f"http://{host}:{bound}"
    finally:
        await runner.cleanup()


def _handler(transport: Transport) -> Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]:
    async def handle(incoming: web.BaseRequest) -> web.StreamResponse:
        try:
            body = await incoming.read() if incoming.can_read_body else b""
        except web.HTTPRequestEntityTooLarge:
            return _answer(too_large(MAX_BODY_BYTES).respond())
        url = incoming.rel_url
        request = Request(incoming.method, url.path, dict(url.query), incoming.headers, body)
        if request.query.get("watch") in ("1", "true"):
            return await _stream(transport, request, incoming)
        return _answer(await transport.send(request))

    return handle


def _make_request(
    message: RawRequestMessage,
    payload: StreamReader,
    protocol: web.RequestHandler,
    writer: AbstractStreamWriter,
    task: "asyncio.Task[None]",
) -> web.BaseRequest:
    loop = asyncio.get_running_loop()
    return web.BaseRequest(message, payload, protocol, writer, task, loop, client_max_size=MAX_BODY_BYTES)


def _answer(response: Response) -> web.Response:
    return web.Response(status=response.status, headers=dict(response.headers), body=response.body)


async def _stream(transport: Transport, request: Request, incoming: web.BaseRequest) -> web.StreamResponse:
    stream = await transport.stream(request)
    outgoing = web.StreamResponse(status=stream.status, headers=dict(stream.headers))
    await outgoing.prepare(incoming)
    try:
        async for chunk in stream.chunks():
            await outgoing.write(chunk)
    except ConnectionError:
        return outgoing  # the client disconnected
    finally:
        await stream.close()
    await outgoing.write_eof()
    return outgoing
