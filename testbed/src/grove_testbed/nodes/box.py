"""Runs the first process of a machine that shares nothing but its disk, memory and kernel with this one.

    python box.py NAME PID_FILE CGROUP [SOURCE=TARGET...]

The machine is a set of namespaces: processes, mounts, network, hostname, interprocess communication, cgroups. Each
SOURCE is bind-mounted over TARGET, SOURCE ``tmpfs`` mounts an empty file system there; both are seen inside only.
CGROUP exists in every hierarchy and is the root inside; if it is empty, the cgroups stay as they are. Once everything
is in place, PID_FILE holds the id of the first process, by which ``enter.py`` and nsenter(1) find the machine.

The kernel is what makes the end clean. When the first process dies, every process inside is killed; with the last
one go the mounts, the network links and their rules. The first process dies with this one, this one with whoever
started it on a leash.
"""

import ctypes
import os
import signal
import subprocess
import sys
from pathlib import Path

CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC = 0x00020000, 0x04000000, 0x08000000
CLONE_NEWCGROUP = 0x02000000
CLONE_NEWPID, CLONE_NEWNET = 0x20000000, 0x40000000
MS_BIND, MS_REC = 0x1000, 0x4000
PR_SET_PDEATHSIG = 1

CGROUPS = Path("/sys/fs/cgroup")
LIBC = ctypes.CDLL(None, use_errno=True)


def main() -> None:
    name, pid_file, cgroup, *mounts = sys.argv[1:]
    if cgroup:
        join(cgroup)
    kinds = CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWPID | CLONE_NEWNET
    call(LIBC.unshare(kinds), "unshare")
    told, tell = os.pipe()
    first = os.fork()
    if first == 0:
        os.close(told)
        prepare(name, cgroup, mounts)
        os.write(tell, b"ready")
        os.close(tell)
        reap_for_ever()
    os.close(tell)
    if os.read(told, 5) != b"ready":
        sys.exit(os.waitstatus_to_exitcode(os.waitpid(first, 0)[1]))
    written = Path(f"{pid_file}.new")
    written.write_text(str(first))
    written.rename(pid_file)
    # What ends this process ends the machine: there is no orderly shutdown of a first process that only reaps.
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(first, 0)[1]))


def join(cgroup: str) -> None:
    """Moves this process; from then on it sees the cgroup as the root."""
    for hierarchy in hierarchies():
        (hierarchy / cgroup / "cgroup.procs").write_text("0")
    call(LIBC.unshare(CLONE_NEWCGROUP), "unshare cgroups")
    for hierarchy in hierarchies():
        # Version 2 allows no processes beside children that have controllers.
        if (hierarchy / cgroup / "processes").is_dir():
            (hierarchy / cgroup / "processes" / "cgroup.procs").write_text("0")


def hierarchies() -> list[Path]:
    found = [CGROUPS, *(entry for entry in CGROUPS.iterdir() if not entry.is_symlink())]
    return [path for path in found if (path / "cgroup.procs").is_file()]


def prepare(name: str, cgroup: str, mounts: list[str]) -> None:
    """What only the machine itself can do: its own mounts, its hostname, its loopback."""
    call(LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0), "prctl")
    run("mount", "--make-rprivate", "/")
    run("mount", "-t", "proc", "proc", "/proc")
    # A view of /sys belongs to the network namespace in which it was mounted: the new one shows the links in here. The
    # cgroup hierarchies are mounted below the old one.
    cgroups = os.open("/sys/fs/cgroup", os.O_PATH)
    run("mount", "-t", "sysfs", "sysfs", "/sys")
    below = f"/proc/self/fd/{cgroups}".encode()
    call(LIBC.mount(below, b"/sys/fs/cgroup", None, MS_BIND | MS_REC, None), "mount /sys/fs/cgroup")
    os.close(cgroups)
    if cgroup:
        for hierarchy in hierarchies():
            run("mount", "--bind", str(hierarchy / cgroup), str(hierarchy))
    for mount in mounts:
        source, _, target = mount.partition("=")
        if source == "tmpfs":
            run("mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", target)
        else:
            run("mount", "--bind", source, target)
    Path("/proc/sys/kernel/hostname").write_text(name)
    run("ip", "link", "set", "lo", "up")


def reap_for_ever() -> None:
    """Processes whose parent ended become children of the first one, which must collect them."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
    while True:
        try:
            while os.waitpid(-1, os.WNOHANG)[0] != 0:
                pass
        except ChildProcessError:
            pass  # no child at the moment
        signal.sigwait({signal.SIGCHLD})


def run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: {done.stderr.strip()}")


def call(result: int, what: str) -> None:
    if result != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")


if __name__ == "__main__":
    main()
