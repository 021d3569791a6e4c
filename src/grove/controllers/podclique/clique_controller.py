"""PodCliques: their pods, the gates of their pods, their status.

Pods are made only once their gang exists, since a backend may tie them to it by its uid, and always gated. Each pod
gets a name of ours, so that a create whose answer was lost is recognised instead of repeated.
"""

import asyncio
import random
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

import msgspec
import structlog

from grove.api import PodClique, PodCliqueSet, PodCliqueStatus, PodGang, labels
from grove.api.conditions import EventReason
from grove.api.pod_view import Pod
from grove.api.podgang import PodGroup
from grove.controllers.podclique.release_pacing import Turns
from grove.controllers.podclique.replacement_backoff import Replacements
from grove.controllers.podcliqueset.set_judgement import SetJudgements
from grove.controllers.scheduler_objects.sync import Backends
from grove.controllers.shared.claims import KIND, Claims
from grove.controllers.shared.context import OperatorContext
from grove.controllers.shared.finalizers import remove_finalizer
from grove.controllers.shared.indexes import label
from grove.controllers.shared.informers import Informers
from grove.controllers.shared.predicates import described_anew, gate_could_open, not_as_left, pod_moved_on
from grove.controllers.shared.status_writer import GATHER, GATHER_ON_THE_WAY, Reports, describe, last_errors
from grove.plan.clique_scaling import PodPlan, plan_pods
from grove.plan.gangs.completion import POD_NOT_CREATED
from grove.plan.gangs.gates import plan_gates
from grove.plan.layout.clique_position import CliquePosition, find_position
from grove.plan.layout.set_layout import SetLayout, owner_reference
from grove.plan.objects.claims import clique_claims
from grove.plan.objects.pods import PodBuilder, labels_in_common
from grove.plan.pod_state import is_present, is_terminating, pod_index
from grove.plan.status.clique_status import clique_status
from grove.runtime.client.errors import AlreadyExists, ApiError, ExternalError, Forbidden, Invalid, NotFound
from grove.runtime.client.objects import ObjectKey, key_of, uid_of
from grove.runtime.controller.concurrently import for_each
from grove.runtime.controller.controller import Controller
from grove.runtime.controller.triggers import Trigger, itself, owner
from grove.schedulers.backend import Backend
from grove.schedulers.pod_drafts import draft_pods
from grove.schedulers.recorded_dialect import dialect_of
from grove.schedulers.types import Refusal

log = structlog.get_logger(__name__)

# How long a pod without its link stays to be looked at, before it is made anew.
UNLINKED_POD_LASTS = timedelta(minutes=5)

_SUFFIX = "bcdfghjklmnpqrstvwxz2456789"


