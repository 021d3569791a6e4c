"""The command lines of a control plane, by Kubernetes minor version.

Gates and API versions are those of native gang scheduling, which every minor serves under other names.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from grove_testbed.nodes.addresses import Addresses
from grove_testbed.nodes.configuration import EVICTION_SECONDS


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
    minor: str,
    folder: Path,
    port: int,
    etcd_port: int,
    *,
    controllers: bool,
    skip_admission: Sequence[str],
    addresses: Addresses | None = None,
) -> list[str]:
    """``addresses`` are given if the cluster has real nodes: it then listens to them, and to nobody else."""
    skipped = set(skip_admission)
    if addresses is None:
        # Nobody removes the not-ready taint from a fake node, so nobody may add it.
        skipped.add("TaintNodesByCondition")
    if not controllers:
        # Without a controller manager no default service account appears and no finalizer goes away.
        skipped.add("ServiceAccount")
        if minor != "1.35":
            skipped.add("PodGroupProtection")
    gangs = GANGS[minor]
    served = [f"scheduling.k8s.io/{version}=true" for version in gangs.api_versions]
    return [
        f"--etcd-servers=http://127.0.0.1:{etcd_port}",
        f"--secure-port={port}",
        f"--tls-cert-file={folder}/server.crt",
        f"--tls-private-key-file={folder}/server.key",
        f"--token-auth-file={folder}/tokens.csv",
        "--service-account-issuer=https://127.0.0.1",
        f"--service-account-key-file={folder}/sa.key",
        f"--service-account-signing-key-file={folder}/sa.key",
        f"--disable-admission-plugins={','.join(sorted(skipped))}",
        f"--runtime-config={','.join(served)}",
        *_gates(gangs.apiserver_gates),
        f"--audit-policy-file={folder}/audit-policy.yaml",
        f"--audit-log-path={folder}/logs/audit.log",
        # On disk before the answer is sent, so that counts are exact; never rotated.
        "--audit-log-mode=blocking",
        "--audit-log-maxsize=100000",
        *(_on_loopback() if addresses is None else _on_the_wire(folder, addresses)),
    ]


def _on_loopback() -> list[str]:
    """No pod can call the API server, and it calls nobody."""
    return [
        "--bind-address=127.0.0.1",
        "--advertise-address=127.0.0.1",
        "--authorization-mode=RBAC",
        "--service-cluster-ip-range=10.0.0.0/16",
        "--endpoint-reconciler-type=none",
    ]


def _on_the_wire(folder: Path, addresses: Addresses) -> list[str]:
    """Pods reach the API server through the Service `kubernetes`, and it reaches kubelets and webhooks."""
    return [
        f"--bind-address={addresses.control_plane}",
        f"--advertise-address={addresses.control_plane}",
        f"--service-cluster-ip-range={addresses.services}",
        "--authorization-mode=Node,RBAC",
        "--enable-admission-plugins=NodeRestriction",
        "--allow-privileged=true",
        f"--kubelet-client-certificate={folder}/kubelet-client.crt",
        f"--kubelet-client-key={folder}/kubelet-client.key",
        f"--kubelet-certificate-authority={folder}/ca.crt",
        "--kubelet-preferred-address-types=InternalIP",
        # There is no kube-proxy on this side of the wire: webhooks are called at their pods.
        "--enable-aggregator-routing=true",
        f"--default-not-ready-toleration-seconds={EVICTION_SECONDS}",
        f"--default-unreachable-toleration-seconds={EVICTION_SECONDS}",
    ]


def kube_controller_manager(
    minor: str, folder: Path, port: int, *, node_monitor_grace_seconds: int = 0
) -> list[str]:
    """Monitors nodes only if a grace period is given: how long a node may be silent."""
    if node_monitor_grace_seconds:
        nodes = [f"--node-monitor-grace-period={node_monitor_grace_seconds}s", "--node-monitor-period=2s"]
    else:
        # Fake nodes send no heartbeats.
        nodes = ["--controllers=*,-node-lifecycle-controller,-taint-eviction-controller"]
    return [
        f"--kubeconfig={folder}/controller-manager.kubeconfig",
        *serving(folder, port),
        "--leader-elect=false",
        *nodes,
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
