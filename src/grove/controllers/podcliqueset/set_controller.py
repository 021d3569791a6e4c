"""PodCliqueSets as a whole: whether they make sense, what all replicas share, their status, and their end.

The replica controller makes the replicas. The status adds up summaries of them, of which only
those are worked out anew whose objects changed. The reason why a set does not run is looked at when all cliques say
that it does, and else now and then, as are the words of its gangs: pods come and go by the thousand, and people read
more slowly.
"""

from collections.abc import Sequence
from typing import Any

import orjson

from grove.api import PodClique, PodCliqueScalingGroup, PodCliqueSet, PodCliqueSetStatus, PodGang, labels
from grove.api.conditions import ConditionType, EventReason, Reason
from grove.api.meta import Condition
from grove.api.pod_view import Pod
from grove.api.serialization.model import replace
from grove.controllers.podcliqueset.replica_controller import ReplicaController
from grove.controllers.podcliqueset.running_reason import LOOK_EVERY, Reasons
from grove.controllers.podcliqueset.set_judgement import SetJudgements
from grove.controllers.shared.apply import Applier, key_of_json
from grove.controllers.shared.claims import CLAIM_FIXED, KIND, Claims
from grove.controllers.shared.companions import Companion
from grove.controllers.shared.context import OperatorContext
from grove.controllers.shared.deletion import PATIENCE, delete_all
from grove.controllers.shared.finalizers import add_finalizer, remove_finalizer
from grove.controllers.shared.indexes import ReplicaKey, label, replica_index, replica_of, set_of
from grove.controllers.shared.informers import Informers
from grove.controllers.shared.predicates import described_anew, not_as_left, touched, went
from grove.controllers.shared.status_writer import GATHER, Reports, last_errors, write_status
from grove.plan.explain import Finding, in_words
from grove.plan.layout.set_layout import SetLayout
from grove.plan.objects.access import access
from grove.plan.objects.claims import set_claims
from grove.plan.status import conditions as status_conditions
from grove.plan.status.set_status import ObservedTopology, ReplicaSummary, replica_summary, set_status
from grove.runtime.cache.cache import Change
from grove.runtime.cache.informer import Informer
from grove.runtime.client.objects import ObjectKey, key_of, uid_of
from grove.runtime.controller.concurrently import for_each
from grove.runtime.controller.controller import Controller
from grove.runtime.controller.triggers import Trigger, itself

