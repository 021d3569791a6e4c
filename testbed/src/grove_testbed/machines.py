"""The machines of a cluster that has none: fake nodes, and a kubelet for the pods bound to them.

    python -m grove_testbed.machines KUBECONFIG NODES_FILE

Runs as a process of its own beside the control plane, until it is told to stop. The nodes and the kubelet are
those of the embedded cluster; here they do their work through a real API server.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import orjson
from grove.runtime.client.client import Client
from grove.runtime.client.http_transport import HttpTransport
from grove.runtime.client.kubeconfig import find_cluster
from grove_sandbox.kubelet.kubelet import Kubelet
from grove_sandbox.kubelet.node_lifecycle import NodeLifecycle

READY = "all nodes have joined"


async def run(kubeconfig: str, nodes: list[dict[str, Any]]) -> None:
    transport = HttpTransport(find_cluster(kubeconfig), user_agent="grove-testbed-kubelet")
    keeper = NodeLifecycle(Client(transport, field_manager="kubelet"))
    kubelet = Kubelet(keeper)
    await keeper.join(nodes)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(keeper.run())
        tasks.create_task(kubelet.run())
        await keeper.nodes.synced.wait()
        print(READY, flush=True)  # noqa: T201 the log is how the cluster learns of it


if __name__ == "__main__":
    asyncio.run(run(sys.argv[1], orjson.loads(Path(sys.argv[2]).read_bytes())))
