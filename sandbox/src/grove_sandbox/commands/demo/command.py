"""The command line of `grove demo`. Exits with 0 only if every step was observed."""

import os
from pathlib import Path
from typing import Annotated

import typer
from grove.cli.output import CommandError, Exit

KeepOption = Annotated[
    bool, typer.Option("--keep", help="Leave the cluster running at the end, for kubectl.")
]
SvgOption = Annotated[Path | None, typer.Option("--svg", help="Also write an SVG of the run to this file.")]
SchedulerOption = Annotated[
    str,
    typer.Option(
        "--scheduler",
        help="The scheduler that places the gangs: default, kai, koordinator, volcano or yunikorn.",
    ),
]


def demo(scheduler: SchedulerOption = "default", keep: KeepOption = False, svg: SvgOption = None) -> None:
    """Watch a disaggregated inference set start, scale out, replace a pod, scale in and terminate."""
    import asyncio

    from grove.runtime.telemetry.logs import configure

    from grove_sandbox.commands.demo.scenario import StepFailedError, play
    from grove_sandbox.commands.demo.schedulers import SCHEDULERS

    if scheduler not in SCHEDULERS:
        known = ", ".join(SCHEDULERS)
        raise CommandError(f"unknown scheduler {scheduler!r}", f"choose one of {known}", Exit.USAGE)
    configure("info" if os.environ.get("GROVE_DEBUG") else "critical", "text")
    try:
        asyncio.run(play(scheduler, keep=keep, svg=svg))
    except BaseExceptionGroup as group:
        failed = group.subgroup(StepFailedError)
        if failed is None:
            raise
        raise CommandError(
            _first(failed), "run it again with GROVE_DEBUG=1 to see the operator's log", Exit.NO
        ) from group
    except KeyboardInterrupt:
        raise SystemExit(130) from None


def _first(group: BaseExceptionGroup[BaseException]) -> str:
    inner = group.exceptions[0]
    return _first(inner) if isinstance(inner, BaseExceptionGroup) else str(inner)
