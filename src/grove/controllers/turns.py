"""One after another, with a pause in between: for schedulers that mix up what they meet in the same moment.

Whoever asks first gets the next free moment, and keeps it; who asks again is told how long is left.
"""

from collections.abc import Callable


class Turns:
    """`clock` is monotonic."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._turns: dict[str, float] = {}  # in their order
        self._last = float("-inf")

    def wait(self, who: str, pause: float) -> float:
        """How long until it is their turn, at least `pause` seconds after the one before; 0 when it is."""
        if who not in self._turns:
            now = self._clock()
            self._turns = {w: at for w, at in self._turns.items() if at >= now - KEPT_FOR}
            self._turns[who] = self._last = max(now, self._last + pause)
        return self.left(who)

    def left(self, who: str) -> float:
        """The same for somebody who may not have asked for a turn: 0."""
        left = self._turns.get(who, 0.0) - self._clock()
        return left if left > A_MOMENT else 0.0


# Who lets a turn pass for so long gets another.
KEPT_FOR = 60.0
# Timers may come a rounding error early.
A_MOMENT = 0.001
