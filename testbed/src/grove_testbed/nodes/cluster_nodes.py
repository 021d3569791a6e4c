"""All real nodes of one cluster: the wire between them, their start, their end.

``prepare`` comes before the control plane, which listens on an address of the wire; ``join`` after it; ``close`` last.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from grove_testbed.nodes import cgroups, dns, images, network, requirements
from grove_testbed.nodes.addresses import MOST_NODES, Addresses
from grove_testbed.nodes.leftovers import Leftovers, Record, sweep
from grove_testbed.nodes.node import PROGRAMS, Box, RealNode, furnish, write_configuration
from grove_testbed.pki import CertificateRequest
from grove_testbed.processes import Process, StartError

# Enough for the examples on two nodes, whatever machine they run on.
CPUS_PER_NODE = 16
Kubectl = Callable[..., str]
# Tens of thousands of files of unpacked images take a minute to delete from some disks, and no time from memory.
MEMORY, ROOM_BYTES = Path("/dev/shm"), 4 << 30  # noqa: S108 a folder of its own is made in it


def names(count: int) -> list[str]:
    return [f"real-{index}" for index in range(count)]


def parent_folder() -> Path | None:
    """Where the folder of a cluster with real nodes belongs: in memory if there is room, else where others are."""
    return MEMORY if MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > ROOM_BYTES else None


def identities(count: int) -> dict[str, tuple[str, Sequence[str]]]:
    """Who the nodes are to the API server: their kubelets, each with rights to its own pods only, and kube-proxy."""
    kubelets = {name: (f"system:node:{name}", ("system:nodes",)) for name in names(count)}
    return {**kubelets, "kube-proxy": ("system:kube-proxy", ())}


@dataclass
class ClusterNodes:
    """``folder`` is the cluster's."""

    k8s: str
    folder: Path
    count: int
    addresses: Addresses
    record: Record
    wire: Box
    nodes: dict[str, RealNode] = field(default_factory=dict)

    @classmethod
    def prepare(cls, k8s: str, folder: Path, count: int) -> ClusterNodes:
        """Checks the machine, clears up after killed runs, and makes the wire.

        ``MachineError`` if nodes cannot run here.
        """
        requirements.check()
        if count > MOST_NODES:
            raise StartError(f"A cluster has room for {MOST_NODES} real nodes, not for {count}.")
        sweep()
        addresses = network.claim_addresses()
        record = Record(Leftovers(str(folder), folder.name, network.host_link(addresses)))
        (folder / "nodes").mkdir()
        try:
            wire = Box.start("wire", folder / "nodes", folder / "logs" / "wire.log", {})
            record.note_box(wire.pid)
            network.build_wire(wire.pid, addresses)
        except BaseException:
            record.close()
            raise
        return cls(k8s, folder, count, addresses, record, wire)

    def leaves(self) -> list[CertificateRequest]:
        """The certificates that nodes need: one for each kubelet's server, and the API server's for calling them."""
        client = CertificateRequest(
            self.folder / "kubelet-client", "kube-apiserver-kubelet-client", organization="system:masters"
        )
        return [
            client,
            *(
                CertificateRequest(
                    self._folder(name) / "kubelet",
                    f"system:node:{name}",
                    (name,),
                    (self.addresses.node(index),),
                )
                for index, name in enumerate(names(self.count))
            ),
        ]

    def furnish(self) -> None:
        """Makes the nodes' folders; certificates go into them."""
        for index, name in enumerate(names(self.count)):
            folder = self._folder(name)
            folder.mkdir()
            write_configuration(folder, name, index, self.addresses)

    def join(self, kubectl: Kubectl, processes: dict[str, Process]) -> None:
        """Starts the nodes, side by side, and cluster DNS; returns when all are ready. Adds to ``processes``."""
        archive = images.write_archive(self.folder / "nodes" / "images.tar", images.pause(), images.coredns())
        for index, name in enumerate(names(self.count)):
            mounts = furnish(self._folder(name), CPUS_PER_NODE)
            self.nodes[name] = self._boot(index, name, mounts)
        for node in self.nodes.values():
            node.start("containerd")
        for node in self.nodes.values():
            node.wait_for_containerd()
        self.import_images(archive)
        for node in self.nodes.values():
            for program in PROGRAMS[1:]:
                node.start(program)
            processes.update({p.name: p for p in node.processes.values()})
        for node in self.nodes.values():
            node.processes["kubelet"].wait_until(_is_ready(kubectl, node.name))
        pods = {"apiVersion": "v1", "kind": "List", "items": dns.objects(self.addresses, list(self.nodes))}
        kubectl("create", "--filename=-", stdin=json.dumps(pods))
        kubectl("wait", "pods", "--all", f"-n={dns.NAMESPACE}", "--for=condition=Ready", "--timeout=90s")

    def import_images(self, archive: Path) -> None:
        """Gives every node the images of an archive, as if each had pulled them."""
        with ThreadPoolExecutor() as threads:
            imports = [threads.submit(node.import_images, archive) for node in self.nodes.values()]
        for done in imports:
            done.result()

    def power_on(self, name: str, processes: dict[str, Process]) -> None:
        """Boots a node again that was powered off, on the disk it had.

        Call it on the thread that started the cluster.
        """
        node = self.nodes[name]
        node.box = self._boot(node.index, name, node.mounts).box
        self.start_programs(name, processes)

    def start_programs(
        self, name: str, processes: dict[str, Process], programs: Sequence[str] = PROGRAMS
    ) -> None:
        """Starts programs of a node that do not run. Call it on the thread that started the cluster."""
        node = self.nodes[name]
        for program in programs:
            processes[f"{name}/{program}"] = node.start(program)
            if program == "containerd":
                node.wait_for_containerd()  # a kubelet that cannot call it gives up

    def close(self) -> None:
        for node in self.nodes.values():
            node.power_off()
        self.wire.stop()
        self.record.close()

    def _boot(self, index: int, name: str, mounts: Mapping[str, str]) -> RealNode:
        folder, logs = self._folder(name), self.folder / "logs"
        cgroup = f"{self.folder.name}/{name}"
        cgroups.make(cgroup)
        box = Box.start(name, folder, logs / f"{name}.log", mounts, cgroup)
        self.record.note_box(box.pid)
        network.join(self.wire.pid, box.pid, index, self.addresses, self.count)
        return RealNode(name, index, self.k8s, folder, logs, self.addresses, box, mounts)

    def _folder(self, name: str) -> Path:
        return self.folder / "nodes" / name


def _is_ready(kubectl: Kubectl, name: str) -> Callable[[], bool]:
    def check() -> bool:
        status = "jsonpath={.status.conditions[?(@.type=='Ready')].status}"
        return "True" in kubectl("get", "nodes", name, "--ignore-not-found", "-o", status)

    return check