class CliqueController:
    def __init__(
        self,
        context: OperatorContext,
        informers: Informers,
        judgements: SetJudgements,
        backends: Backends,
        *,
        init_image: str,
        chance: random.Random | None = None,
    ) -> None:
        self._context = context
        self._informers = informers
        self._judgements = judgements
        self._backends = backends
        self._init_image = init_image
        self._chance = chance or random.Random()
        self._claims = Claims(context, informers)
        gates = frozenset(b.gate for b in context.registry.backends)
        self._other_gates = {b.name: gates - {b.gate} for b in context.registry.backends}
        self._reports = Reports()
        self._replacements = Replacements(lambda: asyncio.get_running_loop().time())
        self._turns: Turns[_Turn] = Turns(lambda: asyncio.get_running_loop().time(), self._begun)

    def controller(self) -> Controller[ObjectKey]:
        informers = self._informers
        made: Controller[ObjectKey] = Controller(
            "podclique",
            self.reconcile,
            [
                Trigger(
                    informers.cliques,
                    itself,
                    when=not_as_left,
                    why="it says how many pods there are, and which",
                ),
                Trigger(
                    informers.pods,
                    owner("PodClique"),
                    when=pod_moved_on,
                    why="a pod that moves changes what is missing",
                ),
                Trigger(
                    informers.gangs,
                    self._of_gang,
                    when=gate_could_open,
                    why="pods wait for their gang, and those of a scaled gang for its base gang too",
                ),
                Trigger(
                    informers.sets,
                    self._of_set,
                    when=described_anew,
                    why="a set that became valid lets them go on",
                ),
            ],
            workers=self._context.configuration.controllers.pod_clique.concurrent_syncs,
        )

        def wake_all() -> None:
            for clique in informers.cliques.cache:
                gang = self._gang(clique, labels.POD_GANG)
                if gang is not None and self._backends.needs_dialect(gang):
                    made.queue.add(key_of(clique))

        self._backends.on_news(wake_all)
        return made

    async def reconcile(self, key: ObjectKey) -> float | None:
        """Returns when to look again: for a pod that waits for its replacement or its turn, or to report."""
        clique = self._informers.cliques.cache.get(key)
        if clique is None:
            return None
        if clique.metadata.deletion_timestamp is not None:
            await self._release(clique)
            return None
        failures: list[tuple[str, Exception]] = []
        layout = self._judgements.get(ObjectKey(key.namespace, label(clique, labels.PART_OF)))
        if layout is not None:
            gang = self._gang(clique, labels.POD_GANG)
            if clique.status is None and gang is None:
                return None  # it was made a moment ago, and there is nothing to say yet
            position = find_position(layout, clique)
            if position is None:
                return None  # its set no longer describes it, or somebody changed its labels: it goes, or they do
            failures = await self._sync(clique, layout, position, gang)
        report_in = await self._write_status(clique, layout, failures)
        if failures:
            raise ExceptionGroup(f"PodClique {key}", [e for _, e in failures])
        turn = self._turns.left(self._who(clique)) if self._turns.somebody_waits else 0.0
        waits = (self._replacements.wait(uid_of(clique)), turn, report_in)
        return min((s for s in waits if s), default=None)

    async def _sync(
        self, clique: PodClique, layout: SetLayout, position: CliquePosition, gang: PodGang | None
    ) -> list[tuple[str, Exception]]:
        """Makes, deletes and ungates pods; returns what failed."""
        backend = (
            self._context.registry.get(label(gang, labels.SCHEDULER_BACKEND)) if gang is not None else None
        )
        pods = self._pods(clique)
        if left := self._left_behind(clique, pods):
            if failed := await self._take_up(clique, left):
                return failed
            pods = self._pods(clique)
        spoken = self._in_dialect(gang) if gang is not None else None
        gang = spoken or gang
        if backend is not None and (strays := self._behind_other_gates(backend, pods)):
            return await self._delete(clique, strays)
        if gang is not None and backend is not None:
            if any(backend.needs_new_dialect(gang, p) for p in pods):
                return []  # the gang is told by the same event, and tells us
            outdated = [p for p in pods if is_present(p) and backend.is_outdated(gang, p)]
            if outdated:
                return await self._delete(clique, outdated)
        group = _group(clique, gang) if gang is not None else None
        surplus_from = _surplus_from(gang, group, backend)
        plan = plan_pods(
            clique.spec.replicas,
            pods,
            template_hash=label(clique, labels.POD_TEMPLATE_HASH),
            surplus_from=surplus_from,
        )
        if plan.replaced:
            if self._replacements.wait(uid_of(clique)):
                plan = plan.without_replacements()
            else:
                self._note_replacements(clique, plan)
        failures = await self._put_back(clique, pods)
        failures += await self._keep_claims(clique, layout, position, pods)
        if plan.delete:
            failures += await self._delete(clique, plan.delete)
        if (
            plan.create
            and spoken is not None
            and spoken.metadata.deletion_timestamp is None
            and backend is not None
            and group is not None
        ):
            failures += await self._create(clique, layout, spoken, group, backend, plan.create)
        if backend is not None:
            failures += await self._open_gates(clique, gang, group, backend, surplus_from)
        return failures

    def _left_behind(self, clique: PodClique, known: Sequence[Pod]) -> list[Pod]:
        """Pods of a predecessor of a new clique that went without them: `kubectl delete --cascade=orphan`."""
        is_new = clique.status is None or clique.status.observed_generation is None
        if not is_new or len(known) >= clique.spec.replicas:
            return []
        gang = ObjectKey(clique.metadata.namespace or "", label(clique, labels.POD_GANG))
        return [
            pod
            for pod in self._informers.pods.cache.by_index("gang", gang)
            if label(pod, labels.POD_CLIQUE) == clique.metadata.name
            and not any(o.controller for o in pod.metadata.owner_references)
            and not is_terminating(pod)
        ]

    async def _take_up(self, clique: PodClique, left: Sequence[Pod]) -> list[tuple[str, Exception]]:
        async def take_up(pod: Pod) -> None:
            owners = [*pod.metadata.owner_references, owner_reference(clique)]
            patch = {"metadata": {"uid": uid_of(pod), "ownerReferences": owners}}
            await self._informers.pods.objects.merge_patch(key_of(pod), msgspec.json.encode(patch))

        outcomes = await for_each(left, take_up)
        return [
            ("ERR_SET_CONTROLLER_REFERENCE", o.error)
            for o in outcomes
            if not isinstance(o.error, NotFound | None)
        ]

    def _behind_other_gates(self, backend: Backend, pods: Sequence[Pod]) -> list[Pod]:
        """Pods that were made for another backend and never released: they are made anew for the one of their gang."""
        others = self._other_gates[backend.name]
        return [p for p in pods if is_present(p) and any(g.name in others for g in p.spec.scheduling_gates)]

    async def _put_back(self, clique: PodClique, pods: Sequence[Pod]) -> list[tuple[str, Exception]]:
        """The labels by which Grove finds a pod again, where somebody changed them."""
        own = labels_in_common(clique)
        changed = [p for p in pods if not own.items() <= p.metadata.labels.items()]
        if not changed:
            return []
        patch = msgspec.json.encode({"metadata": {"labels": own}})

        async def put_back(pod: Pod) -> None:
            await self._informers.pods.objects.merge_patch(key_of(pod), patch)

        outcomes = await for_each(changed, put_back)
        return [("ERR_LABEL_POD", o.error) for o in outcomes if not isinstance(o.error, NotFound | None)]

    async def _keep_claims(
        self, clique: PodClique, layout: SetLayout, position: CliquePosition, pods: Sequence[Pod]
    ) -> list[tuple[str, Exception]]:
        """For each pod that should be there, and for those that still are."""
        if KIND not in self._informers.companions:
            return []
        if not position.clique.resource_sharing and not self._claims.kept_for(uid_of(clique)):
            return []
        indices = {i for p in pods if (i := pod_index(p)) is not None} | set(range(clique.spec.replicas))
        claims = clique_claims(
            layout, clique, sorted(indices), self._claims.templates(layout), self._claims.tags(layout)
        )
        return await self._claims.keep(claims, uid_of(clique), "ERR_SYNC_PCLQ_RESOURCE_CLAIM")

    def _note_replacements(self, clique: PodClique, plan: PodPlan) -> None:
        self._replacements.note(uid_of(clique))
        pod = plan.replaced[0]
        why = pod.status.reason or f"phase {pod.status.phase}"
        note = f"{len(plan.replaced)} pods ended and are replaced, such as {pod.metadata.name}: {why}"
        self._context.warning_event(clique, EventReason.POD_REPLACED, note, "ReplacePod")

    async def _create(
        self,
        clique: PodClique,
        layout: SetLayout,
        gang: PodGang,
        group: PodGroup,
        backend: Backend,
        indices: Sequence[int],
    ) -> list[tuple[str, Exception]]:
        try:
            drafts = draft_pods(backend, gang, group, label(gang, labels.SCHEDULER_NAME))
        except Refusal as e:
            return [("ERR_BUILD_POD_RESOURCE", RefusedPodsError(str(e)))]
        builder = PodBuilder(layout, clique, gang, drafts, init_image=self._init_image)
        namespace = clique.metadata.namespace or ""

        async def create(index: int) -> None:
            name = f"{clique.metadata.name}-{''.join(self._chance.choices(_SUFFIX, k=5))}"
            try:
                await self._informers.pods.objects.create(namespace, builder.body(index, name))
            except (Invalid, Forbidden) as e:
                raise _of_any_pod(e, clique, name) from e
            except AlreadyExists:
                # Our own create whose answer was lost; or, once in 14 million, the name is another pod's.
                found = await self._informers.pods.objects.get(ObjectKey(namespace, name))
                if label(found, labels.POD_INDEX) != str(index):
                    raise

        outcomes = await for_each(indices, create)
        errors = [o.error for o in outcomes if o.error is not None]
        if errors:
            note = f"{len(errors)} of {len(indices)} pods could not be created: {describe(errors[0])}"
            self._context.warning_event(clique, EventReason.POD_CREATE_FAILED, note, "CreatePod")
        return [(POD_NOT_CREATED, e) for e in errors]

    async def _delete(self, clique: PodClique, pods: Sequence[Pod]) -> list[tuple[str, Exception]]:
        async def delete(pod: Pod) -> None:
            await self._informers.pods.objects.delete(key_of(pod), uid=uid_of(pod))

        outcomes = await for_each(pods, delete)
        errors = [o.error for o in outcomes if o.error is not None]
        if errors:
            note = f"{len(errors)} of {len(pods)} pods could not be deleted: {describe(errors[0])}"
            self._context.warning_event(clique, EventReason.POD_DELETE_FAILED, note, "DeletePod")
        return [("ERR_DELETE_POD", e) for e in errors]

    async def _open_gates(
        self,
        clique: PodClique,
        gang: PodGang | None,
        group: PodGroup | None,
        backend: Backend,
        surplus_from: int | None,
    ) -> list[tuple[str, Exception]]:
        gate = backend.gate
        base = self._gang(clique, labels.BASE_POD_GANG) if label(clique, labels.BASE_POD_GANG) else gang
        gates = plan_gates(
            clique.metadata.name or "", self._pods(clique), gate, gang, base, surplus_from=surplus_from
        )
        if not gates.open:
            return []
        pause = backend.release_pause_seconds(gang) if gang is not None else 0.0
        if pause and self._turns.wait(self._who(clique), pause):
            return []
        broken = _broken_links(gang, group, backend, gates.open)

        async def open_gate(pod: Pod) -> None:
            position = next(i for i, g in enumerate(pod.spec.scheduling_gates) if g.name == gate)
            path = f"/spec/schedulingGates/{position}"
            patch = [{"op": "test", "path": f"{path}/name", "value": gate}, {"op": "remove", "path": path}]
            if gang is not None:
                said = backend.release_annotations(gang, _age(pod, self._context.now()).total_seconds())
                # `prepare_pod` gave it the same ones, so there are annotations to add to.
                patch += [
                    {"op": "add", "path": f"/metadata/annotations/{k.replace('/', '~1')}", "value": v}
                    for k, v in said.items()
                ]
            try:
                await self._informers.pods.objects.json_patch(key_of(pod), msgspec.json.encode(patch))
            except NotFound:
                log.debug("pod went away before its gate was removed", pod=str(key_of(pod)))

        outcomes = await for_each([p for p in gates.open if uid_of(p) not in broken], open_gate)
        failures = [("ERR_REMOVE_POD_SCHEDULING_GATE", o.error) for o in outcomes if o.error is not None]
        return failures + await self._keep_closed(clique, broken)

    async def _keep_closed(self, clique: PodClique, broken: dict[str, str]) -> list[tuple[str, Exception]]:
        """Says why pods stay behind their gates. They cannot be mended, so now and then they are made anew."""
        if not broken:
            return []
        note = next(iter(broken.values()))
        self._context.warning_event(clique, EventReason.POD_LINK_DROPPED, note, "OpenGate")
        now = self._context.now()
        old = [p for p in self._pods(clique) if uid_of(p) in broken and _age(p, now) >= UNLINKED_POD_LASTS]
        return [("ERR_POD_LINK_DROPPED", BrokenLinkError(note)), *await self._delete(clique, old)]

    async def _write_status(
        self, clique: PodClique, layout: SetLayout | None, failures: list[tuple[str, Exception]]
    ) -> float | None:
        """Returns when the report is due, if it is not yet. Errors are reported at once: the gang waits for them."""
        old, pods = clique.status, self._pods(clique)
        known = old.last_errors if old else []

        def status() -> PodCliqueStatus:
            now = self._context.now()
            new = clique_status(clique, pods, layout, now, synced=not failures)
            new.last_errors = last_errors(known, failures, now)
            return new

        on_the_way = len(pods) < clique.spec.replicas or any(p.spec.scheduling_gates for p in pods)
        wait, new = await self._reports.write(
            self._informers.cliques,
            clique,
            old,
            status,
            at_once=bool(failures or known),
            gather=GATHER_ON_THE_WAY if on_the_way else GATHER,
        )
        if old and old.scheduled_replicas and new and not new.scheduled_replicas:
            note = f"none of {old.scheduled_replicas} scheduled pods is left"
            reason = EventReason.ALL_SCHEDULED_REPLICAS_LOST
            self._context.warning_event(clique, reason, note, "Observe")
        return wait

    async def _release(self, clique: PodClique) -> None:
        """The pods follow by garbage collection; nothing else is held by the finalizer."""
        self._replacements.forget(uid_of(clique))
        self._reports.forget(uid_of(clique))
        finalizers = clique.metadata.finalizers
        await remove_finalizer(self._informers.cliques, clique, finalizers, labels.Finalizer.POD_CLIQUE)

    def _in_dialect(self, gang: PodGang) -> PodGang | None:
        """None while nobody knows in which dialect it is to be written."""
        if not self._backends.needs_dialect(gang):
            return gang
        return self._backends.in_dialect(gang, self._informers.pods_and_stand_ins(key_of(gang)))

    def _pods(self, clique: PodClique) -> list[Pod]:
        return self._informers.pods.cache.by_index("owner", uid_of(clique))

    def _gang(self, clique: PodClique, key: str) -> PodGang | None:
        return self._informers.gangs.cache.get(ObjectKey(clique.metadata.namespace or "", label(clique, key)))

    def _who(self, clique: PodClique) -> "_Turn":
        """Whose turn it is when the pods of this clique are released: its gang, each time that it is tried anew."""
        gang = self._gang(clique, labels.POD_GANG)
        key = ObjectKey(clique.metadata.namespace or "", label(clique, labels.POD_GANG))
        return _Turn(key, uid_of(gang), dialect_of(gang)) if gang is not None else _Turn(key, "", "")

    def _begun(self, turn: "_Turn") -> bool:
        """Whether the scheduler has taken up a gang after its turn. One that is gone or tried anew holds up nobody."""
        gang = self._informers.gangs.cache.get(turn.gang)
        if gang is None or (uid_of(gang), dialect_of(gang)) != (turn.uid, turn.dialect):
            return True
        backend = self._context.registry.get(label(gang, labels.SCHEDULER_BACKEND))
        return backend is None or backend.has_begun(gang, self._informers.pods_and_stand_ins(turn.gang))

    def _of_gang(self, gang: PodGang) -> list[ObjectKey]:
        """Those that are there. One that is yet to come looks for its gang itself."""
        namespace, cliques = gang.metadata.namespace or "", self._informers.cliques.cache
        groups = [ObjectKey(namespace, g.name) for g in gang.spec.pod_groups]
        return [key for key in groups if cliques.get(key) is not None] + self._of_base(gang)

    def _of_base(self, gang: PodGang) -> list[ObjectKey]:
        """The cliques of the gangs that are scaled from this one."""
        return [key_of(c) for c in self._informers.cliques.cache.by_index("base", key_of(gang))]

    def _of_set(self, pcs: PodCliqueSet) -> list[ObjectKey]:
        return [key_of(c) for c in self._informers.cliques.cache.by_index("set", key_of(pcs))]


