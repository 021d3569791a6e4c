"""`grove validate`: checks manifests without a cluster and prints mistakes as a compiler does."""

from typing import TYPE_CHECKING

from grove.cli.files import read_configuration, read_sources
from grove.cli.options import FilenameOption, OfflineConfigOption
from grove.cli.output import Exit, Output, OutputOption, print_data, print_error

if TYPE_CHECKING:
    from rich.console import Console

    from grove.api.serialization.manifests import ManifestFinding, Report


def validate(
    filename: FilenameOption, config: OfflineConfigOption = None, output: OutputOption = Output.TABLE
) -> None:
    """Check manifests without a cluster: every mistake, with file, line and remedy.

    Exit code 1 if something is invalid, 2 if a file cannot be read.
    """
    from grove.api.serialization.manifests import check

    sources, unreadable = read_sources(filename)
    report = check(sources, read_configuration(config) if config else None)
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
