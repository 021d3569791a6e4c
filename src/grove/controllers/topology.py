"""The controller of ClusterTopologyBindings: keeps the schedulers' own topology objects.

For each scheduler it creates the topology object, or, if the binding refers to one that somebody else manages, compares
that one. A scheduler whose kind the cluster does not serve is not installed: it is reported only if a binding refers
to it.
"""

import asyncio
from typing import Any

import orjson

from grove.api import ClusterTopologyBinding
from grove.api.conditions import ConditionType, EventReason
from grove.api.serialization import codec
from grove.controllers.shared.apply import Applier, ForeignObjectError, ImmutableFieldsError, key_of_json
from grove.controllers.shared.companions import Companion, decode_companion
from grove.controllers.shared.context import OperatorContext
from grove.controllers.shared.failures import describe
from grove.controllers.shared.informers import Informers
from grove.controllers.shared.predicates import spec_or_metadata_changed
from grove.controllers.shared.status_writer import write_status
from grove.plan.difference import difference
from grove.plan.layout.set_layout import owner_reference
from grove.plan.status.conditions import find
from grove.plan.status.topology_status import TopologyComparison, topology_status
from grove.runtime.cache.informer import Informer
from grove.runtime.client.errors import RequestError
from grove.runtime.client.objects import ObjectKey, key_of, uid_of
from grove.runtime.controller.controller import Controller
from grove.runtime.controller.manager import Manager
from grove.runtime.controller.triggers import Signal, SignalTrigger, Trigger, itself
from grove.schedulers.backend import Backend
from grove.schedulers.types import SchedulerObject


