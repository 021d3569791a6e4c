"""How many requests may be under way at once: as many as the server answers without slowing down.

No rate is configured. While latency stays near the best seen lately the window opens: fast at first, and after the
first sign of strain by about one for each window's worth of answers. It holds while latency is higher, and halves
when the server says stop (429, 503) or says nothing (timeout). While a `Retry-After` runs, nothing new starts.

Watches are not counted: they last for minutes and cost the server nothing while idle.
"""

import asyncio
from collections import deque


class Window:
    """A limit on concurrent requests that follows the server. One event loop only."""

    def __init__(self, *, start: int = 20, most: int = 200) -> None:
        self._limit = float(start)
        self._most = float(most)
        self._in_flight = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._best = float("inf")
        self._marked = 0.0
        self._strained = False
        self._closed_until = 0.0
        self._halved_at = float("-inf")
        self._reopening: asyncio.TimerHandle | None = None

    @property
    def limit(self) -> int:
        return int(self._limit)

    @property
    def in_flight(self) -> int:
        return self._in_flight

    async def enter(self) -> None:
        """Waits for a place. Places are given in the order in which they were asked for."""
        if not self._waiting and self._has_place():
            self._in_flight += 1
            return
        place = asyncio.get_running_loop().create_future()
        self._waiting.append(place)
        self._admit()
        try:
            await place
        except asyncio.CancelledError:
            if not place.cancelled():  # the place was given in the same turn of the loop: give it back
                self.leave()
            raise

    def leave(self) -> None:
        """Gives the place back. Say before how it went: `answered` or `overloaded`; neither if cancelled."""
        self._in_flight -= 1
        if self._waiting:
            self._admit()

    def answered(self, started: float) -> None:
        """`started` is the loop time at which the request began."""
        now = asyncio.get_running_loop().time()
        latency = now - started
        # The mark doubles in a minute, so that one lucky answer does not set it for ever.
        best = min(latency, self._best * (1.0 + (now - self._marked) / 60.0))
        self._best, self._marked = best, now
        if latency > 2.0 * best + 0.01:
            self._strained = True
        elif self._in_flight >= self._limit / 2:  # a limit that is not used says nothing about a higher one
            self._limit = min(self._limit + (1.0 / self._limit if self._strained else 0.5), self._most)

    def overloaded(self, started: float, retry_after: float | None) -> None:
        """`started` as above: requests of one burst count once."""
        now = asyncio.get_running_loop().time()
        self._strained = True
        if started >= self._halved_at:
            self._limit = max(self._limit / 2.0, 1.0)
            self._halved_at = now
        if retry_after:
            self._closed_until = max(self._closed_until, now + min(retry_after, LONGEST_PAUSE))

    def _has_place(self) -> bool:
        if self._in_flight + 1 > self._limit:
            return False
        return not self._closed_until or asyncio.get_running_loop().time() >= self._closed_until

    def _admit(self) -> None:
        while self._waiting and self._has_place():
            place = self._waiting.popleft()
            if not place.done():
                self._in_flight += 1
                place.set_result(None)
        if self._waiting and self._closed_until and self._reopening is None:
            loop = asyncio.get_running_loop()
            if loop.time() < self._closed_until:
                self._reopening = loop.call_at(self._closed_until, self._reopen)

    def _reopen(self) -> None:
        self._reopening = None
        self._admit()


# A server that asks for more than this (an hour, say, by mistake) is asked again anyway.
LONGEST_PAUSE = 30.0
