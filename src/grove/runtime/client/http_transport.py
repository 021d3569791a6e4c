"""The transport to a real API server: HTTP over aiohttp's connection pool.

The pool has no limit of its own: the client's flow control decides how many requests are in flight, and the client's
timeout how long one may take. A peer that vanished silently is noticed by TCP keepalive, and on a watch earlier by the
informer's idle timeout. A proxy is used if the environment names one (`grove.runtime.client.proxy`).
"""

import socket
import weakref
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from urllib.parse import quote, urlencode

import aiohttp
from yarl import URL

from grove.runtime.client.errors import TransportError
from grove.runtime.client.kubeconfig import ClusterConnection
from grove.runtime.client.proxy import proxy_from_environment
from grove.runtime.client.transport import Request, Response

# Servers and load balancers close connections that are idle for longer, some of them silently.
KEEPALIVE_TIMEOUT_SECONDS = 60.0
CONNECT_TIMEOUT_SECONDS = 10.0


class HttpTransport:
    """Created inside a running event loop, and closed there."""

    def __init__(self, cluster: ClusterConnection, *, user_agent: str = "grove") -> None:
        self._cluster = cluster
        self._proxy = proxy_from_environment(cluster.server)
        self._headers = {
            "accept": "application/json",
            "accept-encoding": "identity",
            "user-agent": user_agent,
        }
        self._sockets: weakref.WeakSet[socket.socket] = weakref.WeakSet()
        self._pool = self._new_pool()
        self._retired: list[_Pool] = []

    async def send(self, request: Request) -> Response:
        pool, response = await self._request(request)
        try:
            body = await response.read()
        except (aiohttp.ClientError, OSError) as e:
            raise _broken(request, e) from e
        finally:
            await pool.release(response)
        return Response(response.status, _lower_case(response), body)

    async def stream(self, request: Request) -> "HttpStream":
        """The caller closes the stream."""
        return HttpStream(request, *await self._request(request))

    async def close(self) -> None:
        """Closes every connection, also one whose peer does not answer the end of the TLS session."""
        for pool in (self._pool, *self._retired):
            await pool.session.close()
        for left_open in [s for s in self._sockets if s.fileno() >= 0]:
            with suppress(OSError):  # closed by the peer meanwhile
                left_open.shutdown(socket.SHUT_RDWR)

    async def _request(self, request: Request) -> "tuple[_Pool, aiohttp.ClientResponse]":
        """Sends the request and returns when the head of the answer is there.

        A 401 renews the credentials and sends the request again, once.
        """
        credentials, renewed = self._cluster.credentials, False
        while True:
            authorization = await credentials.authorization()
            pool = self._pool
            response = await self._send(pool, request, authorization)
            if response.status != 401 or renewed:
                return pool, response
            await pool.release(response)
            if await credentials.renew(authorization):
                await self._retire(pool)
            renewed = True

    async def _send(
        self, pool: "_Pool", request: Request, authorization: str | None
    ) -> aiohttp.ClientResponse:
        headers = {**self._headers, **request.headers}
        if authorization:
            headers["authorization"] = authorization
        pool.in_flight += 1
        try:
            response = await pool.session.request(
                request.method,
                self._url(request),
                headers=headers,
                data=request.body if request.body or request.method in ("POST", "PUT", "PATCH") else None,
                allow_redirects=False,
                proxy=self._proxy,
                server_hostname=self._cluster.tls_server_name,
            )
        except BaseException as e:
            pool.in_flight -= 1
            if isinstance(e, aiohttp.ClientConnectorError | aiohttp.ConnectionTimeoutError):
                raise _cannot_connect(request, e) from e
            if isinstance(e, aiohttp.ClientError | OSError):
                raise _broken(request, e) from e
            raise
        if response.status < 200:
            await pool.release(response)
            raise TransportError(f"{request.method} {request.path}: unexpected HTTP status {response.status}")
        return response

    def _url(self, request: Request) -> URL:
        query = f"?{urlencode(request.query)}" if request.query else ""
        path = quote(request.path, safe="/%")
        return URL(f"{self._cluster.server.rstrip('/')}{path}{query}", encoded=True)

    async def _retire(self, pool: "_Pool") -> None:
        """Sends no new request over connections that were opened with an old client certificate."""
        if pool is self._pool:
            self._pool = self._new_pool()
            self._retired = [old for old in self._retired if not old.session.closed] + [pool]
            await pool.retire()

    def _new_pool(self) -> "_Pool":
        connector = aiohttp.TCPConnector(
            limit=0,
            keepalive_timeout=KEEPALIVE_TIMEOUT_SECONDS,
            ssl=self._cluster.tls or True,
            socket_factory=self._new_socket,
        )
        session = aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            # A server sends one Warning header per warning: many and long ones are no reason to lose the answer.
            max_field_size=1 << 16,
            max_headers=1024,
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_TIMEOUT_SECONDS),
        )
        return _Pool(session)

    def _new_socket(self, address: aiohttp.AddrInfoType) -> socket.socket:
        family, kind, protocol, *_ = address
        made = socket.socket(family, kind, protocol)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, value in _KEEPALIVE.items():
            if hasattr(socket, name):  # not every system has all of them
                made.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
        self._sockets.add(made)
        return made


# A vanished peer is noticed after 30 s + 3 * 10 s of silence; unacknowledged data after 60 s.
_KEEPALIVE = {"TCP_KEEPIDLE": 30, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 3, "TCP_USER_TIMEOUT": 60_000}


class HttpStream:
    """An answer whose body arrives in chunks, as they come off the socket."""

    def __init__(self, request: Request, pool: "_Pool", response: aiohttp.ClientResponse) -> None:
        self.status = response.status
        self.headers: Mapping[str, str] = _lower_case(response)
        self._request = request
        self._pool = pool
        self._response: aiohttp.ClientResponse | None = response

    async def chunks(self) -> AsyncIterator[bytes]:
        if self._response is None:
            return
        try:
            async for chunk in self._response.content.iter_any():
                yield chunk
        except (aiohttp.ClientError, OSError) as e:
            raise _broken(self._request, e) from e

    async def close(self) -> None:
        """Closes the connection unless the whole body was read."""
        response, self._response = self._response, None
        if response is not None:
            await self._pool.release(response)


class _Pool:
    """A session with its connections. A retired pool closes itself after its last answer."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self.session = session
        self.in_flight = 0
        self._retired = False

    async def release(self, response: aiohttp.ClientResponse) -> None:
        """Called once for every response. If its body was not read to the end, the connection is aborted."""
        if response.content.at_eof():
            response.release()
        else:
            if response.connection is not None and response.connection.transport is not None:
                response.connection.transport.abort()
            response.close()
        self.in_flight -= 1
        await self._close_if_unused()

    async def retire(self) -> None:
        self._retired = True
        await self._close_if_unused()

    async def _close_if_unused(self) -> None:
        if self._retired and not self.in_flight:
            await self.session.close()


def _lower_case(response: aiohttp.ClientResponse) -> Mapping[str, str]:
    return {name.lower(): value for name, value in response.headers.items()}


def _cannot_connect(request: Request, error: Exception) -> TransportError:
    reason = str(error) or type(error).__name__
    return TransportError(f"{request.method} {request.path}: cannot connect: {reason}", sent=False)


def _broken(request: Request, error: Exception) -> TransportError:
    reason = str(error) or type(error).__name__
    return TransportError(f"{request.method} {request.path}: connection broke: {reason}")