class TopologyController:
    def __init__(self, context: OperatorContext, informers: Informers, manager: Manager) -> None:
        self._context = context
        self._informers = informers
        self._applier = Applier()
        self._schedulers: dict[str, tuple[Backend, Informer[Companion]]] = {
            backend.scheduler_name: (backend, manager.informer(kind, decode_companion, required=False))
            for backend in sorted(context.registry.backends, key=lambda b: b.name)
            if (kind := backend.topology_kind) is not None
        }
        self._scheduler_installed: Signal[None] = Signal()

    def controller(self) -> Controller[ObjectKey]:
        topologies = self._informers.topologies
        triggers: list[Trigger[Any, ObjectKey] | SignalTrigger[Any, ObjectKey]] = [
            Trigger(
                topologies,
                itself,
                when=spec_or_metadata_changed,
                why="the schedulers' topologies have its levels",
            ),
            SignalTrigger(
                self._scheduler_installed,
                lambda _: [key_of(binding) for binding in topologies.cache],
                why="a scheduler that was just installed needs its topologies",
            ),
        ]
        triggers += [
            Trigger(
                informer,
                self._bindings_of,
                when=spec_or_metadata_changed,
                why="the scheduler's topology was edited, or one that a binding refers to was created or deleted",
                optional=True,
            )
            for _, informer in self._schedulers.values()
        ]
        return Controller(
            "clustertopologybinding", self.reconcile, triggers, workers=1, metrics=self._context.metrics
        )

    async def follow_cluster(self) -> None:
        """Fires a signal for each scheduler whose kind the cluster serves, as soon as its objects are read."""

        async def wait(informer: Informer[Companion]) -> None:
            await informer.synced.wait()
            self._scheduler_installed.fire(None)

        async with asyncio.TaskGroup() as group:
            for _, informer in self._schedulers.values():
                group.create_task(wait(informer))

    async def reconcile(self, key: ObjectKey) -> None:
        binding = self._informers.topologies.cache.get(key)
        if binding is None or binding.metadata.deletion_timestamp is not None:
            return
        referred = {b.scheduler_name: b.topology_reference for b in binding.spec.scheduler_topology_bindings}
        compared: list[TopologyComparison] = []
        failures: list[Exception] = []
        for name, (backend, informer) in self._schedulers.items():
            wanted = backend.topology_object(binding)
            if name in referred:
                compared.append(_compare(name, referred.pop(name), wanted, informer))
            elif informer.synced.is_set():
                compared.append(await self._ensure(name, binding, wanted, informer, failures))
        for name, reference in referred.items():
            message = (
                "is not enabled, or takes no topology from Grove: remove the reference, or enable its profile"
            )
            compared.append(TopologyComparison(name, reference, False, message, unknown=True))
        status = topology_status(binding, compared, self._context.now())
        self._report(binding, compared)
        await write_status(self._informers.topologies, binding, binding.status, status)
        if failures:
            raise ExceptionGroup(f"ClusterTopologyBinding {key}", failures)

    async def _ensure(
        self,
        name: str,
        binding: ClusterTopologyBinding,
        wanted: SchedulerObject,
        informer: Informer[Companion],
        failures: list[Exception],
    ) -> TopologyComparison:
        """A topology whose levels changed is recreated: they cannot be changed in place."""
        metadata = wanted.body["metadata"] | {
            "ownerReferences": [codec.to_builtins(owner_reference(binding))]
        }
        kind = {"apiVersion": wanted.kind.api_version, "kind": wanted.kind.kind}
        body = orjson.dumps(kind | wanted.body | {"metadata": metadata})
        key, uid = key_of_json(wanted.body), uid_of(binding)
        try:
            try:
                existing = await self._applier.ensure(
                    informer,
                    key,
                    body,
                    owner_uid=uid,
                    owned_fields=wanted.owned_fields,
                    immutable_fields=wanted.immutable_fields,
                )
            except ImmutableFieldsError as e:
                await informer.objects.delete(e.key, uid=e.uid)
                existing = await self._applier.ensure(informer, key, body, owner_uid=uid)
        except ForeignObjectError:
            message = (
                f"{wanted.kind.kind} {wanted.name} exists and was not created by Grove: refer to it in "
                f"schedulerTopologyBindings (schedulerName {name}), or delete it"
            )
            return TopologyComparison(name, wanted.name, False, message, failed=True)
        except RequestError as e:
            failures.append(e)
            return TopologyComparison(name, wanted.name, False, describe(e), failed=True)
        if existing is None:
            return TopologyComparison(
                name, wanted.name, False, "the old one is still being deleted", failed=True
            )
        return TopologyComparison(name, wanted.name, True)

    def _report(self, binding: ClusterTopologyBinding, compared: list[TopologyComparison]) -> None:
        """Emits an event when a scheduler's topology begins to differ from the binding, and when all agree again."""
        old = find(
            binding.status.conditions if binding.status else [], ConditionType.SCHEDULER_TOPOLOGY_DRIFT
        )
        differing = [f"{c.scheduler_name}: {c.message}" for c in compared if not c.in_sync]
        was = old is not None and old.status != "False"
        if differing and not was:
            note = "; ".join(differing)
            self._context.warning_event(binding, EventReason.TOPOLOGY_DRIFT_DETECTED, note, "CompareTopology")
        elif compared and not differing and was:
            note = "the schedulers' topologies have its levels"
            self._context.normal_event(binding, EventReason.TOPOLOGY_IN_SYNC, note, "CompareTopology")

    def _bindings_of(self, topology: Companion) -> list[ObjectKey]:
        owners = {o.uid for o in topology.metadata.owner_references}
        return [
            key_of(b)
            for b in self._informers.topologies.cache
            if uid_of(b) in owners
            or b.metadata.name == topology.metadata.name
            or any(r.topology_reference == topology.metadata.name for r in b.spec.scheduler_topology_bindings)
        ]


def _compare(
    name: str, reference: str, wanted: SchedulerObject, informer: Informer[Companion]
) -> TopologyComparison:
    """Compares the binding with a topology object that somebody else manages."""
    kind = f"{wanted.kind.kind} {reference}"
    if not informer.synced.is_set():
        message = f"the cluster does not serve {wanted.kind.kind} ({wanted.kind.api_version})"
        return TopologyComparison(name, reference, False, message, unknown=True)
    found = informer.cache.get(ObjectKey("", reference))
    if found is None:
        return TopologyComparison(
            name, reference, False, f"{kind} does not exist: create it, or remove the reference"
        )
    spec = {"spec": orjson.loads(found.body).get("spec") or {}}
    same = difference(spec, {"spec": wanted.body["spec"]}) is None
    message = "" if same else f"{kind} has other levels than this binding"
    return TopologyComparison(name, reference, same, message, found.metadata.generation)
