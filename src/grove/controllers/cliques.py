"""PodCliques: their pods, the gates of their pods, their status.

Pods are made only once their gang exists, since a backend may tie them to it by its uid, and always gated. Each pod
gets a name of ours, so that a create whose answer was lost is recognised instead of repeated.
"""

import random
from collections.abc import Sequence

import msgspec
import structlog

from grove.api import PodClique, PodCliqueSet, PodGang, labels
from grove.api.conditions import EventReason
from grove.api.pods import Pod
from grove.controllers.changes import described_anew, gate_could_open, pod_moved
from grove.controllers.finalizers import remove_finalizer
from grove.controllers.shapes import Shapes
from grove.controllers.statuses import describe, last_errors, write_status
from grove.controllers.world import World, label
from grove.plan.clique_status import clique_status
from grove.plan.draft import PodDraft
from grove.plan.gates import plan_gates
from grove.plan.pod_counts import plan_pods
from grove.plan.pods import PodTemplate
from grove.plan.shape import Shape
from grove.runtime.batch import for_each
from grove.runtime.controller import Controller
from grove.runtime.errors import AlreadyExists, NotFound
from grove.runtime.objects import ObjectKey, key_of, uid_of
from grove.runtime.sources import Source, itself, owner
from grove.schedulers.backend import Backend, Refusal

log = structlog.get_logger(__name__)

_SUFFIX = "bcdfghjklmnpqrstvwxz2456789"


