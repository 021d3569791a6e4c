"""The operator in a real cluster: from its image, behind probes, with a token of its own, on two nodes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress

import pytest
from grove_testbed.cluster import Cluster, KubectlError

from tests.real.in_cluster import (
    NAMESPACE,
    ROOT,
    Json,
    get,
    leader,
    replicas,
    requests_of_operator,
    tokens_used_by,
    until,
    with_operator,
)

pytestmark = [pytest.mark.real, pytest.mark.scheduler("default"), pytest.mark.timeout(400)]

RING = str(ROOT / "examples" / "training-ring.yaml")


@pytest.fixture(scope="module")
def grove(
    k8s: str, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Cluster]:
    yield from with_operator(request, k8s, tmp_path_factory.mktemp("images"))


@pytest.fixture(scope="module")
def ring(grove: Cluster) -> Cluster:
    """With four workers that have found each other."""
    grove.kubectl("apply", "-f", RING)
    wait_for_ring(grove, 0)
    return grove


def wait_for_ring(cluster: Cluster, index: int) -> None:
    """Until the gang runs, and every member has been reached by the list that goes around."""
    gang = f"podgang/ring-{index}"
    cluster.kubectl("wait", "--for=create", gang, "--timeout=60s")
    cluster.kubectl("wait", "--for=jsonpath={.status.phase}=Running", gang, "--timeout=120s")
    until(lambda: len(ready_members(cluster, index)) == 4, f"four ready members of ring {index}")


def members(cluster: Cluster, index: int = 0) -> list[Json]:
    """The pods of a ring that are not going away."""
    pods = get(cluster, "pods", "-l", f"grove.io/podcliqueset-replica-index={index}")
    return [p for p in pods if "deletionTimestamp" not in p["metadata"]]


def ready_members(cluster: Cluster, index: int = 0) -> list[Json]:
    def ready(pod: Json) -> bool:
        conditions = pod["status"].get("conditions", [])
        return any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)

    return [p for p in members(cluster, index) if ready(p)]


def in_operator(cluster: Cluster, *command: str) -> str:
    pod = next(iter(replicas(cluster)))
    return cluster.kubectl("exec", pod, f"-n={NAMESPACE}", "--", *command)


def test_both_replicas_are_ready_on_two_nodes(grove: Cluster) -> None:
    pods = replicas(grove).values()
    assert {p["spec"]["nodeName"] for p in pods} == {"real-0", "real-1"}
    assert [p["status"]["containerStatuses"][0]["restartCount"] for p in pods] == [0, 0]


def test_it_is_a_number_and_not_root(grove: Cluster) -> None:
    assert in_operator(grove, "id", "-u").strip() == "65532"


def test_nothing_can_be_written_into_its_image(grove: Cluster) -> None:
    with pytest.raises(KubectlError, match="Read-only file system"):
        in_operator(grove, "touch", "/opt/grove/new")


def test_it_has_no_program_to_install_or_compile_with(grove: Cluster) -> None:
    for program in ("pip", "pip3", "gcc", "cc", "make"):
        with pytest.raises(KubectlError, match="executable file not found"):
            in_operator(grove, program, "--version")


def test_it_has_nothing_but_what_runs(grove: Cluster) -> None:
    for module in ("pip", "ensurepip", "pytest", "hatchling", "grove_sandbox", "grove_testbed"):
        with pytest.raises(KubectlError, match="ModuleNotFoundError"):
            in_operator(grove, "python3", "-c", f"import {module}")


def test_backends_start_from_the_same_image(grove: Cluster) -> None:
    assert "--only" in in_operator(grove, "grove", "backend", "--help")


def test_members_find_each_other_by_what_grove_tells_them(ring: Cluster) -> None:
    pods = members(ring)
    assert {p["spec"]["nodeName"] for p in pods} == {"real-0", "real-1"}
    names = {f"ring-0-worker-{i}.ring-0.default.svc.cluster.local" for i in range(4)}
    for pod in pods:
        [said] = [
            line
            for line in ring.kubectl("logs", pod["metadata"]["name"]).splitlines()
            if line.startswith("ring of 4: ")
        ]
        assert set(said.removeprefix("ring of 4: ").split()) == names


def test_the_gang_is_one_to_the_scheduler(ring: Cluster) -> None:
    [group] = get(ring, "podgroups.scheduling.k8s.io")
    assert group["spec"]["schedulingPolicy"]["gang"]["minCount"] == 4


def test_a_hostname_resolves_from_inside_a_pod(ring: Cluster) -> None:
    addresses = {p["spec"]["hostname"]: p["status"]["podIP"] for p in members(ring)}
    ask = "import socket, sys; print(*sorted({a[4][0] for a in socket.getaddrinfo(sys.argv[1], 1)}))"

    def resolve(name: str) -> list[str]:
        pod = members(ring)[0]["metadata"]["name"]
        return ring.kubectl("exec", pod, "--", "python3", "-c", ask, name).split()

    assert {name: resolve(f"{name}.ring-0") for name in addresses} == {n: [a] for n, a in addresses.items()}
    assert resolve("ring-0.default.svc.cluster.local") == sorted(addresses.values())


def test_a_container_that_ends_is_started_again_and_joins_the_ring(ring: Cluster) -> None:
    victim = members(ring)[2]["metadata"]["name"]
    with suppress(KubectlError):  # the container may be gone before the command in it has ended
        ring.kubectl("exec", victim, "--", "python3", "-c", "import os, signal; os.kill(1, signal.SIGINT)")
    restarted = "--for=jsonpath={.status.containerStatuses[0].restartCount}=1"
    ring.kubectl("wait", restarted, f"pod/{victim}", "--timeout=60s")
    wait_for_ring(ring, 0)
    assert victim in [p["metadata"]["name"] for p in members(ring)], "the pod should be the same"


def test_a_pod_that_is_deleted_is_replaced_under_the_same_name(ring: Cluster) -> None:
    victim = members(ring)[1]
    ring.kubectl("delete", "pod", victim["metadata"]["name"], "--timeout=60s")
    wait_for_ring(ring, 0)
    [heir] = [p for p in members(ring) if p["spec"]["hostname"] == victim["spec"]["hostname"]]
    assert heir["metadata"]["uid"] != victim["metadata"]["uid"]


def test_a_new_replica_is_a_ring_of_its_own(ring: Cluster) -> None:
    small = [{"op": "replace", "path": "/spec/replicas", "value": 2}]
    ring.kubectl("patch", "pcs/ring", "--type=json", "-p", json.dumps(small))
    ring.kubectl("wait", "--for=create", "podgang/ring-1", "--timeout=60s")
    until(lambda: len(members(ring, 1)) == 4, "the pods of the second ring")
    assert len(ready_members(ring, 0)) == 4
    ring.kubectl("scale", "pcs/ring", "--replicas=1")
    ring.kubectl("wait", "--for=delete", "podgang/ring-1", "--timeout=120s")
    until(lambda: members(ring, 1) == [], "no pods of the second ring")


def test_when_the_leader_is_killed_the_other_replica_takes_over(ring: Cluster) -> None:
    old = leader(ring)
    assert old in replicas(ring)
    ring.kubectl("delete", "pod", old, f"-n={NAMESPACE}", "--grace-period=0", "--force")
    until(lambda: leader(ring) not in ("", old), "another leader")
    victim = members(ring)[3]["metadata"]["name"]
    ring.kubectl("delete", "pod", victim, "--timeout=60s")
    wait_for_ring(ring, 0)
    ring.kubectl("rollout", "status", "deployment/grove-operator", f"-n={NAMESPACE}", "--timeout=120s")


def test_a_new_token_from_the_kubelet_is_read(ring: Cluster) -> None:
    pod = leader(ring)
    node = replicas(ring)[pod]["spec"]["nodeName"]
    before = tokens_used_by(ring, pod)
    assert len(before) == 1
    # A kubelet asks for a token when four fifths of its life are over, and when it starts.
    ring.kill(f"{node}/kubelet")
    ring.revive(f"{node}/kubelet")
    until(lambda: len(tokens_used_by(ring, pod)) == 2, "a request with the new token")
    assert leader(ring) == pod
    assert replicas(ring)[pod]["status"]["containerStatuses"][0]["restartCount"] == 0


def test_a_lost_node_takes_its_pods_and_gives_them_back(ring: Cluster) -> None:
    lost = next(n for n in ("real-0", "real-1") if n != replicas(ring)[leader(ring)]["spec"]["nodeName"])
    there = {p["metadata"]["uid"] for p in members(ring) if p["spec"]["nodeName"] == lost}
    assert there
    for program in ("kubelet", "containerd"):
        ring.kill(f"{lost}/{program}")
    ring.kubectl("wait", "--for=condition=Ready=Unknown", f"node/{lost}", "--timeout=120s")
    until(lambda: not there & {p["metadata"]["uid"] for p in members(ring)}, "the eviction of its pods")
    assert ring.nodes is not None
    ring.nodes.start_programs(lost, ring.processes, ("containerd", "kubelet"))
    ring.kubectl("wait", "--for=condition=Ready", f"node/{lost}", "--timeout=120s")
    wait_for_ring(ring, 0)
    assert not there & {p["metadata"]["uid"] for p in members(ring)}


def test_a_set_goes_away_with_all_that_it_had(ring: Cluster) -> None:
    ring.kubectl("delete", "pcs/ring", "--timeout=120s")
    for kind in ("podgangs", "podcliques", "services", "pods", "podgroups.scheduling.k8s.io"):
        ring.kubectl("wait", "--for=delete", kind, "-l", "app.kubernetes.io/part-of=ring", "--timeout=60s")
        assert get(ring, kind, "-l", "app.kubernetes.io/part-of=ring") == []


def test_the_rights_of_deploy_were_enough(ring: Cluster) -> None:
    codes = {e["responseStatus"]["code"] for e in requests_of_operator(ring)}
    assert codes >= {200, 201}
    assert 403 not in codes
