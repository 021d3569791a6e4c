"""The command `grove render`."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from grove.cli.files import read_configuration, read_sources
from grove.cli.options import FilenameOption, OfflineConfigOption
from grove.cli.output import CommandError, Exit, Output, OutputOption, print_data
from grove.cli.validate import print_report

if TYPE_CHECKING:
    from grove.cli.render.offline import Offline


def render(
    filename: FilenameOption,
    replicas: Annotated[
        int | None, typer.Option(min=0, help="Render each set with N replicas.", metavar="N")
    ] = None,
    scale: Annotated[
        list[str] | None,
        typer.Option(help="Render the scaling group with N copies. Repeatable.", metavar="GROUP=N"),
    ] = None,
    config: OfflineConfigOption = None,
    output: OutputOption = Output.YAML,
) -> None:
    """Print every object that the operator would create: cliques, gangs, services, pods and the rest.

    Needs no cluster; the same files always give the same output. Values that only a cluster assigns, such as UIDs, are
    readable placeholders. Exit code 1 if something is invalid, 2 if a file cannot be read.
    """
    from grove.api.serialization.manifests import check, permissive, read

    if output is Output.TABLE:
        raise CommandError("whole objects do not fit into a table", "use --output yaml or json", Exit.USAGE)
    copies = dict(_copies(s) for s in scale or [])
    sources, unreadable = read_sources(filename)
    if unreadable:
        raise CommandError("; ".join(unreadable), code=Exit.USAGE)
    configuration = read_configuration(config) if config else permissive()
    report = check(sources, configuration)
    if report.findings:
        print_report(report, stderr=True)
    if report.errors:
        raise SystemExit(int(Exit.NO))

    from grove.cli.render.offline import Offline
    from grove.plan.render import Sizes

    offline = Offline(read(sources), configuration)
    _check_names(offline, filename, copies)
    objects = offline.render(Sizes(replicas, copies))
    for note in offline.notes:
        sys.stderr.write(f"note: {note}\n")
    print_data(objects, output)


def _copies(text: str) -> tuple[str, int]:
    group, _, number = text.partition("=")
    if not (group and number.isdecimal()):
        raise CommandError(
            f"--scale {text}: this is not GROUP=N",
            "write it as in --scale prefill=3",
            Exit.USAGE,
        )
    return group, int(number)


def _check_names(offline: "Offline", filename: list[str], copies: dict[str, int]) -> None:
    if not offline.sets:
        where = ", ".join(filename)
        raise CommandError(f"there is no PodCliqueSet in {where}", "name a file that contains one: -f FILE")
    known = [g.name for pcs in offline.sets for g in pcs.spec.template.pod_clique_scaling_groups]
    for group, number in copies.items():
        if group not in known:
            there = f"the groups are {', '.join(known)}" if known else "the set has no scaling groups"
            raise CommandError(f"--scale {group}={number}: there is no such group", there, Exit.USAGE)
