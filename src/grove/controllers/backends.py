"""Keeps a scheduler's own objects equal to what its backend translates a gang into.

Objects are created, updated and pruned by their difference; one that somebody edits or deletes is put back. A backend
that fails, refuses a gang, or whose kinds the cluster does not serve says so on the gang, and disturbs no other.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import NoReturn

import orjson
import structlog

from grove.api import PodGang, PodGangStatus, labels
from grove.api.conditions import ConditionType, Reason
from grove.api.model import replace as replace_model
from grove.api.pods import Pod
from grove.controllers.apply import Applier, FixedFieldsError
from grove.controllers.discovery import fields_of, is_kept
from grove.controllers.lookups import Lookups
from grove.controllers.statuses import describe
from grove.controllers.world import Companion, decode_companion
from grove.plan.status_conditions import put
from grove.runtime.cache import Change
from grove.runtime.discovery import resources
from grove.runtime.errors import RequestError
from grove.runtime.informer import Informer
from grove.runtime.manager import Manager
from grove.runtime.objects import ObjectKey, key_of, uid_of
from grove.schedulers.backend import (
    Backend,
    Dialects,
    ObjectKind,
    Observation,
    Observes,
    Probe,
    Probes,
    Promises,
    Refusal,
    SchedulerObject,
    Served,
    Strict,
    dialect_of,
)
from grove.schedulers.registry import serves

log = structlog.get_logger(__name__)

# Clusters are upgraded under a running operator; nothing waits for this.
ASK_AGAIN_AFTER = 300.0


@dataclass(frozen=True)
class Synced:
    """The backend's word on one gang, for its conditions BackendSynced and SchedulerDialect."""

    ok: bool
    reason: str
    message: str
    error: Exception | None = None
    dialect: str = ""


@dataclass(frozen=True)
class Known:
    """What the cluster answered when it was last asked; `kept` and `dropped` are probes, by backend."""

    fields: Mapping[ObjectKind, frozenset[str]] = field(default_factory=dict)
    kept: Mapping[str, frozenset[str]] = field(default_factory=dict)
    dropped: Mapping[str, frozenset[str]] = field(default_factory=dict)


