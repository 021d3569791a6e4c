"""Timeouts that cost little while they do not run out, as nearly all of them do.

`asyncio.timeout` sets a timer and takes it back, for every request and every piece of a watch. Here one timer serves
all waits: when its time comes it looks which of them have lasted too long. A wait is otherwise what `asyncio.timeout`
is, down to what a cancellation from elsewhere does to it.
"""

import asyncio
from types import TracebackType


class Deadlines:
    """For one event loop: `with deadlines.until(end): ...` raises `TimeoutError` when what is within lasts longer."""

    def __init__(self) -> None:
        self._waits: dict[_Wait, None] = {}  # in order: which runs out first is not left to chance
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._looks_at = 0.0

    def until(self, end: float) -> "_Wait":
        """`end` is a time by the clock of the loop."""
        if self._timer is None or end < self._looks_at:
            self._look_at(end)
        task = asyncio.current_task(self._loop)
        assert task is not None, "only a task can wait"
        return _Wait(self._waits, task, end)

    def _look(self) -> None:
        self._timer = None
        now = asyncio.get_running_loop().time()
        for wait in [w for w in self._waits if w.end <= now]:
            wait.run_out()
        if self._waits:
            self._look_at(min(w.end for w in self._waits))

    def _look_at(self, when: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._loop = asyncio.get_running_loop()
        self._timer = self._loop.call_at(when, self._look)
        self._looks_at = when


class _Wait:
    __slots__ = ("_all", "_cancelled_before", "_ran_out", "_task", "end")

    def __init__(self, others: "dict[_Wait, None]", task: "asyncio.Task[object]", end: float) -> None:
        self.end = end
        self._all = others
        self._task = task
        self._cancelled_before = task.cancelling()
        self._ran_out = False

    def run_out(self) -> None:
        self._all.pop(self, None)
        self._ran_out = True
        self._task.cancel()

    def __enter__(self) -> None:
        self._all[self] = None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._all.pop(self, None)
        # Cancelled by somebody else as well, it is cancelled, and no timeout.
        if self._ran_out:
            alone = self._task.uncancel() <= self._cancelled_before
            if alone and kind is asyncio.CancelledError:
                raise TimeoutError from error
