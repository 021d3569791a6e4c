"""Keeps a scheduler's own objects equal to what its backend translates a gang into.

Objects are created, updated and pruned by their difference; one that somebody edits or deletes is put back. A backend
that fails, refuses a gang, or whose kinds the cluster does not serve says so on the gang, and disturbs no other.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
import structlog

from grove.api import PodGang, codec, labels
from grove.api.conditions import Reason
from grove.controllers.apply import Applier
from grove.controllers.statuses import describe
from grove.controllers.world import Companion, decode_companion
from grove.plan.shape import owner_reference
from grove.runtime.batch import for_each
from grove.runtime.cache import Change
from grove.runtime.errors import RequestError
from grove.runtime.informer import Informer
from grove.runtime.manager import Manager
from grove.runtime.objects import ObjectKey, key_of, uid_of
from grove.schedulers.backend import Backend, ObjectKind, Refusal, SchedulerObject, Served

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Synced:
    """The backend's word on one gang, for its BackendSynced condition."""

    ok: bool
    reason: str
    message: str
    error: Exception | None = None


class Backends:
    """The backends that run in this process, with a cache of what each of their kinds has in the cluster."""

    def __init__(self, manager: Manager, backends: Iterable[Backend]) -> None:
        self._backends = {b.name: b for b in backends}
        self._applier = Applier()
        self._objects: dict[ObjectKind, Informer[Companion]] = {}
        for backend in self._backends.values():
            for kind in backend.kinds:
                self._objects[kind] = manager.informer(
                    kind, decode_companion, indexes={"owner": _owner_of}, required=False
                )

    def here(self, gang: PodGang) -> Backend | None:
        """The gang's backend, if it runs in this process."""
        return self._backends.get(gang.metadata.labels.get(labels.SCHEDULER_BACKEND, ""))

    def on_change(self, wake: Callable[[ObjectKey], None]) -> None:
        """Calls `wake` with the gang whose object was changed by anybody: it may need repair, or has news."""

        def note(change: Change[Companion]) -> None:
            for key in _gang_of(change.object):
                wake(key)

        for informer in self._objects.values():
            informer.cache.subscribe(note)

    async def when_served(self, wake_all: Callable[[], None]) -> None:
        """Calls `wake_all` each time a kind becomes known: gangs may have waited for it."""
        outcomes = await for_each(self._objects.values(), lambda informer: _announce(informer, wake_all))
        for outcome in outcomes:
            if outcome.error is not None:
                raise outcome.error

    def needs_nothing(self, gang: PodGang) -> bool:
        """Whether the gang's backend runs here and the gang needs no object of it."""
        backend = self.here(gang)
        try:
            return backend is not None and not backend.translate(gang, self._served(backend))
        except Exception:  # said by `sync`, which calls the same
            return False

    async def sync(self, gang: PodGang) -> Synced:
        """Never raises for what concerns one gang: the answer says what is wrong."""
        backend = self.here(gang)
        if backend is None:
            raise ValueError(f"the backend of PodGang {key_of(gang)} does not run in this process")
        missing = [k for k in backend.kinds if not self._objects[k].synced.is_set()]
        if missing:
            return self._not_served(backend, missing)
        try:
            wanted = backend.translate(gang, self._served(backend))
            for wanted_object in wanted:
                await self._ensure(gang, wanted_object)
            await self._prune(gang, backend, wanted)
        except Refusal as e:
            return Synced(False, Reason.REFUSED_BY_BACKEND, str(e))
        except RequestError as e:
            return Synced(False, Reason.BACKEND_FAILED, describe(e), e)
        except Exception as e:
            log.exception("a backend failed", backend=backend.name, gang=str(key_of(gang)))
            return Synced(
                False, Reason.BACKEND_FAILED, f"defect in the backend {backend.name}: {describe(e)}", e
            )
        names = ", ".join(f"{o.kind.kind} {o.name}" for o in wanted)
        return Synced(True, Reason.BACKEND_IN_SYNC, names or f"the backend {backend.name} needs no object")

    def observed(self, gang: PodGang) -> list[dict[str, Any]]:
        """The scheduler's objects of a gang, as they are in the cluster."""
        return [
            orjson.loads(o.body)
            for i in self._objects.values()
            for o in i.cache.by_index("owner", uid_of(gang))
        ]

    async def _ensure(self, gang: PodGang, wanted: SchedulerObject) -> None:
        metadata = dict(wanted.body["metadata"])
        if wanted.kind.namespaced:
            metadata["namespace"] = gang.metadata.namespace
        metadata["ownerReferences"] = [codec.to_builtins(owner_reference(gang))]
        body = (
            {"apiVersion": wanted.kind.api_version, "kind": wanted.kind.kind}
            | wanted.body
            | {"metadata": metadata}
        )
        await self._applier.ensure(
            self._objects[wanted.kind], orjson.dumps(body), owner_uid=uid_of(gang), ours=wanted.ours
        )

    async def _prune(self, gang: PodGang, backend: Backend, wanted: Sequence[SchedulerObject]) -> None:
        """Removes objects of this gang that are no longer wanted, dependents first."""
        kept = {(o.kind, o.name) for o in wanted}
        for kind in reversed(backend.kinds):
            informer = self._objects[kind]
            for found in informer.cache.by_index("owner", uid_of(gang)):
                if (kind, found.metadata.name) not in kept and found.metadata.deletion_timestamp is None:
                    await informer.objects.delete(key_of(found), uid=uid_of(found))

    def _served(self, backend: Backend) -> Served:
        return Served({k: frozenset() for k in backend.kinds if self._objects[k].synced.is_set()})

    def _not_served(self, backend: Backend, missing: list[ObjectKind]) -> Synced:
        kinds = ", ".join(f"{k.kind} ({k.api_version})" for k in missing)
        trouble = next((t for k in missing if (t := self._objects[k].trouble) is not None), None)
        why = f": {describe(trouble)}" if trouble is not None else ""
        message = f"the cluster does not serve {kinds}{why}; install the scheduler, or choose another one"
        return Synced(False, Reason.SCHEDULER_NOT_INSTALLED, message)


async def _announce(informer: Informer[Companion], wake_all: Callable[[], None]) -> None:
    await informer.synced.wait()
    wake_all()


def _owner_of(obj: Companion) -> list[str]:
    return [o.uid for o in obj.metadata.owner_references if o.controller]


def _gang_of(obj: Companion) -> list[ObjectKey]:
    namespace = obj.metadata.namespace or ""
    return [
        ObjectKey(namespace, o.name)
        for o in obj.metadata.owner_references
        if o.controller and o.kind == "PodGang"
    ]
