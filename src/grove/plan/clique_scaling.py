"""Which pods of a clique to create and to delete, so that exactly `replicas` are present, each with its own index.

    delete   dead pods; of two pods with one index the one that scale-in would take; then the surplus, in this order:
             kept apart from the gang, no node, phase Pending < Unknown < Running, not ready, another template, newer,
             higher index, name
    create   as many as are missing, with the lowest indices that no present pod has: holes first

A pod's index is the number at the end of its hostname, and its hostname is its identity for its peers. The index of a
terminating pod is free at once: a replacement need not wait for a node that may never answer again. Until the old pod
is gone both have the hostname, but only one of them can become ready again.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from grove.api import labels
from grove.api.pod_view import Pod
from grove.plan.pod_state import is_dead, is_present, is_ready, is_surplus, pod_index


class PodPlan(NamedTuple):
    create: list[int]
    """Indices of the pods to create."""
    delete: list[Pod]
    replaced: list[Pod]
    """The dead pods among `delete` that a new pod stands in for: whoever creates it may want to wait a little longer
    each time."""

    def without_replacements(self) -> "PodPlan":
        """What need not wait: pods that are missing for another reason. The dead ones stay, and keep their indices."""
        kept = {pod_index(p) for p in self.replaced}
        others = [i for i in self.create if i not in kept]
        return PodPlan(create=others[: len(self.create) - len(self.replaced)], delete=[], replaced=[])


def plan_pods(
    replicas: int, pods: Sequence[Pod], *, template_hash: str, surplus_from: int | None = None
) -> PodPlan:
    """`pods` are all pods of one clique; `template_hash` is that of its current template.

    `surplus_from` is the first index of the pods that are kept apart from the gang, if any are: they go first.
    """
    dead = [p for p in pods if is_dead(p)]
    present = [p for p in pods if is_present(p)]
    indices = [i for p in present if (i := pod_index(p)) is not None]
    going: list[Pod] = []
    if len(present) > replicas or len(set(indices)) < len(indices):
        going = _going(present, Counter(indices), replicas, template_hash, surplus_from)
        for pod in going:
            if (index := pod_index(pod)) is not None:
                indices.remove(index)
    missing = max(0, replicas - (len(present) - len(going)))
    taken = set(indices)
    create = [i for i in range(missing + len(taken)) if i not in taken][:missing] if missing else []
    return PodPlan(create=create, delete=dead + going, replaced=dead[:missing])


def scale_in_order(pods: Iterable[Pod], template_hash: str) -> list[Pod]:
    """Those first that are missed least."""
    # Sorts keep the order of equals, so the least important criterion comes first.
    found = sorted(pods, key=lambda p: (-(pod_index(p) or 0), p.metadata.name or ""))
    found.sort(key=lambda p: p.metadata.creation_timestamp or _NOT_YET, reverse=True)
    found.sort(
        key=lambda p: (
            bool(p.spec.node_name),
            _PHASES.get(p.status.phase or "", 0),
            is_ready(p),
            p.metadata.labels.get(labels.POD_TEMPLATE_HASH) == template_hash,
        )
    )
    return found


_PHASES = {"Unknown": 1, "Running": 2}
_NOT_YET = "~"  # sorts behind every time


def _going(
    present: list[Pod], taken: Counter[int], replicas: int, template_hash: str, surplus_from: int | None
) -> list[Pod]:
    """Twins first: they go even if that leaves too few, since no two pods can have one hostname."""
    left = Counter(taken)
    twins: list[Pod] = []
    others: list[Pod] = []
    order = scale_in_order(present, template_hash)
    if surplus_from is not None:
        order.sort(key=lambda p: not is_surplus(p, surplus_from))
    for pod in order:
        index = pod_index(pod)
        if index is not None and left[index] > 1:
            left[index] -= 1
            twins.append(pod)
        else:
            others.append(pod)
    return twins + others[: max(0, len(others) - replicas)]
