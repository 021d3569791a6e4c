"""Keeps a scheduler's own objects equal to what its backend translates a gang into.

Objects are created, updated and pruned by their difference; one that somebody edits or deletes is put back. A backend
that fails, refuses a gang, or whose kinds the cluster does not serve says so on the gang, and disturbs no other.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import orjson
import structlog

from grove.api import PodGang, codec, labels
from grove.api.conditions import Reason
from grove.controllers.apply import Applier
from grove.controllers.discovery import fields_of, is_kept
from grove.controllers.statuses import describe
from grove.controllers.world import Companion, decode_companion
from grove.plan.shape import owner_reference
from grove.runtime.cache import Change
from grove.runtime.errors import RequestError
from grove.runtime.informer import Informer
from grove.runtime.manager import Manager
from grove.runtime.objects import ObjectKey, key_of, uid_of
from grove.schedulers.backend import Backend, ObjectKind, Probes, Promises, Refusal, SchedulerObject, Served

log = structlog.get_logger(__name__)

# Clusters are upgraded under a running operator; nothing waits for this.
ASK_AGAIN_AFTER = 300.0


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
        self._client = manager.client
        self._backends = {b.name: b for b in backends}
        self._applier = Applier()
        self._objects: dict[ObjectKind, Informer[Companion]] = {}
        self._fields: dict[ObjectKind, frozenset[str]] = {}
        self._kept: dict[str, frozenset[str]] = {}
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

    async def follow_cluster(self, wake_all: Callable[[], None]) -> NoReturn:
        """Learns what the cluster serves, now and whenever it changes; then calls `wake_all`. Until cancelled."""
        async with asyncio.TaskGroup() as group:
            for kind in self._objects:
                group.create_task(self._follow(kind, wake_all))
            while True:
                await self._ask(wake_all)
                await asyncio.sleep(ASK_AGAIN_AFTER)

    def needs_nothing(self, gang: PodGang) -> bool:
        """Whether the gang's backend runs here and the gang needs no object of it."""
        backend = self.here(gang)
        try:
            return backend is not None and not backend.translate(gang, self.served(backend))
        except Exception:  # said by `sync`, which calls the same
            return False

    def served(self, backend: Backend) -> Served:
        known = {
            k: self._fields[k]
            for k in backend.kinds
            if k in self._fields and self._objects[k].synced.is_set()
        }
        return Served(known, self._kept.get(backend.name, frozenset()))

    async def sync(self, gang: PodGang) -> Synced:
        """Never raises for what concerns one gang: the answer says what is wrong."""
        backend = self.here(gang)
        if backend is None:
            raise ValueError(f"the backend of PodGang {key_of(gang)} does not run in this process")
        try:
            served = self.served(backend)
            wanted = backend.translate(gang, served)
            missing = [o.kind for o in wanted if o.kind not in served]
            if missing:
                return self._not_served(missing)
            for wanted_object in wanted:
                await self._ensure(gang, wanted_object)
            await self._prune(gang, backend, wanted)
            shortfall = backend.shortfall(gang, served) if isinstance(backend, Promises) else ""
        except Refusal as e:
            return Synced(False, Reason.REFUSED_BY_BACKEND, str(e))
        except RequestError as e:
            return Synced(False, Reason.BACKEND_FAILED, describe(e), e)
        except Exception as e:
            log.exception("a backend failed", backend=backend.name, gang=str(key_of(gang)))
            return Synced(
                False, Reason.BACKEND_FAILED, f"defect in the backend {backend.name}: {describe(e)}", e
            )
        if shortfall:
            return Synced(True, Reason.WEAKER_THAN_ASKED, shortfall)
        names = ", ".join(f"{o.kind.kind} {o.name}" for o in wanted)
        return Synced(True, Reason.BACKEND_IN_SYNC, names or f"the backend {backend.name} needs no object")

    def observed(self, gang: PodGang) -> list[dict[str, Any]]:
        """The scheduler's objects of a gang, as they are in the cluster."""
        return [
            orjson.loads(o.body)
            for i in self._objects.values()
            for o in i.cache.by_index("owner", uid_of(gang))
        ]

    async def _follow(self, kind: ObjectKind, wake_all: Callable[[], None]) -> None:
        """A kind that was not served may become so: its scheduler is being installed."""
        await self._objects[kind].synced.wait()
        await self._ask(wake_all)

    async def _ask(self, wake_all: Callable[[], None]) -> None:
        """Asks which fields the served kinds have and which probes are kept; wakes the gangs if the answer is new."""
        served = [k for k, informer in self._objects.items() if informer.synced.is_set()]
        fields = {k: await fields_of(self._client, k) for k in served}
        kept: dict[str, frozenset[str]] = {}
        for backend in self._backends.values():
            probes = backend.probes if isinstance(backend, Probes) else ()
            kept[backend.name] = frozenset([p.name for p in probes if await is_kept(self._client, p)])
        if (fields, kept) != (self._fields, self._kept):
            self._fields, self._kept = fields, kept
            wake_all()

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

    def _not_served(self, missing: list[ObjectKind]) -> Synced:
        kinds = ", ".join(f"{k.kind} ({k.api_version})" for k in missing)
        trouble = next((t for k in missing if (t := self._objects[k].trouble) is not None), None)
        why = f": {describe(trouble)}" if trouble is not None else ""
        message = f"the cluster does not serve {kinds}{why}; install the scheduler, or choose another one"
        return Synced(False, Reason.SCHEDULER_NOT_INSTALLED, message)


def _owner_of(obj: Companion) -> list[str]:
    return [o.uid for o in obj.metadata.owner_references if o.controller]


def _gang_of(obj: Companion) -> list[ObjectKey]:
    namespace = obj.metadata.namespace or ""
    return [
        ObjectKey(namespace, o.name)
        for o in obj.metadata.owner_references
        if o.controller and o.kind == "PodGang"
    ]
