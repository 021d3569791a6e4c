"""Which changes can matter. Each is a condition on the state before and after, named for what it lets through."""

from typing import Any

import msgspec

from grove.api import PodClique, PodGang, PodGangStatus
from grove.api.conditions import ConditionType
from grove.api.pod_view import Pod, PodSpec
from grove.api.podgang import PodGangSpec
from grove.api.serialization.model import replace
from grove.controllers.shared.companions import Companion
from grove.plan.gangs.completion import cannot_create_pods
from grove.plan.status.conditions import gang_is
from grove.runtime.cache.cache import Change
from grove.runtime.client.objects import Origin


def described_anew(change: Change[Any]) -> bool:
    """It came or went, or its spec, labels, annotations, owners or deletion changed: not a change of status alone."""
    old, new = change.old, change.new
    if old is None or new is None:
        return True
    return old.metadata.generation != new.metadata.generation or _relabelled(old, new)


def not_as_left(change: Change[Any]) -> bool:
    """It was described anew, or its status is no longer what its controller wrote: that is put back."""
    old, new = change.old, change.new
    if old is None or new is None or described_anew(change):
        return True
    return change.origin is Origin.WATCH and bool(old.status != new.status)


def completes_anew(change: Change[PodClique]) -> bool:
    """When its gang is complete may have changed: how many pods it asks for, and whether it can make them."""
    old, new = change.old, change.new
    return described_anew(change) or (
        old is not None and new is not None and cannot_create_pods(old) != cannot_create_pods(new)
    )


def gate_could_open(change: Change[PodGang]) -> bool:
    """Pods wait for these and no others: the gang's spec, its dialect, Initialized, BackendSynced, Scheduled.

    A gang that names its pods anew opens no gate: the backend's word on that generation follows.
    """
    old, new = change.old, change.new
    if old is None or new is None:
        return True
    return (
        _waited_for(old.status) != _waited_for(new.status)
        or _relabelled(old, new)
        or (old.metadata.generation != new.metadata.generation and _anonymous(old) != _anonymous(new))
    )


def placed_anew(change: Change[PodGang]) -> bool:
    """It was described anew, or found its place, or lost it."""
    old, new = change.old, change.new
    if old is None or new is None or described_anew(change):
        return True
    return gang_is(old, ConditionType.SCHEDULED) != gang_is(new, ConditionType.SCHEDULED)


def steers(gang: PodGang, status: PodGangStatus) -> bool:
    """Whether somebody waits for this new status, or would want to know of it at once."""
    old = gang.status
    return old is None or old.phase != status.phase or _waited_for(old) != _waited_for(status)


def pod_moved(change: Change[Pod]) -> bool:
    """A pod came or went, or changed in what Grove sees of it."""
    old, new = change.old, change.new
    return old is None or new is None or _moved(old, new, new.spec)


def pod_moved_on(change: Change[Pod]) -> bool:
    """As `pod_moved`, except that a pod merely lost its last gate: that was all that its clique had to do for it."""
    old, new = change.old, change.new
    if old is None or new is None:
        return True
    gates, spec = old.spec.scheduling_gates, new.spec
    if gates and not spec.scheduling_gates:
        spec = msgspec.structs.replace(spec, scheduling_gates=gates)
    return _moved(old, new, spec)


def touched(change: Change[Companion]) -> bool:
    """It came or went, or anybody wrote it."""
    return change.old is None or change.new is None or change.old.body != change.new.body


def went(change: Change[Any]) -> bool:
    return change.new is None


def _relabelled(old: Any, new: Any) -> bool:
    before, after = old.metadata, new.metadata
    return bool(
        before.labels != after.labels
        or before.annotations != after.annotations
        or before.finalizers != after.finalizers
        or before.owner_references != after.owner_references
        or before.deletion_timestamp != after.deletion_timestamp
    )


def _moved(old: Pod, new: Pod, spec: PodSpec) -> bool:
    """`spec` is that of the new state, as far as it counts."""
    before, after = old.metadata, new.metadata
    return (
        old.status != new.status
        or old.spec != spec
        or before.labels != after.labels
        or before.deletion_timestamp != after.deletion_timestamp
    )


def _anonymous(gang: PodGang) -> PodGangSpec:
    """What a gang asks for, whichever pods it names."""
    spec = gang.spec
    return replace(spec, pod_groups=[replace(g, pod_references=[]) for g in spec.pod_groups])


def _waited_for(status: PodGangStatus | None) -> list[tuple[str, str, str, int | None]]:
    found = status.conditions if status is not None else []
    return [(c.type, c.status, c.reason or "", c.observed_generation) for c in found if c.type in _WAITED_FOR]


_WAITED_FOR = frozenset(
    (
        ConditionType.INITIALIZED,
        ConditionType.BACKEND_SYNCED,
        ConditionType.SCHEDULED,
        ConditionType.DIALECT,
    )
)
