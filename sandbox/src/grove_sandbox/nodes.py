"""Manifests of nodes, for embedded and real clusters without machines.

`nodes(8)` gives two racks of four nodes in one zone. `kubelet.node_lifecycle` plays their life.
"""

from collections.abc import Mapping, Sequence
from typing import Any

Json = dict[str, Any]

RACKS_PER_ZONE = 2
NODES_PER_RACK = 4
ZONE = "topology.kubernetes.io/zone"
RACK = "grove.io/rack"


def nodes(
    count: int,
    capacity: Mapping[str, str] | None = None,
    *,
    labels: Mapping[str, str] | None = None,
    taints: Sequence[Json] = (),
) -> list[Json]:
    """`count` nodes named `node-0`, `node-1`, ..., with four nodes in a rack and two racks in a zone."""
    return [
        node(
            f"node-{index}",
            zone=f"zone-{index // (NODES_PER_RACK * RACKS_PER_ZONE)}",
            rack=f"rack-{index // NODES_PER_RACK}",
            capacity=capacity,
            labels=labels,
            taints=taints,
            address=f"10.0.{index // 250}.{index % 250 + 1}",
        )
        for index in range(count)
    ]


def node(
    name: str,
    *,
    zone: str = "zone-0",
    rack: str = "rack-0",
    capacity: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
    taints: Sequence[Json] = (),
    address: str = "10.0.0.1",
) -> Json:
    """A Node to create. Its allocatable resources equal its capacity."""
    amounts = {"cpu": "16", "memory": "64Gi", "nvidia.com/gpu": "8", "pods": "110", **(capacity or {})}
    own = {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", ZONE: zone, RACK: rack}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {**own, **(labels or {})}},
        "spec": {"taints": list(taints)} if taints else {},
        "status": {
            "capacity": amounts,
            "allocatable": amounts,
            "addresses": [{"type": "InternalIP", "address": address}, {"type": "Hostname", "address": name}],
            "conditions": [ready_condition("True", "KubeletReady", "kubelet is posting ready status")],
            "nodeInfo": {"kubeletVersion": "v0-embedded", "operatingSystem": "linux", "osImage": "none"},
        },
    }


def ready_condition(status: str, reason: str, message: str) -> Json:
    return {"type": "Ready", "status": status, "reason": reason, "message": message}
