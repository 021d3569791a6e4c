"""Removes what real nodes leave on a machine, at the end of a run or, if the run was killed, at the start of the next.

The kernel ends the processes of a node and its mounts and links with the run (see ``box``). What stays is a folder and
empty cgroups. A record under /run names them, with the process ids of the boxes; its run holds a lock on it, which the
kernel drops with the run. So a record whose lock can be had belongs to nobody any more.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO

from grove_testbed.nodes import cgroups
from grove_testbed.nodes.network import remove_link

RECORDS = Path("/run/grove-testbed")
# Killed processes still have to release what they hold.
REMOVAL_TIMEOUT_SECONDS = 60.0


class LeftoverError(RuntimeError):
    """Processes of a run do not end; the message names them."""


@dataclass
class Leftovers:
    """What a run will leave.

    ``boxes`` maps process ids to their start times, so that a reused id is never taken for one.
    """

    folder: str
    cgroup: str
    link: str
    boxes: dict[str, str] = field(default_factory=dict)

    def remove(self) -> None:
        """Ends the boxes that still run, then removes the rest. What is gone already is no error."""
        for pid, started in self.boxes.items():
            if start_time(int(pid)) == started:
                os.kill(int(pid), signal.SIGKILL)
        deadline = time.monotonic() + REMOVAL_TIMEOUT_SECONDS
        while running := [pid for pid, started in self.boxes.items() if start_time(int(pid)) == started]:
            if time.monotonic() > deadline:
                raise LeftoverError(f"processes {', '.join(running)} of {self.folder} do not end")
            time.sleep(0.02)
        remove_link(self.link)
        cgroups.remove(self.cgroup, deadline)


class Record:
    """The leftovers of this run, on disk. ``note`` before making something, ``close`` once all is removed."""

    def __init__(self, leftovers: Leftovers) -> None:
        self.leftovers = leftovers
        self._path = RECORDS / f"{Path(leftovers.folder).name}.json"
        with _all_records():
            self._file = self._path.open("w")
            fcntl.flock(self._file, fcntl.LOCK_EX)
        self._write()

    def note_box(self, pid: int) -> None:
        self.leftovers.boxes[str(pid)] = start_time(pid)
        self._write()

    def close(self) -> None:
        self.leftovers.remove()
        self._path.unlink()
        self._file.close()

    def _write(self) -> None:
        self._file.seek(0)
        self._file.truncate()
        json.dump(asdict(self.leftovers), self._file)
        self._file.flush()


def sweep() -> list[str]:
    """Removes what killed runs left, with their folders; the folders' names."""
    swept = []
    with _all_records():
        for path in sorted(RECORDS.glob("*.json")):
            with path.open() as record:
                if _is_held(record):
                    continue
                if text := record.read():  # empty: it was killed before it made anything
                    left = Leftovers(**json.loads(text))
                    left.remove()
                    if Path(left.folder).exists():
                        shutil.rmtree(left.folder)
                    swept.append(left.folder)
                path.unlink()
    return swept


def start_time(pid: int) -> str:
    """When a process started, in ticks since boot; nothing if it does not run (a zombie does not)."""
    try:
        state, *fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return ""
    return "" if state in "ZX" else fields[18]


def _is_held(record: IO[str]) -> bool:
    try:
        fcntl.flock(record, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    return False


@contextmanager
def _all_records() -> Iterator[None]:
    """One at a time: a record that is just being made must not be swept."""
    RECORDS.mkdir(exist_ok=True)
    with (RECORDS / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
