"""Limits the requests in flight to as many as the server answers without slowing down.

No rate is configured. The limit rises while latency stays near the best seen lately: fast at first, and after the first
sign of overload by about one per round of answers. It holds while latency is higher, and halves when the server says
stop (429, 503) or does not answer in time. While a `Retry-After` runs, no new request starts.

Watches do not count: they last for minutes and cost the server nothing while idle.
"""

import asyncio
from collections import deque


class InFlightLimit:
    """Call `acquire` before a request and `release` after it. For one event loop."""

    def __init__(self, *, start: int = 20, maximum: int = 200) -> None:
        self._limit = float(start)
        self._maximum = float(maximum)
        self._in_flight = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._best_latency = float("inf")
        self._best_latency_at = 0.0
        self._was_overloaded = False
        self._paused_until = 0.0
        self._halved_at = float("-inf")
        self._resume_timer: asyncio.TimerHandle | None = None

    @property
    def current(self) -> int:
        return int(self._limit)

    @property
    def in_flight(self) -> int:
        return self._in_flight

    async def acquire(self) -> None:
        """Waits until a request may start. Requests start in the order of their calls."""
        if not self._waiting and self._may_start():
            self._in_flight += 1
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        self._start_waiting()
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():  # allowed to start in the same iteration of the event loop
                self.release()
            raise

    def release(self) -> None:
        """The request is over. Call `answered` or `overloaded` first, or neither if it was cancelled."""
        self._in_flight -= 1
        if self._waiting:
            self._start_waiting()

    def answered(self, started: float) -> None:
        """`started` is the loop time at which the request began."""
        now = asyncio.get_running_loop().time()
        latency = now - started
        # The best latency doubles within a minute, so that one lucky answer does not set the standard for ever.
        best = min(latency, self._best_latency * (1.0 + (now - self._best_latency_at) / 60.0))
        self._best_latency, self._best_latency_at = best, now
        if latency > 2.0 * best + 0.01:
            self._was_overloaded = True
        elif self._in_flight >= self._limit / 2:  # an unused limit says nothing about a higher one
            self._limit = min(
                self._limit + (1.0 / self._limit if self._was_overloaded else 0.5), self._maximum
            )

    def overloaded(self, started: float, retry_after: float | None) -> None:
        """`started` as in `answered`: the requests of one burst halve the limit once."""
        now = asyncio.get_running_loop().time()
        self._was_overloaded = True
        if started >= self._halved_at:
            self._limit = max(self._limit / 2.0, 1.0)
            self._halved_at = now
        if retry_after:
            self._paused_until = max(self._paused_until, now + min(retry_after, MAX_RETRY_AFTER_SECONDS))

    def _may_start(self) -> bool:
        if self._in_flight + 1 > self._limit:
            return False
        return not self._paused_until or asyncio.get_running_loop().time() >= self._paused_until

    def _start_waiting(self) -> None:
        while self._waiting and self._may_start():
            turn = self._waiting.popleft()
            if not turn.done():
                self._in_flight += 1
                turn.set_result(None)
        if self._waiting and self._paused_until and self._resume_timer is None:
            loop = asyncio.get_running_loop()
            if loop.time() < self._paused_until:
                self._resume_timer = loop.call_at(self._paused_until, self._resume)

    def _resume(self) -> None:
        self._resume_timer = None
        self._start_waiting()


# A server that asks for a longer pause (an hour, by mistake) gets requests again after this time.
MAX_RETRY_AFTER_SECONDS = 30.0
