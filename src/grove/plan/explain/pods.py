"""Why a pod with open gates is not ready.

no node      what the scheduler reports about the pod, or else about its gang; without a report, it has not tried yet
on a node    the first of these that applies: the image cannot be pulled, a container crashes, a container cannot be
             created, the pod waits for its turn in the start order, a container runs and is not ready, a volume or
             the like is missing, the pod is starting
"""

from collections.abc import Sequence
from dataclasses import dataclass

from grove.api import labels
from grove.api.conditions import ConditionType
from grove.api.pod_view import ContainerStatus, Pod, Terminated
from grove.api.reasons import RunReason
from grove.plan.explain.findings import Finding, Quote, listed, quotes
from grove.plan.explain.observed import Observed
from grove.plan.objects.startup import CONTAINER
from grove.plan.pod_state import condition, disruption, is_failing, is_finished, is_ready, is_scheduled
from grove.plan.status.conditions import find, gang_conditions

_IMAGE_REASONS = {
    "ErrImagePull",
    "ImagePullBackOff",
    "InvalidImageName",
    "ErrImageNeverPull",
    "ImageInspectError",
    "RegistryUnavailable",
    "SignatureValidationFailed",
}
# YuniKorn fails pods with these messages if it finds no queue for their application. Its queues are no Kubernetes
# objects, so nobody can check them in advance.
_REJECTED = "ApplicationRejected"
_NO_QUEUE_MESSAGES = (
    "failed to place application",
    "failed to find queue",
    "failed to create rule based queue",
)
# Waiting for one of these reasons is normal.
_NORMAL_WAITING_REASONS = {None, "", "ContainerCreating", "PodInitializing"}


@dataclass(frozen=True)
class PodTrouble:
    """What is wrong with one pod. `detail` continues a sentence that starts with the name of the pod."""

    pod: Pod
    reason: RunReason
    detail: str
    said: tuple[Quote, ...] = ()


def pod_trouble(pod: Pod, seen: Observed) -> PodTrouble | None:
    """`pod` is present and has no gate. None if it is ready or finished."""
    if is_ready(pod) or is_finished(pod):
        return None
    if (why := disruption(pod)) is not None:
        return PodTrouble(
            pod,
            RunReason.DISRUPTED,
            "is about to be preempted, evicted or drained",
            (Quote(why.reason or "", why.message or ""),),
        )
    return _on_node(pod, seen) if is_scheduled(pod) or pod.spec.node_name else _without_node(pod, seen)


def dead_pod_troubles(pods: Sequence[Pod]) -> list[PodTrouble]:
    """`pods` are dead: they ended and will be replaced."""
    return [
        PodTrouble(p, RunReason.QUEUE_MISSING if _has_no_queue(p) else RunReason.PODS_FAILED, _end(p))
        for p in pods
    ]


def pod_findings(troubles: Sequence[PodTrouble], about: str) -> list[Finding]:
    """One finding per reason, with the first pod as an example."""
    found: list[Finding] = []
    for reason in dict.fromkeys(t.reason for t in troubles):
        same = [t for t in troubles if t.reason is reason]
        message = f"{same[0].pod.metadata.name} {same[0].detail}"
        found.append(Finding(reason, about, message, quotes(s for t in same for s in t.said), len(same)))
    return found


def _without_node(pod: Pod, seen: Observed) -> PodTrouble:
    name = pod.metadata.name or ""
    scheduler = pod.spec.scheduler_name or "default-scheduler"
    gang = pod.metadata.labels.get(labels.POD_GANG, "")
    said = (
        _said_of_pod(pod, scheduler)
        or seen.warnings_about("Pod", name, "FailedScheduling")
        or _said_of_gang(gang, seen)
        or seen.scheduler_warnings_about(gang)
    )
    if said:
        return PodTrouble(pod, RunReason.UNSCHEDULABLE, "has no node", tuple(said))
    return PodTrouble(
        pod, RunReason.WAITING_FOR_SCHEDULER, f"is for {scheduler}, which has not tried to place it yet"
    )


def _said_of_pod(pod: Pod, scheduler: str) -> list[Quote]:
    """The API server sets SchedulingGated, and it stays until the scheduler replaces it."""
    found = condition(pod, "PodScheduled")
    if found is None or found.status != "False" or found.reason == "SchedulingGated":
        return []
    return [Quote(scheduler, found.message or found.reason or "")]


