"""How long to wait before trying again: longer each time, up to a limit."""

import random


class Backoff:
    """Waits of `first`, `first * 2`, `first * 4` ... seconds, at most `limit`.

    `chance` takes away up to half of each wait, so that many clients cut off at the same moment do not come back at
    the same moment.
    """

    def __init__(self, first: float, limit: float, *, chance: random.Random | None = None) -> None:
        self._first = first
        self._limit = limit
        self._chance = chance
        self.failures = 0

    def next(self) -> float:
        # 2.0**60 seconds is past any limit; a larger exponent would overflow in the end.
        wait = min(self._first * 2.0 ** min(self.failures, 60), self._limit)
        self.failures += 1
        return wait if self._chance is None else wait * (1.0 - self._chance.random() / 2)

    def reset(self) -> None:
        self.failures = 0
