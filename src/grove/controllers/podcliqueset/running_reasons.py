"""Why a set does not run, for its condition Running: what `grove explain` would say, without the events.

The reason of each replica is cached until an object of that replica changes. A set that is not complete is explained
again at most every `EXPLAIN_INTERVAL_SECONDS`, and a little less often the more replicas it has, so that explaining
takes no larger share of the time in large sets.
"""

import asyncio
from dataclasses import dataclass
from typing import Any

from grove.api import PodCliqueSet
from grove.controllers.shared.context import OperatorContext
from grove.controllers.shared.indexes import ReplicaKey, replica_of
from grove.controllers.shared.informers import Informers
from grove.plan.explain import Finding, Observed, Target, set_reason, top_reason
from grove.runtime.cache.cache import Change
from grove.runtime.cache.informer import Informer
from grove.runtime.client.objects import ObjectKey, key_of, uid_of
from grove.runtime.controller.triggers import Signal

EXPLAIN_INTERVAL_SECONDS = 10.0
EXPLAIN_INTERVAL_SECONDS_PER_REPLICA = 0.02


@dataclass(frozen=True)
class _ReplicaReason:
    generation: int
    """Of the set that it was computed for."""
    finding: Finding


class RunningReasons:
    """`outdated` fires with a set when a reason that was reported for it may no longer be true."""

    def __init__(self, context: OperatorContext, informers: Informers) -> None:
        self._informers = informers
        self._reasons: dict[ObjectKey, dict[int, _ReplicaReason]] = {}  # by set and replica
        self._explained_at: dict[str, float] = {}
        self._gates = {b.name: b.gate for b in context.registry.backends}
        self.outdated: Signal[ObjectKey] = Signal()
        for informer in (informers.pods, informers.cliques, informers.groups, informers.gangs):
            informer.cache.subscribe(self._drop_outdated)

    def next_in(self, pcs: PodCliqueSet) -> float:
        """The seconds until the set may be explained again; 0 if it may be now."""
        explained_at = self._explained_at.get(uid_of(pcs))
        if explained_at is None:
            return 0.0
        interval = EXPLAIN_INTERVAL_SECONDS + EXPLAIN_INTERVAL_SECONDS_PER_REPLICA * pcs.spec.replicas
        return max(0.0, explained_at + interval - asyncio.get_running_loop().time())

    def explain(self, pcs: PodCliqueSet, replicas: int) -> Finding:
        """The top reason of a set, from its first `replicas` replicas. `pcs` has the status that is to be written."""
        self._explained_at[uid_of(pcs)] = asyncio.get_running_loop().time()
        key = key_of(pcs)
        return set_reason(pcs, [self._reason(pcs, ReplicaKey(*key, i)) for i in range(replicas)])

    def explain_deletion(self, pcs: PodCliqueSet) -> Finding:
        """What a set that is being deleted still waits for."""
        self._explained_at[uid_of(pcs)] = asyncio.get_running_loop().time()
        target = Target("PodCliqueSet", pcs.metadata.name or "")
        return top_reason(Observed(target, pcs, **self._parts("set", key_of(pcs))))

    def forget(self, pcs: PodCliqueSet) -> None:
        self._explained_at.pop(uid_of(pcs), None)
        self._reasons.pop(key_of(pcs), None)

    def _reason(self, pcs: PodCliqueSet, key: ReplicaKey) -> Finding:
        generation = pcs.metadata.generation or 0
        of_set = self._reasons.setdefault(key.set, {})
        known = of_set.get(key.replica)
        if known is None or known.generation != generation:
            observed = Observed(
                Target("PodCliqueSet", key.name),
                pcs,
                **self._parts("replica", key),
                gates=self._gates,
                replica=key.replica,
            )
            known = of_set[key.replica] = _ReplicaReason(generation, top_reason(observed))
        return known.finding

    def _parts(self, index: str, key: ObjectKey | ReplicaKey) -> dict[str, Any]:
        """The parts of a set or replica, as arguments of `Observed`, each kind sorted by name."""
        informers = self._informers
        kinds: dict[str, Informer[Any]] = {
            "groups": informers.groups,
            "gangs": informers.gangs,
            "cliques": informers.cliques,
            "pods": informers.pods,
        }
        return {
            kind: sorted(informer.cache.by_index(index, key), key=lambda o: o.metadata.name or "")
            for kind, informer in kinds.items()
        }

    def _drop_outdated(self, change: Change[Any]) -> None:
        """Fires once per reason: a set with a reason missing is already due to be explained again.

        An object that was relabelled concerns the replica that it left, too.
        """
        for state in (change.old, change.new):
            for key in replica_of(state) if state is not None else ():
                if self._reasons.get(key.set, {}).pop(key.replica, None) is not None:
                    self.outdated.fire(key.set)
