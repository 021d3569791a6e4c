"""Keeps a scheduler's own objects equal to what its backend translates a gang into.

Objects are created, updated and pruned by their difference; one that somebody edits or deletes is put back. A backend
that fails, refuses a gang, or whose kinds the cluster does not serve says so on the gang, and disturbs no other.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, NoReturn

import orjson
import structlog

from grove.api import PodGang, labels
from grove.api.conditions import ConditionType, Reason
from grove.api.pod_view import Pod
from grove.controllers.scheduler_objects.discovery import Discovery, Known
from grove.controllers.scheduler_objects.lookups import Lookups
from grove.controllers.shared.apply import Applier, FixedFieldsError, ForeignObjectError
from grove.controllers.shared.companions import Companion, decode_companion
from grove.controllers.shared.status_writer import describe
from grove.plan.pod_state import condition, is_dead
from grove.plan.status.conditions import find, gang_conditions
from grove.runtime.cache.informer import Informer
from grove.runtime.client.errors import Forbidden, RequestError
from grove.runtime.client.objects import ObjectKey, key_of, uid_of
from grove.runtime.controller.manager import Manager
from grove.runtime.controller.triggers import Trigger
from grove.schedulers.backend import Backend
from grove.schedulers.recorded_dialect import dialect_of, with_dialect
from grove.schedulers.registry import Registry
from grove.schedulers.types import ObjectKind, Observation, Refusal, SchedulerObject, Served

log = structlog.get_logger(__name__)


class Synced(NamedTuple):
    """The backend's word on one gang, for its conditions BackendSynced and SchedulerDialect."""

    ok: bool
    reason: str
    message: str
    error: Exception | None = None
    dialect: str = ""


