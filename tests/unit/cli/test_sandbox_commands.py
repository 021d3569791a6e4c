"""grove-sandbox adds `grove demo` and `grove sandbox`. Without it these two fail with a remedy, and only these."""

import subprocess
import sys
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from grove.cli import sandbox_commands
from grove.cli.output import CommandError, Exit
from grove.cli.sandbox_commands import ENTRY_POINT_GROUP, add_sandbox_commands

called: list[str] = []


def demo(pace: str = "slow") -> None:
    """Play."""
    called.append(f"demo {pace}")


sandbox = typer.Typer(help="Clusters.")


@sandbox.command()
def up() -> None:
    """Start."""
    called.append("sandbox up")


@sandbox.command()
def down() -> None:
    """Stop."""


def app_with(monkeypatch: pytest.MonkeyPatch, **declared: str) -> typer.Typer:
    """An app with the sandbox commands that these entry points declare."""
    found = EntryPoints(EntryPoint(name, value, ENTRY_POINT_GROUP) for name, value in declared.items())
    monkeypatch.setattr(sandbox_commands, "entry_points", lambda group: found.select(group=group))
    app = typer.Typer()
    app.command("validate")(lambda: called.append("validate"))
    add_sandbox_commands(app)
    return app


@pytest.fixture(autouse=True)
def nothing_called_yet() -> None:
    called.clear()


def test_installed_commands_run(monkeypatch: pytest.MonkeyPatch) -> None:
    app = app_with(monkeypatch, demo=f"{__name__}:demo", sandbox=f"{__name__}:sandbox")
    assert CliRunner().invoke(app, ["demo", "--pace", "fast"]).exit_code == 0
    assert CliRunner().invoke(app, ["sandbox", "up"]).exit_code == 0
    assert called == ["demo fast", "sandbox up"]


@pytest.mark.parametrize("args", [["demo"], ["demo", "--scheduler", "kai"], ["sandbox", "up", "-n", "3"]])
def test_absent_commands_say_how_to_install_them(monkeypatch: pytest.MonkeyPatch, args: list[str]) -> None:
    error = CliRunner().invoke(app_with(monkeypatch), args).exception
    assert isinstance(error, CommandError)
    assert (error.code, str(error)) == (
        Exit.USAGE,
        f"`grove {args[0]}` needs the embedded cluster, which is not installed",
    )
    assert "pip install 'grove-operator[sandbox]'" in error.hint


@pytest.mark.parametrize("target", ["no_such_module:demo", f"{__name__}:no_such_name"])
def test_a_command_that_cannot_be_imported_breaks_no_other(
    monkeypatch: pytest.MonkeyPatch, target: str
) -> None:
    app = app_with(monkeypatch, demo=target)
    error = CliRunner().invoke(app, ["demo"]).exception
    assert isinstance(error, CommandError)
    assert "no_such" in str(error)
    assert "same version" in error.hint
    assert CliRunner().invoke(app, ["validate"]).exit_code == 0


def test_help_lists_both_commands_and_what_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    listed = CliRunner().invoke(app_with(monkeypatch, demo=f"{__name__}:demo"), ["--help"]).stdout
    assert "Play." in listed
    assert "Run the embedded cluster (not installed)." in listed


def test_without_the_sandbox_a_process_fails_with_the_remedy_and_no_traceback() -> None:
    code = """
import importlib.metadata, sys
importlib.metadata.entry_points = lambda **_: ()
sys.argv = ["grove", "demo", "--scheduler", "kai"]
from grove.cli.main import run
run()
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (found.returncode, found.stdout) == (2, "")
    assert found.stderr == (
        "error: `grove demo` needs the embedded cluster, which is not installed\n"
        "hint: install it: pip install 'grove-operator[sandbox]'\n"
    )


def test_this_checkout_has_both_commands() -> None:
    grove = Path(sys.executable).with_name("grove")
    listed = subprocess.run([grove, "--help"], capture_output=True, text=True, check=True).stdout
    assert "demo" in listed
    assert "sandbox" in listed
    assert "not installed" not in listed
