"""Why a set does not run, for its condition Running: what `grove explain` would say, without the events.

The reason of each replica is kept, and worked out anew only when an object of that replica changed, and then not at
once: `LOOK_EVERY` seconds are to pass between two looks at a set that is not complete, and a little more for each of
its replicas, so that looking takes no larger share of the time where there are many.
"""

import asyncio
from collections.abc import Callable
from typing import Any

from grove.api import PodCliqueSet, labels
from grove.controllers.shared.context import OperatorContext
from grove.controllers.shared.indexes import label, replica_index
from grove.controllers.shared.informers import Informers
from grove.plan.explain import Finding, Observed, Target, set_reason, top_reason
from grove.runtime.cache.cache import Change
from grove.runtime.cache.informer import Informer
from grove.runtime.client.objects import ObjectKey, key_of, uid_of

LOOK_EVERY = 10.0
LOOK_PER_REPLICA = 0.02
# A timer may be early by the clock's resolution.
RESOLUTION = 0.001


class Reasons:
    def __init__(self, context: OperatorContext, informers: Informers) -> None:
        self._informers = informers
        # By set, so that a change of a part costs little while its set was not looked at.
        self._known: dict[ObjectKey, dict[int, tuple[int, Finding]]] = {}
        self._looked: dict[str, float] = {}
        self._gates = {b.name: b.gate for b in context.registry.backends}
        self._wake: Callable[[ObjectKey, float], None] = lambda key, after: None
        for informer in (informers.pods, informers.cliques, informers.groups, informers.gangs):
            informer.cache.subscribe(self._outdate)

    def on_change(self, wake: Callable[[ObjectKey, float], None]) -> None:
        """Calls `wake` with a set whose reason may be another now, and the seconds after which to look at it."""
        self._wake = wake

    def until_look(self, pcs: PodCliqueSet) -> float:
        """Seconds until the set may be looked at again."""
        looked = self._looked.get(uid_of(pcs))
        if looked is None:
            return 0.0
        pause = LOOK_EVERY + LOOK_PER_REPLICA * pcs.spec.replicas
        left = looked + pause - asyncio.get_running_loop().time()
        return left if left > RESOLUTION else 0.0

    def look(self, pcs: PodCliqueSet, replicas: int) -> Finding:
        """The top reason of a set, which has its newest status."""
        self._looked[uid_of(pcs)] = asyncio.get_running_loop().time()
        return set_reason(pcs, [self._reason(pcs, i) for i in range(replicas)])

    def of_end(self, pcs: PodCliqueSet) -> Finding:
        """What a set that is going away still waits for."""
        self._looked[uid_of(pcs)] = asyncio.get_running_loop().time()
        informers, key = self._informers, key_of(pcs)
        kinds: tuple[Informer[Any], ...] = (
            informers.groups,
            informers.gangs,
            informers.cliques,
            informers.pods,
        )
        groups, gangs, cliques, pods = (
            sorted(k.cache.by_index("set", key), key=lambda o: o.metadata.name or "") for k in kinds
        )
        return top_reason(Observed(Target("PodCliqueSet", key.name), pcs, groups, gangs, cliques, pods))

    def forget(self, pcs: PodCliqueSet) -> None:
        self._looked.pop(uid_of(pcs), None)
        self._known.pop(key_of(pcs), None)

    def _reason(self, pcs: PodCliqueSet, i: int) -> Finding:
        key, generation = key_of(pcs), pcs.metadata.generation or 0
        of_set = self._known.setdefault(key, {})
        known = of_set.get(i)
        if known is None or known[0] != generation:
            known = of_set[i] = (generation, top_reason(self._seen(pcs, (*key, i))))
        return known[1]

    def _seen(self, pcs: PodCliqueSet, key: tuple[str, str, int]) -> Observed:
        def found(informer: Any) -> list[Any]:
            return sorted(informer.cache.by_index("replica", key), key=lambda o: o.metadata.name or "")

        informers = self._informers
        return Observed(
            Target("PodCliqueSet", key[1]),
            pcs,
            found(informers.groups),
            found(informers.gangs),
            found(informers.cliques),
            found(informers.pods),
            gates=self._gates,
            replica=key[2],
        )

    def _outdate(self, change: Change[Any]) -> None:
        """Of a reason that is out of date already the set was told: until all are looked at, it has a time to look."""
        obj = change.object
        key = ObjectKey(obj.metadata.namespace or "", label(obj, labels.PART_OF))
        if of_set := self._known.get(key):
            index = replica_index(obj)
            if index is not None and of_set.pop(index, None) is not None:
                self._wake(key, LOOK_EVERY)
