"""Deletes what a replica has and its set no longer describes.

The order never makes a running gang look broken: first cliques and scaling groups, and with them the pods; gangs,
Services and the rest only when no pod is left.
"""

from collections.abc import Sequence
from typing import Any

from grove.api import labels
from grove.controllers.podcliqueset.replica_objects import COMPANION_CODES, DesiredObject
from grove.controllers.shared.companions import COMPUTE_DOMAINS
from grove.controllers.shared.deletion import delete_all
from grove.controllers.shared.failures import Failure
from grove.controllers.shared.finalizers import remove_finalizer
from grove.controllers.shared.indexes import ReplicaKey, label
from grove.controllers.shared.informers import Informers
from grove.plan.layout.set_layout import SetLayout
from grove.plan.pruning import is_unwanted, is_unwanted_part
from grove.runtime.cache.informer import Informer
from grove.runtime.client.objects import key_of

_COMPONENTS_PER_REPLICA = {
    labels.ComponentLabel.HEADLESS_SERVICE,
    labels.ComponentLabel.HPA,
    labels.ComponentLabel.COMPUTE_DOMAIN,
    labels.ComponentLabel.RESOURCE_CLAIM,
}


class ReplicaPruning:
    def __init__(self, informers: Informers) -> None:
        self._informers = informers

    async def prune(
        self, key: ReplicaKey, layout: SetLayout, wanted: Sequence[DesiredObject]
    ) -> list[Failure]:
        """Of a replica that stays."""
        failures = await self._prune_parts(key, layout, wanted)
        failures += await self._prune_gangs(key, layout, wanted)
        return failures + await self._prune_companions(key, layout, wanted)

    async def remove(self, key: ReplicaKey, layout: SetLayout) -> list[Failure]:
        """Of a replica that is no longer wanted. Called again whenever a part of it is gone."""
        failures = await self._prune_parts(key, layout, ())
        cliques, pods = self._informers.cliques.cache, self._informers.pods.cache
        if cliques.by_index("replica", key) or pods.by_index("replica", key):
            return failures
        failures += await self._prune_gangs(key, layout, ())
        return failures + await self._prune_companions(key, layout, ())

    async def release_compute_domains(self, key: ReplicaKey) -> None:
        """Lets ComputeDomains go that are being deleted, even if their set is gone. A wanted one is created again."""
        informer = self._informers.companions.get(COMPUTE_DOMAINS.kind)
        for domain in informer.cache.by_index("replica", key) if informer is not None else ():
            if informer is not None and domain.metadata.deletion_timestamp is not None:
                finalizers = domain.metadata.finalizers
                await remove_finalizer(informer, domain, finalizers, labels.Finalizer.COMPUTE_DOMAIN)

    async def _prune_parts(
        self, key: ReplicaKey, layout: SetLayout, wanted: Sequence[DesiredObject]
    ) -> list[Failure]:
        groups, cliques = self._informers.groups, self._informers.cliques
        existing = {w.key.name: groups.cache.get(w.key) for w in wanted if w.informer is groups}
        copies = {name: g.spec.replicas if g is not None else None for name, g in existing.items()}

        async def prune(informer: Informer[Any], code: str) -> list[Failure]:
            names = _names(wanted, informer)
            parts = informer.cache.by_index("replica", key)
            unwanted = [p for p in parts if is_unwanted_part(p, names, layout, key.replica, copies)]
            return await delete_all(informer, unwanted, code)

        failures = await prune(groups, "ERR_DELETE_PODCLIQUESCALINGGROUP")
        return failures + await prune(cliques, "ERR_DELETE_PODCLIQUE")

    async def _prune_gangs(
        self, key: ReplicaKey, layout: SetLayout, wanted: Sequence[DesiredObject]
    ) -> list[Failure]:
        """A gang is deleted when no pod of it is left."""
        gangs, pods = self._informers.gangs, self._informers.pods.cache
        names = _names(wanted, gangs)
        unwanted = [
            gang
            for gang in gangs.cache.by_index("replica", key)
            if is_unwanted(gang.metadata.name or "", names, key.name, key.replica)
            and not pods.by_index("gang", key_of(gang))
            and not _is_foreign(gang, layout)
        ]
        return await delete_all(gangs, unwanted, "ERR_DELETE_EXCESS_PODGANG")

    async def _prune_companions(
        self, key: ReplicaKey, layout: SetLayout, wanted: Sequence[DesiredObject]
    ) -> list[Failure]:
        failures: list[Failure] = []
        for kind in COMPANION_CODES:
            if (informer := self._informers.companions.get(kind)) is None:
                continue
            names = _names(wanted, informer)
            unwanted = [
                companion
                for companion in informer.cache.by_index("replica", key)
                if label(companion, labels.COMPONENT) in _COMPONENTS_PER_REPLICA
                and is_unwanted(companion.metadata.name or "", names, key.name, key.replica)
                and not _is_foreign(companion, layout)
            ]
            failures += await delete_all(informer, unwanted, f"ERR_DELETE_{kind.upper()}")
        return failures


def _names(wanted: Sequence[DesiredObject], informer: Informer[Any]) -> set[str]:
    return {w.key.name for w in wanted if w.informer is informer}


def _is_foreign(obj: Any, layout: SetLayout) -> bool:
    """Whether another owner controls the object: labels and names can be copied."""
    return any(o.controller and o.uid != layout.owner.uid for o in obj.metadata.owner_references)
