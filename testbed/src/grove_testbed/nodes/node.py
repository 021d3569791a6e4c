"""One real node: a box with containerd, kubelet and kube-proxy in it.

Each program is a ``Process`` of the run, so it can be killed and started again like those of the control plane. Killing
kubelet and containerd leaves the containers running, as on a node whose agents died; ``power_off`` ends everything.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from grove_testbed.build import built
from grove_testbed.components import component_for
from grove_testbed.nodes import box, configuration, enter
from grove_testbed.nodes.addresses import Addresses
from grove_testbed.nodes.requirements import SEARCH_PATH
from grove_testbed.processes import Process, StartError

# The programs of a node in the order in which they start.
PROGRAMS = ("containerd", "kubelet", "kube-proxy")
# Chosen by tests that need containers, or must not have them.
LABEL, REAL = "testbed.grove.io/node", "real"
_PYTHON = (sys.executable, "-I", "-S")


@dataclass
class Box:
    """A machine of namespaces, and the process id by which it is entered."""

    process: Process
    pid: int

    @classmethod
    def start(cls, name: str, folder: Path, log: Path, mounts: Mapping[str, str], cgroup: str = "") -> Box:
        """``mounts`` maps paths in the box to what is there: a path of this machine, or tmpfs.

        ``cgroup`` exists, and is the root of all that the box sees; without one it stays in that of this process.
        """
        pid_file = folder / f"{name}.pid"
        pid_file.unlink(missing_ok=True)
        binds = [f"{source}={target}" for target, source in mounts.items()]
        command = [*_PYTHON, str(box.__file__), name, str(pid_file), cgroup, *binds]
        process = Process.start(name, command, log, {"PATH": SEARCH_PATH})
        process.wait_until(pid_file.exists)
        return cls(process, int(pid_file.read_text()))

    def command(self, *arguments: str) -> list[str]:
        """The command that runs another one inside."""
        return [*_PYTHON, str(enter.__file__), str(self.pid), *arguments]

    def run(self, *arguments: str) -> str:
        """The output of a command inside; ``StartError`` with its complaint if it fails."""
        done = subprocess.run(self.command(*arguments), capture_output=True, text=True)
        if done.returncode != 0:
            raise StartError(f"{' '.join(arguments)} in {self.process.name}: {done.stderr.strip()}")
        return done.stdout

    def stop(self) -> None:
        """Kills everything inside, and waits until the kernel has."""
        if self.process.popen.poll() is None:
            # The first process is a child that nobody else collects: its id cannot be anybody else's.
            os.kill(self.pid, signal.SIGKILL)
            self.process.popen.wait()


@dataclass
class RealNode:
    """``folder`` keeps what the node has on disk; it survives ``power_off``."""

    name: str
    index: int
    k8s: str
    folder: Path
    logs: Path
    addresses: Addresses
    box: Box
    mounts: Mapping[str, str]
    processes: dict[str, Process] = field(default_factory=dict)

    def start(self, program: str) -> Process:
        """Starts one of ``PROGRAMS``; returns without waiting until it is ready."""
        process = Process.start(
            f"{self.name}/{program}",
            self.box.command(*self._command(program)),
            self.logs / f"{self.name}-{program}.log",
            {"PATH": SEARCH_PATH},
        )
        self.processes[program] = process
        return process

    def import_images(self, archive: Path) -> None:
        """Gives containerd images, as if they had been pulled."""
        self.box.run("ctr", "--namespace=k8s.io", "images", "import", str(archive))

    def wait_for_containerd(self) -> None:
        def answers() -> bool:
            return subprocess.run(self.box.command("ctr", "version"), capture_output=True).returncode == 0

        self.processes["containerd"].wait_until(answers)

    def power_off(self) -> None:
        """Like a power cut: every process of the node ends at once, in the middle of whatever it did."""
        self.box.stop()
        for process in self.processes.values():
            process.popen.wait()

    def _command(self, program: str) -> list[str]:
        if program == "containerd":
            return ["containerd", f"--config={self.folder}/containerd.toml", "--log-level=info"]
        path = str(built(component_for(program, self.k8s)))
        if program == "kube-proxy":
            return [path, f"--config={self.folder}/kube-proxy.yaml"]
        return [
            path,
            f"--config={self.folder}/kubelet.yaml",
            f"--kubeconfig={self.folder.parent.parent}/{self.name}.kubeconfig",
            f"--hostname-override={self.name}",
            f"--node-ip={self.addresses.node(self.index)}",
            f"--node-labels={LABEL}={REAL}",
        ]


def furnish(folder: Path, cpus: int) -> dict[str, str]:
    """Makes the folders of a node, and says what its box is to mount where."""
    mounts = {"/run": "tmpfs"}
    for name, target in (("lib", "/var/lib"), ("log", "/var/log"), ("no-numa", "/sys/devices/system/node")):
        (folder / name).mkdir()
        if Path(target).exists():
            mounts[target] = str(folder / name)
    configuration.processors(folder / "cpu", cpus)
    mounts["/sys/devices/system/cpu"] = str(folder / "cpu")
    settings = folder / "kernel"
    settings.mkdir()
    for target, value in configuration.KERNEL_SETTINGS.items():
        file = settings / Path(target).name
        file.write_text(f"{value}\n")
        mounts[target] = str(file)
    return mounts


def write_configuration(folder: Path, name: str, index: int, addresses: Addresses) -> None:
    """Everything that the programs of a node read; its kubeconfigs and certificates are the cluster's to write."""
    cluster = folder.parent.parent
    (folder / "cni").mkdir()
    (folder / "cni" / "pods.conflist").write_text(configuration.pod_network(addresses, index))
    (folder / "resolv.conf").touch()
    containerd = configuration.containerd(folder / "cni", _snapshotter(folder))
    (folder / "containerd.toml").write_text(containerd)
    kubelet = configuration.kubelet(folder, cluster / "ca.crt", addresses)
    (folder / "kubelet.yaml").write_text(kubelet)
    proxy = configuration.kube_proxy(cluster / "kube-proxy.kubeconfig", addresses, name)
    (folder / "kube-proxy.yaml").write_text(proxy)


def _snapshotter(folder: Path) -> str:
    """Layers as overlays if the kernel can mount them on this disk, else as copies."""
    layers = folder / "overlay"
    for name in ("lower", "upper", "work", "merged"):
        (layers / name).mkdir(parents=True)
    options = f"lowerdir={layers}/lower,upperdir={layers}/upper,workdir={layers}/work"
    # In mounts of its own: they go with the command.
    attempt = ["unshare", "--mount", "mount", "-t", "overlay", "overlay", "-o", options, f"{layers}/merged"]
    return "overlayfs" if subprocess.run(attempt, capture_output=True).returncode == 0 else "native"