MOST_WORDS = 1000
# A status lists every gang, so it costs the more the more there are. For each replica changes are gathered so many
# seconds longer: then what a change costs does not depend on how many there are.
GATHER_PER_REPLICA = 0.004


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
        self._reports = Reports()
        self._reasons = Reasons(context, informers)
        self._summaries: dict[ReplicaKey, tuple[str, ReplicaSummary]] = {}
        for informer in (informers.cliques, informers.groups):
            informer.cache.subscribe(self._outdate)

    def controller(self) -> Controller[ObjectKey]:
        informers = self._informers
        triggers: list[Trigger[Any, ObjectKey]] = [
            Trigger(
                informers.sets, itself, when=not_as_left, why="it may have become valid, invalid or unwanted"
            ),
            Trigger(
                informers.cliques,
                self._of_part,
                why="its status adds to the set's, and the set's end waits for it",
            ),
            Trigger(informers.groups, self._of_part, why="its status adds to the set's"),
            Trigger(informers.gangs, self._of_part, why="the set lists the phases of its gangs"),
            Trigger(
                informers.topologies, self._all_sets, when=described_anew, why="levels may have come or gone"
            ),
            Trigger(informers.pods, self._of_pod, when=went, why="the set's end waits for its pods"),
        ]
        triggers += [
            Trigger(
                informer, _whole_set, when=touched, why="what Grove made and somebody changed is put back"
            )
            for informer in informers.companions.values()
        ]
        if informers.claim_templates is not None:
            why = "claims are made from it"
            triggers.append(Trigger(informers.claim_templates, self._all_sets, when=described_anew, why=why))
        made: Controller[ObjectKey] = Controller(
            "podcliqueset",
            self.reconcile,
            triggers,
            workers=self._context.configuration.controllers.pod_clique_set.concurrent_syncs,
        )
        self._reasons.on_change(made.queue.add_after)
        self._replicas.on_change(made.queue.add)
        return made

    async def reconcile(self, key: ObjectKey) -> float | None:
        """Returns when to look again, to report."""
        pcs = self._informers.sets.cache.get(key)
        if pcs is None:
            return None
        if pcs.metadata.deletion_timestamp is not None:
            return await self._end(pcs)
        judged = self._judgements.judge(pcs)
        if judged.layout is None:
            return await self._refuse(pcs, judged.problems)
        if labels.Finalizer.POD_CLIQUE_SET not in pcs.metadata.finalizers:
            finalizers = pcs.metadata.finalizers
            pcs = await add_finalizer(self._informers.sets, pcs, finalizers, labels.Finalizer.POD_CLIQUE_SET)
        failures = await self._ensure_shared(judged.layout)
        failures += self._replicas.failures_of(key)
        ambiguity = judged.selection.ambiguity if judged.selection is not None else ""
        wait = await self._write_status(pcs, judged.layout, failures, ambiguity)
        own = [e for code, e in failures if code in _SHARED_CODES.values()]
        if own:
            raise ExceptionGroup(f"PodCliqueSet {key}", own)
        return wait

    async def _ensure_shared(self, layout: SetLayout) -> list[tuple[str, Exception]]:
        """What all replicas share: access for ordered starts, and shared claims."""
        wanted = [
            o
            for o in (
                *access(layout),
                *set_claims(layout, self._claims.templates(layout), self._claims.tags(layout)),
            )
            if o["kind"] in self._informers.companions
        ]

        async def ensure(obj: dict[str, Any]) -> None:
            informer = self._informers.companions[obj["kind"]]
            await self._applier.ensure(
                informer,
                key_of_json(obj),
                orjson.dumps(obj),
                owner_uid=layout.owner.uid,
                fixed=CLAIM_FIXED if obj["kind"] == KIND else (),
                all_but_fixed=True,
            )

        outcomes = await for_each(wanted, ensure)
        failures = [(_SHARED_CODES[o.item["kind"]], o.error) for o in outcomes if o.error is not None]
        return failures + self._claims.missing(layout)

    async def _write_status(
        self, pcs: PodCliqueSet, layout: SetLayout, failures: list[tuple[str, Exception]], ambiguity: str
    ) -> float | None:
        """Returns when a report is due that is not yet."""
        old = pcs.status
        known = old.last_errors if old else []
        at_once = bool(failures or known) or old is None or old.observed_generation != pcs.metadata.generation

        next_look = 0.0

        def status() -> PodCliqueSetStatus:
            nonlocal next_look
            key = key_of(pcs)
            summaries = self._summarize(layout, key)
            if not all(s.complete for s in summaries):
                next_look = self._reasons.until_look(pcs)
            new = self._status(pcs, layout, summaries, synced=not failures, quick=next_look > 0)
            conditions = status_conditions.without(new.conditions, ConditionType.INVALID)
            conditions = self._say_ambiguous(pcs, conditions, ambiguity)
            errors = last_errors(known, failures, self._context.now())
            new = replace(new, conditions=conditions, last_errors=errors)
            if next_look:
                return new
            if old is not None:
                return self._say_why(pcs, new, layout.replicas)
            # At first nothing is there, and one replica speaks for all. If there is, the next look sees it.
            new = self._say_why(pcs, new, min(1, layout.replicas))
            next_look = self._reasons.until_look(pcs)
            return new

        reported = await self._reports.write(
            self._informers.sets, pcs, old, status, at_once=at_once, gather=_gather(layout.replicas)
        )
        return reported.look_again or next_look or None

    def _status(
        self,
        pcs: PodCliqueSet,
        layout: SetLayout,
        summaries: Sequence[ReplicaSummary],
        *,
        synced: bool,
        quick: bool,
    ) -> PodCliqueSetStatus:
        informers = self._informers
        enabled = self._context.configuration.topology_aware_scheduling.enabled
        name = layout.topology_name
        topology = ObservedTopology(
            enabled, informers.topologies.cache.get(ObjectKey("", name)) if name else None
        )
        gangs = informers.gangs.cache.by_index("set", key_of(pcs))
        return set_status(
            pcs, layout, summaries, gangs, topology, self._context.now(), synced=synced, quick=quick
        )

    def _say_why(self, pcs: PodCliqueSet, status: PodCliqueSetStatus, replicas: int) -> PodCliqueSetStatus:
        return self._with_reason(pcs, status, self._reasons.look(replace(pcs, status=status), replicas))

    def _with_reason(
        self, pcs: PodCliqueSet, status: PodCliqueSetStatus, found: Finding
    ) -> PodCliqueSetStatus:
        conditions = status_conditions.put(
            status.conditions,
            ConditionType.RUNNING,
            "True" if found.reason.fine else "False",
            found.reason,
            in_words(found)[:MOST_WORDS],
            self._context.now(),
            observed_generation=pcs.metadata.generation,
        )
        return replace(status, conditions=conditions)

    def _say_ambiguous(
        self, pcs: PodCliqueSet, conditions: list[Condition], ambiguity: str
    ) -> list[Condition]:
        kind = ConditionType.SEVERAL_BACKENDS_MATCH
        if not ambiguity:
            return status_conditions.without(conditions, kind)
        if status_conditions.find(conditions, kind) is None:
            reason = EventReason.SEVERAL_BACKENDS_MATCH
            self._context.warning_event(pcs, reason, ambiguity, "SelectBackend")
        return status_conditions.put(
            conditions, kind, "True", Reason.FIRST_PROFILE_WINS, ambiguity, self._context.now()
        )

    def _summarize(self, layout: SetLayout, key: ObjectKey) -> list[ReplicaSummary]:
        return [self._summary(layout, ReplicaKey(*key, i)) for i in range(layout.replicas)]

    def _summary(self, layout: SetLayout, key: ReplicaKey) -> ReplicaSummary:
        version = layout.generation_hash
        known = self._summaries.get(key)
        if known is None or known[0] != version:
            cliques = self._informers.cliques.cache.by_index("replica", key)
            groups = self._informers.groups.cache.by_index("replica", key)
            known = self._summaries[key] = (version, replica_summary(layout, key.replica, cliques, groups))
        return known[1]

    def _outdate(self, change: Change[Any]) -> None:
        for key in replica_of(change.object):
            self._summaries.pop(key, None)

    async def _refuse(self, pcs: PodCliqueSet, problems: tuple[str, ...]) -> float | None:
        """Says what is wrong. What runs already goes on running as it was; returns when to report on it again."""
        message = "; ".join(problems)[:4000]
        old = pcs.status or PodCliqueSetStatus()
        known = status_conditions.find(old.conditions, ConditionType.INVALID)
        news = known is None or known.message != message
        layout = self._judgements.get(key_of(pcs))

        def status() -> PodCliqueSetStatus:
            seen = self._as_it_was(pcs, layout) if layout is not None else old
            kind, reason, now = ConditionType.INVALID, Reason.VALIDATION_FAILED, self._context.now()
            conditions = status_conditions.put(seen.conditions, kind, "True", reason, message, now)
            return self._say_why(pcs, replace(seen, conditions=conditions), 0)

        replicas = layout.replicas if layout is not None else 0
        reported = await self._reports.write(
            self._informers.sets, pcs, pcs.status, status, at_once=news, gather=_gather(replicas)
        )
        self._reasons.forget(pcs)
        if news:
            self._context.warning_event(pcs, Reason.VALIDATION_FAILED, message[:1000], "Validate")
        return reported.look_again

    def _as_it_was(self, pcs: PodCliqueSet, layout: SetLayout) -> PodCliqueSetStatus:
        """How the set fares that is run on as it was when it was last valid."""
        key = key_of(pcs)
        status = self._status(pcs, layout, self._summarize(layout, key), synced=False, quick=False)
        known = pcs.status.last_errors if pcs.status else []
        errors = last_errors(known, self._replicas.failures_of(key), self._context.now())
        return replace(status, last_errors=errors)

    async def _end(self, pcs: PodCliqueSet) -> float | None:
        """Cliques and groups go first, and with them the pods; the rest follows by garbage collection.

        Whoever asked to orphan the parts keeps them: garbage collection takes our name off them. Returns when to look
        again at parts that do not go, to say so.
        """
        informers, finalizers = self._informers, pcs.metadata.finalizers
        if labels.Finalizer.POD_CLIQUE_SET not in finalizers:
            return None
        if "orphan" not in finalizers:
            groups, cliques = self._owned(informers.groups, pcs), self._owned(informers.cliques, pcs)
            failures = await delete_all(informers.groups, groups, "ERR_DELETE_PODCLIQUESCALINGGROUP")
            failures += await delete_all(informers.cliques, cliques, "ERR_DELETE_PODCLIQUE")
            if failures:
                raise ExceptionGroup(
                    f"PodCliqueSet {key_of(pcs)} cannot go away yet", [e for _, e in failures]
                )
            if self._has_parts(pcs):
                return await self._say_what_is_left(pcs)
        await remove_finalizer(informers.sets, pcs, finalizers, labels.Finalizer.POD_CLIQUE_SET)
        self._judgements.forget(uid_of(pcs))
        self._reports.forget(uid_of(pcs))
        self._reasons.forget(pcs)
        return None

    async def _say_what_is_left(self, pcs: PodCliqueSet) -> float:
        """Most sets go before there is anything to say. Returns when to look again."""
        gone_at = pcs.metadata.deletion_timestamp
        patience = (
            (gone_at.when() + PATIENCE - self._context.now()).total_seconds() if gone_at is not None else 0.0
        )
        if (wait := max(patience, self._reasons.until_look(pcs))) > 0:
            return wait
        old = pcs.status or PodCliqueSetStatus()
        status = self._with_reason(pcs, old, self._reasons.of_end(pcs))
        await write_status(self._informers.sets, pcs, pcs.status, status)
        return LOOK_EVERY

    def _owned(self, informer: Informer[Any], pcs: PodCliqueSet) -> list[Any]:
        found = informer.cache.by_index("set", key_of(pcs))
        return [o for o in found if any(r.uid == pcs.metadata.uid for r in o.metadata.owner_references)]

    def _has_parts(self, pcs: PodCliqueSet) -> bool:
        """Cliques or groups of its own that are still going, or pods that have lost their clique."""
        informers, key = self._informers, key_of(pcs)
        if self._owned(informers.groups, pcs) or self._owned(informers.cliques, pcs):
            return True
        return any(
            informers.cliques.cache.by_uid(o.uid) is None
            for pod in informers.pods.cache.by_index("set", key)
            for o in pod.metadata.owner_references
        )

    def _all_sets(self, _: Any) -> list[ObjectKey]:
        return [key_of(s) for s in self._informers.sets.cache]

    def _of_part(self, obj: PodClique | PodCliqueScalingGroup | PodGang) -> list[ObjectKey]:
        """Not while a report of the set is to come, which then tells of this part too."""
        found = set_of(obj)
        pcs = self._informers.sets.cache.get(found[0]) if found else None
        if pcs is None or pcs.metadata.deletion_timestamp is not None:
            return found
        return [] if self._reports.to_come(uid_of(pcs)) else found

    def _of_pod(self, pod: Pod) -> list[ObjectKey]:
        """Only where the set is waiting for its pods to go."""
        key = ObjectKey(pod.metadata.namespace or "", label(pod, labels.PART_OF))
        pcs = self._informers.sets.cache.get(key)
        return [key] if pcs is not None and pcs.metadata.deletion_timestamp is not None else []


def _gather(replicas: int) -> float:
    return GATHER + replicas * GATHER_PER_REPLICA


def _whole_set(obj: Companion) -> list[ObjectKey]:
    """Companions that belong to no replica in particular."""
    return set_of(obj) if replica_index(obj) is None else []


_SHARED_CODES = {
    "ServiceAccount": "ERR_SYNC_SERVICEACCOUNT",
    "Role": "ERR_SYNC_ROLE",
    "RoleBinding": "ERR_SYNC_ROLEBINDING",
    "Secret": "ERR_CREATE_SECRET",
    "ResourceClaim": "ERR_SYNC_PCS_RESOURCE_CLAIM",
}
