"""The operator on the embedded cluster, for flow tests: virtual time, seeded faults, every write observed.

`running()` gives a cluster with Grove's CRDs and a running operator. `settle` waits until nothing moves any more. Every
write of every test passes `NoGateOpensEarly`.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import orjson

from grove.api import yaml
from grove.api.config import OperatorConfiguration
from grove.api.crds import all_crds
from grove.operator.assembly import Operator, discover
from grove.runtime.transport import Request, Transport
from grove.sandbox.apiserver import Write
from grove.sandbox.cluster import Cluster
from grove.schedulers.kube import Kubernetes
from grove.schedulers.registry import Factory, Registry
from tests.flow.gate_observer import NoGateOpensEarly

Json = dict[str, Any]
EXAMPLES = Path(__file__).parents[2] / "examples"


class Grove:
    """A cluster with an operator in it."""

    def __init__(self, cluster: Cluster, observer: NoGateOpensEarly) -> None:
        self.cluster = cluster
        self.observer = observer
        self.writes: list[str] = []
        self._wrote = asyncio.Event()
        cluster.on_write(self._note)

    def _note(self, write: Write) -> None:
        self.writes.append(f"{write.type} {write.resource.plural}")
        self._wrote.set()

    async def apply(self, manifest: str | Json) -> Json:
        obj = yaml.load_one(manifest).value if isinstance(manifest, str) else manifest
        namespace = obj["metadata"].setdefault("namespace", "default")
        return await self.cluster.create(f"/apis/grove.io/v1alpha1/namespaces/{namespace}/podcliquesets", obj)

    async def call(
        self, method: str, path: str, body: Json | None = None, kind: str = "merge-patch+json"
    ) -> Json:
        headers = {"content-type": f"application/{kind}" if method == "PATCH" else "application/json"}
        answer = await self.cluster.server.send(
            Request(method, path, {}, headers, orjson.dumps(body) if body is not None else b"")
        )
        found: Json = orjson.loads(answer.body)
        assert answer.status < 300, found.get("message")
        return found

    async def list(self, plural: str, namespace: str = "default") -> dict[str, Json]:
        answer = await self.call("GET", f"{_path(plural)}/namespaces/{namespace}/{plural}")
        return {o["metadata"]["name"]: o for o in answer["items"]}

    async def settle(self, quiet: float = 40.0) -> None:
        """Waits until nobody has written anything for a while, in virtual time."""
        while True:
            before = len(self.writes)
            await asyncio.sleep(quiet)
            if len(self.writes) == before:
                return

    async def until(self, holds: Callable[[], Any], within: float = 600.0) -> None:
        """Waits until a condition holds; it is looked at after every write."""
        async with asyncio.timeout(within):
            while not await holds():
                self._wrote.clear()
                await self._wrote.wait()


@asynccontextmanager
async def cluster_with_crds(
    *, nodes: int | Sequence[Mapping[str, Any]] = 8, seed: int = 0, **settings: Any
) -> AsyncIterator[Grove]:
    """A cluster that knows Grove's kinds, and no operator yet."""
    async with Cluster(nodes=nodes, seed=seed, **settings) as cluster:
        observer = NoGateOpensEarly()
        cluster.on_write(observer)
        for crd in all_crds():
            await cluster.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd)
        yield Grove(cluster, observer)


@asynccontextmanager
async def running(
    *,
    nodes: int | Sequence[Mapping[str, Any]] = 8,
    configuration: OperatorConfiguration | None = None,
    factories: Mapping[str, Factory] | None = None,
    seed: int = 0,
    **settings: Any,
) -> AsyncIterator[Grove]:
    """A cluster with an operator."""
    async with (
        cluster_with_crds(nodes=nodes, seed=seed, **settings) as grove,
        operator(grove, configuration=configuration, factories=factories, seed=seed),
    ):
        yield grove


@asynccontextmanager
async def operator(
    grove: Grove,
    *,
    configuration: OperatorConfiguration | None = None,
    factories: Mapping[str, Factory] | None = None,
    through: Callable[[Transport], Transport] | None = None,
    seed: int = 0,
) -> AsyncIterator[Operator]:
    """An operator process, ended at the end."""
    configuration = configuration or OperatorConfiguration()
    transport = through(grove.cluster.server) if through else None
    client = grove.cluster.client("grove-operator", transport)
    made = Operator(
        client,
        configuration,
        Registry(configuration.scheduler, factories or {"default": Kubernetes}),
        served=await discover(grove.cluster.client("discovery")),
        now=grove.cluster.now,
        chance=random.Random(seed),
    )
    stop = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        running = group.create_task(made.run(stop))
        yield made
        stop.set()
        await running


def example(name: str) -> Json:
    found: Json = yaml.load_one((EXAMPLES / f"{name}.yaml").read_text()).value
    return found


def _path(plural: str) -> str:
    core = ("pods", "services", "secrets", "serviceaccounts", "events")
    groups = {
        "podgangs": "/apis/scheduler.grove.io/v1alpha1",
        "horizontalpodautoscalers": "/apis/autoscaling/v2",
        "resourceclaims": "/apis/resource.k8s.io/v1",
        "roles": "/apis/rbac.authorization.k8s.io/v1",
        "rolebindings": "/apis/rbac.authorization.k8s.io/v1",
    }
    return "/api/v1" if plural in core else groups.get(plural, "/apis/grove.io/v1alpha1")


__all__ = ["Grove", "Json", "cluster_with_crds", "example", "operator", "running"]
