"""The work queue: which keys wait for a worker.

A key waits at most once, however often it is added, and at most one worker has it at a time. A key that is added while
a worker has it waits again once that worker is done. So a reconcile never races with itself, and never misses what
happened while it ran.
"""

import asyncio
from collections import deque
from collections.abc import Hashable
from typing import Generic, TypeVar

from grove.runtime.client.backoff import Backoff

K = TypeVar("K", bound=Hashable)

# An event loop may run a timer early by the resolution of its clock. Timers are therefore set this much late, so that a
# key is never handed out before it is due, and a reconcile that compares the clock with its due time needs no
# tolerance of its own.
TIMER_TOLERANCE_SECONDS = 0.001


class Queue(Generic[K]):
    """For one event loop. A worker calls `get`, reconciles the key, then calls `done`; if it failed, `retry` first."""

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
        """How many keys wait for a worker. Keys that are not due yet do not count."""
        return len(self._waiting)

    @property
    def idle(self) -> bool:
        """Whether no key waits and no worker has one. Timers may still be running."""
        return not self._waiting and not self._in_work

    def add(self, key: K) -> None:
        if self.closed or key in self._waiting:
            return
        self._waiting.add(key)
        if key not in self._in_work:
            self._make_ready(key)

    def add_after(self, key: K, delay: float) -> None:
        """Adds the key in `delay` seconds, or earlier if an earlier time is already set.

        A worker that gets the key before that clears the timer: it decides again whether to requeue.
        """
        loop = asyncio.get_running_loop()
        due = loop.time() + delay + TIMER_TOLERANCE_SECONDS
        timer = self._timers.get(key)
        if timer is not None:
            if timer.when() <= due:
                return
            timer.cancel()
        if not self.closed:
            self._timers[key] = loop.call_at(due, self._on_due, key)

    def retry(self, key: K) -> None:
        """Requeues a key whose reconcile failed. The delay doubles with every failure in a row."""
        backoff = self._failures.setdefault(key, Backoff(self._first_retry, self._longest_retry))
        self.add_after(key, backoff.next())

    def succeeded(self, key: K) -> None:
        """Resets the backoff of a key: its next failure counts as the first."""
        self._failures.pop(key, None)

    async def get(self) -> K | None:
        """The next key, or None once the queue is closed. Keys that still wait then are not handed out."""
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
        if timer := self._timers.pop(key, None):
            timer.cancel()
        return key

    def done(self, key: K) -> None:
        self._in_work.discard(key)
        if key in self._waiting:
            self._make_ready(key)

    def close(self) -> None:
        """Hands out no more keys. Workers that wait for one get None."""
        self.closed = True
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        while self._getters:
            self._wake_one()

    def _on_due(self, key: K) -> None:
        del self._timers[key]
        self.add(key)

    def _make_ready(self, key: K) -> None:
        self._ready.append(key)
        self._wake_one()

    def _wake_one(self) -> None:
        while self._getters:
            getter = self._getters.popleft()
            if not getter.done():
                getter.set_result(None)
                return
