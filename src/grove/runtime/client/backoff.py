"""Exponential backoff with optional jitter."""

import random


class Backoff:
    """Delays of `first`, `first * 2`, `first * 4` ... seconds, at most `limit`.

    With `chance`, jitter shortens each delay by up to half, so that many clients that were disconnected at the same
    moment do not reconnect at the same moment.
    """

    def __init__(self, first: float, limit: float, *, chance: random.Random | None = None) -> None:
        self._first = first
        self._limit = limit
        self._chance = chance
        self.failures = 0

    def next(self) -> float:
        # 2.0**60 seconds exceeds any limit; a larger exponent would overflow in the end.
        delay = min(self._first * 2.0 ** min(self.failures, 60), self._limit)
        self.failures += 1
        return delay if self._chance is None else delay * (1.0 - self._chance.random() / 2)

    def reset(self) -> None:
        self.failures = 0
