"""The addresses of a cluster with real nodes: pure arithmetic.

All of them are in 198.18.0.0/15, which is set aside for tests and routed nowhere. A cluster takes one slot, a /20,
split into sixteen /24: the nodes and the control plane, the pods of each node, and last the Services.
"""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network

TEST_NETWORK = IPv4Network("198.18.0.0/15")
SLOTS = 32
# The first part is for the nodes themselves, the last for Services.
MOST_NODES = 14


@dataclass(frozen=True)
class Addresses:
    """Of the cluster in one slot; nodes count from 0."""

    slot: int

    @property
    def cluster(self) -> IPv4Network:
        return list(TEST_NETWORK.subnets(new_prefix=20))[self.slot]

    @property
    def machines(self) -> IPv4Network:
        """The network that joins nodes and control plane."""
        return self._part(0)

    @property
    def control_plane(self) -> IPv4Address:
        return self.machines[1]

    def node(self, index: int) -> IPv4Address:
        return self.machines[10 + index]

    def pods(self, index: int) -> IPv4Network:
        """The addresses for pods of this node."""
        if index >= MOST_NODES:
            raise ValueError(f"a cluster has room for {MOST_NODES} real nodes, not for {index + 1}")
        return self._part(1 + index)

    @property
    def services(self) -> IPv4Network:
        return self._part(15)

    @property
    def kubernetes_service(self) -> IPv4Address:
        """The API server gives the Service ``kubernetes`` the first address."""
        return self.services[1]

    @property
    def dns_service(self) -> IPv4Address:
        return self.services[10]

    def _part(self, index: int) -> IPv4Network:
        return list(self.cluster.subnets(new_prefix=24))[index]
