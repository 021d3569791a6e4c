"""Paces the release of gangs: one at a time, with a minimum pause between two.

Some schedulers mix up gangs whose first pods arrive in the same second. The pause therefore starts when the scheduler
has visibly begun on the previous gang, not when Grove released it: a busy scheduler may take a while to begin. A gang
that must wait is requeued; gangs are released in the order in which they first asked.
"""

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Gang = TypeVar("Gang", bound=Hashable)

# A gang that was released this long ago needs a new turn, and one that waits and does not ask again is forgotten.
RELEASE_RECORD_TTL_SECONDS = 60.0
# A released gang on which the scheduler does not begin delays the others for no longer than this.
MAX_BEGIN_SECONDS = 20.0


class ReleasePacing(Generic[Gang]):
    """`clock` is monotonic. `has_begun` says whether the scheduler has begun on a released gang, or never will."""

    def __init__(self, clock: Callable[[], float], has_begun: Callable[[Gang], bool]) -> None:
        self._clock = clock
        self._has_begun = has_begun
        self._released_at: dict[Gang, float] = {}
        self._ask_again_at: dict[Gang, float] = {}  # in the order in which the gangs first asked
        self._last: Gang | None = None
        self._last_began_at: float | None = None

    def request(self, gang: Gang, pause_seconds: float) -> float:
        """0 if the gang may be released now, and from then on; else the seconds after which to ask again."""
        now = self._clock()
        if gang in self._released_at:
            return 0.0
        if self._is_free(now, pause_seconds):
            self._ask_again_at.pop(gang, None)
            self._released_at = _recent(self._released_at, now) | {gang: now}
            self._last, self._last_began_at = gang, None
            return 0.0
        self._ask_again_at = _recent(self._ask_again_at, now)
        self._ask_again_at.setdefault(gang, now)
        ahead = list(self._ask_again_at).index(gang)
        self._ask_again_at[gang] = now + (pause_seconds * ahead if ahead else pause_seconds / 4)
        return self.ask_again_in(gang)

    def ask_again_in(self, gang: Gang) -> float:
        """The seconds after which a waiting gang is to ask again; 0 for a gang that does not wait."""
        return max(0.0, self._ask_again_at.get(gang, 0.0) - self._clock())

    def _is_free(self, now: float, pause_seconds: float) -> bool:
        if self._last is None:
            return True
        if self._last_began_at is None and self._has_begun(self._last):
            self._last_began_at = now
        if self._last_began_at is None:
            return now - self._released_at.get(self._last, float("-inf")) >= MAX_BEGIN_SECONDS
        return now - self._last_began_at >= pause_seconds


def _recent(times: dict[Gang, float], now: float) -> dict[Gang, float]:
    return {gang: at for gang, at in times.items() if at > now - RELEASE_RECORD_TTL_SECONDS}
