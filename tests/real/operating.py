"""The operator in the process of a test, on a real control plane, with the rights of deploy/operator.yaml alone."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml
from grove_testbed.cluster import Cluster
from grove_testbed.fixtures import started

from grove.api.config import OperatorConfiguration
from grove.api.serialization.crds import all_crds
from grove.operator.assembly import BackendProcess, Operator, discover
from grove.runtime.client.client import Client
from grove.runtime.client.http_transport import HttpTransport
from grove.runtime.client.kubeconfig import find_cluster
from grove.runtime.client.requests import Call
from grove.runtime.client.transport import Request, Response, Stream, Transport
from grove.schedulers.registry import Factory, Registry

Json = dict[str, Any]

ROOT = Path(__file__).parents[2]
RIGHTS = ("Namespace", "ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding")


def prepared(request: pytest.FixtureRequest, k8s: str, *objects: Json, **options: Any) -> Iterator[Cluster]:
    """The body of a cluster fixture: with Grove's kinds, the operator's rights, and the objects."""
    for cluster in started(request, k8s, definitions=all_crds(), **options):
        furnish(cluster, *objects)
        yield cluster


def furnish(cluster: Cluster, *objects: Json) -> None:
    """Makes what a cluster with Grove's kinds still lacks: the operator's rights, and the objects."""
    documents = yaml.safe_load_all((ROOT / "deploy" / "operator.yaml").read_text())
    items = [*(d for d in documents if d["kind"] in RIGHTS), *objects]
    body = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
    cluster.kubectl("create", "--filename=-", stdin=body)
    cluster.kubectl("wait", "--for=create", "serviceaccount/default", "--timeout=60s")


@asynccontextmanager
async def operator(
    cluster: Cluster, configuration: OperatorConfiguration, factories: Mapping[str, Factory]
) -> AsyncIterator[Client]:
    """Running; gives its client. Ends in an error if it was ever refused something."""
    registry = Registry(configuration.scheduler, factories)
    async with _client(cluster) as client:
        made = Operator(client, configuration, registry, served=await discover(client))
        async with made.running():
            yield client


@asynccontextmanager
async def backend_alone(
    cluster: Cluster, configuration: OperatorConfiguration, factories: Mapping[str, Factory], name: str
) -> AsyncIterator[Client]:
    """One backend as a process of its own, and no operator: nobody but the test writes PodGangs."""
    registry = Registry(configuration.scheduler, factories)
    backend = registry.get(name)
    assert backend is not None
    async with (
        _client(cluster) as client,
        BackendProcess(client, configuration, registry, backend).running(),
    ):
        yield client


@asynccontextmanager
async def _client(cluster: Cluster) -> AsyncIterator[Client]:
    watched = Watched(HttpTransport(find_cluster(str(cluster.kubeconfig("operator")))))
    client = Client(watched, field_manager="grove-operator")
    try:
        yield client
    finally:
        await client.close()
    assert not watched.refused, f"it lacks a permission: {watched.refused[:3]}"


@dataclass
class Watched:
    """A transport that notes what the server refuses to the operator."""

    inner: Transport
    refused: list[str] = field(default_factory=list)

    async def send(self, request: Request) -> Response:
        answer = await self.inner.send(request)
        # Admission plugins forbid, too.
        if answer.status == 403 and b" cannot " in answer.body:
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
        self,
        method: str,
        path: str,
        body: Json | None = None,
        kind: str = "merge-patch+json",
        query: Mapping[str, str] | None = None,
    ) -> Json:
        headers = {"content-type": f"application/{kind}" if method == "PATCH" else "application/json"}
        content = orjson.dumps(body) if body is not None else b""
        request = Request(method, path, query or {}, headers, content)
        found: Json = orjson.loads((await self._client.send(Call(request, method, path))).body)
        return found

    async def close(self) -> None:
        await self._client.close()
