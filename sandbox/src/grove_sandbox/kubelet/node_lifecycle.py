"""The life cycle of nodes that have no machine: ready, lost, recovered, removed.

It stands in for three components of a real cluster:

- the kubelet: a node is ready, so the not-ready taint that the API server puts on new nodes is removed;
- the node lifecycle controller: a lost node turns Unknown and gets the unreachable taint, its pods turn not ready, and
  each pod is evicted when its toleration of that taint expires;
- the pod garbage collector: pods of a node that no longer exists are deleted without grace period.
"""

import asyncio
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import datetime
from typing import Any, NoReturn

import msgspec
import structlog
from grove.runtime.cache.cache import Change
from grove.runtime.cache.informer import Informer
from grove.runtime.client.client import Client
from grove.runtime.client.errors import AlreadyExists, NotFound, RequestError
from grove.runtime.client.objects import ObjectKey

from grove_sandbox.kubelet.objects import NODES, PODS, Json, KubeletNode, KubeletPod
from grove_sandbox.nodes import ready_condition
from grove_sandbox.timestamps import rfc3339, utc_now

log = structlog.get_logger(__name__)

NOT_READY = "node.kubernetes.io/not-ready"
UNREACHABLE = "node.kubernetes.io/unreachable"
RETRY_SECONDS = 1.0
# A timer may fire early by a rounding error of the event loop's clock.
_TIMER_SLACK_SECONDS = 0.001


