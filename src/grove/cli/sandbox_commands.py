"""The commands of the embedded cluster, `grove demo` and `grove sandbox`, which the distribution grove-sandbox adds.

grove-sandbox names them as entry points of the group `grove.commands`. Without it, both commands say how to install it.
"""

from importlib.metadata import entry_points

import typer

from grove.cli.output import CommandError, Exit

ENTRY_POINT_GROUP = "grove.commands"
HELP_IF_ABSENT = {
    "demo": "Watch a gang live its whole life on the embedded cluster (not installed).",
    "sandbox": "Run the embedded cluster (not installed).",
}


def add_sandbox_commands(app: typer.Typer) -> None:
    """Adds the commands that are installed, and for each that is absent one that fails with a remedy."""
    installed = {entry_point.name: entry_point for entry_point in entry_points(group=ENTRY_POINT_GROUP)}
    for name, text in HELP_IF_ABSENT.items():
        if name not in installed:
            _add_absent(app, name, text)
            continue
        command = installed[name].load()
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=name)
        else:
            app.command(name)(command)


def _add_absent(app: typer.Typer, name: str, text: str) -> None:
    @app.command(name, help=text, context_settings={"ignore_unknown_options": True, "allow_extra_args": True})
    def absent() -> None:
        raise CommandError(
            f"`grove {name}` needs the embedded cluster, which is not installed",
            "install it: pip install 'grove-operator[sandbox]'",
            Exit.USAGE,
        )
