"""One after another, with a pause in between: for schedulers that mix up what they meet in the same moment.

The pause begins when the one before has begun, as far as can be seen, and not when it was let go: a busy scheduler
may take a while to begin. Whoever has to wait asks again, those later who came later.
"""

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Who = TypeVar("Who", bound=Hashable)


class Turns(Generic[Who]):
    """`clock` is monotonic. `begun` says whether somebody who had their turn has begun, or never will."""

    def __init__(self, clock: Callable[[], float], begun: Callable[[Who], bool]) -> None:
        self._clock = clock
        self._begun = begun
        self._let_go: dict[Who, float] = {}
        self._ask_again: dict[Who, float] = {}  # those who wait, in the order in which they came
        self._last: Who | None = None
        self._last_began: float | None = None

    @property
    def somebody_waits(self) -> bool:
        return bool(self._ask_again)

    def wait(self, who: Who, pause: float) -> float:
        """0 when it is their turn, which they keep; else in how many seconds to ask again."""
        now = self._clock()
        if who in self._let_go:
            return 0.0
        if self._is_free(now, pause):
            self._ask_again.pop(who, None)
            self._let_go = {w: at for w, at in self._let_go.items() if at > now - KEPT_FOR} | {who: now}
            self._last, self._last_began = who, None
            return 0.0
        self._ask_again = {w: at for w, at in self._ask_again.items() if at > now - KEPT_FOR}
        self._ask_again.setdefault(who, now)
        ahead = list(self._ask_again).index(who)
        self._ask_again[who] = now + (pause * ahead if ahead else pause / 4)
        return self.left(who)

    def left(self, who: Who) -> float:
        """In how many seconds somebody who waits is to ask again; 0 for all others."""
        left = self._ask_again.get(who, 0.0) - self._clock()
        return left if left > A_MOMENT else 0.0

    def _is_free(self, now: float, pause: float) -> bool:
        if self._last is None:
            return True
        if self._last_began is None and self._begun(self._last):
            self._last_began = now
        since = self._let_go.get(self._last, float("-inf"))
        if self._last_began is None:
            return now - since >= LONGEST
        return now - self._last_began >= pause - A_MOMENT


# Who lets a turn pass for so long gets another, and who does not ask again is forgotten.
KEPT_FOR = 60.0
# Nobody is waited for longer, who had their turn and does not begin.
LONGEST = 20.0
# Timers may come a rounding error early.
A_MOMENT = 0.001
