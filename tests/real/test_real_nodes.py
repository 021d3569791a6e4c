"""The testbed's real nodes: pods are containers, on a network of their own, and nothing of them stays behind."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from grove_testbed.build import NotBuiltError
from grove_testbed.cluster import Cluster, KubectlError
from grove_testbed.fixtures import started
from grove_testbed.nodes.base_image import base_image
from grove_testbed.nodes.cgroups import hierarchies
from grove_testbed.nodes.configuration import KERNEL_SETTINGS
from grove_testbed.nodes.images import Image, write_archive
from grove_testbed.nodes.leftovers import RECORDS, start_time, sweep
from grove_testbed.ports import free_ports

pytestmark = [pytest.mark.real, pytest.mark.scheduler("default"), pytest.mark.timeout(300)]

Json = dict[str, Any]

PYTHON = "localhost/python:1"
SERVE = ["python3", "-u", "-m", "http.server", "8080", "--directory", "/etc"]

RUN = """
import sys
from grove_testbed.cluster import Cluster
with Cluster.start(sys.argv[1], real_nodes=1) as cluster:
    print(cluster.folder, flush=True)
    sys.stdin.read()
"""


@pytest.fixture(scope="module")
def nodes(
    k8s: str, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Cluster]:
    """Two real nodes beside three fake ones; on each real node a web server, behind one Service."""
    for cluster in started(request, k8s, scheduler="default", nodes=3, real_nodes=2):
        assert cluster.nodes is not None
        try:
            base = base_image()
        except NotBuiltError as missing:
            pytest.fail(str(missing))
        image = Image(PYTHON, {}, ("sleep", "infinity"), base=base)
        cluster.nodes.import_images(write_archive(tmp_path_factory.mktemp("image") / "python.tar", image))
        cluster.kubectl("wait", "--for=create", "serviceaccount/default", "--timeout=60s")
        servers = [pod(f"web-{name}", node=name, command=SERVE) for name in cluster.nodes.nodes]
        clients = [pod(f"client-{name}", node=name) for name in cluster.nodes.nodes]
        service = {"selector": {"app": "web"}, "ports": [{"port": 80, "targetPort": 8080}]}
        web = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": service}
        create(cluster, *servers, *clients, web)
        cluster.kubectl("wait", "--for=condition=Ready", "pods", "--all", "--timeout=120s")
        yield cluster


def pod(name: str, *, node: str, command: list[str] | None = None) -> Json:
    container: Json = {"name": "main", "image": PYTHON}
    if command:
        probe = {"tcpSocket": {"port": 8080}, "periodSeconds": 1}
        container |= {"command": command, "readinessProbe": probe}
    spec = {"nodeName": node, "terminationGracePeriodSeconds": 0, "containers": [container]}
    labels = {"app": name.partition("-")[0]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": labels}, "spec": spec}


def create(cluster: Cluster, *objects: Json) -> None:
    body = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
    cluster.kubectl("create", "--filename=-", stdin=body)


def get(cluster: Cluster, *what: str) -> Json:
    found: Json = json.loads(cluster.kubectl("get", *what, "-o", "json"))
    return found


def python(cluster: Cluster, name: str, program: str, *arguments: str) -> str:
    """What a program prints inside a pod."""
    return cluster.kubectl("exec", name, "--", "python3", "-c", program, *arguments)


FETCH = "import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1], timeout=10).read().decode())"


CLIENTS, SERVERS = ("client-real-0", "client-real-1"), ("web-real-0", "web-real-1")


def test_a_pod_reaches_every_other_by_its_address(nodes: Cluster) -> None:
    for server in SERVERS:
        address = get(nodes, "pod", server)["status"]["podIP"]
        for client in CLIENTS:
            assert server in python(nodes, client, FETCH, f"http://{address}:8080/hostname")


def test_a_service_is_reached_by_name_and_spreads_over_all_its_pods(nodes: Cluster) -> None:
    fetch_often = f"for _ in range(40):\n    {FETCH}"
    for client in CLIENTS:
        answers = python(nodes, client, fetch_often, "http://web.default.svc.cluster.local/hostname")
        assert set(answers.split()) == set(SERVERS)


def test_a_pod_of_a_service_reaches_itself_through_it(nodes: Cluster) -> None:
    answers = python(nodes, "web-real-0", f"for _ in range(40):\n    {FETCH}", "http://web/hostname")
    assert set(answers.split()) == set(SERVERS)


def test_a_pod_reaches_the_api_server_through_the_service_kubernetes(nodes: Cluster) -> None:
    ask = """
import ssl, urllib.request
folder = "/var/run/secrets/kubernetes.io/serviceaccount"
bearer = {"Authorization": "Bearer " + open(folder + "/token").read()}
request = urllib.request.Request("https://kubernetes.default.svc/api/v1/namespaces/default/pods", headers=bearer)
try:
    urllib.request.urlopen(request, context=ssl.create_default_context(cafile=folder + "/ca.crt"))
except urllib.error.HTTPError as error:
    print(error.read().decode())
