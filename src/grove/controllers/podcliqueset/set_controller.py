"""The controller of PodCliqueSets as a whole: validity, what all replicas share, status, deletion.

The replica controller creates and keeps the replicas.
"""

from typing import Any

import orjson

from grove.api import PodClique, PodCliqueScalingGroup, PodCliqueSet, PodGang, labels
from grove.api.conditions import EventReason
from grove.api.pod_view import Pod
from grove.controllers.podcliqueset.replica_controller import ReplicaController
from grove.controllers.podcliqueset.running_reasons import EXPLAIN_INTERVAL_SECONDS
from grove.controllers.podcliqueset.set_deletion import delete_parts, release
from grove.controllers.podcliqueset.set_judgement import SetJudgement
from grove.controllers.podcliqueset.set_judgements import SetJudgements, SetVersion, version_of_set
from grove.controllers.podcliqueset.set_reporter import MAX_EVENT_NOTE_CHARS, SetReporter
from grove.controllers.shared.apply import Applier, key_of_json
from grove.controllers.shared.claims import CLAIM_KIND, IMMUTABLE_CLAIM_FIELDS, Claims
from grove.controllers.shared.companions import Companion
from grove.controllers.shared.context import OperatorContext
from grove.controllers.shared.deletion import DELETION_PATIENCE
from grove.controllers.shared.failures import Failure, raise_failures
from grove.controllers.shared.finalizers import add_finalizer
from grove.controllers.shared.indexes import replica_index, set_of
from grove.controllers.shared.informers import Informers
from grove.controllers.shared.predicates import (
    content_changed,
    deleted,
    spec_or_metadata_changed,
    spec_or_status_edited,
)
from grove.plan.layout.set_layout import SetLayout
from grove.plan.objects.access import access
from grove.plan.objects.claims import set_claims
from grove.plan.rollout.rollout import current_replica
from grove.runtime.client.objects import ObjectKey, key_of, uid_of
from grove.runtime.controller.concurrently import for_each
from grove.runtime.controller.controller import Controller
from grove.runtime.controller.triggers import SignalTrigger, Trigger, itself

Json = dict[str, Any]

# The kinds that all replicas of a set share, with the code of a failure.
_SHARED_CODES = {
    "ServiceAccount": "ERR_SYNC_SERVICEACCOUNT",
    "Role": "ERR_SYNC_ROLE",
    "RoleBinding": "ERR_SYNC_ROLEBINDING",
    "Secret": "ERR_CREATE_SECRET",
    "ResourceClaim": "ERR_SYNC_PCS_RESOURCE_CLAIM",
}


