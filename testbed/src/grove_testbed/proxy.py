"""A proxy in front of a real API server that can misbehave on request.

    async with FaultProxy(cluster) as proxy:
        proxy.lose_answer(method="POST", resource="pods")      # the write is applied, the client never hears
        proxy.answer(429, times=3, retry_after=1)
        proxy.cut()                                            # every connection that is open now

It serves TLS with the cluster's own certificate, so a client needs only another address: ``kubeconfig``.
Faults are served in the order they were asked for; a fault is over when its ``times`` are.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

import aiohttp
from aiohttp import web

from grove_testbed.cluster import Cluster
from grove_testbed.ports import free_ports
from grove_testbed.sessions import session_to

# Belong to one connection, not to the request.
_HOP_BY_HOP = {"connection", "content-length", "host", "keep-alive", "transfer-encoding", "upgrade"}


@dataclass
class Fault:
    """What to do to the next ``times`` requests that match; ``act`` gives an answer, or None to go on."""

    act: Callable[[web.Request], web.Response | None]
    method: str
    resource: str
    times: int
    delay: float = 0.0
    lose_answer: bool = False

    def matches(self, request: web.Request) -> bool:
        return (
            self.times > 0
            and self.method in ("", request.method)
            and (not self.resource or self.resource in request.path.split("/"))
        )


class FaultProxy:
    """``served`` counts the faults that have happened."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        (self.port,) = free_ports(1)
        self.served = 0
        self._faults: list[Fault] = []
        self._open: set[asyncio.Transport] = set()
        self._ending = AsyncExitStack()

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    def kubeconfig(self, who: str = "admin") -> Path:
        """As the cluster's own, with this proxy's address."""
        path = self._cluster.folder / f"{who}-through-{self.port}.kubeconfig"
        path.write_text(self._cluster.kubeconfig(who).read_text().replace(self._cluster.url, self.url))
        return path

    def delay(self, seconds: float, *, times: int = 1, method: str = "", resource: str = "") -> None:
        """The request reaches the server late."""
        self._faults.append(Fault(lambda _: None, method, resource, times, delay=seconds))

    def answer(
        self,
        code: int,
        *,
        times: int = 1,
        method: str = "",
        resource: str = "",
        retry_after: int | None = None,
    ) -> None:
        """The request never reaches the server; the client gets this code and a Status."""
        headers = {} if retry_after is None else {"Retry-After": str(retry_after)}

        def refuse(_: web.Request) -> web.Response:
            status = {
                "kind": "Status",
                "apiVersion": "v1",
                "metadata": {},
                "status": "Failure",
                "message": "the fault proxy refused",
                "reason": _REASONS.get(code, ""),
                "code": code,
            }
            return web.json_response(status, status=code, headers=headers)

        self._faults.append(Fault(refuse, method, resource, times))

    def lose_answer(self, *, times: int = 1, method: str = "", resource: str = "") -> None:
        """The server acts; the connection breaks before the client hears of it."""
        self._faults.append(Fault(lambda _: None, method, resource, times, lose_answer=True))

    def cut(self) -> None:
        """Breaks every connection of a client that is open now, watches included."""
        for transport in list(self._open):
            transport.abort()

    async def __aenter__(self) -> Self:
        certificate = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        certificate.load_cert_chain(self._cluster.folder / "server.crt", self._cluster.folder / "server.key")
        upstream = session_to(self._cluster, timeout=aiohttp.ClientTimeout(total=None), auto_decompress=False)
        self._session = await self._ending.enter_async_context(upstream)
        app = web.Application(client_max_size=2**24)
        app.router.add_route("*", "/{path:.*}", self._handle)
        self._runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self.port, ssl_context=certificate).start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.cut()
        await self._runner.cleanup()
        await self._ending.aclose()

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        transport = request.transport
        if not isinstance(transport, asyncio.Transport):
            raise ConnectionResetError("the client has gone")
        self._open.add(transport)
        try:
            return await self._serve(request, transport)
        except aiohttp.ClientError as error:
            transport.abort()  # a server that is down sends no error page
            raise ConnectionResetError(str(error)) from None
        finally:
            self._open.discard(transport)

    async def _serve(self, request: web.Request, transport: asyncio.Transport) -> web.StreamResponse:
        fault = next((fault for fault in self._faults if fault.matches(request)), None)
        if fault is not None:
            fault.times -= 1
            self.served += 1
            await asyncio.sleep(fault.delay)
            if (refusal := fault.act(request)) is not None:
                return refusal
        body = await request.read()
        async with self._session.request(
            request.method,
            self._cluster.url + request.raw_path,
            headers=_forwarded(request.headers),
            data=body or None,
            allow_redirects=False,
        ) as upstream:
            if fault is not None and fault.lose_answer:
                await upstream.read()
                transport.abort()
                raise ConnectionResetError("the answer was lost on purpose")
            answer = web.StreamResponse(status=upstream.status, headers=_forwarded(upstream.headers))
            await answer.prepare(request)
            async for chunk in upstream.content.iter_any():
                await answer.write(chunk)
            await answer.write_eof()
            return answer


_REASONS = {409: "Conflict", 429: "TooManyRequests", 500: "InternalError", 503: "ServiceUnavailable"}


def _forwarded(headers: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in headers.items() if name.lower() not in _HOP_BY_HOP}
