"""Ports of loopback for the servers of a cluster, such that clusters of other processes never get the same ones."""

from __future__ import annotations

import secrets
import socket

# Held until this process ends: no other that asks for a port gets one of these meanwhile.
_taken: list[socket.socket] = []


def free_ports(count: int) -> list[int]:
    """Ports of loopback that nothing listens on, below the range from which clients get theirs."""
    found: list[int] = []
    while len(found) < count:
        port = 12000 + secrets.randbelow(18000)
        claim = socket.socket(socket.AF_UNIX)
        try:
            claim.bind(f"\0grove-testbed-port-{port}")
            with socket.socket() as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind(("127.0.0.1", port))
        except OSError:
            claim.close()
        else:
            _taken.append(claim)
            found.append(port)
    return found
