"""The controller of PodGangs, from their creation to the moment when their gates can open.

    the gang is created                       it names no pods and has no status; Initialized=False if that lasts
    the backend creates the scheduler's objects           BackendSynced=True, for this generation
    all pods exist                            the gang names them, Initialized=True; the backend follows
    the cliques remove the gates

It does the operator's part and the backend's part, so that within one process a gang's status has one writer. If the
backend runs as its own deployment, each process does its part, and guards its writes with the version that it read:

    operator    podReferences; phase and counts; Initialized, Scheduled, Ready, Unhealthy, DisruptionTarget
    backend     the scheduler's objects; BackendSynced, SchedulerDialect, Unschedulable, the placement score
"""

from collections import defaultdict
from typing import Any

import orjson

from grove.api import PodClique, PodGang, PodGangStatus, labels
from grove.api.conditions import ConditionType, Reason
from grove.api.pod_view import Pod
from grove.api.serialization import codec
from grove.api.serialization.model import replace
from grove.controllers.podgang.conditions import MAX_MESSAGE_CHARS, GangConditions
from grove.controllers.scheduler_objects.local_backends import LocalBackends
from grove.controllers.scheduler_objects.observation import observe
from grove.controllers.scheduler_objects.sync import GangSync, SyncResult
from grove.controllers.shared.context import OperatorContext
from grove.controllers.shared.indexes import gang_of, label, stood_in_for
from grove.controllers.shared.informers import GangInformers
from grove.controllers.shared.predicates import (
    completion_could_change,
    others_wait_for,
    pod_changed,
    pod_changed_beyond_its_gates,
    spec_or_scheduled_changed,
    spec_or_status_edited,
)
from grove.controllers.shared.status_writer import STARTUP_STATUS_BATCH_WINDOW_SECONDS, StatusWriter
from grove.plan.gangs.completion import GangCompletion, plan_completion
from grove.plan.status.conditions import find, gang_conditions, gang_is
from grove.plan.status.gang_status import gang_status
from grove.runtime.cache.cache import Change
from grove.runtime.cache.informer import Informer
from grove.runtime.client.objects import ObjectKey, key_of, uid_of
from grove.runtime.controller.controller import Controller
from grove.runtime.controller.triggers import SignalTrigger, Trigger, itself


