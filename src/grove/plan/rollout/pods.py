"""The pods of a standalone clique as units of an update.

Pods that finished their work are not replaced: their work must not be repeated. They count as healthy.
"""

from collections.abc import Sequence

from grove.api import labels
from grove.api.pod_view import Pod
from grove.plan.pod_state import is_finished, is_present, is_ready, pod_index
from grove.plan.rollout.budget import Budget, Unit, UnitPlan, plan_units


def plan_pod_updates(
    pods: Sequence[Pod], template_hash: str, budget: Budget, *, may_take_healthy: bool
) -> UnitPlan[Pod]:
    """`pods` are all pods of the clique that stay, `template_hash` is the one of its PodClique. Oldest pods first."""
    present = sorted(
        (p for p in pods if is_present(p)),
        key=lambda p: (p.metadata.creation_timestamp or "", pod_index(p) or 0),
    )
    units = [Unit(p, is_outdated(p, template_hash), is_healthy(p)) for p in present]
    return plan_units(units, budget, may_take_healthy=may_take_healthy)


def is_outdated(pod: Pod, template_hash: str) -> bool:
    """Whether a present pod was made from another template and can be replaced."""
    return pod.metadata.labels.get(labels.POD_TEMPLATE_HASH) != template_hash and not is_finished(pod)


def is_healthy(pod: Pod) -> bool:
    return is_ready(pod) or is_finished(pod)


def all_updated(pods: Sequence[Pod], template_hash: str, desired: int) -> bool:
    """Whether as many pods as desired are present, and each follows the template and is healthy."""
    present = [p for p in pods if is_present(p)]
    return len(present) == desired and all(
        not is_outdated(p, template_hash) and is_healthy(p) for p in present
    )
