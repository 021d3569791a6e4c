"""How fast the machine is meanwhile, so that CPU time can be told from the neighbours' share in it.

Two hardware threads share one core: while another process or another machine's guest is busy on the other thread, the
same instructions take up to twice the CPU time, and nothing on this machine shows why. So a small fixed piece of work
is done again and again, beside what is measured. Its time there, beside the best time that it ever takes, also while
nothing else runs, says how much slower everything was since the piece before.

A machine that is itself a guest sees some pieces take no time at all, since time that its host took away is subtracted
later, and from whatever runs then. So the best is not the shortest of all, but one that a hundredth of them reach.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import NamedTuple

EVERY = 0.05
ALONE = 200


class _Stretch(NamedTuple):
    """CPU seconds that were used between two pieces of work, and those of the second piece."""

    used: float
    piece: float


class Pace:
    def __init__(self) -> None:
        self._alone = [_piece() for _ in range(ALONE)]
        self._stretches: list[_Stretch] = []
        self._since = 0.0

    @asynccontextmanager
    async def measured(self) -> AsyncIterator[None]:
        """Counts the CPU of this process within, without the pieces of work that are done for the measurement."""
        self._since = time.process_time()
        keeping_time = asyncio.create_task(self._keep_time())
        try:
            yield
        finally:
            self._end_stretch()
            keeping_time.cancel()
            with suppress(asyncio.CancelledError):
                await keeping_time
        self._alone += [_piece() for _ in range(ALONE)]

    @property
    def cpu(self) -> float:
        """Seconds, as the system counts them."""
        return sum(s.used for s in self._stretches)

    @property
    def undisturbed(self) -> float:
        """The seconds that it would have been at the best pace."""
        pieces = sorted([*self._alone, *(s.piece for s in self._stretches)])
        best = pieces[len(pieces) // 100]
        return sum(s.used * best / max(s.piece, best) for s in self._stretches)

    async def _keep_time(self) -> None:
        while True:
            await asyncio.sleep(EVERY)
            self._end_stretch()

    def _end_stretch(self) -> None:
        used = time.process_time() - self._since
        self._stretches.append(_Stretch(used, _piece()))
        self._since = time.process_time()


def _piece() -> float:
    """CPU seconds of a fixed piece of work, of the kind that a controller does: names, mappings, calls."""
    _work()  # so that it is measured in warm caches, whatever ran before
    started = time.thread_time()
    _work()
    return time.thread_time() - started


def _work() -> None:
    found: dict[str, int] = {}
    for i in range(300):
        name = f"name-{i % 50}"
        found[name] = found.get(name, 0) + len(name)
