"""The cgroups of real nodes: one subtree per cluster in every hierarchy, one child of it per node.

A box sees its node's cgroup as the root of everything (``box``), so whatever its containers make is below it, and goes
with it. Cgroup version 1 has a hierarchy per controller, version 2 is a single one; a machine may have both.
"""

from __future__ import annotations

import errno
import time
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")
# Version 2 forbids processes beside children with controllers: those of the node itself are in a child, too.
PROCESSES = "processes"


class CgroupError(RuntimeError):
    """A cgroup could not be removed; the message names it."""


def hierarchies() -> list[Path]:
    found = [ROOT, *sorted(entry for entry in ROOT.iterdir() if not entry.is_symlink())]
    return [path for path in found if (path / "cgroup.procs").is_file()]


def make(name: str) -> None:
    """Makes a cgroup and its parents in every hierarchy, ready for processes."""
    for hierarchy in hierarchies():
        cgroup = hierarchy
        for part in Path(name).parts:
            parent, cgroup = cgroup, cgroup / part
            cgroup.mkdir(exist_ok=True)
            for setting in ("cpuset.cpus", "cpuset.mems"):
                # In version 1 these are empty at first, and nothing may run there.
                if (cgroup / setting).exists() and not is_version_2(hierarchy):
                    (cgroup / setting).write_text((parent / setting).read_text())
        if is_version_2(hierarchy):
            (cgroup / PROCESSES).mkdir(exist_ok=True)


def is_version_2(hierarchy: Path) -> bool:
    return (hierarchy / "cgroup.controllers").exists()


def remove(name: str, deadline: float) -> None:
    """Removes a cgroup with all below it. Its processes were killed; until ``deadline`` they may still be ending."""
    for hierarchy in hierarchies():
        if (hierarchy / name).is_dir():
            _remove(hierarchy / name, deadline)


def _remove(cgroup: Path, deadline: float) -> None:
    for child in [entry for entry in cgroup.iterdir() if entry.is_dir()]:
        _remove(child, deadline)
    while True:
        try:
            cgroup.rmdir()
        except OSError as error:
            if error.errno != errno.EBUSY or time.monotonic() > deadline:
                raise CgroupError(f"cgroup {cgroup} cannot be removed: {error}") from error
            time.sleep(0.02)
        else:
            return