def _said_of_gang(gang: str, seen: Observed) -> list[Quote]:
    """What the backend read from the scheduler's objects."""
    found = seen.gang_of.get(gang)
    said = find(gang_conditions(found), ConditionType.UNSCHEDULABLE) if found is not None else None
    if found is None or said is None:
        return []
    return [Quote(found.metadata.labels.get(labels.SCHEDULER_NAME, ""), f"{said.reason}: {said.message}")]


def _on_node(pod: Pod, seen: Observed) -> PodTrouble:
    containers = (*pod.status.init_container_statuses, *pod.status.container_statuses)
    for status in containers:
        if (why := _waits_for(status)) in _IMAGE_REASONS:
            detail = f"cannot pull the image of container {status.name}"
            return PodTrouble(pod, RunReason.IMAGE_PULL_FAILING, detail, _waiting_message(status, "kubelet"))
    if is_failing(pod):
        return PodTrouble(pod, RunReason.CRASH_LOOPING, _crash(containers))
    for status in containers:
        if (why := _waits_for(status)) not in _NORMAL_WAITING_REASONS:
            detail = f"cannot start container {status.name}: {why}"
            return PodTrouble(pod, RunReason.CANNOT_START, detail, _waiting_message(status, "kubelet"))
    return _starting(pod, seen)


def _starting(pod: Pod, seen: Observed) -> PodTrouble:
    name = pod.metadata.name or ""
    if any(s.name == CONTAINER and _runs(s) for s in pod.status.init_container_statuses):
        clique = seen.clique_of.get(pod.metadata.labels.get(labels.POD_CLIQUE, ""))
        parents = listed(clique.spec.starts_after) if clique is not None else ""
        return PodTrouble(pod, RunReason.WAITING_FOR_START_ORDER, f"waits for {parents or 'other cliques'}")
    running = [s for s in pod.status.container_statuses if _runs(s)]
    if running:
        unready = [s.name for s in pod.status.container_statuses if not s.ready]
        ready = condition(pod, "Ready")
        detail = f"on {pod.spec.node_name}: " + (
            f"container {listed(unready)} is not ready"
            if unready
            else (ready.message if ready is not None and ready.message else "is not ready")
        )
        return PodTrouble(
            pod, RunReason.NOT_READY, detail, tuple(seen.warnings_about("Pod", name, "Unhealthy"))
        )
    # The kubelet reports failing volumes, networks and devices only in events.
    said = [s for s in seen.warnings_about("Pod", name) if s.by in ("kubelet", "attachdetach-controller")]
    if said:
        return PodTrouble(pod, RunReason.CANNOT_START, f"does not start on {pod.spec.node_name}", tuple(said))
    return PodTrouble(pod, RunReason.STARTING, f"is starting on {pod.spec.node_name}")


def _crash(containers: Sequence[ContainerStatus]) -> str:
    for status in containers:
        ended = _last_termination(status)
        if ended is not None and ended.exit_code != 0:
            why = f" ({ended.reason})" if ended.reason and ended.reason != "Error" else ""
            times = f"{status.restart_count} restart{'' if status.restart_count == 1 else 's'}"
            return f"crashes: container {status.name} exits with code {ended.exit_code}{why}, {times}"
    return "crashes: a container exits with an error"


def _has_no_queue(pod: Pod) -> bool:
    said = (pod.status.message or "").strip()
    return pod.status.reason == _REJECTED and said.startswith(_NO_QUEUE_MESSAGES)


def _end(pod: Pod) -> str:
    if pod.status.reason or pod.status.message:
        return f"ended: {' '.join(t.strip() for t in (pod.status.reason, pod.status.message) if t)}"
    for status in (*pod.status.init_container_statuses, *pod.status.container_statuses):
        ended = status.state.terminated if status.state is not None else None
        if ended is not None and ended.exit_code != 0:
            return f"ended: container {status.name} exited with code {ended.exit_code}"
    return f"ended in phase {pod.status.phase}"


def _last_termination(status: ContainerStatus) -> Terminated | None:
    now = status.state.terminated if status.state is not None else None
    return now or (status.last_state.terminated if status.last_state is not None else None)


def _waits_for(status: ContainerStatus) -> str | None:
    return status.state.waiting.reason if status.state is not None and status.state.waiting else None


def _runs(status: ContainerStatus) -> bool:
    return status.state is not None and status.state.waiting is None and status.state.terminated is None


def _waiting_message(status: ContainerStatus, who: str) -> tuple[Quote, ...]:
    waiting = status.state.waiting if status.state is not None else None
    return (Quote(who, waiting.message),) if waiting is not None and waiting.message else ()
