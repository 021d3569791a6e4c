"""Timeouts that cost little while they do not run out, as nearly all of them do.

`asyncio.timeout` with a time sets a timer and takes it back, for every request and every piece of a watch. Here one
timer serves all waits: when its time comes it looks which of them have lasted too long. A wait is an
`asyncio.timeout(None)`, which has no timer of its own and runs out when it is told to.
"""

import asyncio


class Deadlines:
    """For one event loop. Say when a wait began, inside its `asyncio.timeout(None)`, and when it is over."""

    def __init__(self) -> None:
        self._ends: dict[asyncio.Timeout, float] = {}
        self._timer: asyncio.TimerHandle | None = None

    def began(self, wait: asyncio.Timeout, end: float) -> None:
        """It runs out at `end`, by the clock of the loop."""
        self._ends[wait] = end
        if self._timer is None or end < self._timer.when():
            self._look_at(end)

    def over(self, wait: asyncio.Timeout) -> None:
        self._ends.pop(wait, None)

    def _look(self) -> None:
        self._timer = None
        now = asyncio.get_running_loop().time()
        for wait in [w for w, end in self._ends.items() if end <= now]:
            del self._ends[wait]
            wait.reschedule(now)
        if self._ends:
            self._look_at(min(self._ends.values()))

    def _look_at(self, when: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_at(when, self._look)
