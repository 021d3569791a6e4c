"""The operator as a user runs it: the command, with its own permissions and no others, on a real control plane."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from grove_testbed.cluster import Cluster
from grove_testbed.fixtures import started

pytestmark = [pytest.mark.real, pytest.mark.scheduler("default"), pytest.mark.timeout(600)]

ROOT = Path(__file__).parents[2]
GROVE = Path(sys.executable).with_name("grove")
# No leader election and a free port for the probes: several may run at once.
CONFIGURATION = """
apiVersion: operator.config.grove.io/v1alpha1
kind: OperatorConfiguration
server: {healthProbes: {enable: false}}
"""
APART = CONFIGURATION + "scheduler: {profiles: [{name: default-scheduler, separate: true}]}\n"


@pytest.fixture(scope="module")
def control_plane(k8s: str, request: pytest.FixtureRequest) -> Iterator[Cluster]:
    yield from started(request, k8s, scheduler="default", nodes=6)


@pytest.fixture(scope="module")
def installed(control_plane: Cluster) -> Cluster:
    """With Grove's kinds and the permissions of deploy/operator.yaml."""
    crds = subprocess.run([GROVE, "crds"], check=True, capture_output=True, text=True).stdout
    control_plane.kubectl("apply", "--server-side", "-f", "-", stdin=crds)
    control_plane.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=30s")
    control_plane.kubectl("apply", "-f", str(ROOT / "deploy" / "operator.yaml"))
    return control_plane