class Backends:
    """The backends that run in this process, with a cache of what each of their kinds has in the cluster."""

    def __init__(self, manager: Manager, backends: Iterable[Backend]) -> None:
        self._client = manager.client
        self._backends = {b.name: b for b in backends}
        self._applier = Applier()
        self._objects: dict[ObjectKind, Informer[Companion]] = {}
        self._lookups = Lookups(manager, self._backends.values())
        self._asking = asyncio.Lock()
        self._known = Known()
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
            group.create_task(self._lookups.follow(wake_all))
            for kind in self._objects:
                group.create_task(self._follow(kind, wake_all))
            while True:
                await self._ask(wake_all)
                await asyncio.sleep(ASK_AGAIN_AFTER)

    def needs_nothing(self, gang: PodGang) -> bool:
        """Whether the gang's backend runs here and the gang needs no object of it."""
        backend = self.here(gang)
        if backend is None or isinstance(backend, Dialects):
            return False
        try:
            return not backend.translate(gang, self.served(backend))
        except Exception:  # said by `sync`, which calls the same
            return False

    def served(self, backend: Backend) -> Served:
        known, name = self._known, backend.name
        fields = {
            k: known.fields[k]
            for k in backend.kinds
            if k in known.fields and self._objects[k].synced.is_set()
        }
        return Served(
            fields,
            known.kept.get(name, frozenset()),
            known.dropped.get(name, frozenset()),
            self._lookups.of(backend),
        )

    async def sync(self, gang: PodGang, pods: Sequence[Pod]) -> Synced:
        """Never raises for what concerns one gang: the answer says what is wrong. `pods` are those of the gang."""
        backend = self.here(gang)
        if backend is None:
            raise ValueError(f"the backend of PodGang {key_of(gang)} does not run in this process")
        dialect = dialect_of(gang)
        try:
            served = self.served(backend)
            if isinstance(backend, Dialects):
                if unknown := self._unknown(backend):
                    return Synced(False, Reason.SCHEDULER_NOT_KNOWN_YET, unknown, dialect=dialect)
                dialect = backend.dialect(gang, pods, served)
                gang = with_dialect(gang, dialect)
            return replace(await self._sync(gang, backend, served, pods), dialect=dialect)
        except Refusal as e:
            return Synced(False, e.reason, str(e), dialect=dialect)
        except RequestError as e:
            return Synced(False, Reason.BACKEND_FAILED, describe(e), e, dialect)
        except Exception as e:
            log.exception("a backend failed", backend=backend.name, gang=str(key_of(gang)))
            what = f"defect in the backend {backend.name}: {describe(e)}"
            return Synced(False, Reason.BACKEND_FAILED, what, e, dialect)

    async def _sync(self, gang: PodGang, backend: Backend, served: Served, pods: Sequence[Pod]) -> Synced:
        wanted = backend.translate(gang, served)
        missing = [o.kind for o in wanted if o.kind not in served]
        if missing:
            return self._not_served(missing)
        shortfall = backend.shortfall(gang, served) if isinstance(backend, Promises) else ""
        if shortfall and is_strict(gang, backend):
            raise Refusal(
                f"{shortfall}: refused, since the full guarantee is asked for",
                f"use a cluster that has it, or set the annotation {labels.GANG_GUARANTEE} of the set to "
                f"{labels.GUARANTEE_BEST_EFFORT}",
            )
        kept_as_is = [text for o in wanted if (text := await self._ensure(gang, o, bool(pods)))]
        await self._prune(gang, backend, wanted, served)
        for other in self._backends.values():
            if other is not backend and not any(serves(other, p.spec.scheduler_name or "") for p in pods):
                await self._prune(gang, other, wanted, self.served(other))
        weaker = "; ".join([t for t in (shortfall, *kept_as_is) if t])
        if weaker:
            return Synced(True, Reason.WEAKER_THAN_ASKED, weaker)
        names = ", ".join(f"{o.kind.kind} {o.name}" for o in wanted)
        return Synced(True, Reason.BACKEND_IN_SYNC, names or f"the backend {backend.name} needs no object")

    def observe(self, gang: PodGang) -> Observation:
        """What the scheduler says in its objects about a gang; nothing if it does not, or not in this process."""
        backend = self.here(gang)
        if backend is None or not isinstance(backend, Observes):
            return Observation()
        found = [o for k in backend.kinds for o in self._objects[k].cache.by_index("owner", uid_of(gang))]
        try:
            return backend.observe(gang, [orjson.loads(o.body) for o in found])
        except Exception:
            log.exception("a backend failed to observe", backend=backend.name, gang=str(key_of(gang)))
            return Observation()

    async def _follow(self, kind: ObjectKind, wake_all: Callable[[], None]) -> None:
        """A kind that was not served may become so: its scheduler is being installed."""
        await self._objects[kind].synced.wait()
        await self._ask(wake_all)
        wake_all()  # gangs may have waited to read this kind alone

    async def _ask(self, wake_all: Callable[[], None]) -> None:
        """Asks which kinds are served, with which fields, and which probes are kept; wakes the gangs if that is new."""
        async with self._asking:
            try:
                known = await self._answers()
            except RequestError as e:
                log.warning("cannot learn what the cluster serves, will ask again", error=describe(e))
                return
            if known == self._known:
                return
            self._known = known
        log.info(
            "the cluster serves",
            kinds=[f"{k.kind} ({k.api_version})" for k in known.fields],
            kept={name: sorted(kept) for name, kept in known.kept.items() if kept},
        )
        wake_all()

    async def _answers(self) -> Known:
        listed = {
            gv: await resources(self._client, *gv) for gv in {(k.group, k.version): 0 for k in self._objects}
        }
        served = [k for k in self._objects if k.plural in listed[k.group, k.version]]
        fields = {k: await fields_of(self._client, k) for k in served}
        kept: dict[str, frozenset[str]] = {}
        dropped: dict[str, frozenset[str]] = {}
        for backend in self._backends.values():
            probes = backend.probes if isinstance(backend, Probes) else ()
            answers = {p.name: await is_kept(self._client, p) for p in probes if _can_ask(p, served)}
            kept[backend.name] = frozenset([name for name, answer in answers.items() if answer])
            dropped[backend.name] = frozenset([name for name, answer in answers.items() if answer is False])
        return Known(fields, kept, dropped)

    def _unknown(self, backend: Backend) -> str:
        """What must still be learned of the cluster before a dialect can be chosen; empty when all is known."""
        if backend.name not in self._known.kept:
            return "waiting to learn what the cluster serves"
        late = [k for k in backend.kinds if k in self._known.fields and not self._objects[k].synced.is_set()]
        if not late:
            return ""
        trouble = self._objects[late[0]].trouble
        why = f": {describe(trouble)}" if trouble is not None else ""
        return f"waiting to read {late[0].plural} ({late[0].api_version}){why}"

    async def _ensure(self, gang: PodGang, wanted: SchedulerObject, in_use: bool) -> str:
        """Returns what could not be made as wanted, because it is in use."""
        body = orjson.dumps(wanted.owned_by(gang))
        informer = self._objects[wanted.kind]

        async def ensure(all_but_fixed: bool = False) -> None:
            await self._applier.ensure(
                informer,
                body,
                owner_uid=uid_of(gang),
                ours=wanted.ours,
                fixed=wanted.fixed,
                all_but_fixed=all_but_fixed,
            )

        try:
            await ensure()
        except FixedFieldsError as e:
            if wanted.held and in_use:
                await ensure(all_but_fixed=True)
                return f"{e} while the gang has pods"
            await informer.objects.delete(e.key, uid=e.uid)
            await ensure()
        return ""

    async def _prune(
        self, gang: PodGang, backend: Backend, wanted: Sequence[SchedulerObject], served: Served
    ) -> None:
        """Removes objects of this gang that are no longer wanted, dependents first.

        Those of a backend that the gang had before go when it has no pods of that one any more.
        """
        kept = {(o.kind, o.name) for o in wanted}
        for kind in (k for k in reversed(backend.kinds) if k in served):
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


