"""One example per kind of user, unchanged, on real nodes: the images that they name are stand-ins."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from grove_testbed.cluster import Cluster

from tests.real.in_cluster import ROOT, Json, get, with_operator

pytestmark = [pytest.mark.real, pytest.mark.scheduler("default"), pytest.mark.timeout(400)]

ASK = """
import sys, urllib.request
print(urllib.request.urlopen(f"http://{sys.argv[1]}:8080", timeout=10).read().decode())
"""


@pytest.fixture(scope="module")
def grove(
    k8s: str, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Cluster]:
    yield from with_operator(request, k8s, tmp_path_factory.mktemp("images"))


@contextmanager
def applied(grove: Cluster, example: str) -> Iterator[None]:
    """A file of examples/, gone at the end with all of its pods."""
    file = str(ROOT / "examples" / example)
    grove.kubectl("apply", "-f", file)
    yield
    grove.kubectl("delete", "-f", file, "--timeout=120s")
    grove.kubectl("wait", "--for=delete", "pods", "--all", "--timeout=120s")


def wait_for_gangs(cluster: Cluster, *names: str) -> list[Json]:
    """Until they run and all pods are ready; the pods."""
    for name in names:
        cluster.kubectl("wait", "--for=create", f"podgang/{name}", "--timeout=60s")
        cluster.kubectl("wait", "--for=jsonpath={.status.phase}=Running", f"podgang/{name}", "--timeout=120s")
    cluster.kubectl("wait", "--for=condition=Ready", "pods", "--all", "--timeout=120s")
    return get(cluster, "pods")


def told_by(cluster: Cluster, asking: Json, address: str) -> Json:
    """The variables of the container that answers at this address, asked from inside another pod."""
    command = ("exec", asking["metadata"]["name"], "--", "python3", "-c", ASK, address)
    found: Json = json.loads(cluster.kubectl(*command))
    return found


def test_four_workers_twice(grove: Cluster) -> None:
    with applied(grove, "simple.yaml"):
        pods = wait_for_gangs(grove, "train-0", "train-1")
        assert len(pods) == 8
        for replica in (0, 1):
            address = f"train-{replica}-worker-3.train-{replica}.default.svc.cluster.local"
            told = told_by(grove, pods[0], address)
            assert told["GROVE_PCS_INDEX"] == str(replica)
            assert told["GROVE_PCLQ_POD_INDEX"] == "3"


def test_a_router_with_its_prefill_units_and_decoders(grove: Cluster, k8s: str) -> None:
    if k8s == "1.36":
        pytest.skip(
            "kubelet 1.36.4 crashes on pods with init containers where pods have no cgroup of their own"
        )
    with applied(grove, "disaggregated.yaml"):
        pods = wait_for_gangs(grove, "llama-0", "llama-0-prefill-0")
        assert len(pods) == 13
        assert {p["spec"]["nodeName"] for p in pods} == {"real-0", "real-1"}
        [router] = [p for p in pods if p["spec"]["hostname"] == "llama-0-router-0"]
        hosts = sorted(p["spec"]["hostname"] for p in pods if p is not router)
        # The router reaches every server by its name, and each knows its place.
        told = {host: told_by(grove, router, f"{host}.llama-0") for host in hosts}
    places = {host: f"{t['GROVE_PCLQ_NAME']}-{t['GROVE_PCLQ_POD_INDEX']}" for host, t in told.items()}
    assert places == {host: host for host in hosts}
    in_units = [t for t in told.values() if "GROVE_PCSG_INDEX" in t]
    units = [(t["GROVE_PCSG_INDEX"], t["GROVE_PCSG_TEMPLATE_NUM_PODS"]) for t in in_units]
    assert sorted(units) == [("0", "4")] * 4 + [("1", "4")] * 4
