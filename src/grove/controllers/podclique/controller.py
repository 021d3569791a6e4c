"""The controller of PodCliques: their pods, the gates of their pods, and their status.

Pods are created gated, and only once their gang exists: a backend may tie them to the gang by its uid. The modules
beside this one do the writing; the rules are in `grove.plan.clique_pods` and `grove.plan.gangs.gates`.
"""

import asyncio
import random

from grove.api import PodClique, PodCliqueSet, PodCliqueStatus, PodGang, labels
from grove.api.conditions import EventReason
from grove.api.pod_view import Pod
from grove.controllers.podclique.adoption import adopt, restore_labels
from grove.controllers.podclique.claims import keep_claims
from grove.controllers.podclique.gates import GateOpener
from grove.controllers.podclique.observed_clique import ObservedClique
from grove.controllers.podclique.pods import PodWriter
from grove.controllers.podclique.replacement_backoff import ReplacementBackoff
from grove.controllers.podcliqueset.set_judgements import SetJudgements
from grove.controllers.scheduler_objects.local_backends import LocalBackends
from grove.controllers.shared.claims import Claims
from grove.controllers.shared.context import OperatorContext
from grove.controllers.shared.failures import Failure, last_errors, raise_failures
from grove.controllers.shared.finalizers import remove_finalizer
from grove.controllers.shared.indexes import ReplicaKey, label, replica_index
from grove.controllers.shared.informers import Informers
from grove.controllers.shared.predicates import (
    gate_could_open,
    pod_changed_beyond_its_gates,
    replica_selected,
    spec_or_metadata_changed,
    spec_or_status_edited,
)
from grove.controllers.shared.status_writer import (
    STARTUP_STATUS_BATCH_WINDOW_SECONDS,
    STATUS_BATCH_WINDOW_SECONDS,
    StatusWriter,
    write_status,
)
from grove.plan.clique_pods import (
    CliquePodPlan,
    plan_clique_pods,
    pod_updates,
    pods_to_adopt,
    pods_with_edited_labels,
)
from grove.plan.layout.clique_position import CliquePosition, find_position
from grove.plan.layout.set_layout import SetLayout
from grove.plan.rollout.progress import is_updating
from grove.plan.rollout.recording import names_template
from grove.plan.rollout.rollout import Rollout, current_replica
from grove.plan.status.clique_status import clique_status, update_report
from grove.runtime.client.objects import ObjectKey, key_of, uid_of
from grove.runtime.controller.controller import Controller
from grove.runtime.controller.triggers import Trigger, itself, owner


# An event names at most so many of the pods that it is about.
MAX_PODS_IN_EVENT = 3


