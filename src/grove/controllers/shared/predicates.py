"""Predicates for triggers: each looks at a change of an object and is named for what it lets through."""

from typing import Any

import msgspec

from grove.api import PodClique, PodCliqueSet, PodGang, PodGangStatus
from grove.api.conditions import ConditionType
from grove.api.pod_view import Pod, PodSpec
from grove.api.podgang import PodGangSpec
from grove.api.serialization.model import replace
from grove.controllers.shared.companions import Companion
from grove.plan.gangs.completion import cannot_create_pods
from grove.plan.pod_state import is_present, is_ready
from grove.plan.rollout.progress import is_updating
from grove.plan.rollout.rollout import current_replica
from grove.plan.status.conditions import gang_is
from grove.runtime.cache.cache import Change
from grove.runtime.client.objects import Origin


def spec_or_metadata_changed(change: Change[Any]) -> bool:
    """The object was added or deleted, or its spec or metadata changed. A change of its status alone is not enough."""
    old, new = change.old, change.new
    if old is None or new is None:
        return True
    return old.metadata.generation != new.metadata.generation or _metadata_changed(old, new)


def spec_or_status_edited(change: Change[Any]) -> bool:
    """As `spec_or_metadata_changed`, or somebody else edited the status, which its controller then restores."""
    old, new = change.old, change.new
    if old is None or new is None or spec_or_metadata_changed(change):
        return True
    return change.origin is Origin.WATCH and bool(old.status != new.status)


def template_recorded(change: Change[PodCliqueSet]) -> bool:
    """The status of the set names other templates than before, or an update began or ended: from now on PodCliques may
    get another template."""
    old, new = change.old, change.new
    return old is not None and new is not None and _recorded(old) != _recorded(new)


def replica_selected(change: Change[PodCliqueSet]) -> bool:
    """It is another replica's turn to be updated, or the update began or ended."""
    old, new = change.old, change.new
    if old is None or new is None:
        return False
    return current_replica(old.status) != current_replica(new.status) or template_recorded(change)


def _recorded(pcs: PodCliqueSet) -> tuple[str | None, bool]:
    status = pcs.status
    return (status.current_generation_hash, is_updating(status.update_progress)) if status else (None, False)


def readiness_changed(change: Change[Pod]) -> bool:
    """The pod is gone or going, or became ready or ceased to be."""
    old, new = change.old, change.new
    if old is None or new is None:
        return new is None
    return is_ready(old) != is_ready(new) or is_present(old) != is_present(new)


def completion_could_change(change: Change[PodClique]) -> bool:
    """The clique asks for another number of pods, or begins or ceases to fail to create them."""
    old, new = change.old, change.new
    if old is None or new is None or spec_or_metadata_changed(change):
        return True
    return cannot_create_pods(old) != cannot_create_pods(new)


def gate_could_open(change: Change[PodGang]) -> bool:
    """Something changed that closed gates wait for: the gang's spec, or a condition in `_AWAITED`.

    A gang that merely names other pods opens no gate: the BackendSynced condition of that generation follows, and does.
    """
    old, new = change.old, change.new
    if old is None or new is None:
        return True
    return (
        _awaited(old.status) != _awaited(new.status)
        or _metadata_changed(old, new)
        or (old.metadata.generation != new.metadata.generation and _without_pods(old) != _without_pods(new))
    )


def spec_or_scheduled_changed(change: Change[PodGang]) -> bool:
    """As `spec_or_metadata_changed`, or the gang was scheduled or lost its place."""
    old, new = change.old, change.new
    if old is None or new is None or spec_or_metadata_changed(change):
        return True
    return gang_is(old, ConditionType.SCHEDULED) != gang_is(new, ConditionType.SCHEDULED)


def gang_edited(change: Change[PodGang]) -> bool:
    """As `spec_or_metadata_changed`, but not if only the pods changed that the gang names."""
    old, new = change.old, change.new
    if old is None or new is None:
        return True
    return _metadata_changed(old, new) or _without_pods(old) != _without_pods(new)


def others_wait_for(gang: PodGang, status: PodGangStatus) -> bool:
    """Whether this new status of a gang can unblock another controller, or is news: it is then written immediately."""
    old = gang.status
    return old is None or old.phase != status.phase or _awaited(old) != _awaited(status)


def pod_changed(change: Change[Pod]) -> bool:
    """The pod was added or deleted, or a field changed that Grove reads."""
    old, new = change.old, change.new
    return old is None or new is None or _pod_changed(old, new, new.spec)


def pod_changed_beyond_its_gates(change: Change[Pod]) -> bool:
    """As `pod_changed`, but not if the pod merely lost its last gate."""
    old, new = change.old, change.new
    if old is None or new is None:
        return True
    gates, spec = old.spec.scheduling_gates, new.spec
    if gates and not spec.scheduling_gates:
        spec = msgspec.structs.replace(spec, scheduling_gates=gates)
    return _pod_changed(old, new, spec)


def content_changed(change: Change[Companion]) -> bool:
    """The object was added or deleted, or anything in it changed."""
    return change.old is None or change.new is None or change.old.body != change.new.body


def deleted(change: Change[Any]) -> bool:
    return change.new is None


def _metadata_changed(old: Any, new: Any) -> bool:
    before, after = old.metadata, new.metadata
    return bool(
        before.labels != after.labels
        or before.annotations != after.annotations
        or before.finalizers != after.finalizers
        or before.owner_references != after.owner_references
        or before.deletion_timestamp != after.deletion_timestamp
    )


def _pod_changed(old: Pod, new: Pod, new_spec: PodSpec) -> bool:
    before, after = old.metadata, new.metadata
    return (
        old.status != new.status
        or old.spec != new_spec
        or before.labels != after.labels
        or before.deletion_timestamp != after.deletion_timestamp
    )


def _without_pods(gang: PodGang) -> PodGangSpec:
    """The spec of a gang, except for the pods that it names."""
    spec = gang.spec
    return replace(spec, pod_groups=[replace(g, pod_references=[]) for g in spec.pod_groups])


def _awaited(status: PodGangStatus | None) -> list[tuple[str, str, str, int | None]]:
    found = status.conditions if status is not None else []
    return [(c.type, c.status, c.reason or "", c.observed_generation) for c in found if c.type in _AWAITED]


_AWAITED = frozenset(
    (
        ConditionType.INITIALIZED,
        ConditionType.BACKEND_SYNCED,
        ConditionType.SCHEDULED,
        ConditionType.DIALECT,
    )
)
