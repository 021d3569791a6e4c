"""`grove demo` and `grove sandbox`, which the distribution grove-sandbox adds.

grove-sandbox declares them as entry points of the group `grove.commands`. If it is not installed, or if its commands
cannot be imported, both names stay in `grove --help` and fail with a remedy: no other command is affected.
"""

from importlib.metadata import entry_points
from typing import Any

import typer

from grove.cli.output import CommandError, Exit

ENTRY_POINT_GROUP = "grove.commands"
SANDBOX_COMMANDS = {
    "demo": "Watch a gang start, run and end on the embedded cluster",
    "sandbox": "Run the embedded cluster",
}
INSTALL = "install it: pip install 'grove-operator[sandbox]'"
REINSTALL = "install the grove-sandbox of the same version: pip install 'grove-operator[sandbox]'"


def add_sandbox_commands(app: typer.Typer) -> None:
    declared = {entry_point.name: entry_point for entry_point in entry_points(group=ENTRY_POINT_GROUP)}
    for name, summary in SANDBOX_COMMANDS.items():
        if name not in declared:
            problem = f"`grove {name}` needs the embedded cluster, which is not installed"
            _add_failing(app, name, f"{summary} (not installed).", CommandError(problem, INSTALL, Exit.USAGE))
            continue
        try:
            command = declared[name].load()
        except (ImportError, AttributeError) as e:
            problem = f"`grove {name}` cannot be loaded: {e}"
            _add_failing(app, name, f"{summary} (broken).", CommandError(problem, REINSTALL, Exit.USAGE))
        else:
            _add(app, name, command)


def _add(app: typer.Typer, name: str, command: Any) -> None:
    if isinstance(command, typer.Typer):
        app.add_typer(command, name=name)
    else:
        app.command(name)(command)


def _add_failing(app: typer.Typer, name: str, summary: str, error: CommandError) -> None:
    """Accepts any arguments, so that the user reads the remedy and not a complaint about an option."""

    @app.command(
        name, help=summary, context_settings={"ignore_unknown_options": True, "allow_extra_args": True}
    )
    def fail() -> None:
        raise error
