"""A training job without the training: its members find each other by what Grove tells them, and pass a list around.

Standard library only. Every member listens, and sends what it gets to the next one, whose name is made from the
variables that Grove sets in each container:

    <GROVE_PCLQ_NAME>-<index>.<GROVE_HEADLESS_SERVICE>

Member 0 sends an empty list on its way, again and again; every member adds its name. A member that holds a list with
all names once more has seen the whole ring, says so, and writes it to READY, which the readiness probe looks for. A
ring that breaks because a member was replaced forms again by itself.
"""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from pathlib import Path

PORT = 7000
READY = Path("/tmp/ring")
SIZE = int(os.environ["RING_SIZE"])
INDEX = int(os.environ["GROVE_PCLQ_POD_INDEX"])


def name_of(index: int) -> str:
    return f"{os.environ['GROVE_PCLQ_NAME']}-{index % SIZE}.{os.environ['GROVE_HEADLESS_SERVICE']}"


def send(members: list[str]) -> None:
    """To the next member; an OSError if it cannot be reached now."""
    with socket.create_connection((name_of(INDEX + 1), PORT), timeout=5) as connection:
        connection.sendall(json.dumps(members).encode())


def begin_laps() -> None:
    """A new list every second, whatever became of the last one."""
    while True:
        try:
            send([name_of(0)])
        except OSError as error:
            print(f"{name_of(1)} cannot be reached yet: {error}", flush=True)
        time.sleep(1)


def take(members: list[str]) -> None:
    """Notes a ring that is whole; passes the list on until everybody has seen it."""
    if len(set(members)) == SIZE and not READY.exists():
        print(f"ring of {SIZE}: {' '.join(members[:SIZE])}", flush=True)
        READY.write_text("\n".join(members[:SIZE]))
    # Once around to collect the names, once more to show them.
    if len(members) < 2 * SIZE:
        try:
            send([*members, name_of(INDEX)])
        except OSError as error:
            print(f"{name_of(INDEX + 1)} cannot be reached: {error}", flush=True)


def main() -> None:
    with socket.create_server(("", PORT)) as server:
        if INDEX == 0:
            threading.Thread(target=begin_laps, daemon=True).start()
        while True:
            connection, _ = server.accept()
            with connection, connection.makefile("rb") as stream:
                content = stream.read()
            if content:  # nothing: somebody only looked whether we listen
                take(json.loads(content))


if __name__ == "__main__":
    main()