class CliqueController:
    def __init__(
        self, world: World, shapes: Shapes, *, init_image: str, chance: random.Random | None = None
    ) -> None:
        self._world = world
        self._shapes = shapes
        self._init_image = init_image
        self._chance = chance or random.SystemRandom()

    def controller(self) -> Controller[ObjectKey]:
        world = self._world
        return Controller(
            "podclique",
            self.reconcile,
            [
                Source(
                    world.cliques,
                    itself,
                    when=described_anew,
                    why="it says how many pods there are, and which",
                ),
                Source(
                    world.pods,
                    owner("PodClique"),
                    when=pod_moved,
                    why="a pod that moves changes what is missing",
                ),
                Source(world.gangs, _of_gang, when=gate_could_open, why="pods wait for their gang"),
                Source(
                    world.gangs,
                    self._of_base,
                    when=gate_could_open,
                    why="scaled gangs wait for their base gang",
                ),
                Source(
                    world.sets,
                    self._of_set,
                    when=described_anew,
                    why="a set that became valid lets them go on",
                ),
            ],
            workers=world.configuration.controllers.pod_clique.concurrent_syncs,
        )

    async def reconcile(self, key: ObjectKey) -> None:
        clique = self._world.cliques.cache.get(key)
        if clique is None:
            return
        if clique.metadata.deletion_timestamp is not None:
            await self._release(clique)
            return
        failures: list[tuple[str, Exception]] = []
        shape = self._shapes.get(ObjectKey(key.namespace, label(clique, labels.PART_OF)))
        if shape is not None:
            failures = await self._sync(clique, shape)
        await self._write_status(clique, shape, failures)
        if failures:
            raise ExceptionGroup(f"PodClique {key}", [e for _, e in failures])

    async def _sync(self, clique: PodClique, shape: Shape) -> list[tuple[str, Exception]]:
        """Makes, deletes and ungates pods; returns what failed."""
        gang = self._gang(clique, labels.POD_GANG)
        backend = (
            self._world.registry.get(label(gang, labels.SCHEDULER_BACKEND)) if gang is not None else None
        )
        plan = plan_pods(
            clique.spec.replicas, self._pods(clique), template_hash=label(clique, labels.POD_TEMPLATE_HASH)
        )
        failures = await self._delete(clique, plan.delete)
        if (
            plan.create
            and gang is not None
            and gang.metadata.deletion_timestamp is None
            and backend is not None
        ):
            failures += await self._create(clique, shape, gang, backend, plan.create)
        if backend is not None:
            failures += await self._open_gates(clique, gang, backend.gate)
        return failures

    async def _create(
        self, clique: PodClique, shape: Shape, gang: PodGang, backend: Backend, indices: Sequence[int]
    ) -> list[tuple[str, Exception]]:
        try:
            template = PodTemplate(
                shape, clique, self._draft(clique, gang, backend), init_image=self._init_image
            )
        except Refusal as e:
            return [("ERR_BUILD_POD_RESOURCE", e)]
        namespace = clique.metadata.namespace or ""

        async def create(index: int) -> None:
            name = f"{clique.metadata.name}-{''.join(self._chance.choices(_SUFFIX, k=5))}"
            try:
                await self._world.pods.objects.create(namespace, _named(template.body(index), name))
            except AlreadyExists:
                # Either our own create whose answer was lost, or, once in 14 million, the name of another pod.
                await self._world.pods.objects.get(ObjectKey(namespace, name))

        outcomes = await for_each(indices, create)
        errors = [o.error for o in outcomes if o.error is not None]
        if errors:
            note = f"{len(errors)} of {len(indices)} pods could not be created: {describe(errors[0])}"
            self._world.warn(PodClique.resource, clique, EventReason.POD_CREATE_FAILED, note, "CreatePod")
        return [("ERR_CREATE_POD", e) for e in errors]

    async def _delete(self, clique: PodClique, pods: Sequence[Pod]) -> list[tuple[str, Exception]]:
        async def delete(pod: Pod) -> None:
            await self._world.pods.objects.delete(key_of(pod), uid=uid_of(pod))

        outcomes = await for_each(pods, delete)
        errors = [o.error for o in outcomes if o.error is not None]
        if errors:
            note = f"{len(errors)} of {len(pods)} pods could not be deleted: {describe(errors[0])}"
            self._world.warn(PodClique.resource, clique, EventReason.POD_DELETE_FAILED, note, "DeletePod")
        return [("ERR_DELETE_POD", e) for e in errors]

    async def _open_gates(
        self, clique: PodClique, gang: PodGang | None, gate: str
    ) -> list[tuple[str, Exception]]:
        base = self._gang(clique, labels.BASE_POD_GANG) if label(clique, labels.BASE_POD_GANG) else gang
        gates = plan_gates(clique.metadata.name or "", self._pods(clique), gate, gang, base)

        async def open_gate(pod: Pod) -> None:
            position = next(i for i, g in enumerate(pod.spec.scheduling_gates) if g.name == gate)
            path = f"/spec/schedulingGates/{position}"
            patch = [{"op": "test", "path": f"{path}/name", "value": gate}, {"op": "remove", "path": path}]
            try:
                await self._world.pods.objects.json_patch(key_of(pod), msgspec.json.encode(patch))
            except NotFound:
                log.debug("pod went away before its gate was removed", pod=str(key_of(pod)))

        outcomes = await for_each(gates.open, open_gate)
        return [("ERR_REMOVE_POD_SCHEDULING_GATE", o.error) for o in outcomes if o.error is not None]

    async def _write_status(
        self, clique: PodClique, shape: Shape | None, failures: list[tuple[str, Exception]]
    ) -> None:
        now = self._world.now()
        status = clique_status(clique, self._pods(clique), shape, now)
        status.last_errors = last_errors(clique.status.last_errors if clique.status else [], failures, now)
        await write_status(self._world.cliques, clique, clique.status, status)
        before = clique.status.scheduled_replicas if clique.status else 0
        if before and not status.scheduled_replicas:
            note = f"none of {before} scheduled pods is left"
            self._world.warn(
                PodClique.resource, clique, EventReason.ALL_SCHEDULED_REPLICAS_LOST, note, "Observe"
            )

    async def _release(self, clique: PodClique) -> None:
        """The pods follow by garbage collection; nothing else is held by the finalizer."""
        finalizers = clique.metadata.finalizers
        await remove_finalizer(self._world.cliques, clique, finalizers, labels.Finalizer.POD_CLIQUE)

    def _draft(self, clique: PodClique, gang: PodGang, backend: Backend) -> PodDraft:
        draft = PodDraft(scheduler_name=label(gang, labels.SCHEDULER_NAME), gate=backend.gate)
        group = next((g for g in gang.spec.pod_groups if g.name == clique.metadata.name), None)
        if group is None:
            raise Refusal(
                f"PodGang {gang.metadata.name} has no group for PodClique {clique.metadata.name} yet"
            )
        backend.prepare_pod(gang, group, draft)
        return draft

    def _pods(self, clique: PodClique) -> list[Pod]:
        return self._world.pods.cache.by_index("owner", uid_of(clique))

    def _gang(self, clique: PodClique, key: str) -> PodGang | None:
        return self._world.gangs.cache.get(ObjectKey(clique.metadata.namespace or "", label(clique, key)))

    def _of_base(self, gang: PodGang) -> list[ObjectKey]:
        return [key_of(c) for c in self._world.cliques.cache.by_index("base", key_of(gang))]

    def _of_set(self, pcs: PodCliqueSet) -> list[ObjectKey]:
        return [key_of(c) for c in self._world.cliques.cache.by_index("set", key_of(pcs))]


def _of_gang(gang: PodGang) -> list[ObjectKey]:
    return [ObjectKey(gang.metadata.namespace or "", g.name) for g in gang.spec.pod_groups]


def _named(body: bytes, name: str) -> bytes:
    return body.replace(b'"metadata":{', b'"metadata":{"name":"%s",' % name.encode(), 1)