class NodeLifecycle:
    """Must run beside the `Kubelet`, which reads its informers. Tests and demos call `lose`, `recover` and `remove`."""

    def __init__(self, client: Client, *, clock: Callable[[], datetime] = utc_now) -> None:
        self.nodes: Informer[KubeletNode] = Informer(
            client, NODES, msgspec.json.Decoder(KubeletNode).decode, batch_window=0.0
        )
        self.pods: Informer[KubeletPod] = Informer(
            client,
            PODS,
            msgspec.json.Decoder(KubeletPod).decode,
            indexes={"node": lambda pod: [pod.spec.node_name] if pod.spec.node_name else []},
            batch_window=0.0,
        )
        self._clock = clock
        self._lost: dict[str, float] = {}  # node name to the loop time at which it was lost
        self._due = asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None

    def is_up(self, name: str) -> bool:
        """Whether the node exists and answers."""
        return name not in self._lost and self.nodes.cache.get(ObjectKey("", name)) is not None

    async def join(self, manifests: Iterable[Json]) -> None:
        """Creates nodes. Nodes that exist already stay unchanged."""
        for manifest in manifests:
            with suppress(AlreadyExists):
                await self.nodes.objects.create("", msgspec.json.encode(manifest))

    async def lose(self, name: str) -> None:
        """The node stops answering. Its pods freeze, and the cluster marks it unreachable."""
        self._lost[name] = asyncio.get_running_loop().time()
        await self._set_condition(
            name, "Unknown", "NodeStatusUnknown", "Kubelet stopped posting node status."
        )
        found = self._get(name)
        taints = [t for t in found.spec.taints if t["key"] not in (NOT_READY, UNREACHABLE)]
        stamp = rfc3339(self._clock())
        taints += [
            {"key": UNREACHABLE, "effect": effect, "timeAdded": stamp}
            for effect in ("NoSchedule", "NoExecute")
        ]
        await self._set_taints(name, taints)
        for pod in self.pods.cache.by_index("node", name):
            await self._mark_not_ready(pod)
        self._due.set()

    async def recover(self, name: str) -> None:
        """The node answers again. Its pods continue."""
        self._lost.pop(name, None)
        await self._set_condition(name, "True", "KubeletReady", "kubelet is posting ready status")
        await self._set_taints(name, [t for t in self._get(name).spec.taints if t["key"] != UNREACHABLE])

    async def remove(self, name: str) -> None:
        """Deletes the node. Its pods are deleted too."""
        await self.nodes.objects.delete(ObjectKey("", name))

    async def run(self) -> NoReturn:
        """Runs until cancelled. A failed request is retried."""
        async with asyncio.TaskGroup() as group:
            for informer in (self.nodes, self.pods):
                group.create_task(informer.run())
                await informer.synced.wait()
            self.nodes.cache.subscribe(self._on_node_change)
            self.pods.cache.subscribe(self._on_pod_change)
            while True:
                await self._due.wait()
                self._due.clear()
                try:
                    await self._sync()
                except RequestError as error:
                    log.info("updating nodes failed, will retry", error=str(error))
                    asyncio.get_running_loop().call_later(RETRY_SECONDS, self._due.set)
        raise AssertionError("unreachable")

    def _on_node_change(self, change: Change[KubeletNode]) -> None:
        self._due.set()

    def _on_pod_change(self, change: Change[KubeletPod]) -> None:
        if change.new is not None and change.new.spec.node_name and not self.is_up(change.new.spec.node_name):
            self._due.set()

    async def _sync(self) -> None:
        for found in self.nodes.cache:
            name = found.metadata.name or ""
            if name not in self._lost and any(t["key"] == NOT_READY for t in found.spec.taints):
                await self._set_taints(name, [t for t in found.spec.taints if t["key"] != NOT_READY])
        for pod in self.pods.cache:
            name = pod.spec.node_name
            if not name or self.is_up(name):
                continue
            if self.nodes.cache.get(ObjectKey("", name)) is None:
                self._lost.pop(name, None)
                await self.pods.objects.delete(pod.key, uid=pod.metadata.uid, grace_seconds=0)
            elif pod.metadata.deletion_timestamp is None:
                await self._evict_when_toleration_expires(pod)

    async def _evict_when_toleration_expires(self, pod: KubeletPod) -> None:
        seconds = _tolerates_for(pod)
        if seconds is None:
            return
        loop = asyncio.get_running_loop()
        left = self._lost[pod.spec.node_name] + seconds - loop.time()
        if left < _TIMER_SLACK_SECONDS:
            await self.pods.objects.delete(pod.key, uid=pod.metadata.uid)
        else:
            self._wake_in(left)

    def _wake_in(self, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        due = loop.time() + seconds
        if self._timer is not None and loop.time() < self._timer.when() <= due:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer = loop.call_at(due, self._due.set)

    async def _mark_not_ready(self, pod: KubeletPod) -> None:
        conditions = [
            {**c, "status": "False", "lastTransitionTime": rfc3339(self._clock())}
            if c["type"] == "Ready" and c["status"] == "True"
            else c
            for c in pod.status.get("conditions") or ()
        ]
        if conditions != (pod.status.get("conditions") or []):
            patch = msgspec.json.encode({"status": {"conditions": conditions}})
            with suppress(NotFound):
                await self.pods.objects.merge_patch(pod.key, patch, subresource="status")

    def _get(self, name: str) -> KubeletNode:
        found = self.nodes.cache.get(ObjectKey("", name))
        if found is None:
            known = ", ".join(sorted(n.metadata.name or "" for n in self.nodes.cache)) or "none"
            raise KeyError(f"node {name} does not exist; existing nodes: {known}")
        return found

    async def _set_taints(self, name: str, taints: list[Json]) -> None:
        patch = msgspec.json.encode({"spec": {"taints": taints or None}})
        await self.nodes.objects.merge_patch(ObjectKey("", name), patch)

    async def _set_condition(self, name: str, status: str, reason: str, message: str) -> None:
        others = [c for c in self._get(name).status.get("conditions") or () if c["type"] != "Ready"]
        ready: dict[str, Any] = {
            **ready_condition(status, reason, message),
            "lastTransitionTime": rfc3339(self._clock()),
        }
        patch = msgspec.json.encode({"status": {"conditions": [*others, ready]}})
        await self.nodes.objects.merge_patch(ObjectKey("", name), patch, subresource="status")


def _tolerates_for(pod: KubeletPod) -> float | None:
    """Seconds that the pod may stay on an unreachable node. None means without limit."""
    for toleration in pod.spec.tolerations:
        matches = toleration.get("key") in (UNREACHABLE, None, "") and toleration.get("effect") in (
            "NoExecute",
            None,
            "",
        )
        if matches:
            seconds = toleration.get("tolerationSeconds")
            return None if seconds is None else float(seconds)
    return 0.0
