"""The entry point of the image and of the command `grove`.

The init container of ordered starts has the arguments of the Go reference and no command, so that images of either
operator fit pods of either. It must start fast and small, so nothing of the command is imported for it.
"""

import os
import sys

from grove.startup.waiting import FLAG


def run() -> None:
    arguments = sys.argv[1:]
    if arguments and arguments[0].partition("=")[0] == FLAG:
        from grove.startup.program import main as wait

        raise SystemExit(wait(arguments, os.environ))
    from grove.cli.main import run as run_command

    run_command()
