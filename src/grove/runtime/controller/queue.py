"""Which keys wait for a worker.

A key waits at most once however often it is added, and is with at most one worker at a time: added while a worker has
it, it waits again when that worker is done. So a reconcile never races with itself, and never misses what happened
while it ran.
"""

import asyncio
from collections import deque
from collections.abc import Hashable
from typing import Generic, TypeVar

from grove.runtime.client.backoff import Backoff

K = TypeVar("K", bound=Hashable)


class Queue(Generic[K]):
    """For one event loop. `get` a key, work on it, then say `done`; `retry` in between if the work failed."""

    def __init__(self, *, first_retry: float = 0.02, longest_retry: float = 60.0) -> None:
        self._ready: deque[K] = deque()
        self._waiting: set[K] = set()
        self._in_work: set[K] = set()
        self._timers: dict[K, asyncio.TimerHandle] = {}
        self._failures: dict[K, Backoff] = {}
        self._getters: deque[asyncio.Future[None]] = deque()
        self._first_retry = first_retry
        self._longest_retry = longest_retry
        self.closed = False

    def __len__(self) -> int:
        """How many keys wait, without those that wait for their time."""
        return len(self._waiting)

    @property
    def idle(self) -> bool:
        """Nothing waits and nothing is in work; timers may still be running."""
        return not self._waiting and not self._in_work

    def add(self, key: K) -> None:
        if self.closed or key in self._waiting:
            return
        self._waiting.add(key)
        if key not in self._in_work:
            self._make_ready(key)

    def add_after(self, key: K, delay: float) -> None:
        """Adds the key in `delay` seconds, unless a worker takes it before: then that worker decides anew."""
        loop = asyncio.get_running_loop()
        due = loop.time() + delay
        timer = self._timers.get(key)
        if timer is not None:
            if timer.when() <= due:
                return
            timer.cancel()
        if not self.closed:
            self._timers[key] = loop.call_at(due, self._is_due, key)

    def retry(self, key: K) -> None:
        """The work on the key failed: adds it after a wait that doubles with every failure in a row."""
        waits = self._failures.setdefault(key, Backoff(self._first_retry, self._longest_retry))
        self.add_after(key, waits.next())

    def succeeded(self, key: K) -> None:
        """The work on the key succeeded: the next failure counts as the first."""
        if self._failures:
            self._failures.pop(key, None)

    async def get(self) -> K | None:
        """The next key, or None when the queue is closed. Keys that wait at that moment are not handed out."""
        while not self._ready or self.closed:
            if self.closed:
                return None
            getter = asyncio.get_running_loop().create_future()
            self._getters.append(getter)
            try:
                await getter
            except asyncio.CancelledError:
                if not getter.cancelled():
                    self._wake_one()
                raise
        key = self._ready.popleft()
        self._waiting.discard(key)
        self._in_work.add(key)
        if self._timers and (timer := self._timers.pop(key, None)):
            timer.cancel()
        return key

    def done(self, key: K) -> None:
        self._in_work.discard(key)
        if key in self._waiting:
            self._make_ready(key)

    def close(self) -> None:
        """No key is handed out any more, and workers that wait for one get None."""
        self.closed = True
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        while self._getters:
            self._wake_one()

    def _is_due(self, key: K) -> None:
        del self._timers[key]
        self.add(key)

    def _make_ready(self, key: K) -> None:
        self._ready.append(key)
        if self._getters:
            self._wake_one()

    def _wake_one(self) -> None:
        while self._getters:
            getter = self._getters.popleft()
            if not getter.done():
                getter.set_result(None)
                return
