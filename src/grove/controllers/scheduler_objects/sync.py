"""Keeps a scheduler's own objects equal to what its backend translates a gang into.

Objects are created, updated and pruned by their difference; an object that somebody edits or deletes is restored. A
backend that fails or refuses a gang, or whose kinds the cluster does not serve, is reported on that gang and affects no
other.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import orjson
import structlog

from grove.api import PodGang, labels
from grove.api.conditions import ConditionType, Reason
from grove.api.pod_view import Pod
from grove.controllers.scheduler_objects.local_backends import LocalBackends, Obstacle
from grove.controllers.shared.apply import Applier, ForeignObjectError, ImmutableFieldsError
from grove.controllers.shared.failures import describe
from grove.plan.status.conditions import find, gang_conditions
from grove.runtime.client.errors import RequestError
from grove.runtime.client.objects import ObjectKey, key_of, uid_of
from grove.schedulers.backend import Backend
from grove.schedulers.recorded_dialect import dialect_of, with_dialect
from grove.schedulers.types import ObjectKind, Refusal, SchedulerObject, Served

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class SyncResult:
    """The outcome for one gang, for its conditions BackendSynced and SchedulerDialect.

    With an `error`, the reconcile must fail, so that it is retried.
    """

    ok: bool
    reason: str
    message: str
    dialect: str = ""
    error: Exception | None = None


class GangSync:
    def __init__(self, backends: LocalBackends) -> None:
        self._backends = backends
        self._applier = Applier()

    async def sync(self, gang: PodGang, pods: Sequence[Pod]) -> SyncResult | None:
        """Only for a gang whose backend runs here. None if there is nothing new to report.

        Never raises for what concerns one gang: the result says what is wrong. `pods` are those of the gang and its
        stand-ins.
        """
        result = await self._result(gang, pods)
        reported = find(gang_conditions(gang), ConditionType.BACKEND_SYNCED)
        not_yet = Reason.SCHEDULER_NOT_KNOWN_YET
        if result.reason == not_yet and reported is not None and reported.reason != not_yet:
            return None  # This process has just started. What the previous one reported stays.
        return result

    async def leave(self, gang: PodGang, pods: Sequence[Pod]) -> None:
        """Deletes what this process created for a gang whose backend now runs in another process."""
        backend = self._backends.enabled(gang)
        elsewhere = backend.kinds if backend is not None else ()
        await self._prune(gang, (), [k for k in self._backends.objects if k not in elsewhere], pods)

    async def _result(self, gang: PodGang, pods: Sequence[Pod]) -> SyncResult:
        backend = self._backends.here(gang)
        if backend is None:
            raise ValueError(f"the backend of PodGang {key_of(gang)} does not run in this process")
        dialect = dialect_of(gang)
        try:
            if (obstacle := self._backends.obstacle(backend)) is not None:
                return SyncResult(False, obstacle.reason, obstacle.message, dialect)
            served = self._backends.served(backend)
            if backend.has_dialects:
                dialect = backend.dialect(gang, pods, served)
                gang = with_dialect(gang, dialect)
            return await self._apply(gang, backend, served, pods, dialect)
        except Refusal as e:
            return SyncResult(False, e.reason, str(e), dialect)
        except (RequestError, ForeignObjectError) as e:
            return SyncResult(False, Reason.BACKEND_FAILED, describe(e), dialect, e)
        except Exception as e:
            log.exception("a backend failed", backend=backend.name, gang=str(key_of(gang)))
            message = f"defect in the backend {backend.name}: {describe(e)}"
            return SyncResult(False, Reason.BACKEND_FAILED, message, dialect, e)

    async def _apply(
        self, gang: PodGang, backend: Backend, served: Served, pods: Sequence[Pod], dialect: str
    ) -> SyncResult:
        wanted = backend.translate(gang, served)
        missing = [o.kind for o in wanted if o.kind not in served]
        if missing:
            obstacle: Obstacle = self._backends.not_served(backend, missing)
            return SyncResult(False, obstacle.reason, obstacle.message, dialect)
        shortfall = backend.shortfall(gang, served)
        if shortfall and is_strict(gang, backend):
            raise Refusal(
                f"{shortfall}: refused, since the full guarantee is asked for",
                f"use a cluster that has it, or set the annotation {labels.GANG_GUARANTEE} of the set to "
                f"{labels.GUARANTEE_BEST_EFFORT}",
            )
        compromises = [text for o in wanted if (text := await self._ensure(gang, o, bool(pods)))]
        await self._prune(gang, wanted, list(self._backends.objects), pods, current=backend.kinds)
        names = ", ".join(f"{o.kind.kind} {o.name}" for o in wanted)
        weaker = [text for text in (shortfall, *compromises) if text]
        if weaker:
            message = "; ".join([*weaker, f"objects: {names}"] if names else weaker)
            return SyncResult(True, Reason.WEAKER_THAN_ASKED, message, dialect)
        message = names or f"the backend {backend.name} needs no object"
        return SyncResult(True, Reason.BACKEND_IN_SYNC, message, dialect)

    async def _ensure(self, gang: PodGang, wanted: SchedulerObject, in_use: bool) -> str:
        """Returns in what the object differs from `wanted` because pods use it; empty if in nothing."""
        body = orjson.dumps(wanted.owned_by(gang))
        key = ObjectKey((gang.metadata.namespace or "") if wanted.kind.namespaced else "", wanted.name)
        informer = self._backends.objects[wanted.kind]

        async def ensure(keep_immutable: bool = False) -> str:
            existing = await self._applier.ensure(
                informer,
                key,
                body,
                owner_uid=uid_of(gang),
                owned_fields=wanted.owned_fields,
                immutable_fields=wanted.immutable_fields,
                keep_immutable=keep_immutable,
            )
            if existing is not None:
                return ""
            deleting = f"the old {wanted.kind.kind} {wanted.name} is still being deleted"
            if not in_use or not wanted.in_use_by_pods:
                raise Refusal(deleting, reason=Reason.OLD_OBJECT_GOING)
            return f"{deleting}, and serves as long as the gang has pods"

        try:
            return await ensure()
        except ImmutableFieldsError as e:
            if wanted.in_use_by_pods and in_use:
                return await ensure(keep_immutable=True) or f"{e} while the gang has pods"
            await informer.objects.delete(e.key, uid=e.uid)
            return await ensure()

    async def _prune(
        self,
        gang: PodGang,
        wanted: Sequence[SchedulerObject],
        kinds: Sequence[ObjectKind],
        pods: Sequence[Pod],
        current: Sequence[ObjectKind] = (),
    ) -> None:
        """Deletes objects of this gang that are no longer wanted, dependents first.

        `current` are the kinds of the gang's backend. Objects of other kinds come from a backend that the gang had
        before; they are deleted when no pod of that backend is left.
        """
        kept = {(o.kind, o.name) for o in wanted}
        for kind in reversed(kinds):
            informer = self._backends.objects[kind]
            for found in informer.cache.by_index("owner", uid_of(gang)):
                if (kind, found.metadata.name) in kept or found.metadata.deletion_timestamp is not None:
                    continue
                if kind in current or not self._is_used(kind, pods):
                    await informer.objects.delete(key_of(found), uid=uid_of(found))

    def _is_used(self, kind: ObjectKind, pods: Sequence[Pod]) -> bool:
        """Whether pods are left of a backend that creates objects of this kind."""
        makers = self._backends.makers(kind)
        return any(b.matches(p.spec.scheduler_name or "") for b in makers for p in pods)


def is_strict(gang: PodGang, backend: Backend) -> bool:
    """Whether a gang with a shortfall is refused: the annotation of the set decides, then the backend's profile."""
    annotation = gang.metadata.annotations.get(labels.GANG_GUARANTEE, "")
    if annotation in (labels.GUARANTEE_STRICT, labels.GUARANTEE_BEST_EFFORT):
        return annotation == labels.GUARANTEE_STRICT
    return backend.strict
