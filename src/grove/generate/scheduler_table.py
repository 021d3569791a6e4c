"""The table of docs/choosing-a-scheduler.md: what the backends declare, and what real runs showed of it.

`python -m grove.generate ROOT` writes it.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from grove.schedulers.backend import Backend
from grove.schedulers.guarantees import Guarantee, SchedulerVariant
from grove.schedulers.installed import built_in

PAGE = "docs/choosing-a-scheduler.md"
RESULTS = "docs/schedulers/results.json"
BEGIN = "<!-- made by `make docs` from what the backends declare and docs/schedulers/results.json -->"
END = "<!-- end -->"


class RecordedRun(msgspec.Struct, frozen=True):
    """The real tests of one scheduler variant: what they ran on, how many passed, which guarantees they showed."""

    versions: list[str]
    passed: int
    guarantees: list[str]


def results(root: Path) -> dict[str, RecordedRun]:
    """The latest recorded run of each scheduler variant, by its key."""
    return msgspec.json.decode((root / RESULTS).read_bytes(), type=dict[str, RecordedRun])


def variants() -> list[tuple[Backend, SchedulerVariant]]:
    """The variants that Grove's own backends declare; backends of other distributions are left out."""
    ours = [factory({}) for factory in built_in().values()]
    return [(b, variant) for b in ours for variant in b.variants]


def page(root: Path) -> str:
    """The page with a fresh table. The text around the table is written by hand."""
    text = (root / PAGE).read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{table(variants(), results(root))}\n{END}{after}"


def table(columns: Sequence[tuple[Backend, SchedulerVariant]], runs: Mapping[str, RecordedRun]) -> str:
    """One column for each variant. Guarantees that a real run showed are bold."""
    rows: list[list[Any]] = [
        ["", *(v.title for _, v in columns)],
        ["---"] * (len(columns) + 1),
        ["backend", *(f"`{b.name}`" for b, _ in columns)],
        ["schedulerName", *(f"`{b.scheduler_name}`" for b, _ in columns)],
        *([g.value, *(_cell(g, v, runs.get(v.key)) for _, v in columns)] for g in Guarantee),
        ["was run with", *(_versions(runs.get(v.key)) for _, v in columns)],
        ["real tests passed", *(str(runs[v.key].passed) if v.key in runs else "-" for _, v in columns)],
    ]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _cell(guarantee: Guarantee, variant: SchedulerVariant, run: RecordedRun | None) -> str:
    if guarantee in variant.given:
        text = variant.given[guarantee]
        yes = "**yes**" if run is not None and guarantee.name in run.guarantees else "yes"
        return yes if text == "yes" else f"{yes}: {text}"
    return f"no: {variant.otherwise[guarantee]}" if guarantee in variant.otherwise else "no"


def _versions(run: RecordedRun | None) -> str:
    return ", ".join(run.versions) if run is not None else "-"
