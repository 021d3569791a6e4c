"""The dialect of a gang, as its condition SchedulerDialect records it: see `Backend.dialect`."""

from datetime import UTC, datetime

from grove.api.conditions import ConditionType
from grove.api.podgang import PodGang, PodGangStatus
from grove.api.serialization.model import replace
from grove.plan.status.conditions import find, put

_NO_TIME = datetime.min.replace(tzinfo=UTC)


def dialect_of(gang: PodGang) -> str:
    """The recorded dialect; empty if none is recorded yet."""
    condition = find(gang.status.conditions, ConditionType.DIALECT) if gang.status else None
    return (condition.reason or "") if condition is not None else ""


def with_dialect(gang: PodGang, dialect: str) -> PodGang:
    """A copy of the gang that has this dialect, for calls to its backend before the condition is written.

    The condition of the copy has no meaningful time: a backend must not read one.
    """
    if dialect_of(gang) == dialect:
        return gang
    status = gang.status or PodGangStatus(phase="Pending")
    conditions = put(status.conditions, ConditionType.DIALECT, "True", dialect, "", _NO_TIME)
    return replace(gang, status=replace(status, conditions=conditions))
