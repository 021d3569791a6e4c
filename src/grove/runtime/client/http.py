"""The transport to a real API server: HTTP/1.1 over a pool of connections.

How many requests are under way is for the client's window to say, and how long one may take for its timeout;
the pool sets no limit of its own. A peer that vanished without a word is noticed by TCP keepalive, and above that
by the idle timeout of the watch. The server is asked directly: `HTTPS_PROXY` and its like have no effect.
"""

import asyncio
import re
import socket
import ssl
from collections import deque
from collections.abc import AsyncIterator, Mapping
from functools import lru_cache
from urllib.parse import quote, urlencode, urlsplit

from grove.runtime.client.connection import Answer, Connection, wake
from grove.runtime.client.errors import TransportError
from grove.runtime.client.kubeconfig import Cluster
from grove.runtime.client.tls import Tls
from grove.runtime.client.transport import Request, Response

# Servers and balancers close connections that are idle for longer, some without a word.
LONGEST_IDLE = 60.0
CONNECT_TIMEOUT = 10.0
# How long `close` waits for what is still to be sent.
CLOSE_TIMEOUT = 2.0
# What comes within this time is told together. Most events of a watch are echoes of our own writes: told one by one,
# each would cost nearly as much as a request, and those that overtake the answer would wake a controller for nothing.
# Nobody sees so short a delay. And of pods that are all deleted at once the first is not replaced, alone, before the
# others are known to be gone.
GATHER = 0.02
# Answers that took so long are told together too, and whoever deals with them finds code and data in the processor's
# caches: the server is what they wait for. From a server that keeps up each is told at once, since it could do more.
# So late by at most half, they do not look to the client's window like answers of a server under strain.
SLOW = 2 * GATHER


class HttpTransport:
    """Made inside a running event loop; `close` it there, after which no socket of it is open."""

    def __init__(self, cluster: Cluster, *, user_agent: str = "grove") -> None:
        self._cluster = cluster
        server = urlsplit(cluster.server)
        self._host = server.hostname or ""
        self._tls = (cluster.tls or ssl.create_default_context()) if server.scheme == "https" else None
        self._port = server.port or (443 if self._tls else 80)
        self._prefix = server.path.rstrip("/")
        self._fixed_lines = (
            f"host: {server.netloc.rpartition('@')[2]}\r\naccept: application/json\r\n"
            f"accept-encoding: identity\r\nuser-agent: {_safe(user_agent)}\r\n"
        )
        self._loop = asyncio.get_running_loop()
        self._open: set[Connection] = set()
        self._idle: deque[Connection] = deque()
        # Connections of an older generation are not used again.
        self._generation = 0
        # Of which more came, in order, since those who wait were last told.
        self._gathered: dict[Answer, None] = {}

    async def send(self, request: Request) -> Response:
        _, answer = await self._ask(request, whole=True)
        return Response(answer.status, answer.headers, b"".join(answer.pieces))

    async def stream(self, request: Request) -> "HttpStream":
        return HttpStream(request, *await self._ask(request, whole=False))

    async def close(self) -> None:
        self._retire()
        for connection in self._open:
            if not connection.usable:
                connection.abort()
        if self._open:
            await asyncio.wait([c.lost for c in self._open], timeout=CLOSE_TIMEOUT)
        for connection in (left := list(self._open)):
            connection.abort()
        await asyncio.gather(*(c.lost for c in left))

    async def _ask(self, request: Request, *, whole: bool) -> tuple[Connection, Answer]:
        """The answer, or its head if not `whole`. A 401 is answered with renewed credentials, once."""
        credentials, renewed = self._cluster.credentials, False
        while True:
            authorization = await credentials.authorization()
            content = self._bytes(authorization, request)
            connection = self._idle_one() or await self._connect(request)
            try:
                answer = connection.begin(content, whole=whole)
                await connection.wait(answer)
            except OSError as e:
                raise _broke(request, e) from e
            if answer.status != 401 or renewed:
                return connection, answer
            if not answer.complete:
                connection.abort()
            if await credentials.renew(authorization):
                self._retire()
            renewed = True

    def _bytes(self, authorization: str | None, request: Request) -> bytes:
        method, path, body = request.method, request.path, request.body
        target = self._prefix + (path if _PLAIN(path) else quote(path, safe="/%"))
        query = _query(tuple(request.query.items())) if request.query else ""
        lines = _lines(self._fixed_lines, authorization, tuple(request.headers.items()))
        if body or method in ("POST", "PUT", "PATCH"):
            lines += f"content-length: {len(body)}\r\n"
        return f"{method} {target}{query} HTTP/1.1\r\n{lines}\r\n".encode("latin-1") + body

    def _idle_one(self) -> Connection | None:
        """The one that was used last; those that nobody used for long are given up."""
        idle, now = self._idle, self._loop.time()
        while idle and now - idle[0].used_at > LONGEST_IDLE:
            idle.popleft().close()
        while idle:
            connection = idle.pop()
            if connection.usable:
                connection.used_at = now
                return connection
        return None

    def connection(self) -> Connection:
        """Of the pool, and not connected yet."""
        generation = self._generation

        def keep(connection: Connection) -> None:
            if generation == self._generation:
                self._idle.append(connection)
            else:
                connection.close()

        return Connection(keep, self._gather)

    async def _connect(self, request: Request) -> Connection:
        connection = self.connection()
        try:
            async with asyncio.timeout(CONNECT_TIMEOUT):
                made = await self._open_socket(connection)
        except TimeoutError as e:
            why = f"no connection to {self._host}:{self._port} within {CONNECT_TIMEOUT:g} s"
            raise _cannot_connect(request, why) from e
        except OSError as e:  # also of TLS
            raise _cannot_connect(request, str(e) or type(e).__name__) from e
        _keep_alive(made)
        self._open.add(connection)
        connection.lost.add_done_callback(lambda _: self._open.discard(connection))
        return connection

    async def _open_socket(self, connection: Connection) -> socket.socket:
        """With TLS, if the server has it."""
        name, context = self._cluster.tls_server_name or self._host, self._tls
        tls = Tls(context, name, connection) if context is not None else None
        transport, _ = await self._loop.create_connection(lambda: tls or connection, self._host, self._port)
        if tls is not None:
            try:
                await tls.ready
            except BaseException:
                transport.abort()
                raise
        found: socket.socket = transport.get_extra_info("socket")
        return found

    def _gather(self, answer: Answer) -> None:
        if answer.complete and answer.came_at - answer.asked_at < SLOW:
            wake(answer)
            return
        if not self._gathered:
            self._loop.call_later(GATHER, self._tell)
        self._gathered[answer] = None

    def _tell(self) -> None:
        """Answers first: then their echoes are known when they are taken in."""
        gathered, self._gathered = self._gathered, {}
        for answer in sorted(gathered, key=_is_under_way):
            wake(answer)

    def _retire(self) -> None:
        """No connection that is open now is used for another request."""
        self._generation += 1
        while self._idle:
            self._idle.pop().close()


