"""The status of a PodClique, from its pods.

    replicas, ready, scheduled, gated, updated    counts of present pods (see `grove.plan.pod_state`)
    PodCliqueScheduled      scheduled >= minAvailable. While False, its reason tells a clique that lost its places from
                            one that never had them
    MinAvailableBreached    scheduled - failing - unready < minAvailable; starting pods count as good.
                            Unknown while an update runs

The current hashes change once all pods follow the new template. Conditions appear with the first observed generation:
before that, Grove has not tried to create pods.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from grove.api import labels
from grove.api.conditions import ConditionType, Reason
from grove.api.meta import Condition, ConditionStatus
from grove.api.pod_view import Pod
from grove.api.podclique import PodClique, PodCliqueStatus
from grove.api.serialization.model import replace
from grove.plan.layout.set_layout import SetLayout
from grove.plan.pod_state import is_failing, is_gated, is_present, is_ready, is_scheduled, is_unready
from grove.plan.status.conditions import find, put


def clique_status(
    clique: PodClique, pods: Sequence[Pod], layout: SetLayout | None, now: datetime, *, synced: bool = True
) -> PodCliqueStatus:
    """`pods` are all pods of the clique. `layout` is None while the set is gone or invalid: then the hashes stay.

    `synced` says whether the last reconcile applied the whole spec; only then does `observedGeneration` advance.
    """
    old = clique.status or PodCliqueStatus()
    count = _count(pods, _target_hash(clique, old))
    template_hash, generation_hash = _current_hashes(clique, old, count, layout)
    observed = clique.metadata.generation if synced else old.observed_generation
    return replace(
        old,
        observed_generation=observed,
        replicas=count.present or None,
        ready_replicas=count.ready,
        scheduled_replicas=count.scheduled,
        schedule_gated_replicas=count.gated,
        updated_replicas=old.updated_replicas if count.updated is None else count.updated,
        hpa_pod_selector=_selector(clique),
        current_pod_template_hash=template_hash,
        current_pod_clique_set_generation_hash=generation_hash,
        conditions=old.conditions if observed is None else _conditions(clique, old, count, now),
    )


def min_available(clique: PodClique) -> int:
    """All pods of the clique, if it has no `minAvailable`."""
    return clique.spec.replicas if clique.spec.min_available is None else clique.spec.min_available


def is_available(clique: PodClique) -> bool:
    return clique.status is not None and clique.status.ready_replicas >= min_available(clique)


def follows(clique: PodClique, template_hash: str | None, generation_hash: str) -> bool:
    """Whether the clique has this template and its status says that all its pods follow it."""
    status = clique.status
    return (
        status is not None
        and clique.metadata.labels.get(labels.POD_TEMPLATE_HASH) == template_hash
        and status.current_pod_template_hash == template_hash
        and status.current_pod_clique_set_generation_hash == generation_hash
    )


def is_updated(clique: PodClique, template_hash: str | None, generation_hash: str) -> bool:
    """Whether the clique follows the template and has its minimum of ready pods, and of pods with that template."""
    return (
        follows(clique, template_hash, generation_hash)
        and is_available(clique)
        and clique.status is not None
        and clique.status.updated_replicas >= min_available(clique)
    )


@dataclass
class _PodCounts:
    present: int = 0
    ready: int = 0
    scheduled: int = 0
    gated: int = 0
    failing: int = 0
    unready: int = 0
    updated: int | None = None  # None if there is no template to compare with


def _count(pods: Sequence[Pod], target_hash: str | None) -> _PodCounts:
    n = _PodCounts(updated=None if target_hash is None else 0)
    for pod in pods:
        if not is_present(pod):
            continue
        n.present += 1
        if n.updated is not None and pod.metadata.labels.get(labels.POD_TEMPLATE_HASH) == target_hash:
            n.updated += 1
        if is_scheduled(pod):
            n.scheduled += 1
        elif is_gated(pod):
            n.gated += 1
        if is_ready(pod):
            n.ready += 1
        elif is_failing(pod):
            n.failing += 1
        elif is_unready(pod):
            n.unready += 1
    return n


def _target_hash(clique: PodClique, old: PodCliqueStatus) -> str | None:
    if old.update_progress is not None:
        return old.update_progress.pod_template_hash
    return clique.metadata.labels.get(labels.POD_TEMPLATE_HASH) or old.current_pod_template_hash


def _is_updating(status: PodCliqueStatus) -> bool:
    return status.update_progress is not None and status.update_progress.update_ended_at is None


def _current_hashes(
    clique: PodClique, old: PodCliqueStatus, count: _PodCounts, layout: SetLayout | None
) -> tuple[str | None, str | None]:
    unchanged = old.current_pod_template_hash, old.current_pod_clique_set_generation_hash
    if _is_updating(old) or count.updated != count.present:
        return unchanged
    if old.update_progress is not None:
        return old.update_progress.pod_template_hash, old.update_progress.pod_clique_set_generation_hash
    if layout is None:
        return unchanged
    wanted = layout.hashes.get(_template_name(clique))
    if wanted is None or clique.metadata.labels.get(labels.POD_TEMPLATE_HASH) != wanted:
        return unchanged
    return wanted, layout.generation_hash


def _template_name(clique: PodClique) -> str:
    """The name of the clique in its set's template."""
    own = clique.metadata.labels
    group = own.get(labels.SCALING_GROUP)
    if group is not None:
        prefix = f"{group}-{own.get(labels.SCALING_GROUP_REPLICA_INDEX)}-"
    else:
        prefix = f"{own.get(labels.PART_OF)}-{own.get(labels.REPLICA_INDEX)}-"
    return (clique.metadata.name or "").removeprefix(prefix)


