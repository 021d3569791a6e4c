"""When a gang has all its pods, and which pods it names.

Until it is initialized, a gang names no pods; it is initialized at the moment when every clique in it has all its
pods, each pointing back to the gang, and then it names them all at once. From then on each group is renewed on its own
as soon as it is complete again, so a gang changes once per scaling or replacement and never names a pod that is not
there for long: pods that are gone are dropped when their group is next complete, or has neither clique nor pods. Groups
without any pod, such as those of a scaling group that was scaled to zero, are named together when all are complete. A
group that has no pods yet begins with its minimum at least, even if its clique is scaled to fewer. A group whose clique
cannot make all its pods, because of a quota, say, names what it has once that is its minimum: some schedulers hold back
a whole gang while a single pod of it is gated.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from grove.api.pod_view import Pod
from grove.api.podclique import PodClique
from grove.api.podgang import NamespacedName, PodGang, PodGroup
from grove.plan.pod_state import is_present

# The code of an error of a PodClique.
POD_NOT_CREATED = "ERR_CREATE_POD"


class GangCompletion(NamedTuple):
    """`missing` says per group how many pods it lacks; a group without its clique lacks all."""

    groups: list[list[NamespacedName]]
    missing: dict[str, int]

    @property
    def complete(self) -> bool:
        return not self.missing


def plan_completion(
    gang: PodGang, cliques: Mapping[str, PodClique], pods: Mapping[str, Sequence[Pod]], *, initialized: bool
) -> GangCompletion:
    """`pods` are those that carry the gang's label, by the clique that they belong to."""
    stuck = {name for name, c in cliques.items() if initialized and cannot_create(c)}
    live = {g.name: [p for p in pods.get(g.name, ()) if is_present(p)] for g in gang.spec.pod_groups}
    missing = {
        g.name: lacking
        for g in gang.spec.pod_groups
        if (lacking := _lacking(g, cliques.get(g.name), live[g.name], g.name in stuck))
    }
    if not initialized and missing:
        return GangCompletion([[] for _ in gang.spec.pod_groups], missing)
    waits = any(g.name in missing and not g.pod_references for g in gang.spec.pod_groups)
    groups: list[list[NamespacedName]] = []
    for g in gang.spec.pod_groups:
        gone = g.name not in cliques and not live[g.name]
        if gone or (waits and not g.pod_references):
            groups.append([])
        else:
            groups.append(g.pod_references if g.name in missing else _references(live[g.name]))
    return GangCompletion(groups, missing)


def cannot_create(clique: PodClique) -> bool:
    """Whether the clique says that it tried to make pods and could not."""
    return clique.status is not None and any(e.code == POD_NOT_CREATED for e in clique.status.last_errors)


def _lacking(group: PodGroup, clique: PodClique | None, live: list[Pod], stuck: bool) -> int:
    if clique is None or clique.metadata.deletion_timestamp is not None:
        return max(group.min_replicas, 1)
    wanted = group.min_replicas if stuck else clique.spec.replicas
    if wanted and not group.pod_references:
        wanted = max(wanted, group.min_replicas)  # it may be scaled to fewer, but does not begin with them
    return max(wanted - len(live), 0)


def _references(live: list[Pod]) -> list[NamespacedName]:
    found = sorted((p.metadata.namespace or "", p.metadata.name or "") for p in live)
    return [NamespacedName(namespace=namespace, name=name) for namespace, name in found]
