"""The way to the API server: every request passes here, is sent again where that helps, and ends in an
answer or a typed error.

What is sent again, with a growing wait, a handful of times:

- 429, for whatever verb (the server did nothing), after the time it asked for;
- 500, 502, 503, 504 and a missing answer, unless the call is not `repeatable`. The first try of a write may have
  been applied, so a caller of a write must know these answers to its own success:
  a create can end in `AlreadyExists`, an update or guarded patch in `Conflict` (a JSON patch also in `Invalid`),
  a delete in `NotFound`. A controller reads the object and decides again, as it would anyway.

Conflicts are never sent again: only the caller can decide what the new state means.
"""

import asyncio
import random

import structlog

from grove.runtime.client.backoff import Backoff
from grove.runtime.client.deadlines import Deadlines
from grove.runtime.client.errors import ApiError, RequestError, TooManyRequests, TransportError, error_from
from grove.runtime.client.flow_control import Window
from grove.runtime.client.requests import Call
from grove.runtime.client.transport import Response, Stream, Transport
from grove.runtime.telemetry.metrics import Metrics

log = structlog.get_logger(__name__)

_FAILED = frozenset((500, 502, 503, 504))
_OVERLOADED = frozenset((429, 503))


class Client:
    """Sends calls through a transport, within an in-flight window."""

    def __init__(
        self,
        transport: Transport,
        *,
        field_manager: str = "",
        window: Window | None = None,
        metrics: Metrics | None = None,
        timeout: float = 30.0,
        attempts: int = 6,
        chance: random.Random | None = None,
    ) -> None:
        self.field_manager = field_manager
        self.metrics = metrics or Metrics()
        # Decides what is left to chance: how waits are spread, here and in what reads through this client.
        self.chance = chance or random.Random()
        self._transport = transport
        self._window = window or Window()
        self._timeout = timeout
        self._attempts = attempts
        self._deadlines = Deadlines()

    async def send(self, call: Call) -> Response:
        """The answer. Raises `ApiError` or `TransportError`, when sending again did not help."""
        waits: Backoff | None = None
        while True:
            try:
                return await self._send_once(call)
            except (ApiError, TransportError) as e:
                waits = waits or Backoff(0.1, 5.0, chance=self.chance)
                if waits.failures + 1 >= self._attempts or not _worth_another_try(e, call):
                    raise
                log.debug("request is sent again", verb=call.verb, path=call.request.path, error=str(e))
            self.metrics.retries.labels(call.verb, call.resource).inc()
            # If the server asked for time (Retry-After), the window stays closed until that has passed.
            await asyncio.sleep(waits.next())

    async def stream(self, call: Call) -> Stream:
        """Begins an answer that arrives in pieces; tried once. The caller closes it."""
        code = "none"
        try:
            async with asyncio.timeout(self._timeout):
                stream = await self._transport.stream(call.request)
                code = str(stream.status)
                if stream.status < 400:
                    return stream
                try:
                    body = b"".join([chunk async for chunk in stream.chunks()])
                finally:
                    await stream.close()
        except TimeoutError as e:
            raise self._no_answer(call) from e
        finally:
            self.metrics.answered(call.verb, call.resource, code)
        raise error_from(call.request, Response(stream.status, stream.headers, body))

    async def close(self) -> None:
        await self._transport.close()

    async def _send_once(self, call: Call) -> Response:
        await self._window.enter()
        started = asyncio.get_running_loop().time()
        code = "none"
        try:
            with self._deadlines.until(started + self._timeout):
                response = await self._transport.send(call.request)
            code = str(response.status)
            if response.status < 400:
                self._window.answered(started)
                return response
            error = error_from(call.request, response)
            if response.status in _OVERLOADED:
                self._window.overloaded(started, error.retry_after)
            raise error
        except TimeoutError as e:
            self._window.overloaded(started, None)
            raise self._no_answer(call) from e
        finally:
            self.metrics.answered(call.verb, call.resource, code)
            self._window.leave()

    def _no_answer(self, call: Call) -> TransportError:
        request = call.request
        return TransportError(f"{request.method} {request.path}: no answer within {self._timeout:g} s")


def _worth_another_try(error: RequestError, call: Call) -> bool:
    if isinstance(error, TooManyRequests):
        return True
    if isinstance(error, TransportError):
        return call.repeatable or not error.sent
    return isinstance(error, ApiError) and error.status.code in _FAILED and call.repeatable
