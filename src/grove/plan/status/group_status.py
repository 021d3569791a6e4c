"""The status of a PodCliqueScalingGroup, from its PodCliques.

A copy is complete when all its cliques exist and none is being deleted. Only complete copies count:

    scheduled    every clique has its minimum of pods on nodes
    available    scheduled, and every clique has its minimum of pods ready
    updated      available, and every clique follows the set's template
    MinAvailableBreached    fewer than minAvailable complete copies are without a clique below its minimum.
                            Unknown while an update runs
    UpdateInProgress        whether an update replaces copies; absent before the first one
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from grove.api import labels, names
from grove.api.conditions import ConditionType, Reason
from grove.api.meta import Condition, ConditionStatus
from grove.api.podclique import PodClique
from grove.api.scalinggroup import (
    PodCliqueScalingGroup,
    PodCliqueScalingGroupStatus,
    ScalingGroupUpdateProgress,
)
from grove.api.serialization.model import replace
from grove.plan.layout.set_layout import SetLayout
from grove.plan.rollout.deadline import UpdateReport
from grove.plan.rollout.progress import is_updating
from grove.plan.status.clique_status import follows, is_available, is_updated
from grove.plan.status.conditions import is_true, put, without

# A message lists at most so many broken copies and counts the others.
MAX_LISTED = 5


def group_status(
    group: PodCliqueScalingGroup,
    cliques: Sequence[PodClique],
    layout: SetLayout | None,
    now: datetime,
    *,
    synced: bool = True,
    update: UpdateReport | None = None,
    complete: bool = False,
) -> PodCliqueScalingGroupStatus:
    """`cliques` are all PodCliques of the group; copies beyond its replicas are ignored.

    `layout` is None while the set is gone or invalid: then the fields that depend on its templates stay. `synced` says
    whether the last reconcile applied the whole spec; only then does `observedGeneration` advance. `update` is what to
    report of an update. `complete` says that every copy follows the set's templates and has all its pods ready.
    """
    old = group.status or PodCliqueScalingGroupStatus()
    copies = list(_copies(group, cliques))
    new = replace(
        old,
        observed_generation=group.metadata.generation if synced else old.observed_generation,
        replicas=group.spec.replicas or None,
        scheduled_replicas=sum(c.scheduled for c in copies),
        available_replicas=sum(c.available for c in copies),
        conditions=_conditions(group, old, copies, now),
    )
    if update is not None:
        kind = ConditionType.UPDATE_IN_PROGRESS
        new = replace(new, conditions=put(new.conditions, kind, *update.verdict(), now))
    return new if layout is None else _with_template_fields(group, new, copies, layout, complete)


@dataclass(frozen=True)
class _Copy:
    """One copy of the group: its PodCliques by their names in the set's template; None for one that does not exist."""

    name: str
    members: dict[str, PodClique | None]

    @property
    def complete(self) -> bool:
        return all(_exists(m) for m in self.members.values())

    @property
    def scheduled(self) -> bool:
        return all(_exists(m) and _says(m, ConditionType.POD_CLIQUE_SCHEDULED) for m in self.members.values())

    @property
    def available(self) -> bool:
        return self.scheduled and all(m is not None and is_available(m) for m in self.members.values())

    @property
    def fault(self) -> str | None:
        """Why the copy is broken; None if it is not."""
        for name, member in self.members.items():
            if not _exists(member):
                return f"{self.name}-{name} is {'missing' if member is None else 'being deleted'}"
            if _says(member, ConditionType.MIN_AVAILABLE_BREACHED):
                return f"{self.name}-{name} is below its minimum"
        return None


def _exists(member: PodClique | None) -> bool:
    return member is not None and member.metadata.deletion_timestamp is None


def _says(member: PodClique | None, kind: str) -> bool:
    return member is not None and member.status is not None and is_true(member.status.conditions, kind)


def _copies(group: PodCliqueScalingGroup, cliques: Sequence[PodClique]) -> Iterator[_Copy]:
    by_name = {c.metadata.name: c for c in cliques}
    full = group.metadata.name or ""
    for j in range(group.spec.replicas):
        members = {n: by_name.get(names.clique_in_group(full, j, n)) for n in group.spec.clique_names}
        yield _Copy(names.scaling_group_replica(full, j), members)


def _conditions(
    group: PodCliqueScalingGroup, old: PodCliqueScalingGroupStatus, copies: list[_Copy], now: datetime
) -> list[Condition]:
    status, reason, message = _breached(group, old, copies)
    kind = ConditionType.MIN_AVAILABLE_BREACHED
    conditions = put(old.conditions, kind, status, reason, message, now)
    if status == "False":
        conditions = without(conditions, ConditionType.GANG_TERMINATION_IN_PROGRESS)
    return conditions


def _breached(
    group: PodCliqueScalingGroup, old: PodCliqueScalingGroupStatus, copies: list[_Copy]
) -> tuple[ConditionStatus, str, str]:
    if is_updating(old.update_progress):
        return "Unknown", Reason.UPDATE_IN_PROGRESS, "copies are being replaced by an update"
    faults = [f for c in copies if (f := c.fault)]
    good, needed = len(copies) - len(faults), group.spec.min_available
    message = f"{good} of {len(copies)} copies have their minimum; the gang needs {needed}"
    if good >= needed:
        return "False", Reason.SUFFICIENT_GROUP_REPLICAS, message
    named = faults[:MAX_LISTED] + (
        [f"and {len(faults) - MAX_LISTED} more"] if len(faults) > MAX_LISTED else []
    )
    return "True", Reason.INSUFFICIENT_GROUP_REPLICAS, "; ".join([message, *named])


def _with_template_fields(
    group: PodCliqueScalingGroup,
    new: PodCliqueScalingGroupStatus,
    copies: list[_Copy],
    layout: SetLayout,
    complete: bool,
) -> PodCliqueScalingGroupStatus:
    """Adds the fields that depend on the set's templates: which cliques are up to date."""
    wanted = layout.generation_hash
    hashes = layout.hashes
    members = [(m, hashes.get(n)) for c in copies for n, m in c.members.items()]
    followed = all(m is not None and _exists(m) and follows(m, h, wanted) for m, h in members)
    updated = sum(
        c.available
        and all(m is not None and is_updated(m, hashes.get(n), wanted) for n, m in c.members.items())
        for c in copies
    )
    current = new.current_pod_clique_set_generation_hash
    return replace(
        new,
        updated_replicas=updated,
        selector=_selector(group, layout),
        current_pod_clique_set_generation_hash=wanted
        if (followed or complete) and not is_updating(new.update_progress)
        else current,
        update_progress=_progress(new.update_progress, members, wanted),
    )


def _progress(
    progress: ScalingGroupUpdateProgress | None,
    members: list[tuple[PodClique | None, str | None]],
    wanted: str,
) -> ScalingGroupUpdateProgress | None:
    if progress is None:
        return None
    updated = sum(m is not None and _exists(m) and is_updated(m, h, wanted) for m, h in members)
    return replace(progress, updated_pod_cliques_count=updated, total_pod_cliques_count=len(members))


def _selector(group: PodCliqueScalingGroup, layout: SetLayout) -> str | None:
    """None if the set no longer has this group: the object is about to be deleted."""
    full = group.metadata.name or ""
    index = group.metadata.labels.get(labels.REPLICA_INDEX, "")
    if not any(full == f"{layout.name}-{index}-{g.name}" for g in layout.groups):
        return None
    return labels.selector(layout.labels | {labels.SCALING_GROUP: full})
