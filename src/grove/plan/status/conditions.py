"""Lists of conditions, handled as Kubernetes does.

A condition changes only if its status, reason, message or observed generation differs, and `lastTransitionTime` changes
only with the status. All other conditions keep their content and their place in the list.
"""

from collections.abc import Sequence
from datetime import datetime

from grove.api.meta import Condition, ConditionStatus
from grove.api.podgang import PodGang
from grove.api.scalars import Time
from grove.api.serialization.model import replace


def find(conditions: Sequence[Condition], kind: str) -> Condition | None:
    for condition in conditions:
        if condition.type == kind:
            return condition
    return None


def is_true(conditions: Sequence[Condition], kind: str) -> bool:
    found = find(conditions, kind)
    return found is not None and found.status == "True"


def gang_conditions(gang: PodGang) -> list[Condition]:
    return gang.status.conditions if gang.status else []


def gang_is(gang: PodGang, kind: str) -> bool:
    """Whether a condition of the gang is True."""
    return is_true(gang_conditions(gang), kind)


def put(
    conditions: Sequence[Condition],
    kind: str,
    status: ConditionStatus,
    reason: str,
    message: str,
    now: datetime,
    *,
    observed_generation: int | None = None,
) -> list[Condition]:
    """The list with this condition: in its old place, or at the end."""
    old = find(conditions, kind)
    if old is None:
        new = Condition(
            type=kind,
            status=status,
            reason=reason,
            message=message,
            last_transition_time=Time.at(now),
            observed_generation=observed_generation,
        )
        return [*conditions, new]
    if (old.status, old.reason, old.message, old.observed_generation) == (
        status,
        reason,
        message,
        observed_generation,
    ):
        return list(conditions)
    changed = replace(
        old,
        status=status,
        reason=reason,
        message=message,
        observed_generation=observed_generation,
        last_transition_time=old.last_transition_time if old.status == status else Time.at(now),
    )
    return [changed if c is old else c for c in conditions]


def without(conditions: Sequence[Condition], kind: str) -> list[Condition]:
    return [c for c in conditions if c.type != kind]
