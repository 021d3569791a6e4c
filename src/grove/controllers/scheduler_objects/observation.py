"""What the scheduler says about a gang: in its own objects, or if it reports nothing there, in the gang's pods."""

from collections.abc import Sequence

import orjson
import structlog

from grove.api import PodGang
from grove.api.pod_view import Pod
from grove.controllers.scheduler_objects.local_backends import LocalBackends
from grove.plan.pod_state import condition, is_dead
from grove.runtime.client.objects import key_of, uid_of
from grove.schedulers.types import Observation

log = structlog.get_logger(__name__)


def observe(backends: LocalBackends, gang: PodGang, pods: Sequence[Pod]) -> Observation:
    """Empty if the backend does not run in this process, or fails: its defect is logged."""
    backend = backends.here(gang)
    if backend is None:
        return Observation()
    objects = [o for k in backend.kinds for o in backends.objects[k].cache.by_index("owner", uid_of(gang))]
    try:
        observed = backend.observe(gang, [orjson.loads(o.body) for o in objects])
    except Exception:
        log.exception("a backend failed to observe", backend=backend.name, gang=str(key_of(gang)))
        return Observation()
    return observed if observed is not None else observation_from_pods(pods)


def observation_from_pods(pods: Sequence[Pod]) -> Observation:
    """The first pod that the scheduler says it cannot place stands for all; else the first that it gave up."""
    for pod in pods:
        scheduled = condition(pod, "PodScheduled")
        if scheduled is not None and scheduled.status == "False" and scheduled.reason != "SchedulingGated":
            return Observation(scheduled.reason or "Unschedulable", scheduled.message or NO_REASON_GIVEN)
    for pod in pods:
        if is_dead(pod) and not pod.spec.node_name and pod.status.reason:
            return Observation(pod.status.reason, pod.status.message or NO_REASON_GIVEN)
    return Observation()


NO_REASON_GIVEN = "it gives no reason"
