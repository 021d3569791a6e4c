"""The status of a PodGang, from its pods.

    Scheduled          every group has minReplicas pods on nodes
    Ready              every group has minReplicas pods that are ready or finished
    Unhealthy          a group is below its minimum again: of ready pods if the gang was ready before, otherwise of pods
                       that are on a node and not failing. Absent until the gang was scheduled for the first time
    DisruptionTarget   a pod is about to be preempted, evicted or drained. Absent otherwise

    phase   Succeeded   all pods finished
            Failed      a group has dead pods and fewer scheduled pods than its minimum; until the pods are replaced
            Running     Ready
            Starting    Scheduled
            Pending     otherwise

The reasons of Scheduled and Ready remember whether the condition was ever true: missing pods were either never there or
lost.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from grove.api.conditions import ConditionType, Reason
from grove.api.meta import Condition, ConditionStatus
from grove.api.pod_view import Pod
from grove.api.podcliqueset import PodGangPhase
from grove.api.podgang import PodGang, PodGangStatus, PodGroup
from grove.api.serialization.model import replace
from grove.plan.pod_state import (
    disruption,
    is_dead,
    is_failing,
    is_finished,
    is_present,
    is_ready,
    is_scheduled,
)
from grove.plan.status.conditions import find, put, without

# A message lists at most so many groups or pods and counts the others.
MAX_LISTED = 5
MAX_QUOTED_CHARACTERS = 200


def gang_status(gang: PodGang, pods_by_group: Mapping[str, Sequence[Pod]], now: datetime) -> PodGangStatus:
    """`pods_by_group` has all pods of the gang by pod group, terminating ones included.

    Conditions that are computed elsewhere, such as Initialized and BackendSynced, and the placement score are kept.
    """
    old = gang.status or PodGangStatus(phase="Pending")
    groups = [_GroupCounts.of(g, pods_by_group.get(g.name, ())) for g in gang.spec.pod_groups]
    phase = _phase(groups)
    conditions = old.conditions
    conditions = put(conditions, ConditionType.SCHEDULED, *_scheduled(conditions, groups), now)
    conditions = put(conditions, ConditionType.READY, *_ready(conditions, groups, phase), now)
    for kind, found in (
        (ConditionType.UNHEALTHY, _unhealthy(conditions, groups)),
        (ConditionType.DISRUPTION_TARGET, _disrupted(gang, pods_by_group)),
    ):
        conditions = put(conditions, kind, *found, now) if found else without(conditions, kind)
    return replace(
        old,
        phase=phase,
        conditions=conditions,
        pods=sum(len(g.pod_references) for g in gang.spec.pod_groups),
        scheduled_pods=sum(g.scheduled for g in groups),
    )


_Verdict = tuple[ConditionStatus, str, str]


@dataclass(frozen=True)
class _GroupCounts:
    name: str
    minimum: int
    present: int
    scheduled: int
    ready: int
    failing: int
    finished: int
    dead: int

    @classmethod
    def of(cls, group: PodGroup, pods: Sequence[Pod]) -> "_GroupCounts":
        present = scheduled = ready = failing = finished = dead = 0
        for pod in pods:
            if not is_present(pod):
                dead += is_dead(pod)
                continue
            present += 1
            scheduled += is_scheduled(pod)
            if is_finished(pod):
                finished += 1
                ready += 1
            elif is_ready(pod):
                ready += 1
            elif is_failing(pod):
                failing += 1
        return cls(group.name, group.min_replicas, present, scheduled, ready, failing, finished, dead)


def _phase(groups: list[_GroupCounts]) -> PodGangPhase:
    if groups and all(g.minimum <= g.finished == g.present for g in groups):
        return "Succeeded"
    if any(g.dead and g.scheduled < g.minimum for g in groups):
        return "Failed"
    if all(g.ready >= g.minimum for g in groups):
        return "Running"
    return "Starting" if all(g.scheduled >= g.minimum for g in groups) else "Pending"


def _scheduled(conditions: list[Condition], groups: list[_GroupCounts]) -> _Verdict:
    short = [
        f"{g.name} has {g.scheduled} of {g.minimum} pods on nodes" for g in groups if g.scheduled < g.minimum
    ]
    if not short:
        return "True", Reason.PODS_SCHEDULED, "every group has its minimum of pods on nodes"
    once = _was_ever(conditions, ConditionType.SCHEDULED, Reason.PODS_NOT_SCHEDULED)
    return "False", Reason.SCHEDULED_PODS_LOST if once else Reason.PODS_NOT_SCHEDULED, _joined(short)


def _ready(conditions: list[Condition], groups: list[_GroupCounts], phase: PodGangPhase) -> _Verdict:
    if phase == "Succeeded":
        return "False", Reason.PODS_FINISHED, "all pods finished their work"
    short = [f"{g.name} has {g.ready} of {g.minimum} pods ready" for g in groups if g.ready < g.minimum]
    if not short:
        return "True", Reason.PODS_READY, "every group has its minimum of pods ready"
    once = _was_ever(conditions, ConditionType.READY, Reason.PODS_NOT_READY)
    return "False", Reason.READY_PODS_LOST if once else Reason.PODS_NOT_READY, _joined(short)


def _unhealthy(conditions: list[Condition], groups: list[_GroupCounts]) -> _Verdict | None:
    """`conditions` has Scheduled and Ready as they are now."""
    if not _was_ever(conditions, ConditionType.SCHEDULED, Reason.PODS_NOT_SCHEDULED):
        return None
    if _was_ever(conditions, ConditionType.READY, Reason.PODS_NOT_READY):
        short = [f"{g.name} has {g.ready} of {g.minimum} pods ready" for g in groups if g.ready < g.minimum]
    else:
        short = [
            f"{g.name} has {g.scheduled - g.failing} of {g.minimum} pods that are on a node and not failing"
            for g in groups
            if g.scheduled - g.failing < g.minimum
        ]
    if short:
        return "True", Reason.POD_GROUPS_BELOW_MINIMUM, _joined(short)
    return "False", Reason.POD_GROUPS_AT_MINIMUM, "every group has its minimum of pods"


def _disrupted(gang: PodGang, pods_by_group: Mapping[str, Sequence[Pod]]) -> _Verdict | None:
    found = [
        f"{pod.metadata.name} of {group.name}: {why.reason or 'no reason given'} {why.message or ''}".strip()
        for group in gang.spec.pod_groups
        for pod in pods_by_group.get(group.name, ())
        if (why := disruption(pod)) is not None
    ]
    if not found:
        return None
    return "True", Reason.POD_DISRUPTED, _joined([text[:MAX_QUOTED_CHARACTERS] for text in found])


def _was_ever(conditions: list[Condition], kind: str, never: str) -> bool:
    """Whether the condition is or was true: the reason `never` means that it has never been."""
    found = find(conditions, kind)
    return found is not None and (found.status == "True" or found.reason != never)


def _joined(parts: list[str]) -> str:
    more = [f"and {len(parts) - MAX_LISTED} more"] if len(parts) > MAX_LISTED else []
    return "; ".join(parts[:MAX_LISTED] + more)
