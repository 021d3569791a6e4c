"""Which changes can matter. Each is a condition on the state before and after, named for what it lets through."""

from typing import Any

from grove.api import PodClique, PodGang
from grove.api.conditions import ConditionType
from grove.api.pods import Pod
from grove.controllers.world import Companion
from grove.plan.gang_init import cannot_create
from grove.plan.gates import conditions
from grove.plan.status_conditions import find
from grove.runtime.cache import Change
from grove.schedulers.backend import dialect_of


def described_anew(change: Change[Any]) -> bool:
    """It came or went, or its spec, labels, annotations or deletion changed: not a change of status alone."""
    old, new = change.old, change.new
    if old is None or new is None:
        return True
    before, after = old.metadata, new.metadata
    return bool(
        before.generation != after.generation
        or before.labels != after.labels
        or before.annotations != after.annotations
        or before.finalizers != after.finalizers
        or before.deletion_timestamp != after.deletion_timestamp
    )


def completes_anew(change: Change[PodClique]) -> bool:
    """When its gang is complete may have changed: how many pods it asks for, and whether it can make them."""
    old, new = change.old, change.new
    return described_anew(change) or (
        old is not None and new is not None and cannot_create(old) != cannot_create(new)
    )


def gate_could_open(change: Change[PodGang]) -> bool:
    """Pods wait for these and no others: the gang's spec, its dialect, Initialized, BackendSynced, Scheduled."""
    old, new = change.old, change.new
    if old is None or new is None:
        return True
    waited_for = (ConditionType.INITIALIZED, ConditionType.BACKEND_SYNCED, ConditionType.SCHEDULED)
    if dialect_of(old) != dialect_of(new):
        return True
    return described_anew(change) or any(_said(old, kind) != _said(new, kind) for kind in waited_for)


def pod_moved(change: Change[Pod]) -> bool:
    """A pod came or went, or changed in what Grove sees of it."""
    old, new = change.old, change.new
    if old is None or new is None:
        return True
    before, after = old.metadata, new.metadata
    return (
        old.status != new.status
        or old.spec != new.spec
        or before.labels != after.labels
        or before.deletion_timestamp != after.deletion_timestamp
    )


def touched(change: Change[Companion]) -> bool:
    """It came or went, or anybody wrote it."""
    return change.old is None or change.new is None or change.old.body != change.new.body


def went(change: Change[Any]) -> bool:
    return change.new is None


def _said(gang: PodGang, kind: str) -> tuple[str, int | None] | None:
    found = find(conditions(gang), kind)
    return None if found is None else (found.status, found.observed_generation)
