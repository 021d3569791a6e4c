"""Every scheduler on a real control plane: a gang that fits is bound, one that does not binds nothing."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator

import pytest
from grove_sandbox.nodes import node
from grove_testbed.cluster import Cluster
from grove_testbed.fixtures import started
from grove_testbed.schedulers import SCHEDULERS

from tests.real.gangs import GANGS, Json

pytestmark = [pytest.mark.real, pytest.mark.timeout(240)]

# Long enough for a scheduler to make the mistake.
A_WHILE = 6.0


@pytest.fixture(scope="module", params=[pytest.param(s, marks=pytest.mark.scheduler(s)) for s in SCHEDULERS])
def scheduler(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture(scope="module")
def small_cluster(scheduler: str, k8s: str, request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """Three nodes of two CPUs: room for three pods of 1.5 CPU and not for four."""
    nodes = [node(f"node-{index}", capacity={"cpu": "2"}) for index in range(3)]
    yield from started(request, k8s, scheduler=scheduler, nodes=nodes, skip_admission=("ServiceAccount",))


@pytest.fixture
def gang(scheduler: str, k8s: str) -> Callable[[str, int], list[Json]]:
    by_version = GANGS[scheduler]
    return by_version.get(k8s) or by_version[""]


def create(cluster: Cluster, objects: list[Json]) -> None:
    cluster.kubectl(
        "create", "--filename=-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
    )


def running(cluster: Cluster, name: str) -> list[str]:
    """Names of the gang's own pods that have a node and run."""
    found = json.loads(cluster.kubectl("get", "pods", f"--selector=gang={name}", "--output=json"))
    return sorted(
        pod["metadata"]["name"]
        for pod in found["items"]
        if pod["spec"].get("nodeName") and pod["status"]["phase"] == "Running"
    )


def end(cluster: Cluster, objects: list[Json]) -> None:
    items = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
    cluster.kubectl("delete", "--filename=-", "--wait=false", stdin=items)
    cluster.kubectl("wait", "--for=delete", "pod", "--all", "--timeout=60s")


def test_a_gang_that_fits_runs(small_cluster: Cluster, gang: Callable[[str, int], list[Json]]) -> None:
    objects = gang("fits", 3)
    create(small_cluster, objects)
    small_cluster.kubectl("wait", "--for=condition=Ready", "pod", "--selector=gang=fits", "--timeout=90s")
    assert running(small_cluster, "fits") == ["fits-0", "fits-1", "fits-2"]
    end(small_cluster, objects)


def test_a_gang_that_does_not_fit_binds_nothing(
    small_cluster: Cluster, gang: Callable[[str, int], list[Json]]
) -> None:
    objects = gang("large", 4)
    create(small_cluster, objects)
    deadline = time.monotonic() + A_WHILE
    while time.monotonic() < deadline:
        assert running(small_cluster, "large") == []
        time.sleep(0.5)
    end(small_cluster, objects)
