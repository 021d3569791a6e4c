"""An embedded cluster with nodes, a kubelet and schedulers, all in one process and in virtual time."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import msgspec
from grove_sandbox.apiserver import ApiServer, Write
from grove_sandbox.apiserver.schema.definitions import Dialect
from grove_sandbox.clock import loop_clock
from grove_sandbox.faults import Faults
from grove_sandbox.kubelet.kubelet import Kubelet, Program
from grove_sandbox.kubelet.node_lifecycle import NodeLifecycle
from grove_sandbox.nodes import node
from grove_sandbox.schedulers.catalog import CATALOG
from grove_sandbox.schedulers.simulator import SchedulerSimulator

from grove.runtime.client.client import Client
from grove.runtime.client.transport import Request, Response

Json = dict[str, Any]
POD_PATH = "/api/v1/namespaces/default/pods"
DIALECTS: dict[str, Dialect] = {
    "kube-1.35": "1.35",
    "kube-1.36": "1.36",
    "kube-1.37": "1.37",
    "kube-1.37-flat": "1.37",
}


class TestCluster:
    """The server as the test sees it: no client, no cache, nothing that could go wrong on the way."""

    __test__ = False

    def __init__(self, server: ApiServer) -> None:
        self.server = server
        self.writes: list[Write] = []
        self.keeper: NodeLifecycle
        self.simulator: SchedulerSimulator | None = None
        server.on_write(self.writes.append)

    async def create(self, path: str, obj: Json) -> Json:
        return await self._call("POST", path, obj)

    async def get(self, path: str) -> Json:
        return await self._call("GET", path)

    async def patch(self, path: str, patch: Json) -> Json:
        return await self._call("PATCH", path, patch)

    async def delete(self, path: str) -> None:
        await self._call("DELETE", path)

    async def pod(self, name: str) -> Json:
        return await self.get(f"{POD_PATH}/{name}")

    async def pods(self) -> dict[str, Json]:
        return {pod["metadata"]["name"]: pod for pod in (await self.get(POD_PATH))["items"]}

    async def bound(self) -> list[str]:
        return sorted(name for name, pod in (await self.pods()).items() if pod["spec"].get("nodeName"))

    def writes_of(self, kind: str) -> list[Write]:
        return [write for write in self.writes if write.resource.kind == kind]

    async def quiet(self, seconds: float = 1.0) -> None:
        """Lets everybody finish what can be finished in this (virtual) time."""
        await asyncio.sleep(seconds)

    async def _call(self, method: str, path: str, body: Json | None = None) -> Json:
        headers = {
            "content-type": "application/merge-patch+json" if method == "PATCH" else "application/json"
        }
        request = Request(method, path, {}, headers, msgspec.json.encode(body) if body is not None else b"")
        response: Response = await self.server.send(request)
        answer: Json = msgspec.json.decode(response.body)
        assert response.status < 300, answer
        return answer


@asynccontextmanager
async def cluster(
    scheduler: str = "",
    *,
    nodes: Sequence[Json] = (),
    programs: Mapping[str, Program] | None = None,
    faults: Faults | None = None,
) -> AsyncIterator[TestCluster]:
    """`scheduler` is a name of the catalog; without one, pods are bound by the test.

    `faults` come between the server and the kubelet, the nodes and the scheduler; never between it and the test.
    """
    now = loop_clock()
    server = ApiServer(now=now, dialect=DIALECTS.get(scheduler, "1.37"))
    made = TestCluster(server)
    faults = faults or Faults(seed=0)
    client = Client(faults.transport(server), chance=faults.chance)
    made.keeper = NodeLifecycle(client, clock=now)
    tasks = [
        asyncio.create_task(made.keeper.run()),
        asyncio.create_task(Kubelet(made.keeper, programs=programs, clock=now).run()),
    ]
    if scheduler:
        entry = CATALOG[scheduler]
        for definition in entry.definitions():
            await made.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)
        made.simulator = SchedulerSimulator(client, entry.make(), clock=now)
        tasks.append(asyncio.create_task(made.simulator.run()))
    for manifest in nodes or [node("node-0", capacity={"cpu": "4"})]:
        await made.create("/api/v1/nodes", manifest)
    await made.quiet()
    try:
        yield made
    finally:
        for task in tasks:
            task.cancel()
        results = await asyncio.gather(*tasks, return_exceptions=True)
        await server.close()
        assert all(isinstance(result, asyncio.CancelledError) for result in results), results


def pod(name: str, *, on: str = "", scheduler: str = "", cpu: str = "1", **more: Any) -> Json:
    """A pod of one container; `more` is its spec, but for labels and annotations."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "labels": more.pop("labels", {}),
            "annotations": more.pop("annotations", {}),
        },
        "spec": {
            "containers": [{"name": "main", "image": "app:1", "resources": {"requests": {"cpu": cpu}}}],
            **({"nodeName": on} if on else {}),
            **({"schedulerName": scheduler} if scheduler else {}),
            **more,
        },
    }


def asks(**annotations: object) -> dict[str, str]:
    return {f"sandbox.grove.io/{name.replace('_', '-')}": str(value) for name, value in annotations.items()}


def condition(obj: Json, kind: str) -> Json:
    found: Json = next((c for c in obj["status"].get("conditions", ()) if c["type"] == kind), {})
    return found