class _Turn(NamedTuple):
    gang: ObjectKey
    uid: str
    dialect: str


class RefusedPodsError(ExternalError):
    """The backend cannot tie pods to their gang as it is."""


class BrokenLinkError(ExternalError):
    """The API server took away what ties a pod to its gang."""


def _group(clique: PodClique, gang: PodGang) -> PodGroup | None:
    return next((g for g in gang.spec.pod_groups if g.name == clique.metadata.name), None)


def _surplus_from(gang: PodGang | None, group: PodGroup | None, backend: Backend | None) -> int | None:
    """The first index of the pods that the backend keeps apart from the gang; None if it keeps them together."""
    if gang is None or group is None or backend is None:
        return None
    return group.min_replicas if backend.separates_surplus(gang, group) else None


def _broken_links(
    gang: PodGang | None, group: PodGroup | None, backend: Backend, pods: Sequence[Pod]
) -> dict[str, str]:
    """What is wrong with pods that the scheduler would not see as part of the gang, by uid."""
    if gang is None or group is None:
        return {}
    return {uid_of(p): why for p in pods if (why := backend.broken_link(gang, group, p))}


def _of_any_pod(error: ApiError, clique: PodClique, name: str) -> ApiError:
    """The same error of whichever pod: with a new name each time, it would look like another error each time."""
    message = error.status.message.replace(name, f"{clique.metadata.name}-*")
    return type(error)(msgspec.structs.replace(error.status, message=message), error.what)


def _age(pod: Pod, now: datetime) -> timedelta:
    made = pod.metadata.creation_timestamp
    return now - datetime.fromisoformat(made) if made else timedelta()
