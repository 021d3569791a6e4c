"""Heartbeats of fake nodes, for clusters that also have real ones.

Where nodes are real, the node lifecycle controller runs, and takes a node for lost whose Lease nobody renews.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import NoReturn

import msgspec
import structlog
from grove.runtime.client.client import Client
from grove.runtime.client.errors import RequestError
from grove.runtime.client.objects import ObjectKey, PartialObject
from grove.runtime.client.resource_client import ResourceClient
from grove.runtime.controller.leader import LEASES

from grove_testbed.nodes.configuration import node_monitor_grace_seconds

log = structlog.get_logger(__name__)

NAMESPACE = "kube-node-lease"


async def renew_leases(client: Client, nodes: Sequence[str]) -> NoReturn:
    """Creates the leases of these nodes, then renews them until cancelled.

    Two renewals may fail before a node is lost.
    """
    renew_seconds = node_monitor_grace_seconds(len(nodes)) / 3
    leases = ResourceClient(client, LEASES, msgspec.json.Decoder(PartialObject).decode)
    while True:
        started = asyncio.get_running_loop().time()
        for name in nodes:
            body = {
                "apiVersion": "coordination.k8s.io/v1",
                "kind": "Lease",
                "metadata": {"name": name, "namespace": NAMESPACE},
                "spec": {
                    "holderIdentity": name,
                    "leaseDurationSeconds": 40,
                    "renewTime": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
                },
            }
            try:
                await leases.apply(ObjectKey(NAMESPACE, name), msgspec.json.encode(body))
            except RequestError as error:
                log.info("a heartbeat failed; the next round tries again", node=name, error=str(error))
        took = asyncio.get_running_loop().time() - started
        await asyncio.sleep(max(0.0, renew_seconds - took))