"""
    # It is known by its token, and has no rights.
    assert "system:serviceaccount:default:default" in python(nodes, "client-real-1", ask)


def test_no_packet_of_a_pod_can_leave_the_machine(nodes: Cluster) -> None:
    connect = "import socket; socket.create_connection(('192.0.2.1', 80), timeout=10)"
    for client in CLIENTS:
        with pytest.raises(KubectlError, match="Network is unreachable"):
            python(nodes, client, connect)
    assert nodes.nodes is not None
    for node in nodes.nodes.nodes.values():
        assert "default" not in node.box.run("ip", "route")


def test_logs_are_those_of_the_container(nodes: Cluster) -> None:
    python(nodes, "client-real-0", FETCH, "http://web/passwd")
    logs = "".join(nodes.kubectl("logs", f"web-{name}") for name in ("real-0", "real-1"))
    assert "GET /passwd" in logs


def test_a_port_is_forwarded_from_a_pod(nodes: Cluster) -> None:
    (port,) = free_ports(1)
    command = nodes.kubectl_command("port-forward", "pod/web-real-1", f"{port}:8080")
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as forward:
        assert forward.stdout is not None
        assert "Forwarding" in forward.stdout.readline()
        with socket.create_connection(("127.0.0.1", port)) as connection:
            connection.sendall(b"GET /hostname HTTP/1.0\r\n\r\n")
            assert b"web-real-1" in connection.makefile("rb").read()
        forward.terminate()


def test_a_container_that_dies_is_started_again(nodes: Cluster) -> None:
    with suppress(KubectlError):  # the container may be gone before the command in it has ended
        python(nodes, "web-real-1", "import os, signal; os.kill(1, signal.SIGINT)")
    restarted = "--for=jsonpath={.status.containerStatuses[0].restartCount}=1"
    nodes.kubectl("wait", restarted, "pod/web-real-1", "--timeout=60s")
    nodes.kubectl("wait", "--for=condition=Ready", "pod/web-real-1", "--timeout=60s")


def test_fake_and_real_nodes_stand_side_by_side(nodes: Cluster) -> None:
    found = {n["metadata"]["name"]: n["status"]["nodeInfo"] for n in get(nodes, "nodes")["items"]}
    assert sorted(found) == ["node-0", "node-1", "node-2", "real-0", "real-1"]
    assert found["real-0"]["containerRuntimeVersion"].startswith("containerd://")
    create(nodes, pod("pretended", node="node-1"))
    nodes.kubectl("wait", "--for=condition=Ready", "pod/pretended", "--timeout=30s")
    nodes.kubectl("delete", "pod", "pretended", "--timeout=30s")
    for name in found:
        nodes.kubectl("wait", "--for=create", f"lease/{name}", "-n=kube-node-lease", "--timeout=30s")


def test_a_node_without_power_is_lost_and_its_disk_is_not(nodes: Cluster) -> None:
    assert nodes.nodes is not None
    nodes.nodes.nodes["real-1"].power_off()
    nodes.kubectl("wait", "--for=condition=Ready=Unknown", "node/real-1", "--timeout=120s")
    evicted = "--for=jsonpath={.metadata.deletionTimestamp}"
    nodes.kubectl("wait", evicted, "pod/web-real-1", "--timeout=60s")
    nodes.nodes.power_on("real-1", nodes.processes)
    nodes.kubectl("wait", "--for=condition=Ready", "node/real-1", "--timeout=120s")
    # The kubelet is back and confirms what was asked for while it was away.
    nodes.kubectl("wait", "--for=delete", "pod/web-real-1", "--timeout=60s")
    create(nodes, pod("web-real-1", node="real-1", command=SERVE))
    nodes.kubectl("wait", "--for=condition=Ready", "pod/web-real-1", "--timeout=60s")


def run_of_its_own(k8s: str) -> tuple[subprocess.Popen[str], Path]:
    """A run with a real node in a process of its own, and its folder."""
    run = subprocess.Popen(
        [sys.executable, "-c", RUN, k8s], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert run.stdout is not None
    return run, Path(run.stdout.readline().strip())


def record_of(folder: Path) -> Path:
    return RECORDS / f"{folder.name}.json"


def left_by(folder: Path) -> list[str]:
    """What this machine has of a run: cgroups, mounts, processes, the folder, the record."""
    name = folder.name
    found = [str(h / name) for h in hierarchies() if (h / name).exists()]
    found += [line for line in Path("/proc/self/mounts").read_text().splitlines() if name in line]
    found += [str(path) for path in (folder, record_of(folder)) if path.exists()]
    for process in Path("/proc").iterdir():
        if process.name.isdigit() and start_time(int(process.name)):
            try:
                found += [process.name] if name in (process / "cmdline").read_text() else []
            except (FileNotFoundError, ProcessLookupError):
                continue  # it has just ended
    return found


def settings() -> list[str]:
    return [Path(path).read_text() for path in KERNEL_SETTINGS]


def test_a_run_that_ends_leaves_nothing(nodes: Cluster, k8s: str) -> None:
    before = settings()
    run, folder = run_of_its_own(k8s)
    link = json.loads(record_of(folder).read_text())["link"]
    assert Path("/sys/class/net", link).exists()
    assert len(left_by(folder)) > len(hierarchies())
    run.communicate("")
    assert run.returncode == 0
    assert left_by(folder) == []
    assert not Path("/sys/class/net", link).exists()
    assert settings() == before, "a kubelet changed the settings of this machine"


def test_what_a_killed_run_leaves_is_swept_by_the_next(nodes: Cluster, k8s: str) -> None:
    run, folder = run_of_its_own(k8s)
    record = json.loads(record_of(folder).read_text())
    run.send_signal(signal.SIGKILL)
    run.communicate()
    assert str(folder) in sweep()
    assert left_by(folder) == []
    assert not Path("/sys/class/net", record["link"]).exists()
    assert nodes.folder.exists(), "a run that goes on was swept"
