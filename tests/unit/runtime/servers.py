"""Small real servers on loopback, for what only shows on a socket."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from ssl import CERT_REQUIRED, Purpose, SSLContext, create_default_context

import trustme
from aiohttp import web

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@asynccontextmanager
async def serving(handler: Handler, tls: SSLContext | None = None) -> AsyncIterator[str]:
    """Answers every path with `handler`; yields the server's address."""
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", handler)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls)
    await site.start()
    port = runner.addresses[0][1]
    try:
        yield f"{'https' if tls else 'http'}://127.0.0.1:{port}"
    finally:
        await runner.cleanup()


def server_tls(authority: trustme.CA, *, ask_for_certificate: bool = False) -> SSLContext:
    context = create_default_context(Purpose.CLIENT_AUTH)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    if ask_for_certificate:
        authority.configure_trust(context)
        context.verify_mode = CERT_REQUIRED
    return context
