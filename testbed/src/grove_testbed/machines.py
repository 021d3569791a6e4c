"""The machines of a cluster that has none: fake nodes, and a kubelet for the pods bound to them.

    python -m grove_testbed.machines KUBECONFIG NODES_FILE [REAL_NODE...]

Runs as a process of its own beside the control plane, until it is stopped. The nodes and the kubelet are
those of the embedded cluster; here they do their work through a real API server. Real nodes are named: their pods are
none of its business, and beside them the fake ones need heartbeats.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import orjson
from grove.runtime.cache.informer import Informer
from grove.runtime.client.client import Client
from grove.runtime.client.http_transport import HttpTransport
from grove.runtime.client.kubeconfig import find_cluster
from grove_sandbox.kubelet.kubelet import Kubelet
from grove_sandbox.kubelet.node_lifecycle import NodeLifecycle
from grove_sandbox.kubelet.objects import NODES, PODS, KubeletNode, KubeletPod

from grove_testbed.heartbeats import renew_leases

READY = "all nodes have joined"


class FakeNodeLifecycle(NodeLifecycle):
    """Sees all nodes and pods but the real nodes and what is bound to them."""

    def __init__(self, client: Client, real: Sequence[str]) -> None:
        super().__init__(client)
        nodes = ",".join(f"metadata.name!={name}" for name in real)
        self.nodes = Informer(client, NODES, msgspec.json.Decoder(KubeletNode).decode, fields=nodes)
        pods = ",".join(f"spec.nodeName!={name}" for name in real)
        by_node = {"node": lambda pod: [pod.spec.node_name] if pod.spec.node_name else []}
        self.pods = Informer(
            client, PODS, msgspec.json.Decoder(KubeletPod).decode, fields=pods, indexes=by_node
        )


async def run(kubeconfig: str, nodes: list[dict[str, Any]], real: Sequence[str]) -> None:
    transport = HttpTransport(find_cluster(kubeconfig), user_agent="grove-testbed-kubelet")
    client = Client(transport, field_manager="kubelet")
    keeper = FakeNodeLifecycle(client, real) if real else NodeLifecycle(client)
    kubelet = Kubelet(keeper)
    await keeper.join(nodes)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(keeper.run())
        tasks.create_task(kubelet.run())
        if real:
            tasks.create_task(renew_leases(client, [node["metadata"]["name"] for node in nodes]))
        await keeper.nodes.synced.wait()
        print(READY, flush=True)  # noqa: T201 the log is how the cluster learns of it


if __name__ == "__main__":
    asyncio.run(run(sys.argv[1], orjson.loads(Path(sys.argv[2]).read_bytes()), sys.argv[3:]))
