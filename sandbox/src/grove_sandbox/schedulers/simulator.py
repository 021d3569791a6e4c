"""Runs a scheduling policy against an API server. Uses only the runtime's client and informers.

A change of a pod, a node or one of the policy's own objects triggers a round; changes within the batch window share
one. There is no polling: without changes there are no rounds, except those that the policy requests with
`Round.wake`.

A binding is assumed from the moment when it is sent until the watch shows it, so that no round uses the same resources
twice. A round writes only differences, so a settled cluster sees no writes.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from datetime import datetime
from functools import partial
from typing import Any, NoReturn

import msgspec
import structlog
from grove.runtime.cache.cache import Change
from grove.runtime.cache.informer import Informer
from grove.runtime.client.backoff import Backoff
from grove.runtime.client.client import Client
from grove.runtime.client.errors import AlreadyExists, Conflict, NotFound, RequestError
from grove.runtime.client.objects import ResourceType
from grove.runtime.controller.concurrently import for_each
from grove.runtime.controller.events import EventRecorder, reference

from grove_sandbox.schedulers.objects import (
    NODES,
    PODS,
    PRIORITY_CLASSES,
    Json,
    PolicyObject,
    PriorityClass,
    SchedulerNode,
    SchedulerPod,
)
from grove_sandbox.schedulers.policy import (
    Policy,
    PolicyStatusWrite,
    Round,
    SchedulerEvent,
    UnscheduledCondition,
    View,
)
from grove_sandbox.timestamps import rfc3339, utc_now

_Write = Callable[[], Awaitable[None]]

log = structlog.get_logger(__name__)

# Writes of one round in flight at a time. The client's flow control may allow fewer.
_CONCURRENT_WRITES = 32
_BATCH_WINDOW_SECONDS = 0.005
_RETRY_AFTER_CONFLICT_SECONDS = 0.5


class SchedulerSimulator:
    """`rounds` counts the scheduling rounds so far."""

    def __init__(self, client: Client, policy: Policy, *, clock: Callable[[], datetime] = utc_now) -> None:
        self.policy = policy
        self.rounds = 0
        self._clock = clock
        self._pods: Informer[SchedulerPod] = Informer(
            client, PODS, msgspec.json.Decoder(SchedulerPod).decode, batch_window=0.0
        )
        self._nodes: Informer[SchedulerNode] = Informer(
            client, NODES, msgspec.json.Decoder(SchedulerNode).decode, batch_window=0.0
        )
        self._classes: Informer[PriorityClass] | None = None
        self._policy_informers: dict[str, Informer[PolicyObject]] = {}
        for resource in policy.reads:
            if resource is PRIORITY_CLASSES:
                self._classes = Informer(
                    client, resource, msgspec.json.Decoder(PriorityClass).decode, batch_window=0.0
                )
            else:
                self._policy_informers[resource.plural] = Informer(
                    client, resource, msgspec.json.Decoder(PolicyObject).decode, batch_window=0.0
                )
        self._assumed: dict[str, str] = {}
        self._last_message: dict[tuple[str, str, str], str] = {}
        self._recorder = EventRecorder(client, policy.scheduler_name, "sandbox", now=clock)
        self._due = asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None

    async def run(self) -> NoReturn:
        """Runs until cancelled. Like a real scheduler, it waits until all kinds that it reads are served."""
        async with asyncio.TaskGroup() as group:
            for informer in self._all_informers():
                group.create_task(informer.run())
                informer.cache.subscribe(self._on_pod_change if informer is self._pods else self._on_change)
            group.create_task(self._recorder.run())
            for informer in self._all_informers():
                await informer.synced.wait()
            await self._bootstrap()
            while True:
                await self._due.wait()
                await asyncio.sleep(_BATCH_WINDOW_SECONDS)
                self._due.clear()
                await self._run_round()
        raise AssertionError("unreachable")

    def _all_informers(self) -> list[Informer[Any]]:
        classes: list[Informer[Any]] = [self._classes] if self._classes else []
        return [self._pods, self._nodes, *self._policy_informers.values(), *classes]

    def _on_change(self, change: Change[Any]) -> None:
        self._due.set()

    def _on_pod_change(self, change: Change[SchedulerPod]) -> None:
        """Ignores most status writes of the kubelet."""
        if (
            change.old is None
            or change.new is None
            or _scheduling_fields(change.old) != _scheduling_fields(change.new)
        ):
            self._due.set()

    async def _bootstrap(self) -> None:
        for resource, body in self.policy.bootstrap:
            backoff = Backoff(0.5, 30.0)
            while True:
                try:
                    await self._policy_informers[resource.plural].objects.create(
                        "", msgspec.json.encode(body)
                    )
                except AlreadyExists:
                    break
                except RequestError as error:
                    log.info("create failed, will retry", resource=resource.plural, error=str(error))
                    await asyncio.sleep(backoff.next())
                else:
                    break

    async def _run_round(self) -> None:
        self.rounds += 1
        pods = list(self._pods.cache)
        known = {pod.uid: pod for pod in pods}
        self._assumed = {
            uid: node for uid, node in self._assumed.items() if uid in known and not known[uid].spec.node_name
        }
        view = View(
            now=self._clock(),
            nodes=list(self._nodes.cache),
            pods=pods,
            objects={plural: list(informer.cache) for plural, informer in self._policy_informers.items()},
            priority_classes=list(self._classes.cache) if self._classes else (),
            assumed=dict(self._assumed),
        )
        decided = self.policy.round(view)
        self._set_timer(decided.again_in)
        for event in decided.events:
            self._record(event)
        for outcome in await for_each(self._writes(decided), _carry_out, concurrency=_CONCURRENT_WRITES):
            if outcome.error is not None:
                log.warning("write failed", error=str(outcome.error))

    def _set_timer(self, seconds: float | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None
        if seconds is not None:
            self._timer = asyncio.get_running_loop().call_later(max(seconds, 0.001), self._due.set)

    def _writes(self, decided: Round) -> Iterable[_Write]:
        for pod, node in decided.bindings:
            self._assumed[pod.uid] = node
            yield partial(self._bind, pod, node)
        for pod, status in self._pod_statuses(decided):
            yield partial(self._patch_pod, pod, status)
        for pod in decided.evictions:
            yield partial(self._evict, pod)
        for change in decided.annotations:
            yield partial(self._annotate, *change)
        for write in decided.statuses:
            yield from self._status(write)

    async def _bind(self, pod: SchedulerPod, node: str) -> None:
        body = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": pod.key.name, "namespace": pod.key.namespace, "uid": pod.uid},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node},
        }
        try:
            await self._pods.objects.post(pod.key, "binding", msgspec.json.encode(body))
        except RequestError as error:
            self._assumed.pop(pod.uid, None)
            log.info("binding failed", pod=str(pod.key), node=node, error=str(error))
            # After a conflict the watch will bring a change. After other errors it may not.
            if not isinstance(error, Conflict | NotFound):
                self._due.set()
            return
        self._record(SchedulerEvent(PODS, pod.key, "Scheduled", f"Successfully assigned {pod.key} to {node}"))

    def _pod_statuses(self, decided: Round) -> Iterable[tuple[SchedulerPod, Json]]:
        """One status patch for each pod whose status differs."""
        changes: dict[str, tuple[SchedulerPod, Json]] = {}
        bound = {pod.uid for pod, _ in decided.bindings}
        for pod, condition in decided.conditions.values():
            if pod.uid not in bound:
                changes.setdefault(pod.uid, (pod, {}))[1].update(self._condition(pod, condition))
        for pod, node in decided.nominations:
            if pod.status.nominated_node_name != node and pod.uid not in bound:
                changes.setdefault(pod.uid, (pod, {}))[1].update({"nominatedNodeName": node or None})
        for pod, reason, message in decided.failed:
            failed = {"phase": "Failed", "reason": reason, "message": message}
            changes.setdefault(pod.uid, (pod, {}))[1].update(failed)
        return [change for change in changes.values() if change[1]]

    def _condition(self, pod: SchedulerPod, wanted: UnscheduledCondition) -> Json:
        known = next((c for c in pod.status.conditions if c["type"] == "PodScheduled"), {})
        if (known.get("status"), known.get("reason"), known.get("message")) == (
            "False",
            wanted.reason,
            wanted.message,
        ):
            return {}
        since = known.get("lastTransitionTime") if known.get("status") == "False" else rfc3339(self._clock())
        entry = {
            "type": "PodScheduled",
            "status": "False",
            "reason": wanted.reason,
            "message": wanted.message,
            "lastProbeTime": None,
            "lastTransitionTime": since,
        }
        self._record(SchedulerEvent(PODS, pod.key, "FailedScheduling", wanted.message, warning=True))
        return {"conditions": [*(c for c in pod.status.conditions if c["type"] != "PodScheduled"), entry]}

    async def _patch_pod(self, pod: SchedulerPod, status: Json) -> None:
        """Patches only the version that the round saw: a newer version triggers its own round."""
        patch = {"metadata": {"resourceVersion": pod.metadata.resource_version}, "status": status}
        await self._ignore_deleted_and_conflicts(
            self._pods.objects.merge_patch(pod.key, msgspec.json.encode(patch), subresource="status")
        )

    async def _evict(self, pod: SchedulerPod) -> None:
        await self._ignore_deleted_and_conflicts(self._pods.objects.delete(pod.key, uid=pod.uid))

    async def _annotate(
        self, resource: ResourceType, obj: PolicyObject, changes: dict[str, str | None]
    ) -> None:
        patch = {"metadata": {"annotations": changes}}
        await self._ignore_deleted_and_conflicts(
            self._policy_informers[resource.plural].objects.merge_patch(obj.key, msgspec.json.encode(patch))
        )

    def _status(self, write: PolicyStatusWrite) -> Iterable[_Write]:
        obj = self._policy_informers[write.resource.plural].cache.get(write.key)
        if obj is None or all(obj.status.get(name) == value for name, value in write.status.items()):
            return
        yield partial(self._write_status, obj, write)

    async def _write_status(self, obj: PolicyObject, write: PolicyStatusWrite) -> None:
        patch = {"metadata": {"resourceVersion": obj.metadata.resource_version}, "status": write.status}
        objects = self._policy_informers[write.resource.plural].objects
        body = msgspec.json.encode(patch)
        await self._ignore_deleted_and_conflicts(
            objects.merge_patch(write.key, body, subresource=write.subresource)
        )

    async def _ignore_deleted_and_conflicts(self, write: Awaitable[object]) -> None:
        """Ignores a deleted object. After a conflict, schedules another round."""
        try:
            await write
        except NotFound:
            return
        except Conflict:
            asyncio.get_running_loop().call_later(_RETRY_AFTER_CONFLICT_SECONDS, self._due.set)

    def _record(self, event: SchedulerEvent) -> None:
        """Records an event unless the last one with its object and reason has the same message."""
        identity = (event.resource.plural, str(event.key), event.reason)
        about = self._informer(event.resource).cache.get(event.key)
        if about is None or self._last_message.get(identity) == event.message:
            return
        self._last_message[identity] = event.message
        self._recorder.record(
            reference(event.resource, about),
            event.reason,
            event.message,
            action="Scheduling",
            type="Warning" if event.warning else "Normal",
        )

    def _informer(self, resource: ResourceType) -> Informer[Any]:
        return self._pods if resource is PODS else self._policy_informers[resource.plural]


def _scheduling_fields(pod: SchedulerPod) -> tuple[object, ...]:
    meta = pod.metadata
    return (pod.spec, meta.labels, meta.annotations, meta.deletion_timestamp, pod.status.phase)


async def _carry_out(write: _Write) -> None:
    await write()
