"""A complete embedded cluster: API server, nodes, kubelet and gang schedulers, on the caller's event loop.

    async with EmbeddedCluster(nodes=4, schedulers=["kube-1.37", "kai"]) as cluster:
        client = cluster.client("test")

It opens no socket and does not depend on real time: with looptime, four hours pass in milliseconds.
"""

import asyncio
import random
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from types import TracebackType
from typing import Any, Self

import orjson
from grove.runtime.client.client import Client
from grove.runtime.client.transport import Request, Transport

from grove_sandbox.apiserver import ApiServer, Write
from grove_sandbox.apiserver.schema.definitions import Dialect
from grove_sandbox.apiserver.server import DEFAULT_DIALECT
from grove_sandbox.apiserver.state import WebhookCaller
from grove_sandbox.apiserver.storage import HISTORY
from grove_sandbox.clock import loop_clock
from grove_sandbox.kubelet.kubelet import Kubelet, Program
from grove_sandbox.kubelet.node_lifecycle import NodeLifecycle
from grove_sandbox.nodes import nodes as make_nodes
from grove_sandbox.schedulers.catalog import CATALOG
from grove_sandbox.schedulers.simulator import SchedulerSimulator

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


class EmbeddedCluster:
    """Use it as an async context manager. All its parts run inside the block.

    `nodes` is the number of nodes, or their manifests. `schedulers` are names of `grove_sandbox.schedulers.catalog`,
    by default the kube-scheduler of the release; their CRDs are installed. `dialect` is the Kubernetes release. `now`
    is the wall clock, by default one that follows the event loop. `seed` makes names, uids and backoffs reproducible.
    `programs` run in place of init containers, by name of the container. `history` and `call_webhook` are for
    `ApiServer`.
    """

    def __init__(
        self,
        *,
        nodes: int | Sequence[Mapping[str, Any]] = 3,
        schedulers: Sequence[str] | None = None,
        dialect: Dialect = DEFAULT_DIALECT,
        seed: int = 0,
        history: int = HISTORY,
        now: Callable[[], datetime] | None = None,
        programs: Mapping[str, Program] | None = None,
        call_webhook: WebhookCaller | None = None,
    ) -> None:
        self.now = now or loop_clock()
        self._seed = seed
        self.server = ApiServer(
            now=self.now, seed=seed, history=history, dialect=dialect, call_webhook=call_webhook
        )
        self.nodes = NodeLifecycle(self.client("node-lifecycle"), clock=self.now)
        self.schedulers: dict[str, SchedulerSimulator] = {}
        self._wanted_nodes = make_nodes(nodes) if isinstance(nodes, int) else nodes
        self._wanted_schedulers = [kube_scheduler(dialect)] if schedulers is None else schedulers
        self._kubelet = Kubelet(self.nodes, programs=programs, clock=self.now)
        self._group = asyncio.TaskGroup()
        self._workers: list[asyncio.Task[Any]] = []

    async def __aenter__(self) -> Self:
        for name in self._wanted_schedulers:
            for definition in CATALOG[name].definitions():
                await self.create(CRDS, definition)
        for node in self._wanted_nodes:
            await self.create("/api/v1/nodes", node)
        await self._group.__aenter__()
        self._workers += [
            self._group.create_task(self.nodes.run()),
            self._group.create_task(self._kubelet.run()),
        ]
        for name in self._wanted_schedulers:
            simulator = SchedulerSimulator(self.client(name), CATALOG[name].make(), clock=self.now)
            self.schedulers[name] = simulator
            self._workers.append(self._group.create_task(simulator.run()))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stops everything. Raises the first AssertionError of an observer, whichever client made the write."""
        for worker in self._workers:
            worker.cancel()
        await self._group.__aexit__(kind, error, trace)
        await self.server.close()
        objections = [e for e in self.server.observer_errors if isinstance(e, AssertionError)]
        if objections and error is None:
            raise objections[0]

    def client(self, name: str, through: Transport | None = None) -> Client:
        """A client for one process. `through` is its transport, for example one with faults."""
        chance = random.Random(f"{name} {self._seed}")
        return Client(through or self.server, field_manager=name, chance=chance)

    def on_write(self, observer: Callable[[Write], None]) -> None:
        """Calls `observer` synchronously after every write by any client. Its exceptions are raised to that client."""
        self.server.on_write(observer)

    async def create(self, path: str, obj: Mapping[str, Any]) -> dict[str, Any]:
        """Creates an object. Raises ValueError if the server refuses it."""
        headers = {"content-type": "application/json"}
        response = await self.server.send(Request("POST", path, {}, headers, orjson.dumps(obj)))
        answer: dict[str, Any] = orjson.loads(response.body)
        if response.status != 201:
            raise ValueError(f"POST {path}: {answer['message']}")
        return answer


def kube_scheduler(dialect: Dialect) -> str:
    """The name of a release's kube-scheduler in the catalog."""
    return f"kube-{dialect}"