@pytest.fixture
def operator(installed: Cluster, tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    with running(installed, tmp_path, CONFIGURATION, "operator") as process:
        yield process


@contextmanager
def running(
    cluster: Cluster, folder: Path, configuration: str, *command: str
) -> Iterator[subprocess.Popen[bytes]]:
    """A command of Grove, ended at the end, with the rights of the operator."""
    config, log = folder / f"{command[0]}.yaml", folder / f"{command[0]}.log"
    config.write_text(configuration)
    where = ["--config", str(config), "--kubeconfig", str(cluster.kubeconfig("operator"))]
    with log.open("wb") as file:
        process = subprocess.Popen([str(GROVE), *command, *where], stderr=file)
        try:
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 0
    said = [json.loads(line) for line in log.read_text().splitlines() if line.startswith("{")]
    refused = [s for s in said if "403" in str(s.get("error", ""))]
    assert refused == [], "it lacks a permission"


def get(cluster: Cluster, kind: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(cluster.kubectl("get", kind, "-o", "json"))["items"]
    return found


def versions(cluster: Cluster) -> list[str]:
    return [
        o["metadata"]["resourceVersion"] for k in ("pods", "podcliques", "podgangs") for o in get(cluster, k)
    ]


def wait_for_gangs(cluster: Cluster, *names: str) -> None:
    """Until they exist and run."""
    for name in names:
        cluster.kubectl("wait", "--for=create", f"podgang/{name}", "--timeout=60s")
        cluster.kubectl("wait", "--for=jsonpath={.status.phase}=Running", f"podgang/{name}", "--timeout=120s")


def test_a_set_lives_its_whole_life(control_plane: Cluster, operator: subprocess.Popen[bytes]) -> None:
    cluster = control_plane
    manifest = str(ROOT / "sandbox/src/grove_sandbox/commands/demo/demo.yaml")
    cluster.kubectl("apply", "-f", manifest)
    wait_for_gangs(cluster, "llama-0", "llama-0-prefill-0")
    assert len(get(cluster, "pods")) == 13
    assert all(
        p["spec"].get("nodeName") and not p["spec"].get("schedulingGates") for p in get(cluster, "pods")
    )

    cluster.kubectl("scale", "pcsg/llama-0-prefill", "--replicas=3")
    wait_for_gangs(cluster, "llama-0-prefill-1")
    assert len(get(cluster, "pods")) == 17

    victim = get(cluster, "pods")[0]
    cluster.kubectl("delete", "pod", victim["metadata"]["name"])
    cluster.kubectl("wait", "--for=condition=Ready", "pods", "--all", "--timeout=120s")
    assert victim["spec"]["hostname"] in [p["spec"]["hostname"] for p in get(cluster, "pods")]

    cluster.kubectl("scale", "pcsg/llama-0-prefill", "--replicas=2")
    cluster.kubectl("wait", "--for=delete", "podgang/llama-0-prefill-1", "--timeout=120s")
    assert len(get(cluster, "pods")) == 13
    table = cluster.kubectl("get", "podgangs")
    assert "Running" in table
    assert "default" in table

    cluster.kubectl("delete", "pcs/llama", "--timeout=120s")
    for kind in ("podgangs", "podcliques", "podcliquescalinggroups", "services"):
        cluster.kubectl(
            "wait", "--for=delete", kind, "-l", "app.kubernetes.io/part-of=llama", "--timeout=60s"
        )
    assert get(cluster, "pods") == []


def test_a_minimum_that_is_left_open_is_all_pods_that_a_clique_was_made_with(
    control_plane: Cluster, operator: subprocess.Popen[bytes]
) -> None:
    cluster = control_plane
    cluster.kubectl("apply", "-f", str(ROOT / "examples/simple.yaml"))
    wait_for_gangs(cluster, "train-0", "train-1")
    smaller = [{"op": "replace", "path": "/spec/template/cliques/0/spec/replicas", "value": 2}]
    cluster.kubectl("patch", "pcs/train", "--type=json", "-p", json.dumps(smaller))
    cluster.kubectl("scale", "pcs/train", "--replicas=3")
    wait_for_gangs(cluster, "train-0", "train-1", "train-2")
    cluster.kubectl("wait", "--for=jsonpath={.status.observedGeneration}=3", "pcs/train", "--timeout=60s")
    sizes = [(c["spec"]["replicas"], c["spec"]["minAvailable"]) for c in get(cluster, "podcliques")]
    assert sizes == [(4, 4), (4, 4), (2, 2)]
    [train] = get(cluster, "podcliquesets")
    assert "lastErrors" not in train["status"]
    cluster.kubectl("delete", "pcs/train", "--timeout=120s")
    cluster.kubectl("wait", "--for=delete", "pods", "--all", "--timeout=60s")


def test_a_backend_in_a_process_of_its_own_is_waited_for_and_may_restart(
    installed: Cluster, tmp_path: Path
) -> None:
    cluster, alone = installed, ("backend", "--only", "default")
    with running(cluster, tmp_path, APART, "operator"):
        cluster.kubectl("apply", "-f", str(ROOT / "examples" / "simple.yaml"))
        for name in ("train-0", "train-1"):
            cluster.kubectl("wait", "--for=create", f"podgang/{name}", "--timeout=60s")
        with running(cluster, tmp_path, APART, *alone):
            cluster.kubectl("wait", "--for=condition=BackendSynced", "podgang", "--all", "--timeout=60s")
        with running(cluster, tmp_path, APART, *alone):
            wait_for_gangs(cluster, "train-0", "train-1")
            cluster.kubectl("scale", "pcs/train", "--replicas=3")
            wait_for_gangs(cluster, "train-2")
            assert len(get(cluster, "pods")) == 12
            cluster.kubectl("delete", "pcs/train", "--timeout=120s")
            cluster.kubectl("wait", "--for=delete", "podgangs", "--all", "--timeout=60s")


def test_a_second_look_at_a_set_changes_nothing(
    control_plane: Cluster, operator: subprocess.Popen[bytes]
) -> None:
    cluster = control_plane
    cluster.kubectl("apply", "-f", str(ROOT / "examples" / "simple.yaml"))
    wait_for_gangs(cluster, "train-0", "train-1")
    assert len(get(cluster, "pods")) == 8
    before = versions(cluster)
    cluster.kubectl("annotate", "pcs/train", "grove.io/reconcile-trigger=again")
    assert versions(cluster) == before

    clique = "podclique/train-0-worker"
    cluster.kubectl("label", clique, "theirs=kept")
    for key in ("first", "second"):
        change = [{"op": "add", "path": "/spec/template/cliques/0/labels", "value": {key: "ours"}}]
        cluster.kubectl("patch", "pcs/train", "--type=json", "-p", json.dumps(change))
        cluster.kubectl("wait", f"--for=jsonpath={{.metadata.labels.{key}}}=ours", clique, "--timeout=60s")
    tags = json.loads(cluster.kubectl("get", clique, "-o", "json"))["metadata"]["labels"]
    assert "first" not in tags, "a label that left the template stays"
    assert tags["theirs"] == "kept"
    cluster.kubectl("delete", "pcs/train", "--timeout=120s")
