"""How soon a pod that failed is replaced: the first immediately, each further one of the same clique later.

    backoff(n) = 0, 10, 20, 40 ... 300 seconds, starting over after ten minutes without a failure

Without it, a pod that fails as soon as it starts would be replaced as fast as the API server can go.
"""

from collections.abc import Callable
from dataclasses import dataclass

FIRST_BACKOFF_SECONDS = 10.0
MAX_BACKOFF_SECONDS = 300.0
RESET_AFTER_SECONDS = 600.0


class ReplacementBackoff:
    """By the uid of the clique. `clock` is monotonic."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._history: dict[str, _Replacements] = {}

    def remaining(self, clique: str) -> float:
        """The seconds until pods of this clique may be replaced; 0 if they may be now."""
        history = self._history.get(clique)
        if history is None:
            return 0.0
        passed = self._clock() - history.last_at
        if passed >= RESET_AFTER_SECONDS:
            return 0.0
        return max(
            0.0, min(FIRST_BACKOFF_SECONDS * 2.0 ** (history.in_a_row - 1), MAX_BACKOFF_SECONDS) - passed
        )

    def record(self, clique: str) -> None:
        """Pods of this clique are being replaced."""
        now, history = self._clock(), self._history.get(clique)
        starts_over = history is None or now - history.last_at >= RESET_AFTER_SECONDS
        self._history[clique] = _Replacements(
            1 if starts_over or history is None else history.in_a_row + 1, now
        )

    def forget(self, clique: str) -> None:
        self._history.pop(clique, None)


@dataclass(frozen=True)
class _Replacements:
    in_a_row: int
    last_at: float
