"""Writes the status of a set: counts, conditions, errors, and why the set does not run.

The reason why a set does not run is computed once all cliques say that it is complete, and else at intervals, like the
summaries of its gangs: pods change by the thousand, and people read more slowly.
"""

from grove.api import PodCliqueSet, PodCliqueSetStatus
from grove.api.conditions import ConditionType, EventReason, Reason
from grove.api.meta import Condition
from grove.api.serialization.model import replace
from grove.controllers.podcliqueset.replica_summaries import ReplicaSummaries
from grove.controllers.podcliqueset.running_reasons import EXPLAIN_INTERVAL_SECONDS, RunningReasons
from grove.controllers.shared.context import OperatorContext
from grove.controllers.shared.failures import Failure, last_errors
from grove.controllers.shared.informers import Informers
from grove.controllers.shared.status_writer import STATUS_BATCH_WINDOW_SECONDS, StatusWriter, write_status
from grove.plan.explain import Finding, in_words
from grove.plan.layout.set_layout import SetLayout
from grove.plan.rollout.progress import is_updating
from grove.plan.rollout.rollout import current_replica, rollout_of
from grove.plan.status import conditions as status_conditions
from grove.plan.status.set_status import ObservedTopology, ReplicaSummary, planned_update, set_status
from grove.runtime.client.objects import ObjectKey, key_of, uid_of

MAX_REASON_CHARS = 1000
MAX_PROBLEMS_CHARS = 4000
MAX_EVENT_NOTE_CHARS = 1000
# A status lists every gang, so its size grows with the replicas. The batch window grows with it: then the cost of a
# change does not depend on the number of replicas.
STATUS_BATCH_WINDOW_SECONDS_PER_REPLICA = 0.004


