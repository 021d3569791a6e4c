"""Runs a program inside the machine of a first process (see ``box.py``).

    python enter.py PID PROGRAM ARGUMENT...

A process cannot move into another process namespace, only its children can. So the program is a child of this process,
and tied to it: SIGKILL to this one kills the program, SIGTERM is passed on, the exit code is the program's.
"""

import ctypes
import os
import signal
import sys
from pathlib import Path
from types import FrameType

PR_SET_PDEATHSIG = 1
# The mounts last: the files by which the others are found are those of the machine outside.
NAMESPACES = ("cgroup", "ipc", "uts", "net", "pid", "mnt")
CGROUPS = Path("/sys/fs/cgroup")

LIBC = ctypes.CDLL(None, use_errno=True)


def main() -> None:
    pid, program, *arguments = sys.argv[1:]
    join_cgroups(pid)
    folder = os.open(f"/proc/{pid}/ns", os.O_RDONLY)
    handles = [os.open(kind, os.O_RDONLY, dir_fd=folder) for kind in NAMESPACES]
    for kind, handle in zip(NAMESPACES, handles, strict=True):
        if LIBC.setns(handle, 0) != 0:
            raise OSError(ctypes.get_errno(), f"setns {kind} of process {pid} failed")
        os.close(handle)
    os.close(folder)
    os.chdir("/")
    child = os.fork()
    if child == 0:
        if LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG) failed")
        os.execvp(program, [program, *arguments])

    def pass_on(number: int, _: FrameType | None) -> None:
        os.kill(child, number)

    signal.signal(signal.SIGTERM, pass_on)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    sys.exit(code if code >= 0 else 128 - code)


def join_cgroups(pid: str) -> None:
    """Moves this process to the cgroups of the first one, which lines like ``4:memory:/a/b`` name."""
    for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines():
        _, controllers, cgroup = line.split(":", 2)
        # Version 2 has no name, and is mounted at the root unless version 1 is there.
        name = controllers.removeprefix("name=") or ("unified" if (CGROUPS / "unified").is_dir() else "")
        (CGROUPS / name / cgroup.strip("/") / "cgroup.procs").write_text("0")


if __name__ == "__main__":
    main()
