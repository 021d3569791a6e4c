"""A cache of the summaries of replicas that a set's status adds up.

A summary is computed again only when a clique or scaling group of its replica changed, or the set's templates did. So a
change in one of two thousand replicas costs one summary and an addition.
"""

from typing import Any

from grove.controllers.shared.indexes import ReplicaKey, replica_of
from grove.controllers.shared.informers import Informers
from grove.plan.layout.set_layout import SetLayout
from grove.plan.status.set_status import ReplicaSummary, replica_summary
from grove.runtime.cache.cache import Change
from grove.runtime.client.objects import ObjectKey


class ReplicaSummaries:
    def __init__(self, informers: Informers) -> None:
        self._informers = informers
        self._summaries: dict[
            ReplicaKey, tuple[str, ReplicaSummary]
        ] = {}  # with the generation hash of the set
        for informer in (informers.cliques, informers.groups):
            informer.cache.subscribe(self._drop_outdated)

    def of_set(self, layout: SetLayout, key: ObjectKey) -> list[ReplicaSummary]:
        return [self._summary(layout, ReplicaKey(*key, i)) for i in range(layout.replicas)]

    def _summary(self, layout: SetLayout, key: ReplicaKey) -> ReplicaSummary:
        known = self._summaries.get(key)
        if known is not None and known[0] == layout.generation_hash:
            return known[1]
        cliques = self._informers.cliques.cache.by_index("replica", key)
        groups = self._informers.groups.cache.by_index("replica", key)
        summary = replica_summary(layout, key.replica, cliques, groups)
        self._summaries[key] = (layout.generation_hash, summary)
        return summary

    def _drop_outdated(self, change: Change[Any]) -> None:
        """An object that was relabelled concerns the replica that it left, too."""
        for state in (change.old, change.new):
            for key in replica_of(state) if state is not None else ():
                self._summaries.pop(key, None)