class SetReporter:
    def __init__(self, context: OperatorContext, informers: Informers) -> None:
        self._context = context
        self._informers = informers
        self._summaries = ReplicaSummaries(informers)
        self._writer = StatusWriter()
        self.reasons = RunningReasons(context, informers)

    def is_pending(self, pcs: PodCliqueSet) -> bool:
        """Whether a status will be written soon, which covers whatever changes until then."""
        return self._writer.is_pending(uid_of(pcs))

    async def report(
        self, pcs: PodCliqueSet, layout: SetLayout, failures: list[Failure], ambiguity: str
    ) -> float | None:
        """For a valid set. Returns when to requeue, for a batched write or to explain the set again."""
        old = pcs.status
        known = old.last_errors if old else []
        next_explanation = 0.0

        def status() -> PodCliqueSetStatus:
            nonlocal next_explanation
            summaries = self._summaries.of_set(layout, key_of(pcs))
            if not all(s.complete for s in summaries):
                next_explanation = self.reasons.next_in(pcs)
            new = self._status(pcs, layout, summaries, synced=not failures, quick=next_explanation > 0)
            conditions = status_conditions.without(new.conditions, ConditionType.INVALID)
            conditions = self._with_ambiguity(conditions, ambiguity)
            errors = last_errors(known, failures, self._context.now())
            new = replace(new, conditions=conditions, last_errors=errors)
            if next_explanation:
                return new
            if old is not None:
                return self._explained(pcs, new, layout.replicas)
            # A new set has no parts, so one replica stands for all. If it does have parts, the next time sees them.
            new = self._explained(pcs, new, min(1, layout.replicas))
            next_explanation = self.reasons.next_in(pcs)
            return new

        is_new = old is None or old.observed_generation != pcs.metadata.generation
        step = self._update_step(pcs, layout)
        write = await self._writer.write(
            self._informers.sets,
            pcs,
            old,
            status,
            immediately=is_new or step or bool(failures or known),
            window_seconds=_batch_window_seconds(layout.replicas),
        )
        if write.written is not None:
            self._announce_update(pcs, write.written)
        if write.written is not None and _appeared(ConditionType.SEVERAL_BACKENDS_MATCH, old, write.written):
            reason = EventReason.SEVERAL_BACKENDS_MATCH
            self._context.warning_event(pcs, reason, ambiguity, "SelectBackend")
        return write.requeue_after or next_explanation or None

    def _update_step(self, pcs: PodCliqueSet, layout: SetLayout) -> bool:
        """Whether the update of the set is to begin, to go on with another replica, or to end."""
        rollout = rollout_of(layout, pcs.status)
        if rollout.recorded and not is_updating(pcs.status.update_progress if pcs.status else None):
            return False
        next_step = planned_update(
            pcs, layout, self._summaries.of_set(layout, key_of(pcs)), self._context.now()
        )
        return _step_of(next_step) != _step_of(pcs.status)

    def _announce_update(self, pcs: PodCliqueSet, new: PodCliqueSetStatus) -> None:
        before, after = pcs.status or PodCliqueSetStatus(), new
        if _step_of(before) == _step_of(after) or after.update_progress is None:
            return
        note = "the templates changed"
        began = before.current_generation_hash != after.current_generation_hash
        if began:
            self._context.normal_event(pcs, EventReason.UPDATE_STARTED, note, "Update")
        current = current_replica(after)
        if current is not None and (began or current != current_replica(before)):
            note = f"replica {current} is updated next"
            self._context.normal_event(pcs, EventReason.UPDATE_REPLICA_SELECTED, note, "Update")
        if is_updating(before.update_progress) and not is_updating(after.update_progress):
            note = "all replicas follow the current templates"
            self._context.normal_event(pcs, EventReason.UPDATE_COMPLETED, note, "Update")

    async def report_invalid(
        self,
        pcs: PodCliqueSet,
        problems: tuple[str, ...],
        last_valid: SetLayout | None,
        failures: list[Failure],
    ) -> float | None:
        """For a set that is invalid, and keeps running like `last_valid`. Returns when to requeue."""
        message = "; ".join(problems)[:MAX_PROBLEMS_CHARS]
        old = pcs.status or PodCliqueSetStatus()
        known = status_conditions.find(old.conditions, ConditionType.INVALID)
        is_news = known is None or known.message != message

        def status() -> PodCliqueSetStatus:
            seen = self._status_of_last_valid(pcs, last_valid, failures) if last_valid is not None else old
            conditions = status_conditions.put(
                seen.conditions,
                ConditionType.INVALID,
                "True",
                Reason.VALIDATION_FAILED,
                message,
                self._context.now(),
            )
            return self._explained(pcs, replace(seen, conditions=conditions), 0)

        write = await self._writer.write(
            self._informers.sets,
            pcs,
            pcs.status,
            status,
            immediately=is_news,
            window_seconds=_batch_window_seconds(last_valid.replicas if last_valid is not None else 0),
        )
        self.reasons.forget(pcs)
        if is_news:
            note = message[:MAX_EVENT_NOTE_CHARS]
            self._context.warning_event(pcs, Reason.VALIDATION_FAILED, note, "Validate")
        return write.requeue_after

    async def report_deletion(self, pcs: PodCliqueSet) -> float:
        """Says what a set that is being deleted still waits for. Returns when to requeue."""
        if (wait := self.reasons.next_in(pcs)) > 0:
            return wait
        old = pcs.status or PodCliqueSetStatus()
        status = self._with_reason(pcs, old, self.reasons.explain_deletion(pcs))
        await write_status(self._informers.sets, pcs, pcs.status, status)
        return EXPLAIN_INTERVAL_SECONDS

    def forget(self, pcs: PodCliqueSet) -> None:
        self._writer.forget(uid_of(pcs))
        self.reasons.forget(pcs)

    def _status(
        self,
        pcs: PodCliqueSet,
        layout: SetLayout,
        summaries: list[ReplicaSummary],
        *,
        synced: bool,
        quick: bool,
    ) -> PodCliqueSetStatus:
        informers, now = self._informers, self._context.now()
        enabled = self._context.configuration.topology_aware_scheduling.enabled
        name = layout.topology_name
        topology = ObservedTopology(
            enabled, informers.topologies.cache.get(ObjectKey("", name)) if name else None
        )
        gangs = informers.gangs.cache.by_index("set", key_of(pcs))
        return set_status(pcs, layout, summaries, gangs, topology, now, synced=synced, quick=quick)

    def _status_of_last_valid(
        self, pcs: PodCliqueSet, layout: SetLayout, failures: list[Failure]
    ) -> PodCliqueSetStatus:
        summaries = self._summaries.of_set(layout, key_of(pcs))
        status = self._status(pcs, layout, summaries, synced=False, quick=False)
        known = pcs.status.last_errors if pcs.status else []
        return replace(status, last_errors=last_errors(known, failures, self._context.now()))

    def _explained(self, pcs: PodCliqueSet, status: PodCliqueSetStatus, replicas: int) -> PodCliqueSetStatus:
        return self._with_reason(pcs, status, self.reasons.explain(replace(pcs, status=status), replicas))

    def _with_reason(
        self, pcs: PodCliqueSet, status: PodCliqueSetStatus, found: Finding
    ) -> PodCliqueSetStatus:
        conditions = status_conditions.put(
            status.conditions,
            ConditionType.RUNNING,
            "True" if found.reason.fine else "False",
            found.reason,
            in_words(found)[:MAX_REASON_CHARS],
            self._context.now(),
            observed_generation=pcs.metadata.generation,
        )
        return replace(status, conditions=conditions)

    def _with_ambiguity(self, conditions: list[Condition], ambiguity: str) -> list[Condition]:
        kind = ConditionType.SEVERAL_BACKENDS_MATCH
        if not ambiguity:
            return status_conditions.without(conditions, kind)
        reason, now = Reason.FIRST_PROFILE_WINS, self._context.now()
        return status_conditions.put(conditions, kind, "True", reason, ambiguity, now)


def _step_of(status: PodCliqueSetStatus | None) -> tuple[str | None, bool, int | None]:
    if status is None:
        return None, False, None
    return status.current_generation_hash, is_updating(status.update_progress), current_replica(status)


def _batch_window_seconds(replicas: int) -> float:
    return STATUS_BATCH_WINDOW_SECONDS + replicas * STATUS_BATCH_WINDOW_SECONDS_PER_REPLICA


def _appeared(kind: str, old: PodCliqueSetStatus | None, new: PodCliqueSetStatus) -> bool:
    before = old.conditions if old is not None else []
    return (
        status_conditions.find(before, kind) is None
        and status_conditions.find(new.conditions, kind) is not None
    )
