"""Injects reproducible faults between a process under test and the API server.

    faults = Faults(seed=7, rates=Rates(conflict=0.05, lost_response=0.02, watch_break=0.1))
    client = Client(faults.transport(server), chance=faults.chance)

Every decision is one draw from one seeded generator, and the jitter of the runtime's backoffs starts from the same
seed, so a seed reproduces a run in virtual time. `faults.next(...)` injects a fault into one chosen request.
`kill_after` of a transport ends the process under test right after one of its writes.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, fields
from enum import StrEnum

import orjson
from grove.runtime.client.errors import TransportError
from grove.runtime.client.transport import Request, Response, Stream, Transport

from grove_sandbox.apiserver.errors import StatusError, expired
from grove_sandbox.apiserver.server import SingleResponseStream

WRITES = ("POST", "PUT", "PATCH", "DELETE")
RETRY_AFTER_SECONDS = 1  # of a 429
HANG_SECONDS = 5.0  # until a lost request or response fails


class FaultKind(StrEnum):
    CONFLICT = "conflict"  # 409, only for updates
    TOO_MANY = "too_many"  # 429 with Retry-After
    SERVER_ERROR = "server_error"  # 500
    LOST_REQUEST = "lost_request"  # the request never reaches the server
    LOST_RESPONSE = "lost_response"  # the server has done it, but the response is lost
    WATCH_LAG = "watch_lag"  # events arrive late
    WATCH_BREAK = "watch_break"  # the connection ends in the middle of a line
    WATCH_REPLAY = "watch_replay"  # events are delivered twice
    WATCH_GONE = "watch_gone"  # 410 in the stream: relist
    WATCH_REFUSED = "watch_refused"  # 410 in response to the watch request


@dataclass(frozen=True)
class Rates:
    """The probability of each fault, per request or per chunk of a watch."""

    conflict: float = 0.0
    too_many: float = 0.0
    server_error: float = 0.0
    lost_request: float = 0.0
    lost_response: float = 0.0
    watch_lag: float = 0.0
    watch_break: float = 0.0
    watch_replay: float = 0.0
    watch_gone: float = 0.0
    watch_refused: float = 0.0

    @classmethod
    def all(cls, rate: float) -> "Rates":
        return cls(**{field.name: rate for field in fields(cls)})


NEVER = Rates()


class Killed(BaseException):
    """Raised in the process under test after its last write, and by every later request."""


class Faults:
    """Decides which requests fail. `log` lists the injected faults in order."""

    def __init__(self, seed: int, rates: Rates = NEVER, *, lag: float = 3.0) -> None:
        self.rates = rates
        self.lag = lag
        self.log: list[str] = []
        self.active = True
        self._random = random.Random(seed)
        # The jitter of the client under test.
        self.chance = random.Random(seed)
        self._planned: list[tuple[Callable[[Request], bool], FaultKind]] = []

    def transport(self, inner: Transport) -> "FaultyTransport":
        """The transport of one process under test."""
        return FaultyTransport(inner, self)

    def next(self, fault: FaultKind, when: Callable[[Request], bool] = lambda _: True) -> None:
        """Injects `fault` into the next request for which `when` is true and the fault is possible."""
        self._planned.append((when, fault))

    def stop(self) -> None:
        """Injects no more random faults, so that a test can wait until the cluster settles."""
        self.active = False

    def for_request(self, request: Request) -> FaultKind | None:
        kinds = [FaultKind.TOO_MANY, FaultKind.SERVER_ERROR, FaultKind.LOST_REQUEST]
        if request.method in WRITES:
            kinds.append(FaultKind.LOST_RESPONSE)
        if request.method in ("PUT", "PATCH"):
            kinds.append(FaultKind.CONFLICT)
        return self._choose(request, kinds)

    def for_opening(self, request: Request) -> FaultKind | None:
        """The fault of a watch request, before it becomes a stream."""
        return self._choose(
            request,
            [FaultKind.TOO_MANY, FaultKind.SERVER_ERROR, FaultKind.LOST_REQUEST, FaultKind.WATCH_REFUSED],
        )

    def for_watch(self, request: Request) -> FaultKind | None:
        """The fault of one chunk of a watch."""
        return self._choose(
            request,
            [FaultKind.WATCH_LAG, FaultKind.WATCH_BREAK, FaultKind.WATCH_REPLAY, FaultKind.WATCH_GONE],
        )

    def _choose(self, request: Request, kinds: list[FaultKind]) -> FaultKind | None:
        chosen: FaultKind | None = None
        draw = self._random.random() if self.active else 1.0
        for index, (when, planned) in enumerate(self._planned):
            if planned in kinds and when(request):
                del self._planned[index]
                chosen = planned
                break
        else:
            for kind in kinds:
                draw -= getattr(self.rates, kind)
                if draw < 0:
                    chosen = kind
                    break
        if chosen is not None:
            self.log.append(f"{chosen} {request.method} {request.path}")
        return chosen


class FaultyTransport:
    """Implements `Transport`. `killed` is set when `kill_after` has ended the process under test."""

    def __init__(self, inner: Transport, faults: Faults) -> None:
        self.killed = asyncio.Event()
        self.writes = 0  # successful ones
        self._inner, self._faults = inner, faults
        self._last_write: int | None = None

    def kill_after(self, write: int) -> None:
        """Ends the process under test after this many successful writes, counted from its start."""
        self._last_write = write

    async def send(self, request: Request) -> Response:
        self._check_alive()
        fault = self._faults.for_request(request)
        if fault == FaultKind.LOST_RESPONSE:
            await self._forward(request)
            await asyncio.sleep(HANG_SECONDS)
            raise TransportError("injected fault: the response was lost")
        refusal = await _refusal(fault, request)
        return await self._forward(request) if refusal is None else refusal

    async def stream(self, request: Request) -> Stream:
        self._check_alive()
        refusal = await _refusal(self._faults.for_opening(request), request)
        if refusal is not None:
            return SingleResponseStream(refusal)
        return _FaultyStream(await self._inner.stream(request), request, self._faults, self.killed)

    async def close(self) -> None:
        """Does nothing: the server outlives the process under test."""

    async def _forward(self, request: Request) -> Response:
        response = await self._inner.send(request)
        if request.method in WRITES and response.status < 300:
            self.writes += 1
            if self._last_write is not None and self.writes >= self._last_write:
                self.killed.set()
                raise Killed
        return response

    def _check_alive(self) -> None:
        if self.killed.is_set():
            raise Killed


async def _refusal(fault: FaultKind | None, request: Request) -> Response | None:
    """The error response of a fault. None if the request should be forwarded."""
    match fault:
        case FaultKind.CONFLICT:
            why = f"Operation cannot be fulfilled on {request.path}: injected fault"
            return StatusError(409, "Conflict", why).respond()
        case FaultKind.TOO_MANY:
            details = {"retryAfterSeconds": RETRY_AFTER_SECONDS}
            headers = {"retry-after": str(RETRY_AFTER_SECONDS)}
            return StatusError(429, "TooManyRequests", "injected fault", details, headers).respond()
        case FaultKind.SERVER_ERROR:
            return StatusError(500, "InternalError", "Internal error occurred: injected fault").respond()
        case FaultKind.WATCH_REFUSED:
            return expired("injected fault: too old resource version").respond()
        case FaultKind.LOST_REQUEST:
            await asyncio.sleep(HANG_SECONDS)
            raise TransportError("injected fault: the request was lost")
    return None


class _FaultyStream:
    def __init__(self, inner: Stream, request: Request, faults: Faults, killed: asyncio.Event) -> None:
        self.status = inner.status
        self.headers: Mapping[str, str] = inner.headers
        self._inner, self._request, self._faults, self._killed = inner, request, faults, killed

    async def chunks(self) -> AsyncIterator[bytes]:
        last = b""
        async for chunk in self._inner.chunks():
            if self._killed.is_set():
                raise Killed
            fault = self._faults.for_watch(self._request) if self.status == 200 else None
            match fault:
                case FaultKind.WATCH_LAG:
                    await asyncio.sleep(self._faults.lag)
                    yield chunk
                case FaultKind.WATCH_BREAK:
                    yield chunk[: len(chunk) // 2]
                    raise TransportError("injected fault: the watch broke")
                case FaultKind.WATCH_GONE:
                    status = expired("injected fault: too old resource version").status()
                    yield orjson.dumps({"type": "ERROR", "object": status}) + b"\n"
                    return
                case FaultKind.WATCH_REPLAY:
                    yield chunk
                    yield last
                    yield chunk
                case _:
                    yield chunk
            last = chunk

    async def close(self) -> None:
        await self._inner.close()
