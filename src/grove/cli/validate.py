"""`grove validate`: checks manifests offline and prints what it finds like a compiler."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from grove.cli.output import CommandError, Exit, Output, OutputOption, print_data, print_error

if TYPE_CHECKING:
    from rich.console import Console

    from grove.api.config import OperatorConfiguration
    from grove.api.serialization.manifests import ManifestFinding, Report, Source

_SUFFIXES = (".yaml", ".yml", ".json")


def validate(
    filename: Annotated[
        list[str],
        typer.Option(
            "--filename", "-f", help="A file, a folder (with all below it), or - for standard input."
        ),
    ],
    config: Annotated[
        Path | None,
        typer.Option(
            help="The operator's configuration. Without it, whatever some cluster could allow is allowed."
        ),
    ] = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Check manifests without a cluster: every mistake, with file, line and remedy.

    Exit code 1 when something is invalid, 2 when a file cannot be read.
    """
    from grove.api.serialization.manifests import check

    sources, unreadable = read_sources(filename)
    report = check(sources, read_configuration(config))
    if output is Output.TABLE:
        print_report(report)
    else:
        print_data(_as_data(report), output)
    for message in unreadable:
        print_error(message)
    if unreadable:
        raise SystemExit(int(Exit.USAGE))
    if report.errors:
        raise SystemExit(int(Exit.NO))


def read_sources(filenames: list[str]) -> "tuple[list[Source], list[str]]":
    """The texts, and what could not be read."""
    from grove.api.serialization.manifests import Source

    sources: list[Source] = []
    unreadable: list[str] = []
    for name in filenames:
        if name == "-":
            sources.append(Source("<stdin>", sys.stdin.read()))
            continue
        path = Path(name)
        files = sorted(p for p in path.rglob("*") if p.suffix in _SUFFIXES) if path.is_dir() else [path]
        if not files:
            unreadable.append(f"{name}: no {', '.join(_SUFFIXES)} files in this folder")
        for file in files:
            try:
                text = file.read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError) as e:
                unreadable.append(f"{file}: {getattr(e, 'strerror', None) or 'this is not UTF-8 text'}")
            else:
                # JSON may be indented with tabs, which YAML does not take for space.
                sources.append(Source(str(file), text.expandtabs() if file.suffix == ".json" else text))
    return sources, unreadable


def read_configuration(path: Path | None) -> "OperatorConfiguration | None":
    if path is None:
        return None
    from grove.api.config import OperatorConfiguration
    from grove.api.serialization.codec import DecodeError
    from grove.api.serialization.yaml import YamlError

    try:
        return OperatorConfiguration.from_yaml(path.read_text(encoding="utf-8"))
    except OSError as e:
        raise CommandError(f"{path}: {e.strerror}", code=Exit.USAGE) from e
    except (DecodeError, YamlError) as e:
        raise CommandError(f"{path}: {e}", "mend the configuration first", Exit.USAGE) from e


def print_report(report: "Report", *, stderr: bool = False) -> None:
    from rich.console import Console

    console = Console(soft_wrap=True, highlight=False, stderr=stderr)
    for finding in report.findings:
        _print_finding(console, finding)
    objects = f"{report.checked} object{'' if report.checked == 1 else 's'} checked"
    if report.skipped:
        objects += f", {report.skipped} of other kinds skipped"
    verdict = "ok" if not report.findings else f"{report.errors} errors, {report.warnings} warnings"
    console.print(f"{verdict} ({objects})", markup=False)


def _print_finding(console: "Console", finding: "ManifestFinding") -> None:
    from rich.text import Text

    kind, style = ("warning", "bold yellow") if finding.warning else ("error", "bold red")
    path = f"{finding.path}: " if finding.path else ""
    console.print(
        Text.assemble(
            (f"{finding.file}:{finding.line}: ", "bold"),
            (f"{kind}: ", style),
            (path, "cyan"),
            finding.message,
        )
    )
    if finding.remedy:
        console.print(Text.assemble(("    help: ", "green"), finding.remedy))


def _as_data(report: "Report") -> dict[str, object]:
    findings = [
        {
            "file": f.file,
            "line": f.line,
            "path": f.path,
            "severity": "warning" if f.warning else "error",
            "message": f.message,
            "remedy": f.remedy,
        }
        for f in report.findings
    ]
    counts = {
        "checked": report.checked,
        "skipped": report.skipped,
        "errors": report.errors,
        "warnings": report.warnings,
    }
    return {"valid": report.errors == 0, **counts, "findings": findings}
