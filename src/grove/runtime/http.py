"""The transport to a real API server: HTTP/1.1 through one aiohttp connection pool.

How many requests are under way is for the client's window to say, and how long one may take for its timeout;
the pool sets no limit of its own. A peer that vanished without a word is noticed by TCP keepalive, and above that
by the idle timeout of the watch.
"""

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import aiohttp
from yarl import URL

from grove.runtime.errors import TransportError
from grove.runtime.kubeconfig import Cluster
from grove.runtime.transport import Request, Response


class HttpTransport:
    """Made inside a running event loop; `close` it there."""

    def __init__(self, cluster: Cluster, *, user_agent: str = "grove") -> None:
        self._cluster = cluster
        self._headers = {
            "Accept": "application/json",
            "Accept-Encoding": "identity",
            "User-Agent": user_agent,
        }
        self._session = self._connect()

    async def send(self, request: Request) -> Response:
        with _translated(request):
            answer = await self._request(request)
            async with answer:
                return Response(answer.status, _lower(answer.headers), await answer.read())

    async def stream(self, request: Request) -> "HttpStream":
        with _translated(request):
            return HttpStream(request, await self._request(request))

    async def close(self) -> None:
        await self._session.close()

    async def _request(self, request: Request) -> aiohttp.ClientResponse:
        """The answer's head. A 401 is answered with renewed credentials, once."""
        authorization = await self._cluster.credentials.authorization()
        answer = await self._request_as(authorization, request)
        if answer.status != 401:
            return answer
        answer.release()
        if await self._cluster.credentials.renew(authorization):
            old, self._session = self._session, self._connect()
            await old.close()
        return await self._request_as(await self._cluster.credentials.authorization(), request)

    async def _request_as(self, authorization: str | None, request: Request) -> aiohttp.ClientResponse:
        headers = {**request.headers, "Authorization": authorization} if authorization else request.headers
        return await self._session.request(
            request.method,
            URL(self._cluster.server + request.path),
            params=request.query,
            headers=headers,
            data=request.body or None,
            allow_redirects=False,
            server_hostname=self._cluster.tls_server_name,
        )

    def _connect(self) -> aiohttp.ClientSession:
        connector = aiohttp.TCPConnector(
            limit=0,
            ssl=self._cluster.tls or True,
            keepalive_timeout=60.0,
            socket_factory=_socket_with_keepalive,
        )
        return aiohttp.ClientSession(
            connector=connector,
            headers=self._headers,
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=10.0),
        )


class HttpStream:
    """An answer in pieces, as they come off the socket."""

    def __init__(self, request: Request, answer: aiohttp.ClientResponse) -> None:
        self.status = answer.status
        self.headers: Mapping[str, str] = _lower(answer.headers)
        self._request = request
        self._answer = answer

    async def chunks(self) -> AsyncIterator[bytes]:
        with _translated(self._request):
            async for chunk in self._answer.content.iter_any():
                yield chunk

    async def close(self) -> None:
        self._answer.close()


@contextmanager
def _translated(request: Request) -> Iterator[None]:
    """What aiohttp raises, as a `TransportError` that says whether the request can have arrived."""
    try:
        yield
    except (aiohttp.ClientConnectorError, aiohttp.ClientSSLError, aiohttp.ConnectionTimeoutError) as e:
        raise TransportError(f"{request.method} {request.path}: cannot connect: {e}", sent=False) from e
    except (aiohttp.ClientError, OSError, asyncio.IncompleteReadError) as e:
        said = str(e) or type(e).__name__
        raise TransportError(f"{request.method} {request.path}: connection broke: {said}") from e


def _lower(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


# A vanished peer is noticed after 30 s + 3 * 10 s of silence; unacknowledged data after 60 s.
_KEEPALIVE = {"TCP_KEEPIDLE": 30, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 3, "TCP_USER_TIMEOUT": 60_000}


def _socket_with_keepalive(address: tuple[Any, ...]) -> socket.socket:
    family, kind, protocol, _, _ = address
    made = socket.socket(family, kind, protocol)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _KEEPALIVE.items():
        if hasattr(socket, name):  # not every system has all of them
            made.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
    return made
