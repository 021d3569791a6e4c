"""The controller of the replicas of PodCliqueSets: each replica is a key of its own.

So a change costs as much as its replica, however many replicas the set has.
"""

from datetime import datetime
from typing import Any

from grove.api import PodCliqueSet, labels
from grove.api.conditions import EventReason
from grove.api.pod_view import Pod
from grove.controllers.podcliqueset.replica_objects import DesiredObject, ReplicaObjects
from grove.controllers.podcliqueset.replica_pruning import ReplicaPruning
from grove.controllers.podcliqueset.set_judgements import SetJudgements
from grove.controllers.shared.apply import Applier
from grove.controllers.shared.claims import CLAIM_KIND, IMMUTABLE_CLAIM_FIELDS, Claims
from grove.controllers.shared.context import OperatorContext
from grove.controllers.shared.deletion import DELETION_PATIENCE, gone_by
from grove.controllers.shared.failures import Failure, describe, raise_failures
from grove.controllers.shared.indexes import ReplicaKey, label, replica_index, replica_of
from grove.controllers.shared.informers import Informers
from grove.controllers.shared.predicates import (
    content_changed,
    deleted,
    gang_edited,
    spec_or_metadata_changed,
)
from grove.plan.gangs.membership import gang_names
from grove.plan.layout.set_layout import SetLayout
from grove.runtime.cache.informer import Informer
from grove.runtime.client.objects import ObjectKey, key_of
from grove.runtime.controller.concurrently import for_each
from grove.runtime.controller.controller import Controller
from grove.runtime.controller.triggers import Signal, Trigger


