"""Nodes of a cluster without machines: their objects, and what becomes of them when they are lost.

`NodeLifecycle` does what a real cluster leaves to three parties: the kubelet (a node is ready, so the taint that
the API server puts on new nodes goes), the node lifecycle controller (a lost node turns Unknown and is tainted, its
pods are not ready, and are evicted when their tolerations run out), and the pod garbage collector (pods of a
node that no longer exists are removed at once).
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, NoReturn

import msgspec
import structlog
from grove.runtime.cache.cache import Change
from grove.runtime.cache.informer import Informer
from grove.runtime.client.client import Client
from grove.runtime.client.errors import AlreadyExists, NotFound, RequestError
from grove.runtime.client.objects import ObjectKey

from grove_sandbox.kubelet.objects import NODES, PODS, Json, KubeletNode, KubeletPod

log = structlog.get_logger(__name__)

RACKS_PER_ZONE = 2
NODES_PER_RACK = 4
ZONE = "topology.kubernetes.io/zone"
RACK = "grove.io/rack"
NOT_READY = "node.kubernetes.io/not-ready"
UNREACHABLE = "node.kubernetes.io/unreachable"
# Timers may come a rounding error early.
_A_MOMENT = 0.001


def nodes(
    count: int,
    capacity: Mapping[str, str] | None = None,
    *,
    labels: Mapping[str, str] | None = None,
    taints: Sequence[Json] = (),
) -> list[Json]:
    """`node-0` and so on, four to a rack, two racks to a zone."""
    return [
        node(
            f"node-{index}",
            zone=f"zone-{index // (NODES_PER_RACK * RACKS_PER_ZONE)}",
            rack=f"rack-{index // NODES_PER_RACK}",
            capacity=capacity,
            labels=labels,
            taints=taints,
            address=f"10.0.{index // 250}.{index % 250 + 1}",
        )
        for index in range(count)
    ]


def node(
    name: str,
    *,
    zone: str = "zone-0",
    rack: str = "rack-0",
    capacity: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
    taints: Sequence[Json] = (),
    address: str = "10.0.0.1",
) -> Json:
    """An object to create; what it can allocate is all of its capacity."""
    amounts = {"cpu": "16", "memory": "64Gi", "nvidia.com/gpu": "8", "pods": "110", **(capacity or {})}
    own = {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", ZONE: zone, RACK: rack}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {**own, **(labels or {})}},
        "spec": {"taints": list(taints)} if taints else {},
        "status": {
            "capacity": amounts,
            "allocatable": amounts,
            "addresses": [{"type": "InternalIP", "address": address}, {"type": "Hostname", "address": name}],
            "conditions": [_ready("True", "KubeletReady", "kubelet is posting ready status")],
            "nodeInfo": {"kubeletVersion": "v0-embedded", "operatingSystem": "linux", "osImage": "none"},
        },
    }


def _ready(status: str, reason: str, message: str) -> Json:
    return {"type": "Ready", "status": status, "reason": reason, "message": message}


def _utc_now() -> datetime:
    return datetime.now(UTC)


class NodeLifecycle:
    """`run` it beside the kubelet. `lose`, `recover` and `remove` are for tests and demonstrations."""

    def __init__(self, client: Client, *, clock: Callable[[], datetime] = _utc_now) -> None:
        self.nodes: Informer[KubeletNode] = Informer(client, NODES, msgspec.json.Decoder(KubeletNode).decode)
        self.pods: Informer[KubeletPod] = Informer(
            client,
            PODS,
            msgspec.json.Decoder(KubeletPod).decode,
            indexes={"node": lambda pod: [pod.spec.node_name] if pod.spec.node_name else []},
        )
        self._clock = clock
        self._lost: dict[str, float] = {}
        self._due = asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None

    def is_up(self, name: str) -> bool:
        return name not in self._lost and self.nodes.cache.get(ObjectKey("", name)) is not None

    async def join(self, manifests: Iterable[Json]) -> None:
        """Creates nodes; those that exist already stay as they are."""
        for manifest in manifests:
            with suppress(AlreadyExists):
                await self.nodes.objects.create("", msgspec.json.encode(manifest))

    async def lose(self, name: str) -> None:
        """The node stops answering: nothing on it changes any more, and the cluster takes note."""
        self._lost[name] = asyncio.get_running_loop().time()
        await self._set_condition(
            name, "Unknown", "NodeStatusUnknown", "Kubelet stopped posting node status."
        )
        found = self._get(name)
        taints = [t for t in found.spec.taints if t["key"] not in (NOT_READY, UNREACHABLE)]
        stamp = _text(self._clock())
        taints += [
            {"key": UNREACHABLE, "effect": effect, "timeAdded": stamp}
            for effect in ("NoSchedule", "NoExecute")
        ]
        await self._set_taints(name, taints)
        for pod in self.pods.cache.by_index("node", name):
            await self._mark_not_ready(pod)
        self._due.set()

    async def recover(self, name: str) -> None:
        """The node answers again, with the pods it had."""
        self._lost.pop(name, None)
        await self._set_condition(name, "True", "KubeletReady", "kubelet is posting ready status")
        await self._set_taints(name, [t for t in self._get(name).spec.taints if t["key"] != UNREACHABLE])

    async def remove(self, name: str) -> None:
        """The node is gone for good, and its pods with it."""
        await self.nodes.objects.delete(ObjectKey("", name))

    async def run(self) -> NoReturn:
        async with asyncio.TaskGroup() as group:
            for informer in (self.nodes, self.pods):
                group.create_task(informer.run())
                await informer.synced.wait()
            self.nodes.cache.subscribe(self._notice)
            self.pods.cache.subscribe(self._notice_pod)
            while True:
                await self._due.wait()
                self._due.clear()
                try:
                    await self._tend()
                except RequestError as error:
                    log.info("nodes are looked at again", error=str(error))
                    asyncio.get_running_loop().call_later(1.0, self._due.set)
        raise AssertionError("unreachable")

    def _notice(self, change: Change[KubeletNode]) -> None:
        self._due.set()

    def _notice_pod(self, change: Change[KubeletPod]) -> None:
        if change.new is not None and change.new.spec.node_name and not self.is_up(change.new.spec.node_name):
            self._due.set()

    async def _tend(self) -> None:
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
                await self._evict_in_time(pod)

    async def _evict_in_time(self, pod: KubeletPod) -> None:
        seconds = _tolerates_for(pod)
        if seconds is None:
            return
        loop = asyncio.get_running_loop()
        left = self._lost[pod.spec.node_name] + seconds - loop.time()
        if left < _A_MOMENT:
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
            {**c, "status": "False", "lastTransitionTime": _text(self._clock())}
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
            raise KeyError(f"there is no node {name}; the nodes are: {known}")
        return found

    async def _set_taints(self, name: str, taints: list[Json]) -> None:
        patch = msgspec.json.encode({"spec": {"taints": taints or None}})
        await self.nodes.objects.merge_patch(ObjectKey("", name), patch)

    async def _set_condition(self, name: str, status: str, reason: str, message: str) -> None:
        others = [c for c in self._get(name).status.get("conditions") or () if c["type"] != "Ready"]
        ready: dict[str, Any] = {
            **_ready(status, reason, message),
            "lastTransitionTime": _text(self._clock()),
        }
        patch = msgspec.json.encode({"status": {"conditions": [*others, ready]}})
        await self.nodes.objects.merge_patch(ObjectKey("", name), patch, subresource="status")


def _tolerates_for(pod: KubeletPod) -> float | None:
    """For how long the pod may stay on a node that cannot be reached; None: for ever."""
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


def _text(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
