"""Every case runs on the embedded API server and, with ``-m real``, on a real one, which defines what is right.

Each case has its own namespace. Each case gets a new embedded server, but all cases of a run share the real one, so a
case must not depend on what else exists.
"""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass

import aiohttp
import pytest
from grove_sandbox.apiserver import ApiServer
from grove_sandbox.http import serve
from grove_testbed.cluster import Cluster
from grove_testbed.components import DEFAULT_K8S
from grove_testbed.fixtures import started
from grove_testbed.results import note_use
from grove_testbed.sessions import session_to

from tests.contract.api import Answer, Api
from tests.contract.objects import CRDS, WIDGET_CRD

# Known differences of the embedded server, which docs/embedded-cluster.md documents. The xfail is strict: a case that
# passes must be removed from this list.
KNOWN_DIFFERENCES = {
    "test_a_rule_of_unbounded_cost_is_refused[embedded]": "the cost of CEL rules is not estimated",
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if reason := KNOWN_DIFFERENCES.get(item.name):
            item.add_marker(pytest.mark.xfail(reason=reason, strict=True))


@pytest.fixture(scope="session")
def control_plane(k8s: str, request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """A real control plane without the ServiceAccount plugin: cases create pods in a namespace that is just created."""
    yield from started(request, k8s, skip_admission=("ServiceAccount",))


@pytest.fixture(params=["embedded", pytest.param("real", marks=pytest.mark.real)])
def server(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@dataclass(frozen=True)
class Connection:
    """A connection to the server under test. ``compact`` compacts its history."""

    session: aiohttp.ClientSession
    url: str
    compact: Callable[[], None]


@pytest.fixture
async def connection(server: str, request: pytest.FixtureRequest) -> AsyncIterator[Connection]:
    if server == "real":
        cluster: Cluster = request.getfixturevalue("control_plane")
        note_use(request, cluster)
        authorization = {"Authorization": f"Bearer {cluster.token()}"}
        async with session_to(cluster, headers=authorization, read_bufsize=2**22) as session:
            yield Connection(session, cluster.url, cluster.compact)
    else:
        embedded = ApiServer()
        async with serve(embedded, port=0) as url, aiohttp.ClientSession(read_bufsize=2**22) as session:
            yield Connection(session, url, embedded.compact)


@pytest.fixture
async def api(connection: Connection, server: str, k8s: str) -> Api:
    """The server under test, with a new namespace."""
    namespace = f"case-{secrets.token_hex(5)}"
    # The embedded server imitates the newest release.
    version = k8s if server == "real" else DEFAULT_K8S
    api = Api(connection.session, connection.url, namespace, version)
    await api.created("/api/v1/namespaces", {"metadata": {"name": namespace}})
    return api


@pytest.fixture
async def widgets(api: Api) -> Api:
    """The same, with the CRD of Widget."""
    answer = await api.create(CRDS, WIDGET_CRD)
    assert answer.code in (201, 409), answer
    await established(api, "widgets.contract.grove.test")
    return api


async def established(api: Api, name: str) -> None:
    """Waits until a CRD is Established and its path answers."""

    def is_established(answer: Answer) -> bool:
        conditions = answer.body.get("status", {}).get("conditions") or []
        return any(c["type"] == "Established" and c["status"] == "True" for c in conditions)

    answer = await api.eventually(f"{CRDS}/{name}", is_established)
    spec = answer.body["spec"]
    endpoint = f"/apis/{spec['group']}/{spec['versions'][0]['name']}/{spec['names']['plural']}"
    await api.eventually(endpoint, lambda answer: answer.code == 200)
