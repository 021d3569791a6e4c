"""`grove demo`: the whole life of a gang, live in the terminal, on the embedded cluster.

Each step waits until what it announces was really seen in the cluster; the exit code is 0 only if every one was.
"""

import os
from pathlib import Path
from typing import Annotated

import typer
from grove.cli.output import CommandError, Exit

KeepOption = Annotated[
    bool, typer.Option("--keep", help="Leave the cluster running at the end, for kubectl.")
]
SvgOption = Annotated[
    Path | None, typer.Option("--svg", help="Also write a picture of the run to this file.")
]


SchedulerOption = Annotated[
    str,
    typer.Option("--scheduler", help="Who places the gangs: default, kai, koordinator, volcano or yunikorn."),
]


def demo(scheduler: SchedulerOption = "default", keep: KeepOption = False, svg: SvgOption = None) -> None:
    """Watch a disaggregated inference set come up, scale out, lose a pod, scale in and go away."""
    import asyncio

    from grove.runtime.telemetry.logs import configure

    from grove_sandbox.commands.demo.show import SCHEDULERS, StepFailedError, play

    if scheduler not in SCHEDULERS:
        known = ", ".join(SCHEDULERS)
        raise CommandError(
            f"there is no scheduler {scheduler!r} to show", f"choose one of {known}", Exit.USAGE
        )
    configure("info" if os.environ.get("GROVE_DEBUG") else "critical", "text")
    try:
        asyncio.run(play(scheduler, keep=keep, svg=svg))
    except BaseExceptionGroup as group:
        failed = group.subgroup(StepFailedError)
        if failed is None:
            raise
        raise CommandError(_first(failed), "GROVE_DEBUG=1 shows the operator's log", Exit.NO) from group
    except KeyboardInterrupt:
        raise SystemExit(130) from None


def _first(group: BaseExceptionGroup[BaseException]) -> str:
    inner = group.exceptions[0]
    return _first(inner) if isinstance(inner, BaseExceptionGroup) else str(inner)
