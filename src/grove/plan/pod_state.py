"""What the fields of a pod mean. All plans use these terms:

    terminating   the pod is being deleted
    finished      it succeeded and its restart policy does not restart it: its work is done and must not be repeated
    dead          it failed, was evicted, or ended although its restart policy is Always: it needs a replacement
    present       neither terminating nor dead: the pod counts towards the replicas of its clique

A present pod may be scheduled (it has a node) and ready. A pod that is not ready is failing (a container ended with an
error and restarts), unready (a container runs but its readiness probe fails), or starting.
"""

from collections.abc import Sequence

from grove.api import labels
from grove.api.pod_view import ContainerStatus, Pod, PodCondition


def is_terminating(pod: Pod) -> bool:
    return pod.metadata.deletion_timestamp is not None


def is_finished(pod: Pod) -> bool:
    return (
        pod.status.phase == "Succeeded"
        and pod.spec.restart_policy in ("Never", "OnFailure")
        and not is_terminating(pod)
    )


def is_dead(pod: Pod) -> bool:
    return pod.status.phase in _ENDED and not is_terminating(pod) and not is_finished(pod)


def is_present(pod: Pod) -> bool:
    return not is_terminating(pod) and (pod.status.phase not in _ENDED or is_finished(pod))


def is_scheduled(pod: Pod) -> bool:
    return _says(pod, "PodScheduled", "True")


def is_gated(pod: Pod) -> bool:
    """Whether the API server reports the pod as gated. It does so until the scheduler takes up the pod, which is later
    than the removal of the last gate."""
    found = condition(pod, "PodScheduled")
    return found is not None and found.status == "False" and found.reason == "SchedulingGated"


def is_ready(pod: Pod) -> bool:
    return _says(pod, "Ready", "True")


def is_failing(pod: Pod) -> bool:
    """Only meaningful for a pod that is not ready."""
    return not is_finished(pod) and (
        _failed(pod.status.init_container_statuses) or _failed(pod.status.container_statuses)
    )


def is_unready(pod: Pod) -> bool:
    """Only meaningful for a pod that is neither ready nor failing."""
    return any(c.started and not c.ready for c in pod.status.container_statuses)


def has_gate(pod: Pod, gate: str) -> bool:
    return any(g.name == gate for g in pod.spec.scheduling_gates)


def pod_index(pod: Pod) -> int | None:
    """None if the pod lost both its hostname and its index label: it counts, but nobody knows which pod it was."""
    for text in ((pod.spec.hostname or "").rpartition("-")[2], pod.metadata.labels.get(labels.POD_INDEX, "")):
        if text.isascii() and text.isdigit():
            return int(text)
    return None


def is_surplus(pod: Pod, surplus_from: int) -> bool:
    """Whether the pod is beyond the minimum of its group: its index is at least `surplus_from`."""
    return (pod_index(pod) or 0) >= surplus_from


def disruption(pod: Pod) -> PodCondition | None:
    """The condition that announces the end of the pod: it is preempted or evicted, or its node is drained."""
    found = condition(pod, "DisruptionTarget")
    return found if found is not None and found.status == "True" else None


def condition(pod: Pod, kind: str) -> PodCondition | None:
    for found in pod.status.conditions:
        if found.type == kind:
            return found
    return None


_ENDED = ("Failed", "Succeeded")


def _says(pod: Pod, kind: str, status: str) -> bool:
    found = condition(pod, kind)
    return found is not None and found.status == status


def _failed(containers: Sequence[ContainerStatus]) -> bool:
    return any(
        c.last_state is not None
        and c.last_state.terminated is not None
        and c.last_state.terminated.exit_code != 0
        for c in containers
    )
