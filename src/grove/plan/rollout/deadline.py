"""When an update last made progress, and the condition UpdateInProgress.

Progress is a unit that follows the new template and became ready. Its time is in the pods themselves, so nothing has to
be remembered: the later of the start of the update and the last time at which an updated pod became ready.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from grove.api.conditions import Reason
from grove.api.meta import ConditionStatus
from grove.api.pod_view import Pod
from grove.api.podcliqueset import RollingUpdate
from grove.api.scalars import Time
from grove.plan.pod_state import condition, is_present, is_ready


def last_progress(started: Time, updated: Iterable[Pod]) -> datetime:
    """`updated` are the pods that follow the new template."""
    ready = [condition(p, "Ready") for p in updated if is_present(p) and is_ready(p)]
    times = [datetime.fromisoformat(c.last_transition_time) for c in ready if c and c.last_transition_time]
    return max([started.when(), *times])


def seconds_left(settings: RollingUpdate | None, last: datetime, now: datetime) -> float | None:
    """Until the deadline; 0 or less once it has passed. None without a deadline."""
    deadline = settings.progress_deadline if settings is not None else None
    if deadline is None:
        return None
    return (last + timedelta(seconds=deadline.seconds) - now).total_seconds()


@dataclass(frozen=True)
class UpdateReport:
    """What the condition of one clique or scaling group reports. `units` is the word for its units."""

    updating: bool
    units: str
    updated: int
    desired: int
    left: float | None = None
    """The seconds until the deadline."""
    waits_for: str = ""
    paused: bool = False

    def verdict(self) -> tuple[ConditionStatus, str, str]:
        count = f"{self.updated} of {self.desired} {self.units} follow the current template"
        if not self.updating:
            if self.updated < self.desired:
                return "False", Reason.WAITS_FOR_DELETION, f"{count}; others do once somebody deletes them"
            return "False", Reason.UPDATE_COMPLETE, count
        if self.waits_for:
            count += f"; waits for {self.waits_for}"
        if self.paused:
            return "True", Reason.UPDATE_PAUSED, f"{count}; the update is paused"
        if self.left is not None and self.left <= 0:
            return "True", Reason.PROGRESS_DEADLINE_EXCEEDED, f"{count}; no progress within the deadline"
        return "True", Reason.UPDATING, count
