"""The deletion of a set: cliques and scaling groups first, and with them the pods; garbage collection deletes the rest.

If the set is deleted with `--cascade=orphan`, its parts stay: garbage collection then removes the owner references.
"""

from typing import Any

from grove.api import PodCliqueSet, labels
from grove.controllers.shared.deletion import delete_all
from grove.controllers.shared.failures import raise_failures
from grove.controllers.shared.finalizers import remove_finalizer
from grove.controllers.shared.informers import Informers
from grove.runtime.cache.informer import Informer
from grove.runtime.client.objects import key_of, uid_of

ORPHAN_FINALIZER = "orphan"


async def delete_parts(informers: Informers, pcs: PodCliqueSet) -> bool:
    """Returns whether the set may go: no part is left. Raises if parts cannot be deleted."""
    if ORPHAN_FINALIZER in pcs.metadata.finalizers:
        return True
    groups, cliques = _owned(informers.groups, pcs), _owned(informers.cliques, pcs)
    failures = await delete_all(informers.groups, groups, "ERR_DELETE_PODCLIQUESCALINGGROUP")
    failures += await delete_all(informers.cliques, cliques, "ERR_DELETE_PODCLIQUE")
    raise_failures(f"PodCliqueSet {key_of(pcs)} cannot be deleted yet", failures)
    return not _has_parts(informers, pcs)


async def release(informers: Informers, pcs: PodCliqueSet) -> None:
    await remove_finalizer(informers.sets, pcs, pcs.metadata.finalizers, labels.Finalizer.POD_CLIQUE_SET)


def _owned(informer: Informer[Any], pcs: PodCliqueSet) -> list[Any]:
    found = informer.cache.by_index("set", key_of(pcs))
    return [o for o in found if any(r.uid == uid_of(pcs) for r in o.metadata.owner_references)]


def _has_parts(informers: Informers, pcs: PodCliqueSet) -> bool:
    """Cliques or groups of this set that are still being deleted, or pods whose clique is gone."""
    if _owned(informers.groups, pcs) or _owned(informers.cliques, pcs):
        return True
    return any(
        informers.cliques.cache.by_uid(o.uid) is None
        for pod in informers.pods.cache.by_index("set", key_of(pcs))
        for o in pod.metadata.owner_references
    )