class ReplicaController:
    """`failures_changed` fires with a set when the failures of one of its replicas changed: its status reports them."""

    def __init__(self, context: OperatorContext, informers: Informers, judgements: SetJudgements) -> None:
        self._context = context
        self._informers = informers
        self._judgements = judgements
        self._applier = Applier()
        self._objects = ReplicaObjects(context, informers, judgements, Claims(context, informers))
        self._pruning = ReplicaPruning(informers)
        self._failures: dict[ReplicaKey, list[Failure]] = {}
        self.failures_changed: Signal[ObjectKey] = Signal()

    def controller(self) -> Controller[ReplicaKey]:
        informers = self._informers
        triggers: list[Trigger[Any, ReplicaKey]] = [
            Trigger(
                informers.sets,
                self._replicas_of,
                when=spec_or_metadata_changed,
                why="it says which replicas exist, and what they consist of",
            ),
            Trigger(
                informers.cliques,
                replica_of,
                when=spec_or_metadata_changed,
                why="a clique that was deleted or edited is restored",
            ),
            Trigger(
                informers.groups,
                replica_of,
                when=spec_or_metadata_changed,
                why="the number of its copies decides which scaled gangs exist",
            ),
            Trigger(
                informers.gangs,
                replica_of,
                when=gang_edited,
                why="a gang that was deleted or edited is restored",
            ),
            Trigger(
                informers.topologies,
                self._all_replicas,
                when=spec_or_metadata_changed,
                why="gangs have the node labels of its levels",
            ),
            Trigger(
                informers.pods,
                self._replica_without_pods,
                when=deleted,
                why="a gang that is no longer wanted is deleted once its last pod is gone",
            ),
        ]
        triggers += [
            Trigger(
                informer,
                replica_of,
                when=content_changed,
                why="an object that was deleted or edited is restored",
            )
            for informer in informers.companions.values()
        ]
        if informers.claim_templates is not None:
            triggers.append(
                Trigger(
                    informers.claim_templates,
                    self._all_replicas,
                    when=spec_or_metadata_changed,
                    why="claims are created from it",
                )
            )
        return Controller(
            "podcliqueset-replica",
            self.reconcile,
            triggers,
            workers=self._context.configuration.controllers.pod_clique_set.concurrent_syncs,
            metrics=self._context.metrics,
        )

    def failures_of(self, key: ObjectKey) -> list[Failure]:
        """What failed in the last reconcile of each replica of a set, for its status."""
        replicas = [replica for replica in sorted(self._failures) if replica.set == key]
        return [failure for replica in replicas for failure in self._failures[replica]]

    async def reconcile(self, key: ReplicaKey) -> float | None:
        """Returns when to requeue, to report parts that should be deleted by then."""
        await self._pruning.release_compute_domains(key)
        pcs = self._informers.sets.cache.get(key.set)
        if pcs is None or pcs.metadata.deletion_timestamp is not None:
            self._failures.pop(key, None)
            return None
        layout = self._judgements.layout(key.set)
        if layout is None:
            return None
        if key.replica >= layout.replicas:
            failures = await self._pruning.remove(key, layout)
        else:
            failures = await self._ensure(key, pcs, layout)
        self._keep_failures(key, failures)
        raise_failures(f"PodCliqueSet {key}", failures)
        return self._report_stuck_parts(key, pcs, layout)

    async def _ensure(self, key: ReplicaKey, pcs: PodCliqueSet, layout: SetLayout) -> list[Failure]:
        async def ensure(item: DesiredObject) -> None:
            is_claim = item.informer.resource.kind == CLAIM_KIND
            await self._applier.ensure(
                item.informer,
                item.key,
                item.body(),
                owner_uid=layout.owner.uid,
                owned_fields=item.owned_fields,
                immutable_fields=IMMUTABLE_CLAIM_FIELDS if is_claim else (),
                keep_immutable=True,
            )

        wanted = self._objects.desired(key, layout)
        outcomes = await for_each(wanted, ensure)
        failures = [Failure(o.item.failure_code, o.error) for o in outcomes if o.error is not None]
        failures += await self._pruning.prune(key, layout, wanted)
        if failures:
            note = f"replica {key.replica}: {describe(failures[0].error)}"
            reason = EventReason.GANG_CREATE_OR_UPDATE_FAILED
            self._context.warning_event(pcs, reason, note, "EnsureReplica")
        return failures

    def _keep_failures(self, key: ReplicaKey, failures: list[Failure]) -> None:
        before = self._failures.pop(key, [])
        if failures:
            self._failures[key] = failures
        if _described(before) != _described(failures):
            self.failures_changed.fire(key.set)

    def _report_stuck_parts(self, key: ReplicaKey, pcs: PodCliqueSet, layout: SetLayout) -> float | None:
        """Emits an event about a part that outlives its replica or copy. Returns when to check again."""
        informers, i, now = self._informers, key.replica, self._context.now()
        wanted = gang_names(layout, i, self._objects.copies(layout, i)) if i < layout.replicas else set()
        unwanted = [
            g for g in informers.gangs.cache.by_index("replica", key) if g.metadata.name not in wanted
        ]
        remaining: list[tuple[datetime, Any]] = [
            (gone_by(part) or now, part)
            for gang in unwanted
            for part in (
                *informers.cliques.cache.by_index("gang", key_of(gang)),
                *informers.pods.cache.by_index("gang", key_of(gang)),
            )
        ]
        if not remaining:
            return None
        when, part = min(remaining, key=lambda found: found[0])
        wait = (when + DELETION_PATIENCE - now).total_seconds()
        if wait > 0:
            return wait
        held = ", ".join(part.metadata.finalizers) or "its node, which does not say that it ended"
        note = f"replica {i} waits for what is no longer wanted: {part.metadata.name} is held by {held}"
        self._context.warning_event(pcs, EventReason.SET_REPLICA_DELETE_FAILED, note, "RemoveReplica")
        return None

    def _replicas_of(self, pcs: PodCliqueSet) -> list[ReplicaKey]:
        """The replicas that the set is to have, those that have objects, and those whose last reconcile failed.

        An invalid set is to have what it had when it was last valid: its own number may be any number.
        """
        key = key_of(pcs)
        informers: list[Informer[Any]] = [
            self._informers.cliques,
            self._informers.gangs,
            *self._informers.companions.values(),
        ]
        existing = {replica_index(o) for informer in informers for o in informer.cache.by_index("set", key)}
        layout = self._judgements.layout(key)
        indices = set(range(layout.replicas)) if layout is not None else set()
        indices |= {i for i in existing if i is not None} | {
            k.replica for k in self._failures if k.set == key
        }
        return [ReplicaKey(*key, i) for i in sorted(indices)]

    def _all_replicas(self, _: object) -> list[ReplicaKey]:
        return [k for pcs in self._informers.sets.cache for k in self._replicas_of(pcs)]

    def _replica_without_pods(self, pod: Pod) -> list[ReplicaKey]:
        """The replica of a pod, if no pod of its gang is left."""
        gang = ObjectKey(pod.metadata.namespace or "", label(pod, labels.POD_GANG))
        return [] if self._informers.pods.cache.by_index("gang", gang) else replica_of(pod)


def _described(failures: list[Failure]) -> list[tuple[str, str]]:
    return [(f.code, describe(f.error)) for f in failures]
