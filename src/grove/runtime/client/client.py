"""Sends every request to the API server, retries it where that helps, and ends in an answer or a typed error.

Retried with backoff, a handful of times:

- 429, whatever the verb, because the server did nothing; not before the time that its Retry-After asks for;
- 500, 502, 503, 504 and a missing answer, unless the call is not `repeatable`. The first attempt of a write may have
  been applied. So the caller of a write must recognise its own success in these errors: a create can end in
  `AlreadyExists`, an update or guarded patch in `Conflict` (a JSON patch also in `Invalid`), a delete in `NotFound`.
  A controller reads the object and decides again, as it would anyway.

A conflict is never retried: only the caller can decide what the newer state means.

Only a 2xx with JSON is an answer of an API server. A redirect or an HTML page comes from a proxy, and counts as a
missing answer.
"""

import asyncio
import random

import structlog

from grove.runtime.client.backoff import Backoff
from grove.runtime.client.errors import ApiError, RequestError, TooManyRequests, TransportError, error_from
from grove.runtime.client.flow_control import InFlightLimit
from grove.runtime.client.requests import Call
from grove.runtime.client.transport import Response, Stream, Transport
from grove.runtime.telemetry.metrics import Metrics

log = structlog.get_logger(__name__)

_FAILED = frozenset((500, 502, 503, 504))
_OVERLOADED = frozenset((429, 503))


class Client:
    """Sends calls through a transport, within a limit of requests in flight."""

    def __init__(
        self,
        transport: Transport,
        *,
        field_manager: str = "",
        in_flight_limit: InFlightLimit | None = None,
        metrics: Metrics | None = None,
        timeout: float = 30.0,
        attempts: int = 6,
        chance: random.Random | None = None,
    ) -> None:
        self.field_manager = field_manager
        self.metrics = metrics or Metrics()
        # The source of randomness: jitter of backoffs, here and in the informers that use this client.
        self.chance = chance or random.Random()
        self._transport = transport
        self._in_flight = in_flight_limit or InFlightLimit()
        self._timeout = timeout
        self._attempts = attempts

    async def send(self, call: Call) -> Response:
        """The answer. Raises `ApiError` or `TransportError` once a retry is pointless or the attempts are used up."""
        backoff: Backoff | None = None
        while True:
            try:
                return await self._send_once(call)
            except (ApiError, TransportError) as e:
                backoff = backoff or Backoff(0.1, 5.0, chance=self.chance)
                if backoff.failures + 1 >= self._attempts or not _is_worth_a_retry(e, call):
                    raise
                log.debug("retrying request", verb=call.verb, path=call.request.path, error=str(e))
            self.metrics.retries.labels(call.verb, call.resource).inc()
            # After a Retry-After the in-flight limit lets no request pass before that time is over.
            await asyncio.sleep(backoff.next())

    async def stream(self, call: Call) -> Stream:
        """Opens an answer that arrives in chunks, without retries. The caller closes it."""
        code = "none"
        try:
            async with asyncio.timeout(self._timeout):
                stream = await self._transport.stream(call.request)
                code = str(stream.status)
                if stream.status < 400:
                    try:
                        _check_answer(call, stream)
                    except TransportError:
                        await stream.close()
                        raise
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
        await self._in_flight.acquire()
        started = asyncio.get_running_loop().time()
        code = "none"
        try:
            async with asyncio.timeout(self._timeout):
                response = await self._transport.send(call.request)
            code = str(response.status)
            if response.status < 400:
                _check_answer(call, response)
                self._in_flight.answered(started)
                return response
            error = error_from(call.request, response)
            if response.status in _OVERLOADED:
                self._in_flight.overloaded(started, error.retry_after)
            raise error
        except TimeoutError as e:
            self._in_flight.overloaded(started, None)
            raise self._no_answer(call) from e
        finally:
            self.metrics.answered(call.verb, call.resource, code)
            self._in_flight.release()

    def _no_answer(self, call: Call) -> TransportError:
        request = call.request
        return TransportError(f"{request.method} {request.path}: no answer within {self._timeout:g} s")


def _check_answer(call: Call, answer: Response | Stream) -> None:
    """Raises `TransportError` if this cannot be the answer of an API server, whatever else sent it."""
    content_type = answer.headers.get("content-type", "")
    if not 200 <= answer.status < 300 or not content_type.startswith("application/json"):
        request = call.request
        raise TransportError(
            f"{request.method} {request.path}: not the answer of an API server: status {answer.status}, "
            f"content type {content_type!r}; is there a proxy in between?"
        )


def _is_worth_a_retry(error: RequestError, call: Call) -> bool:
    if isinstance(error, TooManyRequests):
        return True
    if isinstance(error, TransportError):
        return call.repeatable or not error.sent
    return isinstance(error, ApiError) and error.status.code in _FAILED and call.repeatable
