"""Which part of a replica is to be ended because it lost its minimum, and when.

    breach(clique)    since when MinAvailableBreached is True; none if the clique was never scheduled
    breach(copy)      the earliest breach of its cliques
    breach(group)     when fewer than minAvailable healthy copies were left. With R copies, of which W wait for their
                      first placement, that is breach number R - W - minAvailable + 1 of its copies, earliest first
    breach(replica)   the earliest breach of its standalone cliques and its groups

A unit is due `terminationDelay` after its breach. A replica that is due is ended as a whole. A copy that is due is
ended alone, if its group is not in breach; otherwise its replica decides. An ended unit comes back as new PodCliques,
which were never scheduled: so a breach ends a unit once, however often the plan is computed.

All times are recorded on the server, so a restarted operator computes the same plan.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from grove.api.conditions import ConditionType, Reason
from grove.api.podclique import PodClique
from grove.plan.status.conditions import find


@dataclass(frozen=True)
class GroupCopies:
    """A scaling group of the replica: the PodCliques of each copy; None for one that does not exist."""

    name: str
    min_available: int
    copies: Sequence[Sequence[PodClique | None]]


@dataclass(frozen=True)
class TerminationPlan:
    end_replica: bool
    end_copies: Mapping[str, list[int]]
    """By the name of the group. Empty if the whole replica is ended."""
    next_due: datetime | None
    """When the next unit is due; None if none is in breach, or the whole replica is ended."""


def plan_termination(
    standalone: Iterable[PodClique], groups: Sequence[GroupCopies], delay: timedelta, now: datetime
) -> TerminationPlan:
    """`standalone` are the replica's standalone PodCliques that exist."""
    of_groups = {g.name: _group_breach(g) for g in groups}
    found = [breach(c) for c in standalone] + list(of_groups.values())
    due = [b + delay for b in found if b is not None]
    if due and min(due) <= now:
        return TerminationPlan(True, {}, None)
    end: dict[str, list[int]] = {}
    for group in groups:
        if of_groups[group.name] is not None:
            continue
        for j, copy in enumerate(group.copies):
            if (since := _copy_breach(copy)) is None:
                continue
            if since + delay <= now:
                end.setdefault(group.name, []).append(j)
            else:
                due.append(since + delay)
    return TerminationPlan(False, end, min(due, default=None))


def breach(clique: PodClique) -> datetime | None:
    """Since when a clique that was once scheduled is below its minimum."""
    conditions = clique.status.conditions if clique.status is not None else []
    found = find(conditions, ConditionType.MIN_AVAILABLE_BREACHED)
    if found is None or found.status != "True" or not was_scheduled(clique):
        return None
    return found.last_transition_time.when()


def was_scheduled(clique: PodClique) -> bool:
    """Whether the clique has, or once had, its minimum of pods on nodes. The reason of the condition records it."""
    conditions = clique.status.conditions if clique.status is not None else []
    found = find(conditions, ConditionType.POD_CLIQUE_SCHEDULED)
    return found is not None and (found.status == "True" or found.reason == Reason.SCHEDULED_PODS_LOST)


def _copy_breach(copy: Sequence[PodClique | None]) -> datetime | None:
    return min((b for c in copy if c is not None and (b := breach(c)) is not None), default=None)


def _group_breach(group: GroupCopies) -> datetime | None:
    breaches = sorted(b for copy in group.copies if (b := _copy_breach(copy)) is not None)
    waiting = sum(_copy_breach(copy) is None and _waits(copy) for copy in group.copies)
    tolerated = len(group.copies) - waiting - group.min_available
    return breaches[tolerated] if 0 <= tolerated < len(breaches) else None


def _waits(copy: Sequence[PodClique | None]) -> bool:
    return any(c is None or c.metadata.deletion_timestamp is not None or not was_scheduled(c) for c in copy)