def _selector(clique: PodClique) -> str | None:
    """None for a clique of a scaling group: it scales with its group."""
    own = clique.metadata.labels
    if labels.SCALING_GROUP in own:
        return None
    of_set = labels.of_set(own.get(labels.PART_OF, ""))
    return labels.selector(of_set | {labels.POD_CLIQUE: clique.metadata.name or ""})


def _conditions(clique: PodClique, old: PodCliqueStatus, count: _PodCounts, now: datetime) -> list[Condition]:
    minimum = min_available(clique)
    found = _scheduled(old, count, minimum)
    conditions = put(old.conditions, ConditionType.POD_CLIQUE_SCHEDULED, *found, now)
    found = _breached(old, count, minimum)
    return put(conditions, ConditionType.MIN_AVAILABLE_BREACHED, *found, now)


def _scheduled(old: PodCliqueStatus, count: _PodCounts, minimum: int) -> tuple[ConditionStatus, str, str]:
    enough = count.scheduled >= minimum
    message = f"{count.scheduled} of {count.present} pods have a node; the gang needs {minimum}"
    if enough:
        return "True", Reason.SUFFICIENT_SCHEDULED_PODS, message
    if count.gated:
        message += f"; {count.gated} still wait behind a scheduling gate"
    before = find(old.conditions, ConditionType.POD_CLIQUE_SCHEDULED)
    lost = before is not None and (before.status == "True" or before.reason == Reason.SCHEDULED_PODS_LOST)
    return "False", Reason.SCHEDULED_PODS_LOST if lost else Reason.INSUFFICIENT_SCHEDULED_PODS, message


def _breached(status: PodCliqueStatus, count: _PodCounts, minimum: int) -> tuple[ConditionStatus, str, str]:
    if _is_updating(status):
        return "Unknown", Reason.UPDATE_IN_PROGRESS, "pods are being replaced by an update"
    if count.scheduled < minimum:
        message = f"{count.scheduled} pods have a node; the gang needs {minimum}"
        return "True", Reason.SCHEDULED_BELOW_MIN_AVAILABLE, message
    good = count.scheduled - count.failing - count.unready
    message = f"{good} of {count.scheduled} pods with a node are ready or starting; the gang needs {minimum}"
    if good >= minimum:
        return "False", Reason.SUFFICIENT_READY_PODS, message
    message += f"; {count.failing} failed and restart, {count.unready} run without being ready"
    return "True", Reason.INSUFFICIENT_READY_PODS, message