class HttpStream:
    """An answer in pieces, each of all that came within `GATHER`."""

    def __init__(self, request: Request, connection: Connection, answer: Answer) -> None:
        self.status = answer.status
        self.headers: Mapping[str, str] = answer.headers
        self._request = request
        self._connection = connection
        self._answer = answer

    async def chunks(self) -> AsyncIterator[bytes]:
        answer = self._answer
        while True:
            if answer.pieces:
                yield self._connection.take(answer)
            elif answer.complete:
                return
            else:
                try:
                    await self._connection.wait(answer)
                except OSError as e:
                    raise _broke(self._request, e) from e

    async def close(self) -> None:
        if not self._answer.complete:
            self._connection.abort()


def _is_under_way(answer: Answer) -> bool:
    return not answer.complete


def _cannot_connect(request: Request, why: str) -> TransportError:
    return TransportError(f"{request.method} {request.path}: cannot connect: {why}", sent=False)


def _broke(request: Request, error: Exception) -> TransportError:
    said = str(error) or type(error).__name__
    return TransportError(f"{request.method} {request.path}: connection broke: {said}")


@lru_cache(maxsize=256)
def _query(items: tuple[tuple[str, str], ...]) -> str:
    return "?" + urlencode(items)


_PLAIN = re.compile(r"[A-Za-z0-9/._~:@!$&'()*+,;=-]*").fullmatch


@lru_cache(maxsize=64)
def _lines(fixed: str, authorization: str | None, others: tuple[tuple[str, str], ...]) -> str:
    """The header lines that many requests share."""
    said = [*others, ("authorization", authorization)] if authorization else others
    return fixed + "".join(f"{name}: {_safe(value)}\r\n" for name, value in said)


def _safe(value: str) -> str:
    """A value that ended its line would begin another header."""
    if "\r" in value or "\n" in value:
        raise ValueError("a header must not contain a line break")
    return value


# A vanished peer is noticed after 30 s + 3 * 10 s of silence; unacknowledged data after 60 s.
_KEEPALIVE = {"TCP_KEEPIDLE": 30, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 3, "TCP_USER_TIMEOUT": 60_000}


def _keep_alive(made: socket.socket) -> None:
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _KEEPALIVE.items():
        if hasattr(socket, name):  # not every system has all of them
            made.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
