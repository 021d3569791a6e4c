"""Why a pod with open gates is not ready: no node, no image, no start, no end to its restarts, no readiness.

no node     the scheduler's word about the pod, else about its gang; without any it has not looked yet
on a node   the first that fits: image, crash, container that cannot be made, order of starts, volumes and the like,
            containers that run without being ready, containers that are being started
"""

from collections.abc import Sequence
from typing import NamedTuple

from grove.api import labels
from grove.api.conditions import ConditionType
from grove.api.pod_view import ContainerStatus, Pod, Terminated
from grove.api.reasons import RunReason
from grove.plan.explain.findings import Finding, Said, listed, quotes
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
# What YuniKorn fails pods with when it finds no queue for their application. It has no objects that could be looked at
# before.
_REJECTED = "ApplicationRejected"
_WITHOUT_QUEUE = ("failed to place application", "failed to find queue", "failed to create rule based queue")
# A container that waits for one of these is on its way.
_ON_ITS_WAY = {None, "", "ContainerCreating", "PodInitializing"}


class Trouble(NamedTuple):
    """What is the matter with one pod."""

    pod: Pod
    reason: RunReason
    detail: str
    said: tuple[Said, ...] = ()


def trouble(pod: Pod, seen: Observed) -> Trouble | None:
    """Of a pod that is present and has no gate; None when it is ready, or has finished."""
    if is_ready(pod) or is_finished(pod):
        return None
    if (why := disruption(pod)) is not None:
        return Trouble(
            pod,
            RunReason.DISRUPTED,
            "is about to be taken away",
            (Said(why.reason or "", why.message or ""),),
        )
    return _on_node(pod, seen) if is_scheduled(pod) or pod.spec.node_name else _without_node(pod, seen)


def dead_pods(pods: Sequence[Pod]) -> list[Trouble]:
    """Of pods that ended and are to be replaced."""
    return [
        Trouble(p, RunReason.QUEUE_MISSING if _has_no_queue(p) else RunReason.PODS_FAILED, _how_it_ended(p))
        for p in pods
    ]


def gathered(troubles: Sequence[Trouble], about: str) -> list[Finding]:
    """One finding per reason, with one of the pods as the example."""
    found: list[Finding] = []
    for reason in dict.fromkeys(t.reason for t in troubles):
        same = [t for t in troubles if t.reason is reason]
        message = f"{same[0].pod.metadata.name} {same[0].detail}"
        found.append(Finding(reason, about, message, quotes(s for t in same for s in t.said), len(same)))
    return found


def _without_node(pod: Pod, seen: Observed) -> Trouble:
    name = pod.metadata.name or ""
    scheduler = pod.spec.scheduler_name or "default-scheduler"
    gang = pod.metadata.labels.get(labels.POD_GANG, "")
    said = (
        _said_of_pod(pod, scheduler)
        or seen.said_about("Pod", name, "FailedScheduling")
        or _said_of_gang(gang, seen)
        or seen.said_about_gang(gang)
    )
    if said:
        return Trouble(pod, RunReason.UNSCHEDULABLE, "has no node", tuple(said))
    return Trouble(pod, RunReason.WAITING_FOR_SCHEDULER, f"is for {scheduler}, which has not answered yet")


def _said_of_pod(pod: Pod, scheduler: str) -> list[Said]:
    """SchedulingGated is the server's word, and stays until the scheduler has its say."""
    found = condition(pod, "PodScheduled")
    if found is None or found.status != "False" or found.reason == "SchedulingGated":
        return []
    return [Said(scheduler, found.message or found.reason or "")]


def _said_of_gang(gang: str, seen: Observed) -> list[Said]:
    """What the backend heard from the scheduler's objects."""
    found = seen.gang_of.get(gang)
    said = find(gang_conditions(found), ConditionType.UNSCHEDULABLE) if found is not None else None
    if found is None or said is None:
        return []
    return [Said(found.metadata.labels.get(labels.SCHEDULER_NAME, ""), f"{said.reason}: {said.message}")]


