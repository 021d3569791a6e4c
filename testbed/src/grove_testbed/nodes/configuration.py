"""The configuration files of a real node, as text: containerd, pod network, kubelet, kube-proxy.

Pure. Where a value differs from what a cluster in production has, the reason stands beside it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml

from grove_testbed.nodes import images
from grove_testbed.nodes.addresses import TEST_NETWORK, Addresses
from grove_testbed.nodes.requirements import CNI_PLUGINS

CLUSTER_DOMAIN = "cluster.local"
# How pods call the API server.
KUBERNETES_SERVICE = (
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    f"kubernetes.default.svc.{CLUSTER_DOMAIN}",
)
CONTAINERD_SOCKET = "/run/containerd/containerd.sock"
# A kubelet renews its lease after a quarter of this.
LEASE_SECONDS = 8
# How long pods stay on a lost node: 300 s in production.
EVICTION_SECONDS = 5

# A kubelet sets these for the whole machine unless they have the values already. In a node they look as if they had.
KERNEL_SETTINGS = {
    "/proc/sys/vm/overcommit_memory": "1",
    "/proc/sys/vm/panic_on_oom": "0",
    "/proc/sys/kernel/panic": "10",
    "/proc/sys/kernel/panic_on_oops": "1",
    "/proc/sys/kernel/keys/root_maxkeys": "1000000",
    "/proc/sys/kernel/keys/root_maxbytes": "25000000",
}


def node_monitor_grace_seconds(fake_nodes: int) -> int:
    """For how long a node may be silent before it is lost.

    50 s in production, too long for a test to wait; but a thousand fake nodes could not report more often.
    """
    return 16 if fake_nodes < 100 else 50


def containerd(cni: Path, snapshotter: str) -> str:
    cri = 'plugins."io.containerd.grpc.v1.cri"'
    return f"""\
version = 2
[{cri}]
  sandbox_image = "{images.PAUSE}"
  # Without CAP_SYS_RESOURCE nobody may lower a score; then runc fails with "can't get final child's PID from pipe".
  restrict_oom_score_adj = true
  disable_apparmor = true
[{cri}.containerd]
  snapshotter = "{snapshotter}"
[{cri}.cni]
  bin_dir = "{CNI_PLUGINS}"
  conf_dir = "{cni}"
"""


def pod_network(addresses: Addresses, index: int) -> str:
    """A link per pod, routed by the node. A bridge would need br_netfilter for Services between pods of one node."""
    ipam = {
        "type": "host-local",
        "ranges": [[{"subnet": str(addresses.pods(index))}]],
        # The only route of a pod: no other network can be reached.
        "routes": [{"dst": str(TEST_NETWORK)}],
    }
    plugin = {"type": "ptp", "ipMasq": False, "ipam": ipam}
    return json.dumps({"cniVersion": "0.4.0", "name": "pods", "plugins": [plugin]})


def kubelet(folder: Path, authority: Path, addresses: Addresses) -> str:
    """``folder`` has the node's certificate and resolv.conf."""
    return _yaml(
        {
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "authentication": {
                "anonymous": {"enabled": False},
                "webhook": {"enabled": True},
                "x509": {"clientCAFile": str(authority)},
            },
            "authorization": {"mode": "Webhook"},
            "tlsCertFile": str(folder / "kubelet.crt"),
            "tlsPrivateKeyFile": str(folder / "kubelet.key"),
            "containerRuntimeEndpoint": f"unix://{CONTAINERD_SOCKET}",
            "clusterDNS": [str(addresses.dns_service)],
            "clusterDomain": CLUSTER_DOMAIN,
            # Empty: names outside the cluster cannot be resolved.
            "resolvConf": str(folder / "resolv.conf"),
            "volumePluginDir": "/var/lib/kubelet/volume-plugins",
            # Containers have cgroups, pods and classes of service have none: a kubelet would give those the processors
            # that the node pretends to have.
            "failCgroupV1": False,
            "cgroupDriver": "cgroupfs",
            "cgroupsPerQOS": False,
            "enforceNodeAllocatable": [],
            "failSwapOn": False,
            # Whatever else runs on this machine must not evict pods.
            "evictionHard": {"memory.available": "1Mi"},
            "imageGCHighThresholdPercent": 100,
            "nodeLeaseDurationSeconds": LEASE_SECONDS,
            # Within the grace period, also after a kubelet was started again.
            "nodeStatusUpdateFrequency": "4s",
            "shutdownGracePeriod": "0s",
        }
    )


def kube_proxy(kubeconfig: Path, addresses: Addresses, node: str) -> str:
    return _yaml(
        {
            "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
            "kind": "KubeProxyConfiguration",
            "mode": "nftables",
            "clientConnection": {"kubeconfig": str(kubeconfig)},
            "clusterCIDR": str(addresses.cluster),
            "hostnameOverride": node,
            # Zero leaves the limits of the machine as they are.
            "conntrack": {"maxPerCore": 0, "min": 0},
        }
    )


def processors(folder: Path, count: int) -> None:
    """Writes a /sys/devices/system/cpu of this many processors.

    Requests are promises: a node may promise more than the machine has, and the examples need it to.
    """
    for index in range(count):
        topology = folder / f"cpu{index}" / "topology"
        topology.mkdir(parents=True)
        (topology / "core_id").write_text(f"{index}\n")
        (topology / "physical_package_id").write_text("0\n")
    (folder / "online").write_text(f"0-{count - 1}\n")


def _yaml(value: dict[str, Any]) -> str:
    return str(yaml.safe_dump(value, sort_keys=False))
