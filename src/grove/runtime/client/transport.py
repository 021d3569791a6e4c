"""How bytes reach an API server: one request, one answer, or one answer that arrives in pieces.

The client builds requests and reads answers; a transport only carries them. Two exist: HTTP over a
pool of connections (`grove.runtime.client.http`), and the embedded cluster called in process, which lets
a test run in virtual time without a socket.
"""

from collections.abc import AsyncIterator, Mapping
from typing import Protocol

import msgspec


# Structs, because they are made in C: two for each request are felt.
class Request(msgspec.Struct, frozen=True):
    method: str
    path: str
    query: Mapping[str, str] = msgspec.field(default_factory=dict)
    headers: Mapping[str, str] = msgspec.field(default_factory=dict)
    body: bytes = b""


class Response(msgspec.Struct, frozen=True):
    """An answer read to its end. Header names are lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Stream(Protocol):
    """An answer whose body arrives in pieces; a piece may end anywhere, also inside a line."""

    status: int
    headers: Mapping[str, str]

    def chunks(self) -> AsyncIterator[bytes]: ...

    async def close(self) -> None: ...


class Transport(Protocol):
    """Raises `grove.runtime.client.errors.TransportError` when no answer came; never for an HTTP status."""

    async def send(self, request: Request) -> Response: ...

    async def stream(self, request: Request) -> Stream: ...

    async def close(self) -> None: ...
