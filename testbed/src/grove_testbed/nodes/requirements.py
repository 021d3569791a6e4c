"""What a machine needs to run real nodes, what it lacks, and how to get it.

Everything comes from Debian's packages but kubelet, kube-proxy and CoreDNS, which the testbed builds like the control
plane. Installing them is one command: ``grove-testbed install-node-packages``.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

CNI_PLUGINS = Path("/usr/lib/cni")
BUSYBOX = Path("/usr/bin/busybox")

# What must be there -> the Debian package that has it.
PROGRAMS = {
    "containerd": "containerd",
    "ctr": "containerd",
    "runc": "runc",
    "iptables": "iptables",
    "nft": "nftables",
    "ip": "iproute2",
    "mount": "mount",
    "nsenter": "util-linux",
    "buildah": "buildah",
    "mmdebstrap": "mmdebstrap",
    str(CNI_PLUGINS / "ptp"): "containernetworking-plugins",
    str(CNI_PLUGINS / "host-local"): "containernetworking-plugins",
    str(BUSYBOX): "busybox-static",
}
# The programs of administrators are there, also if the caller's PATH does not say so.
SEARCH_PATH = ":".join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"])
INSTALL = "grove-testbed install-node-packages"


class MachineError(RuntimeError):
    """This machine cannot run real nodes; the message is one line that says what is missing."""


def check() -> None:
    """Raises ``MachineError`` unless real nodes can run here."""
    if obstacle := _obstacle():
        raise MachineError(f"real nodes cannot run here: {obstacle}")
    if missing := missing_packages():
        raise MachineError(
            f"real nodes cannot run here: Debian packages {', '.join(missing)} are missing; run: {INSTALL}"
        )
    refused = subprocess.run(
        ["unshare", "--mount", "--uts", "--ipc", "--pid", "--net", "--fork", "true"],
        capture_output=True,
        text=True,
    )
    if refused.returncode != 0:
        raise MachineError(
            f"real nodes cannot run here: the kernel refuses namespaces: {refused.stderr.strip()}"
        )


def missing_packages() -> list[str]:
    """The Debian packages whose programs are not there."""
    return sorted({package for program, package in PROGRAMS.items() if not _find(program)})


def install(say: Callable[[str], None]) -> None:
    """Installs the packages that are missing; ``MachineError`` if this machine does not allow it."""
    missing = missing_packages()
    if not missing:
        say("Real nodes: every Debian package is installed.")
        return
    if obstacle := _obstacle():
        raise MachineError(f"cannot install {', '.join(missing)}: {obstacle}")
    if shutil.which("apt-get") is None:
        raise MachineError(f"cannot install {', '.join(missing)}: no apt-get, this is not Debian")
    say(f"Installing with apt-get: {' '.join(missing)}")
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    for command in (
        ["apt-get", "--quiet", "update"],
        ["apt-get", "--quiet", "--yes", "--no-install-recommends", "install", *missing],
    ):
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        if done.returncode != 0:
            last = (done.stderr or done.stdout).strip().splitlines()[-1:]
            raise MachineError(f"{' '.join(command)} failed: {' '.join(last)}")


def _find(program: str) -> str | None:
    return shutil.which(program, path=SEARCH_PATH)


def _obstacle() -> str:
    """Why this machine cannot, whatever is installed on it."""
    if sys.platform != "linux":
        return f"they need Linux, this is {sys.platform}"
    if os.geteuid() != 0:
        return "they need root, because containers, links and mounts do"
    if not Path("/sys/fs/cgroup").is_dir():
        return "no cgroups are mounted at /sys/fs/cgroup"
    return ""
