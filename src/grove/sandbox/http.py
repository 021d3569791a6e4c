"""The embedded API server behind a port, for kubectl: plain HTTP on the loopback interface."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from aiohttp import web

from grove.runtime.transport import Request, Transport

MAX_BODY = 3 * 1024 * 1024  # a real server's limit on a request


@asynccontextmanager
async def serve(transport: Transport, *, port: int = 0, host: str = "127.0.0.1") -> AsyncIterator[str]:
    """Yields the base URL, such as `http://127.0.0.1:40123`. Port 0 takes a free one."""
    server = web.Server(_handler(transport), access_log=None)
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
        request = Request(
            incoming.method,
            incoming.rel_url.path,
            dict(incoming.rel_url.query),
            incoming.headers,
            await incoming.read() if incoming.can_read_body else b"",
        )
        if request.query.get("watch") in ("1", "true"):
            return await _stream(transport, request, incoming)
        response = await transport.send(request)
        return web.Response(status=response.status, headers=dict(response.headers), body=response.body)

    return handle


async def _stream(transport: Transport, request: Request, incoming: web.BaseRequest) -> web.StreamResponse:
    stream = await transport.stream(request)
    outgoing = web.StreamResponse(status=stream.status, headers=dict(stream.headers))
    await outgoing.prepare(incoming)
    try:
        async for chunk in stream.chunks():
            await outgoing.write(chunk)
    except ConnectionError:
        return outgoing  # the watcher has gone
    finally:
        await stream.close()
    await outgoing.write_eof()
    return outgoing
