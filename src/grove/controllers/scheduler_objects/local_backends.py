"""The backends that run in this process, and what each of them can see of the cluster.

A backend needs to know which kinds the cluster serves before it can translate a gang. `Discovery` asks the API server;
informers read the objects. `cluster_changed` fires when either brings something new.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NoReturn

from grove.api import PodGang, labels
from grove.api.conditions import Reason
from grove.api.pod_view import Pod
from grove.controllers.scheduler_objects.discovery import Discovery
from grove.controllers.scheduler_objects.lookups import Lookups
from grove.controllers.scheduler_objects.probing import DiscoveryResult
from grove.controllers.shared.companions import Companion, decode_companion
from grove.controllers.shared.failures import describe
from grove.controllers.shared.indexes import controller_uid
from grove.runtime.cache.cache import Change
from grove.runtime.cache.informer import Informer
from grove.runtime.client.errors import Forbidden
from grove.runtime.client.objects import ObjectKey, PartialObject
from grove.runtime.controller.manager import Manager
from grove.runtime.controller.triggers import Signal, SignalTrigger, Trigger, owner
from grove.schedulers.backend import Backend
from grove.schedulers.recorded_dialect import dialect_of, with_dialect
from grove.schedulers.registry import Registry
from grove.schedulers.types import ObjectKind, Served


@dataclass(frozen=True)
class Obstacle:
    """Why a gang cannot be translated yet: reason and message of its condition BackendSynced."""

    reason: str
    message: str


class LocalBackends:
    """`registry` has every enabled backend, wherever it runs; `backends` are those that run in this process."""

    def __init__(self, manager: Manager, backends: Iterable[Backend], registry: Registry) -> None:
        self._registry = registry
        self._backends = {b.name: b for b in backends}
        self._served: dict[str, tuple[DiscoveryResult, Served]] = {}
        self._discovery = Discovery(manager.client, self._backends.values())
        self._definitions = manager.definitions
        self._lookups = Lookups(manager, self._backends.values())
        self.cluster_changed: Signal[None] = Signal()
        self.objects: dict[ObjectKind, Informer[Companion]] = {
            kind: manager.informer(kind, decode_companion, indexes={"owner": controller_uid}, required=False)
            for backend in self._backends.values()
            for kind in backend.kinds
        }

    def here(self, gang: PodGang) -> Backend | None:
        """The gang's backend, if it runs in this process."""
        return self._backends.get(_backend_name(gang))

    def enabled(self, gang: PodGang) -> Backend | None:
        """The gang's backend, wherever it runs; None if it is not enabled."""
        return self._registry.get(_backend_name(gang))

    def not_enabled(self, gang: PodGang) -> Obstacle:
        """Why the gang has no backend. Only for a gang for which `enabled` returns None."""
        name = _backend_name(gang)
        failed = self._registry.has_failed(name)
        reason = Reason.BACKEND_FAILED if failed else Reason.BACKEND_NOT_ENABLED
        return Obstacle(reason, self._registry.why_not_enabled(name))

    def kind_is_gone(self) -> None:
        """A write found that a kind is no longer served."""
        self._discovery.check_now()

    def makers(self, kind: ObjectKind) -> list[Backend]:
        """The backends in this process that create objects of this kind."""
        return [b for b in self._backends.values() if kind in b.kinds]

    def object_triggers(self) -> list[Trigger[Companion, ObjectKey]]:
        """For the controller of gangs. A cluster may not serve these kinds, so the triggers are optional."""
        why = "the scheduler's object was changed: it may need repair, or report something"
        return [Trigger(i, owner("PodGang"), why=why, optional=True) for i in self.objects.values()]

    def cluster_triggers(
        self, keys: Callable[[object], Iterable[ObjectKey]], why: str
    ) -> list[Trigger[Companion, ObjectKey] | SignalTrigger[None, ObjectKey]]:
        """Enqueue `keys` when the cluster serves other kinds, or when an object changes that a backend looks up."""
        return [SignalTrigger(self.cluster_changed, keys, why=why), *self._lookups.triggers(keys, why)]

    async def follow_cluster(self) -> NoReturn:
        """Keeps what is known about the cluster up to date, until cancelled. Nothing is known before it runs."""
        names = {f"{k.plural}.{k.group}" for k in self.objects}

        def note(change: Change[PartialObject]) -> None:
            if change.object.metadata.name in names:
                self._discovery.check_now()

        self._definitions.cache.subscribe(note)
        async with asyncio.TaskGroup() as group:
            for informer in self._lookups.informers:
                group.create_task(self._fire_when_synced(informer))
            for kind in self.objects:
                group.create_task(self._follow(kind))
            await self._discovery.run(self.cluster_changed)

    def served(self, backend: Backend) -> Served:
        """Computed once per result of the discovery, as soon as all its kinds are in the caches."""
        result = self._discovery.result(backend)
        if result is None:
            return Served(objects=self._lookups.of(backend))
        before = self._served.get(backend.name)
        if before is not None and before[0] is result:
            return before[1]
        fields = {k: f for k, f in result.fields.items() if self.objects[k].synced.is_set()}
        served = Served(fields, result.kept, result.dropped, self._lookups.of(backend))
        if len(fields) == len(result.fields) and len(served.objects) == len(backend.reads):
            self._served[backend.name] = result, served
        return served

    def obstacle(self, backend: Backend) -> Obstacle | None:
        """What must be learned about the cluster before the backend is asked; None if enough is known.

        A dialect is chosen among all kinds that are served, so all of them must have been read.
        """
        result, error = self._discovery.result(backend), self._discovery.error(backend)
        if result is None:
            why = f": {error}" if error else ""
            message = f"waiting to learn what the cluster serves{why}"
            return Obstacle(Reason.SCHEDULER_NOT_KNOWN_YET, message)
        if not backend.has_dialects:
            return None
        return self._unread([k for k in result.fields if not self.objects[k].synced.is_set()])

    def not_served(self, backend: Backend, missing: Sequence[ObjectKind], *, gone: bool = False) -> Obstacle:
        """Why objects of these kinds cannot be created. `gone` if a write found out, before the discovery did."""
        result = self._discovery.result(backend) if not gone else None
        unread = self._unread([k for k in missing if result is not None and k in result.fields])
        if unread is not None:
            return unread
        message = (
            f"the cluster does not serve {_listed(missing)}; install the scheduler, or choose another one"
        )
        return Obstacle(Reason.SCHEDULER_NOT_INSTALLED, message)

    def needs_dialect(self, gang: PodGang) -> bool:
        """Whether the gang's backend has dialects and has not recorded one yet."""
        backend = self.enabled(gang)
        return not dialect_of(gang) and backend is not None and backend.has_dialects

    def in_dialect(self, gang: PodGang, pods: Sequence[Pod]) -> PodGang | None:
        """The gang with the dialect that its backend will record; None while it is not known, or runs elsewhere.

        Pods may be created with it: their gates stay closed until the gang has recorded it. `pods` are those of the
        gang and its stand-ins.
        """
        backend = self.here(gang)
        if backend is None or not backend.has_dialects or self.obstacle(backend) is not None:
            return None
        try:
            return with_dialect(gang, backend.dialect(gang, pods, self.served(backend)))
        except Exception:  # a refusal or a defect: `GangSync.sync` meets it too, and reports it on the gang
            return None

    async def _follow(self, kind: ObjectKind) -> None:
        """A kind that becomes readable was either waited for, or its scheduler is being installed right now."""
        await self.objects[kind].synced.wait()
        if self._discovery.knows(kind):
            self.cluster_changed.fire(None)
        else:
            self._discovery.ask_now()

    async def _fire_when_synced(self, informer: Informer[Companion]) -> None:
        await informer.synced.wait()
        self.cluster_changed.fire(None)

    def _unread(self, kinds: Sequence[ObjectKind]) -> Obstacle | None:
        """For kinds that the cluster serves and that are not in the caches yet; None without any."""
        if not kinds:
            return None
        error = next((e for k in kinds if (e := self.objects[k].trouble) is not None), None)
        why = f" {_listed(kinds)}" + (f": {describe(error)}" if error is not None else "")
        if isinstance(error, Forbidden):
            message = f"cannot read{why}; give Grove the right to list and watch them"
            return Obstacle(Reason.BACKEND_FAILED, message)
        return Obstacle(Reason.SCHEDULER_NOT_KNOWN_YET, f"waiting to read{why}")


def _backend_name(gang: PodGang) -> str:
    return gang.metadata.labels.get(labels.SCHEDULER_BACKEND, "")


def _listed(kinds: Sequence[ObjectKind]) -> str:
    return ", ".join(f"{k.kind} ({k.api_version})" for k in kinds)
