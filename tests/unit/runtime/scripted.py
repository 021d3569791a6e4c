"""A transport that plays the answers that a test scripts, and records the requests."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from grove.runtime.client.client import Client
from grove.runtime.client.objects import APIResource, PartialObject
from grove.runtime.client.transport import Request, Response

PODS = APIResource("", "v1", "pods", "Pod")
decode = msgspec.json.Decoder(PartialObject).decode

Answer = Response | Exception | Callable[[Request], Response]
HANG = Exception("no answer, ever")
JSON = {"content-type": "application/json"}


class Script:
    """A transport whose answers and streams are given in the order in which they will be asked for."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = deque(answers)
        self.streams: deque[ScriptedStream | Exception] = deque()
        self.requests: list[Request] = []
        self.watches: list[Request] = []
        self.watched = asyncio.Event()
        self.under_way = 0
        self.most_under_way = 0

    async def send(self, request: Request) -> Response:
        self.requests.append(request)
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        try:
            answer = self.answers.popleft()
            if answer is HANG:
                await asyncio.Event().wait()
            if isinstance(answer, Exception):
                raise answer
            return answer if isinstance(answer, Response) else answer(request)
        finally:
            self.under_way -= 1

    async def stream(self, request: Request) -> "ScriptedStream":
        self.watches.append(request)
        self.watched.set()
        if not self.streams:  # the script is over: the connection stays open and silent
            return ScriptedStream()
        stream = self.streams.popleft()
        if isinstance(stream, Exception):
            raise stream
        return stream

    async def close(self) -> None:
        pass


class ScriptedStream:
    """`send` pieces into it from a test, before or while it is read."""

    def __init__(self, *pieces: bytes | Exception | None, status: int = 200) -> None:
        self.status = status
        self.headers: Mapping[str, str] = JSON
        self.closed = False
        self._pieces: asyncio.Queue[bytes | Exception | None] = asyncio.Queue()
        for piece in pieces:
            self._pieces.put_nowait(piece)

    def send(self, piece: bytes | Exception | None) -> None:
        """Bytes, a failure of the connection, or None for the end."""
        self._pieces.put_nowait(piece)

    async def chunks(self) -> AsyncIterator[bytes]:
        while (piece := await self._pieces.get()) is not None:
            if isinstance(piece, Exception):
                raise piece
            yield piece

    async def close(self) -> None:
        self.closed = True


@dataclass
class Pod:
    """A pod of a test; `json` is what a server sends."""

    name: str
    version: int
    uid: str = ""
    namespace: str = "default"
    more: dict[str, Any] = field(default_factory=dict)

    @property
    def json(self) -> dict[str, Any]:
        metadata = {
            "name": self.name,
            "namespace": self.namespace,
            "uid": self.uid or f"uid-{self.name}",
            "resourceVersion": str(self.version),
        }
        return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata | self.more}

    @property
    def body(self) -> bytes:
        return msgspec.json.encode(self.json)

    @property
    def read(self) -> PartialObject:
        return decode(self.body)


def ok(body: Any, status: int = 200) -> Response:
    return Response(status, JSON, msgspec.json.encode(body))


def pod_list(*pods: Pod, version: int, more: str = "") -> Response:
    metadata = {"resourceVersion": str(version)} | ({"continue": more} if more else {})
    return ok({"kind": "PodList", "apiVersion": "v1", "metadata": metadata, "items": [p.json for p in pods]})


def refusal(
    code: int, reason: str = "", message: str = "no", headers: Mapping[str, str] | None = None
) -> Response:
    body = {"kind": "Status", "status": "Failure", "reason": reason, "message": message, "code": code}
    return Response(code, headers or {}, msgspec.json.encode(body))


def event(type_: str, pod: Pod) -> bytes:
    return msgspec.json.encode({"type": type_, "object": pod.json}) + b"\n"


def bookmark(version: int, *, end: bool = False) -> bytes:
    metadata: dict[str, Any] = {"resourceVersion": str(version)}
    if end:
        metadata["annotations"] = {"k8s.io/initial-events-end": "true"}
    return msgspec.json.encode({"type": "BOOKMARK", "object": {"kind": "Pod", "metadata": metadata}}) + b"\n"


def error_event(code: int, reason: str) -> bytes:
    status = {"kind": "Status", "code": code, "reason": reason, "message": "too old"}
    return msgspec.json.encode({"type": "ERROR", "object": status}) + b"\n"


def client(script: Script, **options: Any) -> Client:
    return Client(script, **options)


async def until(condition: Callable[[], bool]) -> None:
    """Waits for what must come. Time is virtual: waiting long costs nothing, waiting for ever fails."""
    async with asyncio.timeout(300):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.01)