class Backends:
    """The backends that run in this process, with a cache of what each of their kinds has in the cluster.

    `registry` has all that are enabled, wherever they run.
    """

    def __init__(self, manager: Manager, backends: Iterable[Backend], registry: Registry) -> None:
        self._registry = registry
        self._backends = {b.name: b for b in backends}
        self._applier = Applier()
        self._objects: dict[ObjectKind, Informer[Companion]] = {}
        self._served: dict[str, tuple[Known, Served]] = {}
        self._wake_all: list[Callable[[], None]] = []
        self._lookups = Lookups(manager, self._backends.values())
        self._discovery = Discovery(manager.client, self._backends.values())
        for backend in self._backends.values():
            for kind in backend.kinds:
                self._objects[kind] = manager.informer(
                    kind, decode_companion, indexes={"owner": _owner_of}, required=False
                )

    def here(self, gang: PodGang) -> Backend | None:
        """The gang's backend, if it runs in this process."""
        return self._backends.get(gang.metadata.labels.get(labels.SCHEDULER_BACKEND, ""))

    def object_triggers(self) -> list[Trigger[Companion, ObjectKey]]:
        """Triggers for the controller of gangs. A cluster may not serve these kinds, so they are optional."""
        why = "the object of its scheduler was changed: it may need repair, or reports something"
        return [Trigger(i, _gang_of, why=why, optional=True) for i in self._objects.values()]

    def on_news(self, wake_all: Callable[[], None]) -> None:
        """Calls `wake_all` when the cluster serves more or less than before: that may concern every gang."""
        self._wake_all.append(wake_all)

    async def follow_cluster(self) -> NoReturn:
        """Learns what the cluster serves, now and whenever it changes. Until cancelled."""

        def tell() -> None:
            for wake_all in self._wake_all:
                wake_all()

        async with asyncio.TaskGroup() as group:
            group.create_task(self._lookups.follow(tell))
            for kind in self._objects:
                group.create_task(self._follow(kind, tell))
            await self._discovery.run(tell)

    def served(self, backend: Backend) -> Served:
        """Worked out once per answer of the cluster, when all its kinds are read: what was read stays so."""
        known = self._discovery.of(backend)
        if known is None:
            return Served(objects=self._lookups.of(backend))
        before = self._served.get(backend.name)
        if before is not None and before[0] is known:
            return before[1]
        fields = {k: f for k, f in known.fields.items() if self._objects[k].synced.is_set()}
        found = Served(fields, known.kept, known.dropped, self._lookups.of(backend))
        if len(fields) == len(known.fields) and len(found.objects) == len(backend.reads):
            self._served[backend.name] = known, found
        return found

    def needs_dialect(self, gang: PodGang) -> bool:
        """Whether the gang has yet to say in which dialect it is written."""
        backend = self._registry.get(gang.metadata.labels.get(labels.SCHEDULER_BACKEND, ""))
        return not dialect_of(gang) and backend is not None and backend.has_dialects

    def in_dialect(self, gang: PodGang, pods: Sequence[Pod]) -> PodGang | None:
        """The gang with the dialect that its backend, if that runs here, is about to let it say; `pods` as for `sync`.

        None while nobody knows. Pods may be made by it: their gates stay closed until the gang says it itself.
        """
        backend = self.here(gang)
        if backend is None or not backend.has_dialects or self._wait(backend) is not None:
            return None
        try:
            return with_dialect(gang, backend.dialect(gang, pods, self.served(backend)))
        except Exception:  # a refusal or a defect, which `sync` meets too: the gang says it, and the log
            return None

    async def sync(self, gang: PodGang, pods: Sequence[Pod]) -> Synced | None:
        """The word on a gang; None while there is nothing new to say, and what was said before stands.

        Never raises for what concerns one gang: the answer says what is wrong. `pods` are those of the gang.
        """
        said, before = await self._word(gang, pods), find(gang_conditions(gang), ConditionType.BACKEND_SYNCED)
        not_yet = Reason.SCHEDULER_NOT_KNOWN_YET
        if said.reason == not_yet and before is not None and before.reason != not_yet:
            return None  # this process has just begun, and the one before it knew
        return said

    async def _word(self, gang: PodGang, pods: Sequence[Pod]) -> Synced:
        backend = self.here(gang)
        if backend is None:
            raise ValueError(f"the backend of PodGang {key_of(gang)} does not run in this process")
        dialect = dialect_of(gang)
        try:
            if (wait := self._wait(backend)) is not None:
                return wait._replace(dialect=dialect)
            served = self.served(backend)
            if backend.has_dialects:
                dialect = backend.dialect(gang, pods, served)
                gang = with_dialect(gang, dialect)
            said = await self._sync(gang, backend, served, pods)
            return said._replace(dialect=dialect)
        except Refusal as e:
            return Synced(False, e.reason, str(e), dialect=dialect)
        except (RequestError, ForeignObjectError) as e:
            return Synced(False, Reason.BACKEND_FAILED, describe(e), e, dialect)
        except Exception as e:
            log.exception("a backend failed", backend=backend.name, gang=str(key_of(gang)))
            what = f"defect in the backend {backend.name}: {describe(e)}"
            return Synced(False, Reason.BACKEND_FAILED, what, e, dialect)

    async def _sync(self, gang: PodGang, backend: Backend, served: Served, pods: Sequence[Pod]) -> Synced:
        wanted = backend.translate(gang, served)
        missing = [o.kind for o in wanted if o.kind not in served]
        if missing:
            return self._not_served(backend, missing)
        shortfall = backend.shortfall(gang, served)
        if shortfall and is_strict(gang, backend):
            raise Refusal(
                f"{shortfall}: refused, since the full guarantee is asked for",
                f"use a cluster that has it, or set the annotation {labels.GANG_GUARANTEE} of the set to "
                f"{labels.GUARANTEE_BEST_EFFORT}",
            )
        kept_as_is = [text for o in wanted if (text := await self._ensure(gang, o, bool(pods)))]
        await self._prune(gang, wanted, list(self._objects), pods, sure_of=backend.kinds)
        weaker = "; ".join([t for t in (shortfall, *kept_as_is) if t])
        if weaker:
            return Synced(True, Reason.WEAKER_THAN_ASKED, weaker)
        names = ", ".join(f"{o.kind.kind} {o.name}" for o in wanted)
        return Synced(True, Reason.BACKEND_IN_SYNC, names or f"the backend {backend.name} needs no object")

    async def leave(self, gang: PodGang, pods: Sequence[Pod]) -> None:
        """Removes what was made here for a gang that now belongs to a backend elsewhere."""
        owner = self._registry.get(gang.metadata.labels.get(labels.SCHEDULER_BACKEND, ""))
        elsewhere = owner.kinds if owner is not None else ()
        await self._prune(gang, (), [k for k in self._objects if k not in elsewhere], pods)

    def observe(self, gang: PodGang, pods: Sequence[Pod]) -> Observation:
        """What the scheduler says about a gang: in its own objects, or if it has none to say it in, about its pods.

        Nothing if the backend does not run in this process.
        """
        backend = self.here(gang)
        if backend is None:
            return Observation()
        uid = uid_of(gang)
        found = [o for k in backend.kinds for o in self._objects[k].cache.by_index("owner", uid)]
        try:
            observed = backend.observe(gang, [orjson.loads(o.body) for o in found])
        except Exception:
            log.exception("a backend failed to observe", backend=backend.name, gang=str(key_of(gang)))
            return Observation()
        return observed if observed is not None else said_of_pods(pods)

    async def _follow(self, kind: ObjectKind, wake_all: Callable[[], None]) -> None:
        """A kind that was not served may become so: its scheduler is being installed."""
        await self._objects[kind].synced.wait()
        if self._discovery.knows(kind):
            wake_all()  # gangs may have waited to read this kind alone
        else:
            self._discovery.ask()

    def _wait(self, backend: Backend) -> Synced | None:
        """What must be learned of the cluster before anything can be said; None when enough is known.

        A dialect is chosen among all kinds that are served, so these must have been read.
        """
        known, trouble = self._discovery.of(backend), self._discovery.trouble(backend)
        if known is None:
            why = f": {trouble}" if trouble else ""
            message = f"waiting to learn what the cluster serves{why}"
            return Synced(False, Reason.SCHEDULER_NOT_KNOWN_YET, message)
        if not backend.has_dialects:
            return None
        return self._not_read([k for k in known.fields if not self._objects[k].synced.is_set()])

    async def _ensure(self, gang: PodGang, wanted: SchedulerObject, in_use: bool) -> str:
        """Returns what could not be made as wanted, because it is in use."""
        body = orjson.dumps(wanted.owned_by(gang))
        key = ObjectKey((gang.metadata.namespace or "") if wanted.kind.namespaced else "", wanted.name)
        informer = self._objects[wanted.kind]

        async def ensure(all_but_fixed: bool = False) -> str:
            made = await self._applier.ensure(
                informer,
                key,
                body,
                owner_uid=uid_of(gang),
                ours=wanted.owned_fields,
                fixed=wanted.immutable_fields,
                all_but_fixed=all_but_fixed,
            )
            if made is not None:
                return ""
            going = f"the old {wanted.kind.kind} {wanted.name} is still going away"
            if not in_use or not wanted.in_use_by_pods:
                raise Refusal(going, reason=Reason.OLD_OBJECT_GOING)
            return f"{going}, and serves as long as the gang has pods"

        try:
            return await ensure()
        except FixedFieldsError as e:
            if wanted.in_use_by_pods and in_use:
                return await ensure(all_but_fixed=True) or f"{e} while the gang has pods"
            await informer.objects.delete(e.key, uid=e.uid)
            return await ensure()

    async def _prune(
        self,
        gang: PodGang,
        wanted: Sequence[SchedulerObject],
        kinds: Sequence[ObjectKind],
        pods: Sequence[Pod],
        sure_of: Sequence[ObjectKind] = (),
    ) -> None:
        """Removes objects of this gang that are no longer wanted, dependents first.

        Kinds that it is not sure of may be those of a backend that the gang had before: its objects go when the gang
        has no pods of that one any more.
        """
        kept = {(o.kind, o.name) for o in wanted}
        uid = uid_of(gang)
        for kind in reversed(kinds):
            informer = self._objects[kind]
            for found in informer.cache.by_index("owner", uid):
                if (kind, found.metadata.name) in kept or found.metadata.deletion_timestamp is not None:
                    continue
                if kind in sure_of or not self._is_used(kind, pods):
                    await informer.objects.delete(key_of(found), uid=uid_of(found))

    def _is_used(self, kind: ObjectKind, pods: Sequence[Pod]) -> bool:
        """Whether there are pods of a backend that makes such objects."""
        makers = [b for b in self._backends.values() if kind in b.kinds]
        return any(b.matches(p.spec.scheduler_name or "") for b in makers for p in pods)

    def _not_served(self, backend: Backend, missing: Sequence[ObjectKind]) -> Synced:
        known = self._discovery.of(backend)
        unread = self._not_read([k for k in missing if known is not None and k in known.fields])
        if unread is not None:
            return unread
        message = (
            f"the cluster does not serve {_listed(missing)}; install the scheduler, or choose another one"
        )
        return Synced(False, Reason.SCHEDULER_NOT_INSTALLED, message)

    def _not_read(self, kinds: Sequence[ObjectKind]) -> Synced | None:
        """Kinds that the cluster serves and that are not in the cache yet, perhaps for a reason; None without any."""
        if not kinds:
            return None
        trouble = next((t for k in kinds if (t := self._objects[k].trouble) is not None), None)
        why = f" {_listed(kinds)}" + (f": {describe(trouble)}" if trouble is not None else "")
        if isinstance(trouble, Forbidden):
            message = f"cannot read{why}; give Grove the right to list and watch them"
            return Synced(False, Reason.BACKEND_FAILED, message)
        return Synced(False, Reason.SCHEDULER_NOT_KNOWN_YET, f"waiting to read{why}")


