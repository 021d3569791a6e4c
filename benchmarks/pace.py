"""How fast the machine is meanwhile, so that CPU time can be told from the neighbours' share in it.

Two hardware threads share one core: while another process or another machine's guest is busy on the other thread, the
same instructions take up to twice the CPU time, and nothing on this machine shows why. So a small fixed piece of work
is done again and again, beside what is measured. Its usual time there, beside the best time that it ever takes,
also while nothing else runs, says how much slower everything was.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from statistics import mean

EVERY = 0.05
ALONE = 200


class Pace:
    def __init__(self) -> None:
        self._pieces: list[float] = []
        self._best = min(_piece() for _ in range(ALONE))
        self._cpu = 0.0

    @asynccontextmanager
    async def measured(self) -> AsyncIterator[None]:
        """Counts the CPU of this process within, without the pieces of work that are done for the measurement."""
        counting = _Cpu()
        pieces = asyncio.create_task(self._keep_time(counting))
        try:
            yield
        finally:
            self._cpu = counting.so_far()
            pieces.cancel()
            with suppress(asyncio.CancelledError):
                await pieces
        self._best = min(self._best, *self._pieces, *(_piece() for _ in range(ALONE)))

    @property
    def cpu(self) -> float:
        """Seconds, as the system counts them."""
        return self._cpu

    @property
    def slowdown(self) -> float:
        """How many times longer the same work took within than at its best."""
        return mean(self._pieces) / self._best if self._pieces else 1.0

    @property
    def undisturbed(self) -> float:
        """The seconds that it would have been at the best pace."""
        return self._cpu / self.slowdown

    async def _keep_time(self, counting: "_Cpu") -> None:
        while True:
            with counting.paused():
                self._pieces.append(_piece())
            await asyncio.sleep(EVERY)


class _Cpu:
    """The CPU seconds of this process since now."""

    def __init__(self) -> None:
        self._from = time.process_time()

    def so_far(self) -> float:
        return time.process_time() - self._from

    @contextmanager
    def paused(self) -> Iterator[None]:
        before = time.process_time()
        yield
        self._from += time.process_time() - before


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
