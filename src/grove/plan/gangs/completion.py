"""When a gang has all its pods, and which pods its PodGang names.

    before Initialized   The gang names no pods until every clique has all its pods; then it names them all at once.
    after Initialized    Each group is renewed on its own, once it is complete again. Until then it keeps the pods that
                         it names, so a gang changes once per scaling or replacement.
    lost as a whole      If none of the pods that it names is left, the gang is recreated as a gang: no group is renewed
                         before every group that names pods is complete.

A group is complete when its clique has as many pods as it asks for. Some groups are special, once the gang is
initialized:

    no clique and no pods    The group names nothing: its copy was removed.
    names no pods yet        Such groups, for example after a scaling group was scaled to zero, are named together, once
                             all of them are complete. Each starts with at least its minimum, even if its clique asks
                             for fewer pods.
    cannot create all pods   If the clique reports that it failed to create pods, for example because of a quota, its
                             minimum is enough: some schedulers hold back a whole gang while one of its pods is gated.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from grove.api.pod_view import Pod
from grove.api.podclique import PodClique
from grove.api.podgang import NamespacedName, PodGang, PodGroup
from grove.plan.pod_state import is_present

# The code of a PodClique's error in `status.lastErrors`.
POD_NOT_CREATED = "ERR_CREATE_POD"


@dataclass(frozen=True)
class GangCompletion:
    pod_references: list[list[NamespacedName]]
    """The pods that each group should name, in the order of the gang's groups."""
    missing: dict[str, int]
    """How many pods each incomplete group lacks."""

    @property
    def complete(self) -> bool:
        return not self.missing


def plan_completion(
    gang: PodGang, cliques: Mapping[str, PodClique], pods: Mapping[str, Sequence[Pod]], *, initialized: bool
) -> GangCompletion:
    """`cliques` are the gang's PodCliques that exist, by name; `pods` are the pods with the gang's label, by clique."""
    groups = gang.spec.pod_groups
    present = {g.name: [p for p in pods.get(g.name, ()) if is_present(p)] for g in groups}
    missing: dict[str, int] = {}
    for g in groups:
        count = _missing(g, cliques.get(g.name), len(present[g.name]), initialized=initialized)
        if count:
            missing[g.name] = count
    if missing and not initialized:
        return GangCompletion([[] for _ in groups], missing)
    removed = {g.name for g in groups if g.name not in cliques and not present[g.name]}
    unnamed_must_wait = any(g.name in missing and not g.pod_references for g in groups)
    all_must_wait = _lost_all_pods(gang, present) and any(
        g.name in missing and g.pod_references and g.name not in removed for g in groups
    )
    references: list[list[NamespacedName]] = []
    for g in groups:
        if g.name in removed or (unnamed_must_wait and not g.pod_references):
            references.append([])
        elif g.name in missing or all_must_wait:
            references.append(g.pod_references)
        else:
            references.append(_references(present[g.name]))
    return GangCompletion(references, missing)


def cannot_create_pods(clique: PodClique) -> bool:
    """Whether the clique's status reports that it failed to create pods."""
    return clique.status is not None and any(e.code == POD_NOT_CREATED for e in clique.status.last_errors)


def _lost_all_pods(gang: PodGang, present: Mapping[str, Sequence[Pod]]) -> bool:
    """Whether none of the pods that the gang names is present any more."""
    named = {r.name for g in gang.spec.pod_groups for r in g.pod_references}
    return named.isdisjoint(p.metadata.name for pods in present.values() for p in pods)


def _missing(group: PodGroup, clique: PodClique | None, present: int, *, initialized: bool) -> int:
    if clique is None or clique.metadata.deletion_timestamp is not None:
        return max(group.min_replicas, 1)
    minimum_is_enough = initialized and cannot_create_pods(clique)
    wanted = group.min_replicas if minimum_is_enough else clique.spec.replicas
    if wanted and not group.pod_references:
        wanted = max(wanted, group.min_replicas)
    return max(wanted - present, 0)


def _references(pods: list[Pod]) -> list[NamespacedName]:
    found = sorted((p.metadata.namespace or "", p.metadata.name or "") for p in pods)
    return [NamespacedName(namespace=namespace, name=name) for namespace, name in found]
