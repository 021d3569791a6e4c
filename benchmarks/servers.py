"""API servers in processes of their own, so that only the CPU of the client is measured: embedded or real."""

import asyncio
import multiprocessing
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from grove_sandbox.apiserver import ApiServer
from grove_sandbox.http import serve
from grove_testbed.access import IDENTITIES
from grove_testbed.accounting import RequestCounter
from grove_testbed.cluster import Cluster as Testbed

from grove.runtime.client.credentials import FixedToken
from grove.runtime.client.http_transport import HttpTransport
from grove.runtime.client.kubeconfig import ClusterConnection, from_kubeconfig
from grove.runtime.client.transport import Request, Response, Stream, Transport

VERBS = {"GET": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
WRITES = ("create", "update", "patch", "delete")


@dataclass(frozen=True)
class Server:
    """`audit` counts the requests to a real server. The recorder counts those to the embedded one."""

    bench: ClusterConnection
    operator: ClusterConnection
    audit: RequestCounter | None = None

    def recorder(self) -> "Recorder":
        return Recorder(HttpTransport(self.operator, user_agent="grove-bench"), self.audit)


@dataclass
class Recorder:
    """The transport of the operator. Records every request since `forget`."""

    inner: Transport
    audit: RequestCounter | None
    answered: list[tuple[Request, int]] = field(default_factory=list)

    async def send(self, request: Request) -> Response:
        response = await self.inner.send(request)
        self.answered.append((request, response.status))  # counted later, outside of the measurement
        return response

    async def stream(self, request: Request) -> Stream:
        return await self.inner.stream(request)

    @property
    def writes(self) -> list[Request]:
        return [r for r, status in self.answered if _verb(r) in WRITES and status < 300]

    def forget(self) -> None:
        self.answered.clear()
        if self.audit is not None:
            self.audit.reset()

    def counts(self) -> Counter[str]:
        """The operator's requests as `create pods`, `patch pods/status`, `dry-run create pods`, `get /apis`."""
        if self.audit is None:
            return Counter(f"{_verb(r)} {_resource(r.path)}" for r, _ in self.answered)
        counted: Counter[str] = Counter()
        for request, count in self.audit.requests().items():
            if request.client == "operator":
                counted[f"{request.verb} {request.resource}"] += count
        return counted

    async def close(self) -> None:
        await self.inner.close()


@contextmanager
def embedded() -> Iterator[Server]:
    """The embedded API server, without a scheduler and without a kubelet."""
    context = multiprocessing.get_context("spawn")
    near, far = context.Pipe()
    process = context.Process(target=_serve, args=(far,), daemon=True)
    process.start()
    far.close()  # a server that does not start is then an error here, instead of a wait for ever
    try:
        cluster = ClusterConnection(near.recv(), FixedToken())
        yield Server(cluster, cluster)
    finally:
        near.close()
        process.join()


@contextmanager
def real(*start: Any, **settings: Any) -> Iterator[Server]:
    """A kube-apiserver of the testbed with its controllers; without a scheduler unless the settings name one.

    Raises NotBuiltError.
    """
    with Testbed.start(*start, **settings) as cluster:
        user, _ = IDENTITIES["operator"]
        cluster.kubectl(
            "create", "clusterrolebinding", "bench", "--clusterrole=cluster-admin", f"--user={user}"
        )
        bench, operator = (from_kubeconfig([Path(cluster.kubeconfig(who))]) for who in ("admin", "operator"))
        yield Server(bench, operator, RequestCounter(cluster))


def _verb(request: Request) -> str:
    verb = VERBS[request.method]
    return f"dry-run {verb}" if request.query.get("dryRun") else verb


def _resource(path: str) -> str:
    """As in an audit log: `pods`, `pods/status`, or the path if it names no resource."""
    _, found, rest = path.partition("/namespaces/")
    if not found:
        parts = path.strip("/").split("/")
        kind = parts[2:] if parts[0] == "api" else parts[3:]
        return kind[0] if kind else path
    parts = rest.split("/")
    return "/".join([*parts[1:2], *parts[3:]]) or "namespaces"


def _serve(pipe: Connection) -> None:
    async def until_the_pipe_closes() -> None:
        async with serve(ApiServer()) as address:
            pipe.send(address)
            closed = asyncio.Event()
            asyncio.get_running_loop().add_reader(pipe.fileno(), closed.set)
            await closed.wait()

    asyncio.run(until_the_pipe_closes())
