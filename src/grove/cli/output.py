"""Output formats, exit codes, and errors without a traceback, for all commands."""

import enum
import sys
from typing import Annotated, Any, NoReturn

import typer


class Output(enum.StrEnum):
    TABLE = "table"
    JSON = "json"
    YAML = "yaml"


OutputOption = Annotated[Output, typer.Option("--output", "-o", help="How to print the result.")]


class Exit(enum.IntEnum):
    """The exit codes; docs/cli.md documents them for scripts."""

    OK = 0
    NO = 1
    """The command ran, and its answer is no: something is invalid, not running, or not found."""
    USAGE = 2
    """Wrong arguments or configuration, or a file that cannot be read."""
    INTERNAL = 70
    """A bug in Grove."""


class CommandError(Exception):
    """An expected failure. `hint` says what the user can do about it."""

    def __init__(self, message: str, hint: str = "", code: Exit = Exit.NO) -> None:
        super().__init__(message)
        self.hint = hint
        self.code = code


def print_error(message: str, hint: str = "") -> None:
    bold, plain = ("\033[1;31m", "\033[0m") if sys.stderr.isatty() else ("", "")
    sys.stderr.write(f"{bold}error:{plain} {message}\n")
    if hint:
        sys.stderr.write(f"hint: {hint}\n")


def fail(error: CommandError) -> NoReturn:
    print_error(str(error), error.hint)
    raise SystemExit(int(error.code))


def print_data(value: Any, output: Output) -> None:
    """Prints JSON or YAML; a list becomes a JSON array, or one YAML document per item."""
    if output is Output.JSON:
        import orjson

        sys.stdout.write(orjson.dumps(value, option=orjson.OPT_INDENT_2).decode() + "\n")
        return
    from grove.api.serialization import yaml

    sys.stdout.write(yaml.dump_all(value) if isinstance(value, list) else yaml.dump(value))