class GangController:
    """With `cliques` it does the operator's part; it does the backend's part for gangs whose backend runs here."""

    def __init__(
        self,
        context: OperatorContext,
        informers: GangInformers,
        backends: LocalBackends,
        cliques: Informer[PodClique] | None = None,
    ) -> None:
        self._context = context
        self._informers = informers
        self._backends = backends
        self._sync = GangSync(backends)
        self._cliques = cliques
        self._statuses = StatusWriter()

    def controller(self) -> Controller[ObjectKey]:
        informers = self._informers
        triggers: list[Trigger[Any, ObjectKey] | SignalTrigger[Any, ObjectKey]] = [
            Trigger(
                informers.gangs,
                itself,
                when=spec_or_status_edited if self._cliques is not None else spec_or_scheduled_changed,
                why="a new or changed gang needs its scheduler's object",
            ),
            Trigger(
                informers.pods,
                gang_of,
                when=self._pod_could_matter,
                why="a pod completes the gang, or changes its status",
            ),
            *self._backends.object_triggers(),
            *self._backends.cluster_triggers(
                self._all_gangs, why="a gang is translated for what the cluster serves"
            ),
        ]
        if informers.stand_ins is not None:
            triggers.append(
                Trigger(
                    informers.stand_ins,
                    stood_in_for,
                    when=pod_changed,
                    why="the scheduler says on its placeholder pods why the gang waits",
                )
            )
        if self._cliques is not None:
            triggers.append(
                Trigger(
                    self._cliques,
                    gang_of,
                    when=completion_could_change,
                    why="it says how many pods complete the gang",
                )
            )
        return Controller(
            "podgang",
            self.reconcile,
            triggers,
            workers=self._context.configuration.controllers.pod_gang.concurrent_syncs,
            metrics=self._context.metrics,
        )

    async def reconcile(self, key: ObjectKey) -> float | None:
        """Returns when to requeue, for a batched status."""
        gang = self._informers.gangs.cache.get(key)
        if gang is None or gang.metadata.deletion_timestamp is not None:
            return None
        pods = self._pods_by_clique(gang)
        completion = None
        if self._cliques is not None:
            completion = self._plan_completion(gang, pods, self._cliques)
            gang = await self._name_pods(gang, completion)
        all_pods, stand_ins = [p for group in pods.values() for p in group], self._stand_ins(gang)
        result = None
        if self._backends.here(gang) is not None:
            result = await self._sync.sync(gang, [*all_pods, *stand_ins])
        else:
            await self._sync.leave(gang, all_pods)
            if self._cliques is not None:
                result = self._sync.not_enabled(gang)
        requeue_after = await self._write_status(gang, pods, completion, result)
        if result is not None and result.error is not None:
            raise result.error
        return requeue_after

    def _plan_completion(
        self, gang: PodGang, pods: dict[str, list[Pod]], informer: Informer[PodClique]
    ) -> GangCompletion:
        namespace = gang.metadata.namespace or ""
        found = {g.name: informer.cache.get(ObjectKey(namespace, g.name)) for g in gang.spec.pod_groups}
        cliques = {name: clique for name, clique in found.items() if clique is not None}
        return plan_completion(gang, cliques, pods, initialized=gang_is(gang, ConditionType.INITIALIZED))

    async def _name_pods(self, gang: PodGang, completion: GangCompletion) -> PodGang:
        """Writes the pods that the gang names, if they changed. Returns the gang after the write."""
        if [g.pod_references for g in gang.spec.pod_groups] == completion.pod_references:
            return gang
        groups = [
            replace(group, pod_references=references)
            for group, references in zip(gang.spec.pod_groups, completion.pod_references, strict=True)
        ]
        patch = {
            "metadata": {"resourceVersion": gang.metadata.resource_version},
            "spec": {"podgroups": orjson.Fragment(codec.encode(groups))},
        }
        return await self._informers.gangs.objects.merge_patch(
            key_of(gang), orjson.dumps(patch), on_version_read=True
        )

    async def _write_status(
        self,
        gang: PodGang,
        pods: dict[str, list[Pod]],
        completion: GangCompletion | None,
        result: SyncResult | None,
    ) -> float | None:
        """Returns when the batched status is due. A new gang whose pods are being created has nothing to report."""
        informer, old = self._informers.gangs, gang.status
        starting = completion is not None and not completion.complete and (result is None or result.ok)
        if old is None and starting:
            write = await self._statuses.write(
                informer,
                gang,
                None,
                lambda: self._status(gang, pods, completion, result),
                window_seconds=STARTUP_STATUS_BATCH_WINDOW_SECONDS,
                guarded=True,
            )
            return write.requeue_after
        new = self._status(gang, pods, completion, result)
        if new == old:
            self._statuses.forget(uid_of(gang))
            return None
        if result is not None:
            self._report_rejection(gang, result)
        write = await self._statuses.write(
            informer, gang, old, lambda: new, immediately=others_wait_for(gang, new), guarded=True
        )
        return write.requeue_after

    def _status(
        self,
        gang: PodGang,
        pods: dict[str, list[Pod]],
        completion: GangCompletion | None,
        result: SyncResult | None,
    ) -> PodGangStatus:
        now, initialized = self._context.now(), gang_is(gang, ConditionType.INITIALIZED)
        if completion is not None:
            status = gang_status(gang, pods, now)
        else:
            status = gang.status or PodGangStatus(phase="Pending")
        score = status.placement_score
        words = GangConditions(gang, status.conditions, now)
        # Once initialized, a gang stays so: the replacement of one pod holds back no other.
        if completion is not None and not initialized:
            words.set_initialized(completion)
        if result is not None:
            words.set_synced(result)
        # Before that all its pods are gated, and the scheduler has nothing to say.
        if initialized and self._backends.here(gang) is not None:
            all_pods = [p for group in pods.values() for p in group]
            observation = observe(self._backends, gang, [*self._stand_ins(gang), *all_pods])
            words.set_observed(observation)
            if observation.placement_score is not None:
                score = observation.placement_score
        return replace(status, conditions=words.conditions, placement_score=score)

    def _report_rejection(self, gang: PodGang, result: SyncResult) -> None:
        """Emits an event when the backend begins to reject a gang, or does so for another reason than before."""
        old = find(gang_conditions(gang), ConditionType.BACKEND_SYNCED)
        before = old.reason if old is not None and old.status == "False" else ""
        if not result.ok and result.reason not in (before, Reason.SCHEDULER_NOT_KNOWN_YET):
            note = result.message[:MAX_MESSAGE_CHARS]
            self._context.warning_event(gang, result.reason, note, "Translate")

    def _pod_could_matter(self, change: Change[Pod]) -> bool:
        """Predicate for pods: whether the change can matter to the pod's gang.

        Two kinds of changes cannot: a pod that is added while others are missing and no status is written yet, and a
        pod that merely loses its gate, unless the backend depends on gates.
        """
        if not pod_changed(change):
            return False
        gangs = [self._informers.gangs.cache.get(key) for key in gang_of(change.object)]
        gang = gangs[0] if gangs else None
        if gang is None or change.new is None:
            return True
        if change.old is not None:
            backend = self._backends.here(gang)
            depends_on_gates = backend is not None and backend.depends_on_gates
            return depends_on_gates or pod_changed_beyond_its_gates(change)
        if gang.status is not None or self._cliques is None:
            return True
        existing = self._informers.pods.cache.by_index("gang", key_of(gang))
        return len(existing) >= self._pods_when_complete(gang, self._cliques)

    def _pods_when_complete(self, gang: PodGang, informer: Informer[PodClique]) -> int:
        """The least number of pods of a complete gang."""
        namespace = gang.metadata.namespace or ""
        cliques = [informer.cache.get(ObjectKey(namespace, g.name)) for g in gang.spec.pod_groups]
        return sum(clique.spec.replicas if clique is not None else 1 for clique in cliques)

    def _all_gangs(self, _: object) -> list[ObjectKey]:
        return [key_of(gang) for gang in self._informers.gangs.cache]

    def _stand_ins(self, gang: PodGang) -> list[Pod]:
        informer = self._informers.stand_ins
        return informer.cache.by_index("gang", key_of(gang)) if informer is not None else []

    def _pods_by_clique(self, gang: PodGang) -> dict[str, list[Pod]]:
        found: dict[str, list[Pod]] = defaultdict(list)
        for pod in self._informers.pods.cache.by_index("gang", key_of(gang)):
            found[label(pod, labels.POD_CLIQUE)].append(pod)
        return found
