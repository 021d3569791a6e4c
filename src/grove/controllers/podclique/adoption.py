"""Takes over pods that belong to a clique and do not say so: orphans get an owner, edited labels are restored."""

from collections.abc import Sequence

import msgspec

from grove.api import PodClique
from grove.api.pod_view import Pod
from grove.controllers.shared.failures import Failure
from grove.plan.layout.set_layout import owner_reference
from grove.plan.objects.pods import identifying_labels
from grove.runtime.cache.informer import Informer
from grove.runtime.client.errors import NotFound
from grove.runtime.client.objects import key_of, uid_of
from grove.runtime.controller.concurrently import Outcome, for_each


async def adopt(informer: Informer[Pod], clique: PodClique, orphans: Sequence[Pod]) -> list[Failure]:
    """Makes the clique the controller of pods that have none. A patch with their uid never hits a namesake."""

    async def add_owner(pod: Pod) -> None:
        owners = [*pod.metadata.owner_references, owner_reference(clique)]
        patch = {"metadata": {"uid": uid_of(pod), "ownerReferences": owners}}
        await informer.objects.merge_patch(key_of(pod), msgspec.json.encode(patch))

    return _failed(await for_each(orphans, add_owner), "ERR_SET_CONTROLLER_REFERENCE")


async def restore_labels(informer: Informer[Pod], clique: PodClique, edited: Sequence[Pod]) -> list[Failure]:
    patch = msgspec.json.encode({"metadata": {"labels": identifying_labels(clique)}})

    async def restore(pod: Pod) -> None:
        await informer.objects.merge_patch(key_of(pod), patch)

    return _failed(await for_each(edited, restore), "ERR_LABEL_POD")


def _failed(outcomes: Sequence[Outcome[Pod, None]], code: str) -> list[Failure]:
    """A pod that is gone needs neither owner nor labels."""
    return [Failure(code, o.error) for o in outcomes if not isinstance(o.error, NotFound | None)]
