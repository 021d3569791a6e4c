"""The command lines of a control plane, by Kubernetes minor version.

Gates and API versions are those of native gang scheduling, which every minor serves under other names.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Gangs:
    """What switches native gang scheduling on."""

    api_versions: Sequence[str]
    apiserver_gates: Sequence[str]
    scheduler_gates: Sequence[str]
    controller_gates: Sequence[str]


GANGS = {
    "1.35": Gangs(("v1alpha1",), ("GenericWorkload",), ("GenericWorkload", "GangScheduling"), ()),
    "1.36": Gangs(
        ("v1alpha2",),
        ("GenericWorkload", "GangScheduling", "TopologyAwareWorkloadScheduling", "WorkloadAwarePreemption"),
        ("GenericWorkload", "GangScheduling", "TopologyAwareWorkloadScheduling", "WorkloadAwarePreemption"),
        ("GenericWorkload",),
    ),
    "1.37": Gangs(
        ("v1beta1", "v1alpha3"),
        ("GenericWorkload", "TopologyAwareWorkloadScheduling", "CompositePodGroup"),
        ("GenericWorkload", "TopologyAwareWorkloadScheduling", "CompositePodGroup"),
        ("GenericWorkload",),
    ),
}

SCHEDULER_CONFIG = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: {{kubeconfig: {kubeconfig}, qps: 1000, burst: 2000}}
leaderElection: {{leaderElect: false}}
podInitialBackoffSeconds: 1
podMaxBackoffSeconds: 2
"""


def etcd(data: Path, client_port: int, peer_port: int) -> list[str]:
    client, peer = f"http://127.0.0.1:{client_port}", f"http://127.0.0.1:{peer_port}"
    return [
        f"--data-dir={data}",
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=default={peer}",
        "--unsafe-no-fsync",
        "--log-level=warn",
    ]


def kube_apiserver(
    minor: str, folder: Path, port: int, etcd_port: int, *, controllers: bool, skip_admission: Sequence[str]
) -> list[str]:
    # Nobody removes the not-ready taint from a fake node, so nobody may add it.
    skipped = {"TaintNodesByCondition", *skip_admission}
    if not controllers:
        # Without a controller manager no default service account appears and no finalizer goes away.
        skipped.add("ServiceAccount")
        if minor != "1.35":
            skipped.add("PodGroupProtection")
    gangs = GANGS[minor]
    served = [f"scheduling.k8s.io/{version}=true" for version in gangs.api_versions]
    return [
        f"--etcd-servers=http://127.0.0.1:{etcd_port}",
        "--bind-address=127.0.0.1",
        "--advertise-address=127.0.0.1",
        f"--secure-port={port}",
        f"--tls-cert-file={folder}/server.crt",
        f"--tls-private-key-file={folder}/server.key",
        f"--token-auth-file={folder}/tokens.csv",
        "--authorization-mode=RBAC",
        "--service-account-issuer=https://127.0.0.1",
        f"--service-account-key-file={folder}/sa.key",
        f"--service-account-signing-key-file={folder}/sa.key",
        "--service-cluster-ip-range=10.0.0.0/16",
        "--endpoint-reconciler-type=none",
        f"--disable-admission-plugins={','.join(sorted(skipped))}",
        f"--runtime-config={','.join(served)}",
        *_gates(gangs.apiserver_gates),
        f"--audit-policy-file={folder}/audit-policy.yaml",
        f"--audit-log-path={folder}/logs/audit.log",
        # On disk before the answer is sent, so that counts are exact; never rotated.
        "--audit-log-mode=blocking",
        "--audit-log-maxsize=100000",
    ]


def kube_controller_manager(minor: str, folder: Path, port: int) -> list[str]:
    return [
        f"--kubeconfig={folder}/controller-manager.kubeconfig",
        *serving(folder, port),
        "--leader-elect=false",
        # Fake nodes send no heartbeats.
        "--controllers=*,-node-lifecycle-controller,-taint-eviction-controller",
        f"--service-account-private-key-file={folder}/sa.key",
        f"--root-ca-file={folder}/ca.crt",
        "--kube-api-qps=1000",
        "--kube-api-burst=2000",
        *_gates(GANGS[minor].controller_gates),
    ]


def kube_scheduler(minor: str, folder: Path, port: int) -> list[str]:
    return [
        f"--config={folder}/scheduler.yaml",
        *serving(folder, port),
        *_gates(GANGS[minor].scheduler_gates),
    ]


def serving(folder: Path, port: int) -> list[str]:
    """Health and metrics over TLS, as all programs built on Kubernetes' libraries take it."""
    return [
        "--bind-address=127.0.0.1",
        f"--secure-port={port}",
        f"--tls-cert-file={folder}/server.crt",
        f"--tls-private-key-file={folder}/server.key",
    ]


def _gates(names: Sequence[str]) -> list[str]:
    return [f"--feature-gates={','.join(f'{name}=true' for name in names)}"] if names else []
