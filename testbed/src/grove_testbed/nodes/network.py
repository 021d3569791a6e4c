"""The wire between real nodes and the control plane: a bridge in a box of its own.

This machine's own network gets one link, with the address on which the API server listens, and a route to the pods of
each node, so that the API server reaches webhooks. Nothing is forwarded by this machine, and neither nodes nor pods
have a default route: no packet can leave. The links go when their boxes do; the routes go with the link.
"""

from __future__ import annotations

import os
import socket
import subprocess
from pathlib import Path

from grove_testbed.nodes.addresses import SLOTS, Addresses
from grove_testbed.nodes.requirements import SEARCH_PATH

BRIDGE = "wire"
# How nodes call the link that joins them.
UPLINK = "eth0"
# Held until this process ends: no other cluster gets the same slot meanwhile.
_claimed: list[socket.socket] = []


class NetworkError(RuntimeError):
    """A command that sets up links failed; the message has the command and what it said."""


def claim_addresses() -> Addresses:
    """Addresses that no other cluster on this machine uses."""
    for slot in range(SLOTS):
        claim = socket.socket(socket.AF_UNIX)
        try:
            claim.bind(f"\0grove-testbed-addresses-{slot}")
        except OSError:
            claim.close()  # another cluster has it
        else:
            _claimed.append(claim)
            return Addresses(slot)
    raise NetworkError(
        f"All {SLOTS} address ranges are taken by running clusters; end one: grove-testbed down"
    )


def host_link(addresses: Addresses) -> str:
    return f"grove-tb{addresses.slot}"


def build_wire(wire: int, addresses: Addresses) -> None:
    """Joins this machine to the bridge in the box of process ``wire``."""
    _in(wire, "link", "add", BRIDGE, "type", "bridge", "forward_delay", "0")
    _in(wire, "link", "set", BRIDGE, "up")
    link = host_link(addresses)
    _ip("link", "add", link, "type", "veth", "peer", "name", "control-plane", "netns", str(wire))
    _in(wire, "link", "set", "control-plane", "master", BRIDGE, "up")
    _ip("address", "add", f"{addresses.control_plane}/{addresses.machines.prefixlen}", "dev", link)
    _ip("link", "set", link, "up")


def join(wire: int, node: int, index: int, addresses: Addresses, nodes: int) -> None:
    """Joins the box of process ``node``, the index-th of ``nodes``, to the bridge, with routes to all others' pods."""
    port = f"node{index}"
    _in(wire, "link", "add", port, "type", "veth", "peer", "name", UPLINK, "netns", str(node))
    _in(wire, "link", "set", port, "master", BRIDGE, "up")
    own = addresses.node(index)
    _in(node, "address", "add", f"{own}/{addresses.machines.prefixlen}", "dev", UPLINK)
    _in(node, "link", "set", UPLINK, "up")
    for other in range(nodes):
        if other != index:
            _in(node, "route", "add", str(addresses.pods(other)), "via", str(addresses.node(other)))
    # kube-proxy rewrites the destination, but only of packets that have somewhere to go.
    _in(node, "route", "add", str(addresses.services), "dev", UPLINK)
    _run("nsenter", f"--target={node}", "--net", "--mount", "sysctl", "--quiet", "net.ipv4.ip_forward=1")
    _ip("route", "replace", str(addresses.pods(index)), "via", str(own))


def remove_link(name: str) -> None:
    """Takes away the one link on this machine, if it is still there."""
    if Path("/sys/class/net", name).exists():
        _ip("link", "delete", name)


def _ip(*arguments: str) -> None:
    _run("ip", *arguments)


def _in(pid: int, *arguments: str) -> None:
    """ip(8) in the network of a process."""
    _run("nsenter", f"--target={pid}", "--net", "ip", *arguments)


def _run(*command: str) -> None:
    environment = os.environ | {"PATH": SEARCH_PATH}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode != 0:
        raise NetworkError(f"{' '.join(command)}: {done.stderr.strip()}")
