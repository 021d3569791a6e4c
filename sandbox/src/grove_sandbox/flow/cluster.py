"""An operator on the embedded cluster, for tests in virtual time.

`running()` gives a cluster with Grove's CRDs and an operator. `NoGateOpensEarly` checks every write; its assertions are
raised when the cluster is closed, whichever client made the write.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import orjson
from grove.api.config import OperatorConfiguration
from grove.api.serialization import yaml
from grove.api.serialization.crds import all_crds
from grove.operator.assembly import BackendProcess, Operator, discover
from grove.runtime.cache.informer import BATCH_WINDOW_SECONDS
from grove.runtime.client.transport import Request, Transport
from grove.schedulers.kube import Kubernetes
from grove.schedulers.registry import Factory, Registry

from grove_sandbox.apiserver import Write
from grove_sandbox.cluster import CRDS, EmbeddedCluster
from grove_sandbox.flow.gate_observer import NoGateOpensEarly
from grove_sandbox.schedulers.policy import Policy
from grove_sandbox.schedulers.simulator import SchedulerSimulator

Json = dict[str, Any]

_CORE = ("events", "nodes", "pods", "secrets", "serviceaccounts", "services")
_GROUPS = {
    "horizontalpodautoscalers": "/apis/autoscaling/v2",
    "podgangs": "/apis/scheduler.grove.io/v1alpha1",
    "resourceclaims": "/apis/resource.k8s.io/v1",
    "rolebindings": "/apis/rbac.authorization.k8s.io/v1",
    "roles": "/apis/rbac.authorization.k8s.io/v1",
}


class RefusedError(AssertionError):
    """The API server refused a request of a test."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class GroveCluster:
    """A cluster with Grove's CRDs. `writes` lists all writes by all clients, such as `ADDED pods`."""

    def __init__(self, cluster: EmbeddedCluster, observer: NoGateOpensEarly) -> None:
        self.cluster = cluster
        self.observer = observer
        self.writes: list[str] = []
        self._wrote = asyncio.Event()
        cluster.on_write(self._record)

    def _record(self, write: Write) -> None:
        self.writes.append(f"{write.type} {write.resource.plural}")
        self._wrote.set()

    async def apply(self, manifest: str | Json) -> Json:
        """Creates a PodCliqueSet."""
        obj = yaml.load_one(manifest).value if isinstance(manifest, str) else manifest
        namespace = obj["metadata"].setdefault("namespace", "default")
        return await self.cluster.create(f"/apis/grove.io/v1alpha1/namespaces/{namespace}/podcliquesets", obj)

    async def call(
        self, method: str, path: str, body: Json | None = None, kind: str = "merge-patch+json"
    ) -> Json:
        """Sends any request. Raises RefusedError unless it succeeds."""
        headers = {"content-type": f"application/{kind}" if method == "PATCH" else "application/json"}
        answer = await self.cluster.server.send(
            Request(method, path, {}, headers, orjson.dumps(body) if body is not None else b"")
        )
        if answer.status >= 300:
            raise RefusedError(answer.status, answer.body.decode())
        found: Json = orjson.loads(answer.body)
        return found

    async def list(self, plural: str, namespace: str = "default") -> dict[str, Json]:
        """The objects of a resource by name.

        It must be a core resource of `_CORE`, one of `_GROUPS`, or of grove.io.
        """
        where = "/api/v1" if plural in _CORE else _GROUPS.get(plural, "/apis/grove.io/v1alpha1")
        answer = await self.call("GET", f"{where}/namespaces/{namespace}/{plural}")
        return {o["metadata"]["name"]: o for o in answer["items"]}

    async def settle(self, quiet: float = 40.0) -> None:
        """Waits until there was no write for `quiet` seconds of virtual time."""
        while True:
            before = len(self.writes)
            await asyncio.sleep(quiet)
            if len(self.writes) == before:
                return

    async def until(self, holds: Callable[[], Awaitable[Any]], within: float = 600.0) -> None:
        """Waits until `holds` returns a true value. Asks at once and after every write."""
        async with asyncio.timeout(within):
            while not await holds():
                self._wrote.clear()
                await self._wrote.wait()


