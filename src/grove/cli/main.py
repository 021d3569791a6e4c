"""The `grove` command itself: its subcommands and its exit codes."""

import os
import sys
from typing import Annotated

import typer

from grove.cli.crds import crds
from grove.cli.explain.command import explain
from grove.cli.operator import backend, operator
from grove.cli.output import CommandError, Exit, fail, print_error
from grove.cli.render.command import render
from grove.cli.sandbox_commands import add_sandbox_commands
from grove.cli.validate import validate

app = typer.Typer(
    name="grove",
    help="Gang scheduling for any Kubernetes scheduler.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        from grove import __version__

        typer.echo(f"grove {__version__}")
        raise typer.Exit


@app.callback()
def grove(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Gang scheduling for any Kubernetes scheduler."""


app.command()(validate)
app.command()(render)
app.command()(crds)
app.command()(explain)
app.command()(operator)
app.command()(backend)
add_sandbox_commands(app)


def run() -> None:
    """The entry point. Exits with a code of `Exit`, and prints a traceback only if GROVE_DEBUG is set."""
    called_as = os.path.basename(sys.argv[0])  # noqa: PTH119
    try:
        app(prog_name="kubectl grove" if called_as == "kubectl-grove" else "grove")
    except CommandError as e:
        fail(e)
    except BrokenPipeError:
        # The reader of the pipe (head, less) has closed it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except Exception as e:
        if os.environ.get("GROVE_DEBUG"):
            raise
        print_error(f"{type(e).__name__}: {e}", "this is a bug in Grove; GROVE_DEBUG=1 prints the traceback")
        raise SystemExit(int(Exit.INTERNAL)) from e
