"""The table of docs/choosing-a-scheduler.md: what the backends declare, and what real runs showed of it.

python -m grove.generate ROOT      writes it anew
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from grove.schedulers.backend import Backend
from grove.schedulers.promises import Offer, Promise
from grove.schedulers.registry import installed

PAGE = "docs/choosing-a-scheduler.md"
RESULTS = "docs/schedulers/results.json"
BEGIN = "<!-- made by `make docs` from what the backends declare and docs/schedulers/results.json -->"
END = "<!-- end -->"


class Shown(msgspec.Struct, frozen=True):
    """What the real tests of one offer came to: what they ran on, how many passed, the promises that they are about."""

    versions: list[str]
    passed: int
    promises: list[str]


def results(root: Path) -> dict[str, Shown]:
    """Of the latest recorded run of each offer, by its key."""
    return msgspec.json.decode((root / RESULTS).read_bytes(), type=dict[str, Shown])


def offers() -> list[tuple[Backend, Offer]]:
    """Those of Grove's own backends."""
    ours = [factory({}) for factory in installed().values() if factory.__module__.startswith("grove.")]
    return [(b, offer) for b in ours for offer in b.variants]


def page(root: Path) -> str:
    """The page with its table made anew. What stands around it is written by hand."""
    text = (root / PAGE).read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{table(offers(), results(root))}\n{END}{after}"


def table(offered: Sequence[tuple[Backend, Offer]], shown: Mapping[str, Shown]) -> str:
    """One column for each offer. Promises that a real run showed are bold."""
    rows: list[list[Any]] = [
        ["", *(o.title for _, o in offered)],
        ["---"] * (len(offered) + 1),
        ["backend", *(f"`{b.name}`" for b, _ in offered)],
        ["schedulerName", *(f"`{b.scheduler_name}`" for b, _ in offered)],
        *([p.value, *(_cell(p, o, shown.get(o.key)) for _, o in offered)] for p in Promise),
        ["was run with", *(_versions(shown.get(o.key)) for _, o in offered)],
        ["real tests passed", *(str(shown[o.key].passed) if o.key in shown else "-" for _, o in offered)],
    ]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _cell(promise: Promise, offer: Offer, shown: Shown | None) -> str:
    if promise in offer.kept:
        text = offer.kept[promise]
        yes = "**yes**" if shown is not None and promise.name in shown.promises else "yes"
        return yes if text == "yes" else f"{yes}: {text}"
    return f"no: {offer.instead[promise]}" if promise in offer.instead else "no"


def _versions(shown: Shown | None) -> str:
    return ", ".join(shown.versions) if shown is not None else "-"
