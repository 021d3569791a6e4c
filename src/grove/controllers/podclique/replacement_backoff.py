"""How soon a pod that failed is replaced: the first at once, each further one of the same clique later.

    wait(n) = 0, 10, 20, 40 ... 300 seconds, and from the start again when ten minutes went by without a failure

A pod that fails as soon as it starts would otherwise be replaced as fast as the API server can go.
"""

from collections.abc import Callable


class Replacements:
    """`clock` is monotonic."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._cliques: dict[str, tuple[int, float]] = {}  # failures in a row, time of the last replacement

    def wait(self, clique: str) -> float:
        """How long the next replacement has to wait; 0 when it may be made now."""
        if clique not in self._cliques:
            return 0.0
        count, last = self._cliques[clique]
        passed = self._clock() - last
        if passed >= FORGOTTEN_AFTER:
            return 0.0
        left = min(FIRST * 2.0 ** (count - 1), LONGEST) - passed
        return left if left > A_MOMENT else 0.0

    def note(self, clique: str) -> None:
        """A replacement was made."""
        count, last = self._cliques.get(clique, (0, 0.0))
        now = self._clock()
        self._cliques[clique] = (1 if now - last >= FORGOTTEN_AFTER else count + 1, now)

    def forget(self, clique: str) -> None:
        self._cliques.pop(clique, None)


FIRST = 10.0
LONGEST = 300.0
FORGOTTEN_AFTER = 600.0
# Timers may come a rounding error early.
A_MOMENT = 0.001
