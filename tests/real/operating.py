"""The operator in the process of a test, on a real control plane, with the rights of deploy/operator.yaml alone."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
import yaml
from grove_testbed.cluster import Cluster

from grove.api.config import OperatorConfiguration
from grove.operator.assembly import Operator, discover
from grove.runtime.client import Client
from grove.runtime.http import HttpTransport
from grove.runtime.kubeconfig import find_cluster
from grove.runtime.requests import Call
from grove.runtime.transport import Request, Response, Stream, Transport
from grove.schedulers.registry import Factory, Registry

Json = dict[str, Any]

ROOT = Path(__file__).parents[2]
RIGHTS = ("Namespace", "ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding")


def install(cluster: Cluster, *objects: Json) -> None:
    """The operator's rights, and further objects. Grove's kinds are there since the cluster started."""
    documents = yaml.safe_load_all((ROOT / "deploy" / "operator.yaml").read_text())
    rights = [d for d in documents if d["kind"] in RIGHTS]
    body = {"apiVersion": "v1", "kind": "List", "items": [*rights, *objects]}
    cluster.kubectl("apply", "--server-side", "--filename=-", stdin=json.dumps(body))


@asynccontextmanager
async def operator(
    cluster: Cluster, configuration: OperatorConfiguration, factories: Mapping[str, Factory]
) -> AsyncIterator[Client]:
    """Running; gives its client. Ends in an error if it was ever refused something."""
    watched = Watched(HttpTransport(find_cluster(str(cluster.kubeconfig("operator")))))
    client = Client(watched, field_manager="grove-operator")
    stop = asyncio.Event()
    try:
        registry = Registry(configuration.scheduler, factories)
        made = Operator(client, configuration, registry, served=await discover(client))
        async with asyncio.TaskGroup() as group:
            running = group.create_task(made.run(stop))
            yield client
            stop.set()
            await running
    finally:
        await client.close()
    assert watched.refused == [], "it lacks a permission"


@dataclass
class Watched:
    """A transport that notes what the server refuses to the operator."""

    inner: Transport
    refused: list[str] = field(default_factory=list)

    async def send(self, request: Request) -> Response:
        answer = await self.inner.send(request)
        # Where a namespace or an owner is going away, nobody may create.
        if answer.status == 403 and b"being terminated" not in answer.body:
            self.refused.append(f"{request.method} {request.path}: {answer.body.decode()}")
        return answer

    async def stream(self, request: Request) -> Stream:
        answer = await self.inner.stream(request)
        if answer.status == 403:
            self.refused.append(f"{request.method} {request.path}")
        return answer

    async def close(self) -> None:
        await self.inner.close()


class Admin:
    """Somebody who may do everything, in the test's own process."""

    def __init__(self, cluster: Cluster) -> None:
        transport = HttpTransport(find_cluster(str(cluster.kubeconfig("admin"))))
        self._client = Client(transport, field_manager="admin")

    async def call(
        self, method: str, path: str, body: Json | None = None, kind: str = "merge-patch+json"
    ) -> Json:
        headers = {"content-type": f"application/{kind}" if method == "PATCH" else "application/json"}
        request = Request(method, path, {}, headers, orjson.dumps(body) if body is not None else b"")
        found: Json = orjson.loads((await self._client.send(Call(request, method, path))).body)
        return found

    async def close(self) -> None:
        await self._client.close()
