"""Runs a scheduling policy against an API server, through the runtime's client and informers alone.

A round is due whenever a pod, a node or one of the policy's own objects changed; changes that come together make one
round. There is no polling: without changes there are no rounds, except those a policy asks for by a time.

A binding is assumed from the moment it is sent until the watch shows it, so that no round gives the room away twice.
All writes of a round are differences: what is already so is not written, so a settled cluster sees no writes.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from datetime import UTC, datetime
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
    Round,
    SchedulerEvent,
    StatusWrite,
    UnscheduledCondition,
    View,
)

_Write = Callable[[], Awaitable[None]]

log = structlog.get_logger(__name__)

# How many writes of one round are under way at a time; the client's window may allow fewer.
_WRITERS = 32
_GATHER = 0.005
_AFTER_CONFLICT = 0.5


def _utc_now() -> datetime:
    return datetime.now(UTC)


class SchedulerSimulator:
    """`run` it. `rounds` counts how often it has looked."""

    def __init__(self, client: Client, policy: Policy, *, clock: Callable[[], datetime] = _utc_now) -> None:
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
        """Until cancelled. Like the real ones, it does nothing while a kind that it reads is not served."""
        async with asyncio.TaskGroup() as group:
            for informer in self._all_informers():
                group.create_task(informer.run())
                informer.cache.subscribe(self._notice_pod if informer is self._pods else self._notice)
            group.create_task(self._recorder.run())
            for informer in self._all_informers():
                await informer.synced.wait()
            await self._bootstrap()
            while True:
                await self._due.wait()
                await asyncio.sleep(_GATHER)  # what happens together is seen in one round
                self._due.clear()
                await self._one_round()
        raise AssertionError("unreachable")

    def _all_informers(self) -> list[Informer[Any]]:
        classes: list[Informer[Any]] = [self._classes] if self._classes else []
        return [self._pods, self._nodes, *self._policy_informers.values(), *classes]

    def _notice(self, change: Change[Any]) -> None:
        self._due.set()

    def _notice_pod(self, change: Change[SchedulerPod]) -> None:
        """Most of what a kubelet writes on a pod is nothing to a scheduler."""
        if change.old is None or change.new is None or _of_interest(change.old) != _of_interest(change.new):
            self._due.set()

    async def _bootstrap(self) -> None:
        for resource, body in self.policy.bootstrap:
            waits = Backoff(0.5, 30.0)
            while True:
                try:
                    await self._policy_informers[resource.plural].objects.create(
                        "", msgspec.json.encode(body)
                    )
                except AlreadyExists:
                    break
                except RequestError as error:
                    log.info("create is tried again", resource=resource.plural, error=str(error))
                    await asyncio.sleep(waits.next())
                else:
                    break

    async def _one_round(self) -> None:
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
        for outcome in await for_each(self._writes(decided), _carry_out, concurrency=_WRITERS):
            if outcome.error is not None:
                log.warning("a write of the scheduler failed", error=str(outcome.error))

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
            log.info("binding was refused", pod=str(pod.key), node=node, error=str(error))
            # A conflict is settled by what the watch brings; after anything else nothing may ever come.
            if not isinstance(error, Conflict | NotFound):
                self._due.set()
            return
        self._record(SchedulerEvent(PODS, pod.key, "Scheduled", f"Successfully assigned {pod.key} to {node}"))

    def _pod_statuses(self, decided: Round) -> Iterable[tuple[SchedulerPod, Json]]:
        """One patch for each pod about which there is something new to say."""
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
        since = known.get("lastTransitionTime") if known.get("status") == "False" else _text(self._clock())
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
        """Only on the version that the round saw: a newer one brings a round of its own."""
        patch = {"metadata": {"resourceVersion": pod.metadata.resource_version}, "status": status}
        await self._tolerate(
            self._pods.objects.merge_patch(pod.key, msgspec.json.encode(patch), subresource="status")
        )

    async def _evict(self, pod: SchedulerPod) -> None:
        await self._tolerate(self._pods.objects.delete(pod.key, uid=pod.uid))

    async def _annotate(
        self, resource: ResourceType, obj: PolicyObject, changes: dict[str, str | None]
    ) -> None:
        patch = {"metadata": {"annotations": changes}}
        await self._tolerate(
            self._policy_informers[resource.plural].objects.merge_patch(obj.key, msgspec.json.encode(patch))
        )

    def _status(self, write: StatusWrite) -> Iterable[_Write]:
        obj = self._policy_informers[write.resource.plural].cache.get(write.key)
        if obj is None or all(obj.status.get(name) == value for name, value in write.status.items()):
            return
        yield partial(self._write_status, obj, write)

    async def _write_status(self, obj: PolicyObject, write: StatusWrite) -> None:
        patch = {"metadata": {"resourceVersion": obj.metadata.resource_version}, "status": write.status}
        objects = self._policy_informers[write.resource.plural].objects
        body = msgspec.json.encode(patch)
        await self._tolerate(objects.merge_patch(write.key, body, subresource=write.subresource))

    async def _tolerate(self, write: Awaitable[object]) -> None:
        """An object that went away needs no write any more. One that changed was seen too late: look again."""
        try:
            await write
        except NotFound:
            return
        except Conflict:
            asyncio.get_running_loop().call_later(_AFTER_CONFLICT, self._due.set)

    def _record(self, event: SchedulerEvent) -> None:
        """An event, once for each new text: a round that finds the same again says nothing."""
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


def _of_interest(pod: SchedulerPod) -> tuple[object, ...]:
    meta = pod.metadata
    return (pod.spec, meta.labels, meta.annotations, meta.deletion_timestamp, pod.status.phase)


def _text(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


async def _carry_out(write: _Write) -> None:
    await write()
