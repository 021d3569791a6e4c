"""A plain HTTP session to a cluster, for what must not go through Grove's own client."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any
from weakref import WeakSet

import aiohttp

from grove_testbed.cluster import Cluster


@asynccontextmanager
async def session_to(cluster: Cluster, **options: Any) -> AsyncIterator[aiohttp.ClientSession]:
    """Without credentials; the options are those of aiohttp. At the end no connection is left open."""
    sockets: WeakSet[_Socket] = WeakSet()

    def make(address: tuple[Any, ...]) -> socket.socket:
        made = _Socket(*address[:3])
        sockets.add(made)
        return made

    connector = aiohttp.TCPConnector(ssl=cluster.tls(), limit=0, socket_factory=make)
    async with aiohttp.ClientSession(connector=connector, **options) as session:
        yield session
    # aiohttp has forgotten those it gave up earlier; they still wait for the server's goodbye over TLS.
    for made in list(sockets):
        with suppress(OSError):  # it is closed, or was never connected
            made.shutdown(socket.SHUT_RDWR)
        await made.closed.wait()


class _Socket(socket.socket):
    """Tells when it is closed."""

    def __init__(self, family: int, kind: int, protocol: int) -> None:
        super().__init__(family, kind, protocol)
        self.closed = asyncio.Event()

    def close(self) -> None:
        super().close()
        self.closed.set()