def _on_node(pod: Pod, seen: Observed) -> Trouble:
    containers = (*pod.status.init_container_statuses, *pod.status.container_statuses)
    for status in containers:
        if (why := _waits_for(status)) in _IMAGE_REASONS:
            detail = f"cannot pull the image of container {status.name}"
            return Trouble(pod, RunReason.IMAGE_PULL_FAILING, detail, _words(status, "kubelet"))
    if is_failing(pod):
        return Trouble(pod, RunReason.CRASH_LOOPING, _how_it_crashes(containers))
    for status in containers:
        if (why := _waits_for(status)) not in _ON_ITS_WAY:
            detail = f"cannot start container {status.name}: {why}"
            return Trouble(pod, RunReason.CANNOT_START, detail, _words(status, "kubelet"))
    return _starting(pod, seen)


def _starting(pod: Pod, seen: Observed) -> Trouble:
    name = pod.metadata.name or ""
    if any(s.name == CONTAINER and _runs(s) for s in pod.status.init_container_statuses):
        clique = seen.clique_of.get(pod.metadata.labels.get(labels.POD_CLIQUE, ""))
        parents = listed(clique.spec.starts_after) if clique is not None else ""
        return Trouble(pod, RunReason.WAITING_FOR_START_ORDER, f"waits for {parents or 'other cliques'}")
    running = [s for s in pod.status.container_statuses if _runs(s)]
    if running:
        unready = [s.name for s in pod.status.container_statuses if not s.ready]
        ready = condition(pod, "Ready")
        detail = f"on {pod.spec.node_name}: " + (
            f"container {listed(unready)} is not ready"
            if unready
            else (ready.message if ready is not None and ready.message else "is not ready")
        )
        return Trouble(pod, RunReason.NOT_READY, detail, tuple(seen.said_about("Pod", name, "Unhealthy")))
    # Volumes, networks and devices are reported in events alone, and only while they fail.
    said = [s for s in seen.said_about("Pod", name) if s.by in ("kubelet", "attachdetach-controller")]
    if said:
        return Trouble(pod, RunReason.CANNOT_START, f"does not start on {pod.spec.node_name}", tuple(said))
    return Trouble(pod, RunReason.STARTING, f"is being started on {pod.spec.node_name}")


def _how_it_crashes(containers: Sequence[ContainerStatus]) -> str:
    for status in containers:
        ended = _ended(status)
        if ended is not None and ended.exit_code != 0:
            why = f" ({ended.reason})" if ended.reason and ended.reason != "Error" else ""
            times = f"{status.restart_count} restart{'' if status.restart_count == 1 else 's'}"
            return f"crashes: container {status.name} exits with code {ended.exit_code}{why}, {times}"
    return "crashes: a container exits with an error"


def _has_no_queue(pod: Pod) -> bool:
    said = (pod.status.message or "").strip()
    return pod.status.reason == _REJECTED and said.startswith(_WITHOUT_QUEUE)


def _how_it_ended(pod: Pod) -> str:
    if pod.status.reason or pod.status.message:
        return f"ended: {' '.join(t.strip() for t in (pod.status.reason, pod.status.message) if t)}"
    for status in (*pod.status.init_container_statuses, *pod.status.container_statuses):
        ended = status.state.terminated if status.state is not None else None
        if ended is not None and ended.exit_code != 0:
            return f"ended: container {status.name} exited with code {ended.exit_code}"
    return f"ended in phase {pod.status.phase}"


def _ended(status: ContainerStatus) -> Terminated | None:
    now = status.state.terminated if status.state is not None else None
    return now or (status.last_state.terminated if status.last_state is not None else None)


def _waits_for(status: ContainerStatus) -> str | None:
    return status.state.waiting.reason if status.state is not None and status.state.waiting else None


def _runs(status: ContainerStatus) -> bool:
    return status.state is not None and status.state.waiting is None and status.state.terminated is None


def _words(status: ContainerStatus, who: str) -> tuple[Said, ...]:
    waiting = status.state.waiting if status.state is not None else None
    return (Said(who, waiting.message),) if waiting is not None and waiting.message else ()
