"""Keeps the resource claims that the pods of a clique share, and those of each pod."""

from collections.abc import Sequence

from grove.api.pod_view import Pod
from grove.controllers.podclique.observed_clique import ObservedClique
from grove.controllers.shared.claims import Claims
from grove.controllers.shared.failures import Failure
from grove.plan.objects.claims import clique_claims
from grove.plan.pod_state import pod_index
from grove.runtime.client.objects import uid_of


async def keep_claims(claims: Claims, observed: ObservedClique, pods: Sequence[Pod]) -> list[Failure]:
    """For each pod that should exist, and for each that still does."""
    clique, layout = observed.clique, observed.layout
    if not observed.position.clique.resource_sharing and not claims.kept_for(uid_of(clique)):
        return []
    indices = {i for p in pods if (i := pod_index(p)) is not None} | set(range(clique.spec.replicas))
    wanted = clique_claims(layout, clique, sorted(indices), claims.templates(layout), claims.tags(layout))
    return await claims.keep(wanted, uid_of(clique), "ERR_SYNC_PCLQ_RESOURCE_CLAIM")
