"""The contract of a transport: it carries one request to an API server and brings back the answer.

The client builds requests and interprets answers. Two transports exist: HTTP (`grove.runtime.client.http_transport`),
and the embedded API server called in process, which lets tests run in virtual time without a socket.
"""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


@dataclass(frozen=True)
class Response:
    """A complete answer. Header names are lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Stream(Protocol):
    """An answer whose body arrives in chunks. A chunk may end anywhere, also inside a line."""

    status: int
    headers: Mapping[str, str]

    def chunks(self) -> AsyncIterator[bytes]: ...

    async def close(self) -> None: ...


class Transport(Protocol):
    """Raises `grove.runtime.client.errors.TransportError` when no answer came, and never for an HTTP status."""

    async def send(self, request: Request) -> Response: ...

    async def stream(self, request: Request) -> Stream: ...

    async def close(self) -> None: ...
