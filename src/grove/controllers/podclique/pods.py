"""Creates and deletes the pods of a clique.

Every pod gets a name that Grove chose, so that a create whose answer was lost is recognised instead of repeated.
"""

import random
from collections.abc import Sequence

import msgspec

from grove.api import PodClique, labels
from grove.api.conditions import EventReason
from grove.api.pod_view import Pod
from grove.controllers.podclique.observed_clique import ObservedClique
from grove.controllers.shared.context import OperatorContext
from grove.controllers.shared.failures import Failure, describe, failed
from grove.controllers.shared.indexes import label
from grove.plan.gangs.completion import POD_NOT_CREATED
from grove.plan.objects.pods import PodBuilder
from grove.runtime.cache.informer import Informer
from grove.runtime.client.errors import AlreadyExists, ApiError, ExternalError, Forbidden, Invalid
from grove.runtime.client.objects import ObjectKey, key_of, uid_of
from grove.runtime.controller.concurrently import for_each
from grove.schedulers.pod_drafts import draft_pods
from grove.schedulers.types import Refusal

# As Kubernetes does: no vowels, so that no suffix is a word, and no characters that look alike.
_SUFFIX_CHARACTERS = "bcdfghjklmnpqrstvwxz2456789"
_SUFFIX_LENGTH = 5


class PodWriter:
    """`init_image` is the image of the init container that waits for the pods of other cliques."""

    def __init__(
        self, context: OperatorContext, pods: Informer[Pod], *, init_image: str, chance: random.Random
    ) -> None:
        self._context = context
        self._pods = pods
        self._init_image = init_image
        self._chance = chance

    async def create(self, observed: ObservedClique, indices: Sequence[int]) -> list[Failure]:
        """Only if `observed.may_create_pods`."""
        clique, gang, group, backend = observed.clique, observed.gang, observed.group, observed.backend
        assert gang is not None
        assert group is not None
        assert backend is not None
        try:
            drafts = draft_pods(backend, gang, group, label(gang, labels.SCHEDULER_NAME))
        except Refusal as e:
            return [Failure("ERR_BUILD_POD_RESOURCE", RefusedPodsError(str(e)))]
        builder = PodBuilder(
            observed.layout,
            clique,
            gang,
            drafts,
            init_image=self._init_image,
            gates=self._context.registry.gates,
        )
        namespace = clique.metadata.namespace or ""

        async def create(index: int) -> None:
            suffix = "".join(self._chance.choices(_SUFFIX_CHARACTERS, k=_SUFFIX_LENGTH))
            name = f"{clique.metadata.name}-{suffix}"
            try:
                await self._pods.objects.create(namespace, builder.body(index, name))
            except (Invalid, Forbidden) as e:
                raise without_pod_name(e, clique, name) from e
            except AlreadyExists:
                # Our own create whose answer was lost; or, once in 14 million, another pod has this name.
                existing = await self._pods.objects.get(ObjectKey(namespace, name))
                if label(existing, labels.POD_INDEX) != str(index):
                    raise

        failures = failed(await for_each(indices, create), POD_NOT_CREATED)
        if failures:
            note = (
                f"{len(failures)} of {len(indices)} pods could not be created: {describe(failures[0].error)}"
            )
            self._context.warning_event(clique, EventReason.POD_CREATE_FAILED, note, "CreatePod")
        return failures

    async def delete(self, clique: PodClique, pods: Sequence[Pod]) -> list[Failure]:
        async def delete(pod: Pod) -> None:
            await self._pods.objects.delete(key_of(pod), uid=uid_of(pod))

        failures = failed(await for_each(pods, delete), "ERR_DELETE_POD")
        if failures:
            note = f"{len(failures)} of {len(pods)} pods could not be deleted: {describe(failures[0].error)}"
            self._context.warning_event(clique, EventReason.POD_DELETE_FAILED, note, "DeletePod")
        return failures


class RefusedPodsError(ExternalError):
    """The backend cannot tie the pods of a clique to their gang."""


def without_pod_name(error: ApiError, clique: PodClique, name: str) -> ApiError:
    """The same error for every pod of the clique. With a new name each time, it would be a new error each time."""
    message = error.status.message.replace(name, f"{clique.metadata.name}-*")
    return type(error)(msgspec.structs.replace(error.status, message=message), error.what)
