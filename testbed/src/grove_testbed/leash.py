"""Runs a program that cannot outlive the process that started it (Linux).

    python leash.py PARENT_PID PROGRAM ARGUMENT...

The kernel sends the program SIGKILL as soon as its parent is gone, however the parent ended. The request
survives exec, so the program itself runs under this process's id. A separate file, not a ``preexec_fn``:
code between fork and exec is unsafe in a process with threads.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main() -> None:
    parent, program, *arguments = sys.argv[1:]
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG) failed")
    if os.getppid() != int(parent):
        return  # it died before we asked
    os.execv(program, [program, *arguments])


if __name__ == "__main__":
    main()
