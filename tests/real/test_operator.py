"""The operator as a user runs it: the command, with its own permissions and no others, on a real control plane."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
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


@pytest.fixture(scope="module")
def control_plane(k8s: str, request: pytest.FixtureRequest) -> Iterator[Cluster]:
    yield from started(request, k8s, scheduler="default", nodes=6)


@pytest.fixture
def operator(control_plane: Cluster, tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Running, with Grove's kinds and the permissions of deploy/operator.yaml."""
    crds = subprocess.run([GROVE, "crds"], check=True, capture_output=True, text=True).stdout
    control_plane.kubectl("apply", "--server-side", "-f", "-", stdin=crds)
    control_plane.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=30s")
    control_plane.kubectl("apply", "-f", str(ROOT / "deploy" / "operator.yaml"))
    config = tmp_path / "config.yaml"
    config.write_text(CONFIGURATION)
    command = [str(GROVE), "operator", "--config", str(config)]
    command += ["--kubeconfig", str(control_plane.kubeconfig("operator"))]
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(command, stderr=log)
        try:
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 0
    said = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines() if line.startswith("{")]
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
    manifest = str(ROOT / "src/grove/cli/demo.yaml")
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