@asynccontextmanager
async def cluster_with_crds(
    *,
    nodes: int | Sequence[Mapping[str, Any]] = 8,
    seed: int = 0,
    definitions: Sequence[Mapping[str, Any]] = (),
    policies: Sequence[Policy] = (),
    gates: Collection[str] = (),
    **settings: Any,
) -> AsyncIterator[GroveCluster]:
    """A cluster with Grove's CRDs and without an operator.

    `definitions` are additional CRDs. `policies` are simulated schedulers beside those named by `schedulers`. `gates`
    are the gates to observe, if not those of Grove's own backends. `settings` go to
    `grove_sandbox.cluster.EmbeddedCluster`.
    """
    async with EmbeddedCluster(nodes=nodes, seed=seed, **settings) as cluster:
        observer = NoGateOpensEarly(gates)
        cluster.on_write(observer)
        for crd in (*all_crds(), *definitions):
            await cluster.create(CRDS, crd)
        async with asyncio.TaskGroup() as group:
            simulators = [
                group.create_task(
                    SchedulerSimulator(cluster.client(p.scheduler_name), p, clock=cluster.now).run()
                )
                for p in policies
            ]
            yield GroveCluster(cluster, observer)
            for simulator in simulators:
                simulator.cancel()


@asynccontextmanager
async def running(
    *,
    configuration: OperatorConfiguration | None = None,
    factories: Mapping[str, Factory] | None = None,
    seed: int = 0,
    through: Callable[[Transport], Transport] | None = None,
    **settings: Any,
) -> AsyncIterator[GroveCluster]:
    """A cluster with an operator. `settings` go to `cluster_with_crds`."""
    async with (
        cluster_with_crds(seed=seed, **settings) as grove,
        operator(grove, configuration=configuration, factories=factories, seed=seed, through=through),
    ):
        yield grove


@asynccontextmanager
async def operator(
    grove: GroveCluster,
    *,
    configuration: OperatorConfiguration | None = None,
    factories: Mapping[str, Factory] | None = None,
    through: Callable[[Transport], Transport] | None = None,
    seed: int = 0,
    batch_window: float = BATCH_WINDOW_SECONDS,
) -> AsyncIterator[Operator]:
    """An operator that runs inside the block. `through` wraps its transport, for example with faults.

    With a `batch_window` of 0 its informers deliver every event as it arrives, even while virtual time stands still.
    """
    configuration = configuration or OperatorConfiguration()
    transport = through(grove.cluster.server) if through else None
    client = grove.cluster.client("grove-operator", transport)
    process = Operator(
        client,
        configuration,
        Registry(configuration.scheduler, factories or {"default": Kubernetes}),
        served=await discover(grove.cluster.client("discovery")),
        now=grove.cluster.now,
        chance=random.Random(seed),
        batch_window=batch_window,
    )
    async with process.running():
        yield process


@asynccontextmanager
async def backend_alone(
    grove: GroveCluster,
    name: str,
    *,
    configuration: OperatorConfiguration,
    factories: Mapping[str, Factory] | None = None,
    through: Callable[[Transport], Transport] | None = None,
    batch_window: float = BATCH_WINDOW_SECONDS,
) -> AsyncIterator[BackendProcess]:
    """The process of a separate backend, beside an operator whose configuration has `separate` for it."""
    registry = Registry(configuration.scheduler, factories or {"default": Kubernetes})
    backend = registry.get(name)
    assert backend is not None, f"{name} is not enabled"
    transport = through(grove.cluster.server) if through else None
    client = grove.cluster.client(f"grove-backend-{name}", transport)
    process = BackendProcess(
        client, configuration, registry, backend, now=grove.cluster.now, batch_window=batch_window
    )
    async with process.running():
        yield process
