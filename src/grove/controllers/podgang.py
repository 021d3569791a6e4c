"""PodGangs: from their first moment to the last gate.

    created early, naming no pods          and it reports nothing yet: Initialized=False if that lasts
    the backend makes the scheduler's object           BackendSynced=True, for this generation
    all pods exist and point back          the gang names them, Initialized=True; the backend follows
    then the cliques remove the gates

One controller does both halves, the operator's and the backend's, so that within one process a gang's status has one
writer. Where the backend runs as its own deployment, each process does its half, and writes are guarded by version:

    operator    podReferences; phase and counts; Initialized, Scheduled, Ready, Unhealthy, DisruptionTarget
    backend     the scheduler's objects; BackendSynced, SchedulerDialect, Unschedulable, the placement score
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import orjson

from grove.api import PodClique, PodGang, PodGangStatus, labels
from grove.api.conditions import ConditionType, Reason
from grove.api.meta import Condition, ConditionStatus
from grove.api.pod_view import Pod
from grove.api.serialization import codec
from grove.api.serialization.model import replace
from grove.controllers.scheduler_objects.sync import Backends, Synced
from grove.controllers.shared.context import OperatorContext
from grove.controllers.shared.indexes import label, stood_in_for
from grove.controllers.shared.informers import GangInformers
from grove.controllers.shared.predicates import (
    completes_anew,
    not_as_left,
    placed_anew,
    pod_moved,
    pod_moved_on,
    steers,
)
from grove.controllers.shared.status_writer import GATHER_ON_THE_WAY, Reports
from grove.plan.gangs.completion import GangCompletion, plan_completion
from grove.plan.status.conditions import find, gang_conditions, gang_is, is_true, put, without
from grove.plan.status.gang_status import gang_status
from grove.runtime.cache.cache import Change
from grove.runtime.cache.informer import Informer
from grove.runtime.client.objects import ObjectKey, key_of, uid_of
from grove.runtime.controller.controller import Controller
from grove.runtime.controller.triggers import Trigger, itself
from grove.schedulers.types import Observation
from grove.schema.name_syntax import is_condition_reason


class GangController:
    """`cliques` are given where gangs are filled in and initialized. Translating is up to which backends run here."""

    def __init__(
        self,
        context: OperatorContext,
        informers: GangInformers,
        backends: Backends,
        cliques: Informer[PodClique] | None = None,
    ) -> None:
        self._context = context
        self._informers = informers
        self._backends = backends
        self._cliques = cliques
        self._reports = Reports()

    def controller(self) -> Controller[ObjectKey]:
        informers = self._informers
        triggers: list[Trigger[Any, ObjectKey]] = [
            Trigger(
                informers.gangs,
                itself,
                when=not_as_left if self._cliques is not None else placed_anew,
                why="a new or changed gang needs its scheduler's object",
            ),
            Trigger(
                informers.pods,
                _of_pod,
                when=self._tells,
                why="a pod completes the gang, or changes its state",
            ),
        ]
        if informers.stand_ins is not None:
            why = "its scheduler says there why the gang waits"
            triggers.append(Trigger(informers.stand_ins, stood_in_for, when=pod_moved, why=why))
        if self._cliques is not None:
            why = "it says how many pods complete the gang"
            triggers.append(Trigger(self._cliques, _of_clique, when=completes_anew, why=why))
        triggers += self._backends.object_triggers()
        made: Controller[ObjectKey] = Controller(
            "podgang",
            self.reconcile,
            triggers,
            workers=self._context.configuration.controllers.pod_gang.concurrent_syncs,
        )

        def wake_all() -> None:
            for gang in informers.gangs.cache:
                made.queue.add(key_of(gang))

        self._backends.on_news(wake_all)
        return made

    async def reconcile(self, key: ObjectKey) -> float | None:
        """Returns when to look again, to report."""
        gang = self._informers.gangs.cache.get(key)
        if gang is None or gang.metadata.deletion_timestamp is not None:
            return None
        pods = self._pods(gang)
        init = self._plan(gang, pods, self._cliques) if self._cliques is not None else None
        if init is not None:
            gang = await self._fill(gang, init)
        synced = None
        if self._backends.here(gang) is not None:
            synced = await self._backends.sync(gang, [*_all(pods), *self._stand_ins(gang)])
        else:
            await self._backends.leave(gang, _all(pods))
        on_the_way = init is not None and not init.complete and (synced is None or synced.ok)
        wait = await self._write_status(
            gang, lambda: self._status(gang, pods, init, synced), on_the_way=on_the_way
        )
        if synced is not None and synced.error is not None:
            raise synced.error
        return wait

    async def _write_status(
        self, gang: PodGang, status: Callable[[], PodGangStatus], *, on_the_way: bool
    ) -> float | None:
        """Returns when the report is due, if it is not yet. A new gang whose pods are on the way has none to give."""
        informer, old = self._informers.gangs, gang.status
        if old is None and on_the_way:
            reported = await self._reports.write(
                informer, gang, None, status, gather=GATHER_ON_THE_WAY, guarded=True
            )
            return reported.look_again
        new = status()
        if new == old:
            self._reports.forget(uid_of(gang))
            return None
        reported = await self._reports.write(
            informer, gang, old, lambda: new, at_once=steers(gang, new), guarded=True
        )
        return reported.look_again

    def _tells(self, change: Change[Pod]) -> bool:
        """Whether it can change a gang. Neither a pod that comes while others are missing and a report is to come can,
        nor one that merely lost its gate, unless the backend heeds that."""
        if not pod_moved(change):
            return False
        pod = change.object
        gang = self._informers.gangs.cache.get(_gang_of(pod))
        if gang is None or change.new is None:
            return True
        if change.old is not None:
            return pod_moved_on(change) or self._heeds_gates(gang)
        if gang.status is not None or self._cliques is None:
            return True
        return len(self._informers.pods.cache.by_index("gang", key_of(gang))) >= self._size(
            gang, self._cliques
        )

    def _heeds_gates(self, gang: PodGang) -> bool:
        backend = self._backends.here(gang)
        return backend is not None and backend.depends_on_gates

    def _size(self, gang: PodGang, informer: Informer[PodClique]) -> int:
        """How many pods it has at least when it is complete."""
        wanted = 0
        for group in gang.spec.pod_groups:
            clique = informer.cache.get(ObjectKey(gang.metadata.namespace or "", group.name))
            wanted += clique.spec.replicas if clique is not None else 1
        return wanted

    def _plan(
        self, gang: PodGang, pods: dict[str, list[Pod]], informer: Informer[PodClique]
    ) -> GangCompletion:
        namespace = gang.metadata.namespace or ""
        cliques: dict[str, PodClique] = {}
        for group in gang.spec.pod_groups:
            if (clique := informer.cache.get(ObjectKey(namespace, group.name))) is not None:
                cliques[group.name] = clique
        return plan_completion(gang, cliques, pods, initialized=gang_is(gang, ConditionType.INITIALIZED))

    async def _fill(self, gang: PodGang, init: GangCompletion) -> PodGang:
        if [g.pod_references for g in gang.spec.pod_groups] == init.pod_references:
            return gang
        groups = [
            replace(g, pod_references=refs)
            for g, refs in zip(gang.spec.pod_groups, init.pod_references, strict=True)
        ]
        patch = {
            "metadata": {"resourceVersion": gang.metadata.resource_version},
            "spec": {"podgroups": orjson.Fragment(codec.encode(groups))},
        }
        return await self._informers.gangs.objects.merge_patch(
            key_of(gang), orjson.dumps(patch), on_version_read=True
        )

    def _status(
        self, gang: PodGang, pods: dict[str, list[Pod]], init: GangCompletion | None, synced: Synced | None
    ) -> PodGangStatus:
        initialized = gang_is(gang, ConditionType.INITIALIZED)
        if init is not None:
            status = gang_status(gang, pods, self._context.now())
        else:
            status = gang.status or PodGangStatus(phase="Pending")
        said, score = status.conditions, status.placement_score
        # Once initialized, a gang stays so: a pod that is being replaced holds back no other.
        if init is not None and not initialized:
            said = self._say_initialized(gang, said, init)
        if synced is not None:
            self._report(gang, synced)
            said = self._say_synced(gang, said, synced)
        # Before, all its pods are gated, and the scheduler has nothing to say.
        if initialized and self._backends.here(gang) is not None:
            seen = self._backends.observe(gang, [*self._stand_ins(gang), *_all(pods)])
            said = self._say_why(gang, said, seen)
            score = score if seen.placement_score is None else seen.placement_score
        return replace(status, conditions=said, placement_score=score)

    def _say_why(self, gang: PodGang, said: list[Condition], seen: Observation) -> list[Condition]:
        """Adds what the scheduler itself says. It is not asked why a gang is not placed that is: some never forget."""
        kind = ConditionType.UNSCHEDULABLE
        if seen.message and not is_true(said, ConditionType.SCHEDULED):
            return self._say(gang, said, kind, "True", *_as_reason(seen))
        return without(said, kind)

    def _report(self, gang: PodGang, synced: Synced) -> None:
        """An event for what the backend does not accept: when that is new, not each time that it is looked at."""
        old = find(gang_conditions(gang), ConditionType.BACKEND_SYNCED)
        before = old.reason if old is not None and old.status == "False" else ""
        if not synced.ok and synced.reason not in (before, Reason.SCHEDULER_NOT_KNOWN_YET):
            self._context.warning_event(gang, synced.reason, synced.message[:1000], "Translate")

    def _say_initialized(self, gang: PodGang, said: list[Condition], init: GangCompletion) -> list[Condition]:
        kind = ConditionType.INITIALIZED
        if init.complete:
            message = f"all pods of its {len(gang.spec.pod_groups)} groups exist"
            return self._say(gang, said, kind, "True", Reason.PODS_CREATED, message)
        missing = _listed([f"{n} of {g}" for g, n in init.missing.items()])
        message = f"waiting for pods to be created: {missing}"
        return self._say(gang, said, kind, "False", Reason.PODS_CREATION_PENDING, message)

    def _say_synced(self, gang: PodGang, said: list[Condition], synced: Synced) -> list[Condition]:
        word: ConditionStatus = "True" if synced.ok else "False"
        if synced.dialect:
            message = "the API of its scheduler that the objects and pods of this gang are made for"
            said = self._say(gang, said, ConditionType.DIALECT, "True", synced.dialect, message)
        return self._say(gang, said, ConditionType.BACKEND_SYNCED, word, synced.reason, synced.message)

    def _say(
        self,
        gang: PodGang,
        said: list[Condition],
        kind: str,
        word: ConditionStatus,
        reason: str,
        message: str,
    ) -> list[Condition]:
        generation, now = gang.metadata.generation, self._context.now()
        return put(said, kind, word, reason, message[:1000], now, observed_generation=generation)

    def _stand_ins(self, gang: PodGang) -> list[Pod]:
        informer = self._informers.stand_ins
        return informer.cache.by_index("gang", key_of(gang)) if informer is not None else []

    def _pods(self, gang: PodGang) -> dict[str, list[Pod]]:
        found: dict[str, list[Pod]] = defaultdict(list)
        for pod in self._informers.pods.cache.by_index("gang", key_of(gang)):
            found[label(pod, labels.POD_CLIQUE)].append(pod)
        return found


def _as_reason(seen: Observation) -> tuple[str, str]:
    """Reason and message of a condition; what is no reason for an API server goes into the message."""
    if is_condition_reason(seen.reason):
        return seen.reason, seen.message
    return ConditionType.UNSCHEDULABLE, f"{seen.reason}: {seen.message}" if seen.reason else seen.message


def _all(pods: dict[str, list[Pod]]) -> list[Pod]:
    return [p for group in pods.values() for p in group]


def _gang_of(pod: Pod) -> ObjectKey:
    return ObjectKey(pod.metadata.namespace or "", label(pod, labels.POD_GANG))


def _of_pod(pod: Pod) -> list[ObjectKey]:
    return [_gang_of(pod)] if label(pod, labels.POD_GANG) else []


def _of_clique(clique: PodClique) -> list[ObjectKey]:
    return (
        [ObjectKey(clique.metadata.namespace or "", name)] if (name := label(clique, labels.POD_GANG)) else []
    )


def _listed(parts: Sequence[str]) -> str:
    shown = ", ".join(parts[:5])
    return f"{shown} and {len(parts) - 5} more groups" if len(parts) > 5 else shown