def said_of_pods(pods: Sequence[Pod]) -> Observation:
    """What a scheduler says of pods that it does not place: of the first, as one stands for all."""
    for pod in pods:
        found = condition(pod, "PodScheduled")
        if found is not None and found.status == "False" and found.reason != "SchedulingGated":
            return Observation(found.reason or "Unschedulable", found.message or "it gives no reason")
    for pod in pods:
        if is_dead(pod) and not pod.spec.node_name and pod.status.reason:
            return Observation(pod.status.reason, pod.status.message or "it gives no reason")
    return Observation()


def is_strict(gang: PodGang, backend: Backend) -> bool:
    """The set's own word, else that of the backend's profile."""
    asked = gang.metadata.annotations.get(labels.GANG_GUARANTEE, "")
    if asked in (labels.GUARANTEE_STRICT, labels.GUARANTEE_BEST_EFFORT):
        return asked == labels.GUARANTEE_STRICT
    return backend.strict


def _listed(kinds: Sequence[ObjectKind]) -> str:
    return ", ".join(f"{k.kind} ({k.api_version})" for k in kinds)


def _owner_of(obj: Companion) -> list[str]:
    return [o.uid for o in obj.metadata.owner_references if o.controller]


def _gang_of(obj: Companion) -> list[ObjectKey]:
    namespace = obj.metadata.namespace or ""
    return [
        ObjectKey(namespace, o.name)
        for o in obj.metadata.owner_references
        if o.controller and o.kind == "PodGang"
    ]
