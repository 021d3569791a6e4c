"""Which pods of a clique to create and to delete, so that exactly `replicas` are present, each with its own index.

    delete   dead pods; of two pods with the same index, the one that comes first in scale-in order; then the pods that
             are too many, in scale-in order
    create   as many pods as are missing, with the lowest free indices: holes are filled first

Scale-in order, the first criterion that differs decides: surplus pods that are kept apart from the gang, pods without a
node, phase Pending before Unknown before Running, not ready, another template, newer, higher index, name.

A pod's index is the number at the end of its hostname, by which its peers know it. The index of a terminating pod is
free immediately, so a replacement does not wait for a node that may never answer again. Until the old pod is gone both
have the same hostname, but only the new one can become ready.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from grove.api import labels
from grove.api.pod_view import Pod
from grove.plan.pod_state import is_dead, is_present, is_ready, is_surplus, pod_index


@dataclass(frozen=True)
class PodPlan:
    create: list[int]
    """Indices of the pods to create."""
    delete: list[Pod]
    replaced: list[Pod]
    """The dead pods among `delete` that are replaced by a new pod. The caller may delay them: see the next method."""

    def without_replacements(self) -> "PodPlan":
        """The plan while replacements are delayed. The dead pods stay and keep their indices; pods that are missing for
        another reason are created."""
        kept = {pod_index(p) for p in self.replaced}
        others = [i for i in self.create if i not in kept]
        return PodPlan(create=others[: len(self.create) - len(self.replaced)], delete=[], replaced=[])


def plan_pods(
    replicas: int, pods: Sequence[Pod], *, template_hash: str, surplus_from: int | None = None
) -> PodPlan:
    """`pods` are all pods of one clique; `template_hash` is the hash of its current template.

    `surplus_from` is the lowest index of a surplus pod, if the backend keeps surplus pods apart from the gang.
    """
    dead = [p for p in pods if is_dead(p)]
    present = [p for p in pods if is_present(p)]
    indices = [i for p in present if (i := pod_index(p)) is not None]
    superfluous: list[Pod] = []
    if len(present) > replicas or len(set(indices)) < len(indices):
        superfluous = _superfluous(present, Counter(indices), replicas, template_hash, surplus_from)
        for pod in superfluous:
            if (index := pod_index(pod)) is not None:
                indices.remove(index)
    missing = max(0, replicas - (len(present) - len(superfluous)))
    taken = set(indices)
    create = [i for i in range(missing + len(taken)) if i not in taken][:missing] if missing else []
    return PodPlan(create=create, delete=dead + superfluous, replaced=dead[:missing])


def scale_in_order(pods: Iterable[Pod], template_hash: str) -> list[Pod]:
    """The pods that are missed least come first."""
    # Python's sort is stable, so the least important criterion is sorted first.
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
_NOT_YET = "~"  # sorts after every timestamp


def _superfluous(
    present: list[Pod], taken: Counter[int], replicas: int, template_hash: str, surplus_from: int | None
) -> list[Pod]:
    """The present pods to delete. Duplicates of an index are deleted even if too few pods are left: no two pods may
    keep the same hostname."""
    left = Counter(taken)
    duplicates: list[Pod] = []
    others: list[Pod] = []
    order = scale_in_order(present, template_hash)
    if surplus_from is not None:
        order.sort(key=lambda p: not is_surplus(p, surplus_from))
    for pod in order:
        index = pod_index(pod)
        if index is not None and left[index] > 1:
            left[index] -= 1
            duplicates.append(pod)
        else:
            others.append(pod)
    return duplicates + others[: max(0, len(others) - replicas)]