class SetController:
    def __init__(
        self,
        context: OperatorContext,
        informers: Informers,
        judgements: SetJudgements,
        replicas: ReplicaController,
    ) -> None:
        self._context = context
        self._informers = informers
        self._judgements = judgements
        self._replicas = replicas
        self._applier = Applier()
        self._claims = Claims(context, informers)
        self._reporter = SetReporter(context, informers)
        self._announced: dict[str, SetVersion] = {}

    def controller(self) -> Controller[ObjectKey]:
        informers = self._informers
        triggers: list[Trigger[Any, ObjectKey] | SignalTrigger[Any, ObjectKey]] = [
            Trigger(
                informers.sets,
                itself,
                when=spec_or_status_edited,
                why="it may have become valid or invalid, or is being deleted",
            ),
            Trigger(
                informers.cliques,
                self._set_to_report,
                why="the set's status adds up those of its cliques, and its deletion waits for them",
            ),
            Trigger(
                informers.groups, self._set_to_report, why="the set's status adds up those of its groups"
            ),
            Trigger(
                informers.gangs, self._set_to_report, why="the set's status lists the phases of its gangs"
            ),
            Trigger(
                informers.topologies,
                self._all_sets,
                when=spec_or_metadata_changed,
                why="a condition says whether the topology has the levels that the set names",
            ),
            Trigger(
                informers.pods,
                self._set_in_deletion,
                when=deleted,
                why="the deletion of the set waits for its pods",
            ),
            SignalTrigger(
                self._replicas.failures_changed,
                lambda key: [key],
                why="the set's status lists the failures of its replicas",
            ),
            SignalTrigger(
                self._reporter.reasons.outdated,
                lambda key: [key],
                why="the set's status says why it does not run",
                after_seconds=EXPLAIN_INTERVAL_SECONDS,
            ),
        ]
        triggers += [
            Trigger(
                informer,
                _set_of_shared,
                when=content_changed,
                why="an object that was deleted or edited is restored",
            )
            for informer in informers.companions.values()
        ]
        if informers.claim_templates is not None:
            triggers.append(
                Trigger(
                    informers.claim_templates,
                    self._all_sets,
                    when=spec_or_metadata_changed,
                    why="claims are created from it",
                )
            )
        return Controller(
            "podcliqueset",
            self.reconcile,
            triggers,
            workers=self._context.configuration.controllers.pod_clique_set.concurrent_syncs,
            metrics=self._context.metrics,
        )

    async def reconcile(self, key: ObjectKey) -> float | None:
        """Returns when to requeue, to report."""
        pcs = self._informers.sets.cache.get(key)
        if pcs is None:
            return None
        if pcs.metadata.deletion_timestamp is not None:
            return await self._finalize(pcs)
        judgement = self._judgements.judge(pcs)
        self._announce(pcs, judgement)
        if judgement.layout is None or judgement.selection is None:
            last_valid, failures = self._judgements.layout(key), self._replicas.failures_of(key)
            return await self._reporter.report_invalid(pcs, judgement.problems, last_valid, failures)
        if labels.Finalizer.POD_CLIQUE_SET not in pcs.metadata.finalizers:
            finalizers = pcs.metadata.finalizers
            pcs = await add_finalizer(self._informers.sets, pcs, finalizers, labels.Finalizer.POD_CLIQUE_SET)
        own = await self._ensure_shared(judgement.layout)
        failures = [*own, *self._replicas.failures_of(key)]
        ambiguity = judgement.selection.ambiguity
        requeue_after = await self._reporter.report(pcs, judgement.layout, failures, ambiguity)
        raise_failures(f"PodCliqueSet {key}", own)
        return requeue_after

    def _announce(self, pcs: PodCliqueSet, judgement: SetJudgement) -> None:
        """Counts the selected backend and emits warnings, once per version of a set."""
        uid, version = uid_of(pcs), version_of_set(pcs)
        if self._announced.get(uid) == version:
            return
        self._announced[uid] = version
        if judgement.selection is not None:
            self._context.count_selection(judgement.selection.backend.name)
        observed = pcs.status.observed_generation if pcs.status is not None else None
        if judgement.warnings and observed != pcs.metadata.generation:
            note = "; ".join(judgement.warnings)[:MAX_EVENT_NOTE_CHARS]
            self._context.warning_event(pcs, EventReason.VALIDATION_WARNING, note, "Validate")

    async def _ensure_shared(self, layout: SetLayout) -> list[Failure]:
        """Access rights for the ordered start of pods, and the claims that all replicas share."""
        templates, tags = self._claims.templates(layout), self._claims.tags(layout)
        wanted = [*access(layout), *set_claims(layout, templates, tags)]

        async def ensure(obj: Json) -> None:
            await self._applier.ensure(
                self._informers.companions[obj["kind"]],
                key_of_json(obj),
                orjson.dumps(obj),
                owner_uid=layout.owner.uid,
                immutable_fields=IMMUTABLE_CLAIM_FIELDS if obj["kind"] == CLAIM_KIND else (),
                keep_immutable=True,
            )

        outcomes = await for_each([o for o in wanted if o["kind"] in self._informers.companions], ensure)
        failures = [Failure(_SHARED_CODES[o.item["kind"]], o.error) for o in outcomes if o.error is not None]
        return failures + self._claims.missing(layout)

    async def _finalize(self, pcs: PodCliqueSet) -> float | None:
        """Deletes the parts of a set that is being deleted. Returns when to requeue, to report parts that remain."""
        if labels.Finalizer.POD_CLIQUE_SET not in pcs.metadata.finalizers:
            return None
        if not await delete_parts(self._informers, pcs):
            patience = self._patience_seconds(pcs)
            return patience if patience > 0 else await self._reporter.report_deletion(pcs)
        await release(self._informers, pcs)
        self._judgements.forget(uid_of(pcs))
        self._announced.pop(uid_of(pcs), None)
        self._reporter.forget(pcs)
        return None

    def _patience_seconds(self, pcs: PodCliqueSet) -> float:
        """Most sets are gone before there is anything to report."""
        since = pcs.metadata.deletion_timestamp
        return (
            (since.when() + DELETION_PATIENCE - self._context.now()).total_seconds()
            if since is not None
            else 0.0
        )

    def _all_sets(self, _: object) -> list[ObjectKey]:
        return [key_of(s) for s in self._informers.sets.cache]

    def _set_to_report(self, part: PodClique | PodCliqueScalingGroup | PodGang) -> list[ObjectKey]:
        """The set of a part, unless a status write is pending: that will cover the change of this part, too."""
        found = set_of(part)
        pcs = self._informers.sets.cache.get(found[0]) if found else None
        if pcs is None or pcs.metadata.deletion_timestamp is not None:
            return found
        is_next = isinstance(part, PodClique | PodCliqueScalingGroup) and replica_index(part) is not None
        if is_next and replica_index(part) == current_replica(pcs.status):
            return found  # The update of the set goes on when this replica is done: that does not wait for a batch.
        return [] if self._reporter.is_pending(pcs) else found

    def _set_in_deletion(self, pod: Pod) -> list[ObjectKey]:
        """The set of a pod, if it is being deleted."""
        found = [self._informers.sets.cache.get(key) for key in set_of(pod)]
        return [key_of(s) for s in found if s is not None and s.metadata.deletion_timestamp is not None]


def _set_of_shared(companion: Companion) -> list[ObjectKey]:
    """The set of a companion that all its replicas share."""
    return set_of(companion) if replica_index(companion) is None else []
