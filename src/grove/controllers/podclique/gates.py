"""Opens the scheduling gates of a clique's pods when `plan_gates` says so, paced if the scheduler needs that.

A pod that the scheduler would not see as part of its gang keeps its gate: released, it would be scheduled alone.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec
import structlog

from grove.api import PodClique, PodGang, labels
from grove.api.conditions import EventReason
from grove.api.pod_view import Pod
from grove.controllers.podclique.observed_clique import ObservedClique
from grove.controllers.podclique.pods import PodWriter
from grove.controllers.podclique.release_pacing import ReleasePacing
from grove.controllers.shared.context import OperatorContext
from grove.controllers.shared.failures import Failure, failed
from grove.controllers.shared.indexes import label
from grove.controllers.shared.informers import Informers
from grove.plan.clique_pods import pod_age, unlinked_pods_to_recreate
from grove.plan.gangs.gates import plan_gates
from grove.runtime.client.errors import ExternalError, NotFound
from grove.runtime.client.objects import ObjectKey, key_of, uid_of
from grove.runtime.controller.concurrently import for_each
from grove.schedulers.backend import Backend
from grove.schedulers.recorded_dialect import dialect_of

log = structlog.get_logger(__name__)


class GateOpener:
    def __init__(self, context: OperatorContext, informers: Informers, writer: PodWriter) -> None:
        self._context = context
        self._informers = informers
        self._writer = writer
        self._pacing: ReleasePacing[_Attempt] = ReleasePacing(
            lambda: asyncio.get_running_loop().time(), self._has_begun
        )

    async def open(self, observed: ObservedClique, pods: Sequence[Pod]) -> list[Failure]:
        """`pods` are all pods of the clique, with those that were just created."""
        clique, gang, backend = observed.clique, observed.gang, observed.backend
        if gang is None or backend is None:
            return []
        base_name = label(clique, labels.BASE_POD_GANG)
        base = self._gang(clique, base_name) if base_name else gang
        gates = plan_gates(
            clique.metadata.name or "",
            pods,
            backend.gate,
            gang,
            base,
            surplus_from=observed.surplus_from,
        )
        if not gates.open:
            return []
        pause = backend.release_pause_seconds(gang)
        if pause and self._pacing.request(_attempt(gang), pause):
            return []
        broken = observed.broken_links(gates.open)
        linked = [p for p in gates.open if uid_of(p) not in broken]
        failures = await self._remove_gates(gang, backend, linked)
        if broken:
            unlinked = [p for p in pods if uid_of(p) in broken]
            failures += await self._report_unlinked(clique, unlinked, next(iter(broken.values())))
        return failures

    def ask_again_in(self, clique: PodClique) -> float:
        """The seconds after which a gang whose release is paced is to be reconciled again; 0 if it does not wait."""
        gang = self._gang(clique, label(clique, labels.POD_GANG))
        return self._pacing.ask_again_in(_attempt(gang)) if gang is not None else 0.0

    async def _remove_gates(self, gang: PodGang, backend: Backend, pods: Sequence[Pod]) -> list[Failure]:
        now = self._context.now()

        async def remove_gate(pod: Pod) -> None:
            annotations = backend.release_annotations(gang, pod_age(pod, now).total_seconds())
            patch = msgspec.json.encode(gate_patch(pod, backend.gate, annotations))
            try:
                await self._informers.pods.objects.json_patch(key_of(pod), patch)
            except NotFound:
                log.debug("pod was deleted before its gate was removed", pod=str(key_of(pod)))

        return failed(await for_each(pods, remove_gate), "ERR_REMOVE_POD_SCHEDULING_GATE")

    async def _report_unlinked(self, clique: PodClique, unlinked: Sequence[Pod], why: str) -> list[Failure]:
        self._context.warning_event(clique, EventReason.POD_LINK_DROPPED, why, "OpenGate")
        old = unlinked_pods_to_recreate(unlinked, self._context.now())
        return [
            Failure("ERR_POD_LINK_DROPPED", BrokenLinkError(why)),
            *await self._writer.delete(clique, old),
        ]

    def _has_begun(self, attempt: "_Attempt") -> bool:
        """Whether the scheduler has begun on a released gang. One that is gone or has a new dialect delays nobody."""
        gang = self._informers.gangs.cache.get(attempt.gang)
        if gang is None or _attempt(gang) != attempt:
            return True
        backend = self._context.registry.get(label(gang, labels.SCHEDULER_BACKEND))
        return backend is None or backend.has_begun(gang, self._informers.pods_and_stand_ins(attempt.gang))

    def _gang(self, clique: PodClique, name: str) -> PodGang | None:
        return self._informers.gangs.cache.get(ObjectKey(clique.metadata.namespace or "", name))


class BrokenLinkError(ExternalError):
    """A pod lacks what ties it to its gang, for example because the API server dropped the field."""


def gate_patch(pod: Pod, gate: str, annotations: Mapping[str, str]) -> list[dict[str, str]]:
    """A JSON patch that removes the gate and sets annotations, which the pod must have already.

    It tests that the gate is where it was read: a retry may send the patch twice.
    """
    position = next(i for i, g in enumerate(pod.spec.scheduling_gates) if g.name == gate)
    path = f"/spec/schedulingGates/{position}"
    escaped = {key.replace("~", "~0").replace("/", "~1"): value for key, value in annotations.items()}
    return [
        {"op": "test", "path": f"{path}/name", "value": gate},
        {"op": "remove", "path": path},
        *({"op": "add", "path": f"/metadata/annotations/{k}", "value": v} for k, v in escaped.items()),
    ]


@dataclass(frozen=True)
class _Attempt:
    """One attempt to place a gang. A recreated gang, or one with a new dialect, is a new attempt."""

    gang: ObjectKey
    uid: str
    dialect: str


def _attempt(gang: PodGang) -> _Attempt:
    return _Attempt(key_of(gang), uid_of(gang), dialect_of(gang))
