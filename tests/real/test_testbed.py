"""The testbed itself: identities, isolation, and processes that never outlive their run."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from grove_testbed.access import IDENTITIES
from grove_testbed.accounting import AuditedRequest, RequestCounter
from grove_testbed.cluster import Cluster, KubectlError

pytestmark = pytest.mark.real

RUN = """
import sys
from grove_testbed.cluster import Cluster
with Cluster.start(sys.argv[1], controllers=False) as cluster:
    print(*(p.popen.pid for p in cluster.processes.values()), flush=True)
    print(cluster.folder, flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize("who", IDENTITIES)
def test_every_token_is_who_it_says(cluster: Cluster, who: str) -> None:
    assert IDENTITIES[who][0] in cluster.kubectl("auth", "whoami", who=who)


def test_the_operator_and_the_user_have_only_the_rights_they_are_given(cluster: Cluster) -> None:
    for who in ("operator", "user"):
        with pytest.raises(KubectlError, match="is forbidden"):
            cluster.kubectl("create", "configmap", "a", who=who)


def test_the_operator_is_its_service_account(cluster: Cluster) -> None:
    cluster.kubectl("create", "clusterrole", "reader", "--verb=list", "--resource=pods")
    account = "--serviceaccount=grove-system:grove-operator"
    cluster.kubectl("create", "clusterrolebinding", "reader", "--clusterrole=reader", account)
    cluster.kubectl("get", "pods", "-A", who="operator")


def test_a_new_namespace_gets_its_service_account(cluster: Cluster) -> None:
    cluster.kubectl("create", "namespace", "fresh")
    cluster.kubectl("wait", "--for=create", "serviceaccount/default", "-n=fresh", "--timeout=30s")


def test_a_pod_is_scheduled_to_a_fake_node(cluster: Cluster) -> None:
    resources = "{cpu: '2', memory: 4Gi, pods: '10'}"
    cluster.kubectl(
        "create",
        "-f",
        "-",
        stdin=f"{{apiVersion: v1, kind: Node, metadata: {{name: n1}}, status: {{allocatable: {resources}}}}}",
    )
    cluster.kubectl("wait", "--for=create", "serviceaccount/default", "--timeout=30s")
    cluster.kubectl("run", "a", "--image=app:1")
    cluster.kubectl("wait", "--for=condition=PodScheduled", "pod/a", "--timeout=30s")


def test_requests_are_counted_by_client_verb_and_resource(cluster: Cluster) -> None:
    counter = RequestCounter(cluster)
    for name in ("one", "two"):
        cluster.kubectl("create", "configmap", name)
    cluster.kubectl("create", "configmap", "three", "--dry-run=server")
    with pytest.raises(KubectlError):
        cluster.kubectl("get", "secrets", who="user")
    assert counter.count(client="admin", verb="create", resource="configmaps") == 2
    assert counter.count(client="admin", verb="dry-run create", resource="configmaps") == 1
    assert counter.requests()[AuditedRequest("user", "list", "secrets", 403)] == 1
    counter.reset()
    assert counter.count(client="admin") == 0


def test_clusters_run_side_by_side(cluster: Cluster, k8s: str) -> None:
    with Cluster.start(k8s, controllers=False) as other:
        other.kubectl("create", "namespace", "only-here")
        assert "only-here" not in cluster.kubectl("get", "namespaces")
    assert not other.folder.exists()


def test_an_api_server_killed_under_way_comes_back_with_its_data(k8s: str) -> None:
    with Cluster.start(k8s, controllers=False) as own:
        own.kubectl("create", "namespace", "kept")
        own.kill("kube-apiserver")
        own.revive("kube-apiserver")
        own.wait_until_ready()
        assert "kept" in own.kubectl("get", "namespaces")


def test_etcd_killed_under_way_comes_back_with_its_data(k8s: str) -> None:
    with Cluster.start(k8s, controllers=False) as own:
        own.kubectl("create", "namespace", "kept")
        own.kill("etcd")
        own.revive("etcd")
        own.wait_until_ready()
        assert "kept" in own.kubectl("get", "namespaces")


def test_logs_stay_when_a_run_fails(k8s: str) -> None:
    with pytest.raises(ZeroDivisionError), Cluster.start(k8s, controllers=False) as own:
        raise ZeroDivisionError
    assert "Serving securely" in (own.logs / "kube-apiserver.log").read_text()
    own.keep_logs = False
    own.close()
    assert not own.folder.exists()


def test_nothing_outlives_a_run_that_is_killed(k8s: str) -> None:
    run = subprocess.Popen(
        [sys.executable, "-c", RUN, k8s], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert run.stdout is not None
    pids = [int(pid) for pid in run.stdout.readline().split()]
    folder = Path(run.stdout.readline().strip())
    assert all(alive(pid) for pid in pids)
    run.send_signal(signal.SIGKILL)
    run.communicate()
    deadline = time.monotonic() + 30
    while any(alive(pid) for pid in pids):
        assert time.monotonic() < deadline, "still running"
        time.sleep(0.05)
    shutil.rmtree(folder)  # nobody was left to do it


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{pid}/stat")
    return stat.exists() and stat.read_text().rpartition(")")[2].split()[0] != "Z"