def with_dialect(gang: PodGang, dialect: str) -> PodGang:
    """The gang as its backend is to see it, before the dialect is written; when that was is not for it to know."""
    status = gang.status or PodGangStatus(phase="Pending")
    said = put(
        status.conditions, ConditionType.DIALECT, "True", dialect, "", datetime.min.replace(tzinfo=UTC)
    )
    return replace_model(gang, status=replace_model(status, conditions=said))


def is_strict(gang: PodGang, backend: Backend) -> bool:
    """The set's own word, else that of the backend's profile."""
    asked = gang.metadata.annotations.get(labels.GANG_GUARANTEE, "")
    if asked in (labels.GUARANTEE_STRICT, labels.GUARANTEE_BEST_EFFORT):
        return asked == labels.GUARANTEE_STRICT
    return isinstance(backend, Strict) and backend.strict


def _can_ask(probe: Probe, served: Sequence[ObjectKind]) -> bool:
    """The core kinds are served everywhere; a kind that is not served keeps nothing."""
    return not probe.kind.group or probe.kind in served


def _owner_of(obj: Companion) -> list[str]:
    return [o.uid for o in obj.metadata.owner_references if o.controller]


def _gang_of(obj: Companion) -> list[ObjectKey]:
    namespace = obj.metadata.namespace or ""
    return [
        ObjectKey(namespace, o.name)
        for o in obj.metadata.owner_references
        if o.controller and o.kind == "PodGang"
    ]