class CliqueController:
    """`chance` is the source of the random suffixes of pod names."""

    def __init__(
        self,
        context: OperatorContext,
        informers: Informers,
        judgements: SetJudgements,
        backends: LocalBackends,
        *,
        init_image: str,
        chance: random.Random | None = None,
    ) -> None:
        self._context = context
        self._informers = informers
        self._judgements = judgements
        self._backends = backends
        self._claims = Claims(context, informers)
        self._writer = PodWriter(
            context, informers.pods, init_image=init_image, chance=chance or random.Random()
        )
        self._gates = GateOpener(context, informers, self._writer)
        self._statuses = StatusWriter()
        self._backoff = ReplacementBackoff(lambda: asyncio.get_running_loop().time())

    def controller(self) -> Controller[ObjectKey]:
        informers = self._informers
        return Controller(
            "podclique",
            self.reconcile,
            [
                Trigger(
                    informers.cliques,
                    itself,
                    when=spec_or_status_edited,
                    why="its spec says how many pods exist, and which",
                ),
                Trigger(
                    informers.pods,
                    owner("PodClique"),
                    when=pod_changed_beyond_its_gates,
                    why="a pod that is deleted or fails needs a replacement, and the status counts pods",
                ),
                Trigger(
                    informers.gangs,
                    self._cliques_of_gang,
                    when=gate_could_open,
                    why="pods are created for a gang that exists, and their gates open when it is ready",
                ),
                Trigger(
                    informers.gangs,
                    self._cliques_scaled_from,
                    when=gate_could_open,
                    why="gates of a scaled gang open once its base gang is scheduled",
                ),
                Trigger(
                    informers.sets,
                    self._cliques_of_set,
                    when=spec_or_metadata_changed,
                    why="the pods of an invalid set are created once it is valid",
                ),
                Trigger(
                    informers.sets,
                    self._cliques_being_updated,
                    when=replica_selected,
                    why="the healthy pods of a replica are replaced when it is its turn",
                ),
                *self._backends.cluster_triggers(
                    self._cliques_without_dialect,
                    why="pods are created once their gang's dialect can be chosen",
                ),
            ],
            workers=self._context.configuration.controllers.pod_clique.concurrent_syncs,
            metrics=self._context.metrics,
        )

    async def reconcile(self, key: ObjectKey) -> float | None:
        """Returns when to requeue: for a replacement in backoff, a paced release, or a batched status."""
        clique = self._informers.cliques.cache.get(key)
        if clique is None:
            return None
        if clique.metadata.deletion_timestamp is not None:
            await self._finalize(clique)
            return None
        failures: list[Failure] = []
        rollout: Rollout | None = None
        layout = self._judgements.layout(ObjectKey(key.namespace, label(clique, labels.PART_OF)))
        if layout is not None:
            if clique.status is None and self._gang_of(clique) is None:
                return None  # Created moments ago: no status to write yet. The gang's creation triggers this key.
            position = find_position(layout, clique)
            if position is None:
                return None  # Its set no longer describes it, or its labels were edited: it is deleted, or restored.
            rollout = self._judgements.rollout(layout)
            clique, failures = await self._sync(self._observe(clique, layout, position), rollout)
        report_in = await self._write_status(clique, layout, rollout, failures)
        raise_failures(f"PodClique {key}", failures)
        waits = (
            self._backoff.remaining(uid_of(clique)),
            self._gates.ask_again_in(clique),
            report_in,
            self._deadline_in(clique, layout, rollout),
        )
        return min((seconds for seconds in waits if seconds), default=None)

    def _observe(self, clique: PodClique, layout: SetLayout, position: CliquePosition) -> ObservedClique:
        gang = self._gang_of(clique)
        if gang is None:
            return ObservedClique(clique, layout, position, None, False, None)
        backend = self._context.registry.get(label(gang, labels.SCHEDULER_BACKEND))
        if not self._backends.needs_dialect(gang):
            return ObservedClique(clique, layout, position, gang, True, backend)
        with_dialect = self._backends.in_dialect(gang, self._informers.pods_and_stand_ins(key_of(gang)))
        known = with_dialect is not None
        return ObservedClique(clique, layout, position, with_dialect or gang, known, backend)

    async def _sync(self, observed: ObservedClique, rollout: Rollout) -> tuple[PodClique, list[Failure]]:
        """Adopts, deletes, creates and releases pods. Returns the clique as it is now, and what failed."""
        clique, informer = observed.clique, self._informers.pods
        orphans = pods_to_adopt(clique, self._pods(clique), self._pods_in_gang(clique))
        if failures := await adopt(informer, clique, orphans):
            return clique, failures
        pods = self._pods(clique)
        plan = plan_clique_pods(
            clique,
            pods,
            observed.findings(pods),
            other_gates=self._gates_of_other_backends(observed),
            may_create=observed.may_create_pods,
            may_replace=not self._backoff.remaining(uid_of(clique)),
            update=pod_updates(clique, observed.position, observed.layout, rollout),
        )
        clique = await self._record_update(observed, rollout, plan)
        if not plan.proceed:
            return clique, await self._writer.delete(clique, plan.delete)
        if plan.replaced:
            self._record_replacements(clique, plan)
        failures = await restore_labels(informer, clique, pods_with_edited_labels(clique, pods))
        failures += await keep_claims(self._claims, observed, pods)
        failures += await self._writer.delete(clique, [*plan.delete, *plan.update.replaced])
        if plan.create:
            failures += await self._writer.create(observed, plan.create)
        return clique, failures + await self._gates.open(observed, self._pods(clique))

    async def _record_update(
        self, observed: ObservedClique, rollout: Rollout, plan: CliquePodPlan
    ) -> PodClique:
        """Writes down which template pods are about to be made from, and which healthy pods are replaced. Returns the
        clique after the write."""
        clique, update = observed.clique, plan.update
        template_hash = label(clique, labels.POD_TEMPLATE_HASH)
        named = names_template(clique.status, template_hash)
        if observed.position.group is not None or not (update.replaced or (plan.create and not named)):
            return clique
        chosen = [p.metadata.name or "" for p in update.chosen]
        old = clique.status
        status = clique_status(
            clique,
            self._pods(clique),
            observed.layout,
            self._context.now(),
            rollout=rollout,
            synced=False,
            touching=True,
            chosen=chosen,
        )
        if update.replaced:
            names = ", ".join(p.metadata.name or "" for p in update.replaced[:MAX_PODS_IN_EVENT])
            note = f"the update replaces {len(update.replaced)} pods, such as {names}"
            self._context.normal_event(clique, EventReason.UPDATE_REPLACES_PODS, note, "Update")
        return await write_status(self._informers.cliques, clique, old, status)

    def _deadline_in(
        self, clique: PodClique, layout: SetLayout | None, rollout: Rollout | None
    ) -> float | None:
        """When the deadline of an update passes, which the status is to report then."""
        if clique.status is None or not is_updating(clique.status.update_progress):
            return None
        now = self._context.now()
        report = update_report(clique, clique.status, self._pods(clique), layout, rollout, now)
        return report.left if report is not None and report.left and report.left > 0 else None

    def _gates_of_other_backends(self, observed: ObservedClique) -> set[str]:
        own = observed.backend
        return {b.gate for b in self._context.registry.backends if own is not None and b.name != own.name}

    def _record_replacements(self, clique: PodClique, plan: CliquePodPlan) -> None:
        self._backoff.record(uid_of(clique))
        pod = plan.replaced[0]
        why = pod.status.reason or f"phase {pod.status.phase}"
        note = f"{len(plan.replaced)} pods ended and are replaced, such as {pod.metadata.name}: {why}"
        self._context.warning_event(clique, EventReason.POD_REPLACED, note, "ReplacePod")

    async def _write_status(
        self,
        clique: PodClique,
        layout: SetLayout | None,
        rollout: Rollout | None,
        failures: list[Failure],
    ) -> float | None:
        """Returns when the batched status is due. Failures are written immediately: the gang waits for them."""
        old, pods = clique.status, self._pods(clique)
        known = old.last_errors if old else []

        def status() -> PodCliqueStatus:
            now = self._context.now()
            new = clique_status(clique, pods, layout, now, rollout=rollout, synced=not failures)
            new.last_errors = last_errors(known, failures, now)
            return new

        starting = len(pods) < clique.spec.replicas or any(p.spec.scheduling_gates for p in pods)
        write = await self._statuses.write(
            self._informers.cliques,
            clique,
            old,
            status,
            immediately=bool(failures or known) or self._is_update_step(clique, pods, layout, rollout),
            window_seconds=STARTUP_STATUS_BATCH_WINDOW_SECONDS if starting else STATUS_BATCH_WINDOW_SECONDS,
        )
        if old and old.scheduled_replicas and write.written and not write.written.scheduled_replicas:
            note = f"none of {old.scheduled_replicas} scheduled pods is left"
            reason = EventReason.ALL_SCHEDULED_REPLICAS_LOST
            self._context.warning_event(clique, reason, note, "Observe")
        return write.requeue_after

    def _is_update_step(
        self, clique: PodClique, pods: list[Pod], layout: SetLayout | None, rollout: Rollout | None
    ) -> bool:
        """Whether the update of the set waits for this status: its turn began or ended here."""
        if rollout is None or layout is None or clique.status is None:
            return False
        updating = is_updating(clique.status.update_progress)
        if not updating and (not rollout.in_progress or rollout.current != replica_index(clique)):
            return False
        new = clique_status(clique, pods, layout, self._context.now(), rollout=rollout)
        return _update_fields(new) != _update_fields(clique.status)

    async def _finalize(self, clique: PodClique) -> None:
        """The finalizer holds nothing else: garbage collection deletes the pods."""
        self._backoff.forget(uid_of(clique))
        self._statuses.forget(uid_of(clique))
        finalizers = clique.metadata.finalizers
        await remove_finalizer(self._informers.cliques, clique, finalizers, labels.Finalizer.POD_CLIQUE)

    def _pods(self, clique: PodClique) -> list[Pod]:
        return self._informers.pods.cache.by_index("owner", uid_of(clique))

    def _pods_in_gang(self, clique: PodClique) -> list[Pod]:
        gang = ObjectKey(clique.metadata.namespace or "", label(clique, labels.POD_GANG))
        return self._informers.pods.cache.by_index("gang", gang)

    def _gang_of(self, clique: PodClique) -> PodGang | None:
        key = ObjectKey(clique.metadata.namespace or "", label(clique, labels.POD_GANG))
        return self._informers.gangs.cache.get(key)

    def _cliques_of_gang(self, gang: PodGang) -> list[ObjectKey]:
        """A clique that does not exist yet needs no wake-up: its own creation triggers it."""
        namespace, cliques = gang.metadata.namespace or "", self._informers.cliques.cache
        groups = [ObjectKey(namespace, g.name) for g in gang.spec.pod_groups]
        return [key for key in groups if cliques.get(key) is not None]

    def _cliques_scaled_from(self, gang: PodGang) -> list[ObjectKey]:
        """The cliques of the gangs whose base gang this is."""
        return [key_of(c) for c in self._informers.cliques.cache.by_index("base", key_of(gang))]

    def _cliques_of_set(self, pcs: PodCliqueSet) -> list[ObjectKey]:
        return [key_of(c) for c in self._informers.cliques.cache.by_index("set", key_of(pcs))]

    def _cliques_being_updated(self, pcs: PodCliqueSet) -> list[ObjectKey]:
        """The cliques of the replica that is being updated; of all replicas between two of them."""
        current = current_replica(pcs.status)
        if current is None:
            return self._cliques_of_set(pcs)
        replica = ReplicaKey(*key_of(pcs), current)
        return [key_of(c) for c in self._informers.cliques.cache.by_index("replica", replica)]

    def _cliques_without_dialect(self, _: object) -> list[ObjectKey]:
        cliques = [(c, self._gang_of(c)) for c in self._informers.cliques.cache]
        return [key_of(c) for c, gang in cliques if gang is not None and self._backends.needs_dialect(gang)]


def _update_fields(status: PodCliqueStatus) -> tuple[object, ...]:
    progress = status.update_progress
    return (
        progress.pod_template_hash if progress is not None else None,
        is_updating(progress),
        status.current_pod_template_hash,
        status.current_pod_clique_set_generation_hash,
        status.ready_replicas >= (status.replicas or 0) and status.updated_replicas >= (status.replicas or 0),
    )
