"""Prints an explanation for people: the answer, then the cause, the remedy, and the counts per clique."""

import sys

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from grove.api.reasons import RunReason, Step, Weight
from grove.plan.explain import CliqueCounts, Explanation, Finding

# A larger set lists this many cliques, the ones that do not run first.
MAX_CLIQUE_ROWS = 20
# Wide enough that nothing is cut off in a file or a pipe.
FILE_WIDTH = 240

STATES = {
    "Running": ("runs", "bold green"),
    "Degraded": ("runs in part", "bold yellow"),
    "NotRunning": ("does not run", "bold red"),
}
SHORT = {Step.MADE: "made", Step.SYNCED: "in sync", Step.CREATED: "pods", Step.UNGATED: "gates"}
STYLES = {
    Weight.STUCK: "red",
    Weight.PASSING: "yellow",
    Weight.BEHIND: "yellow",
    Weight.FINE: "green",
    Weight.NOTE: "cyan",
}


def print_explanation(found: Explanation, *, again: bool = False) -> None:
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=FILE_WIDTH)
    with console.capture() as drawn:
        console.print(renderable(found))
    lines = [line.rstrip() for line in drawn.get().splitlines()]
    sys.stdout.write("\n".join(["", *lines, ""] if again else [*lines, ""]))


def renderable(found: Explanation) -> RenderableType:
    blocks: list[RenderableType] = [_headline(found), Padding(_facts(found), (0, 0, 0, 2), expand=False)]
    if found.cliques:
        blocks += ["", Padding(_counts(found), (0, 0, 0, 2), expand=False)]
    others = _others(found)
    if others:
        blocks += ["", Padding(Group(*others), (0, 0, 0, 2), expand=False)]
    return Group(*blocks)


def _headline(found: Explanation) -> Text:
    words, style = STATES[found.state]
    return Text.assemble(
        (f"{found.kind} ", "dim"),
        (f"{found.namespace}/{found.name} ", "bold"),
        (words, style),
        ": ",
        (found.reason, f"bold {STYLES[found.reason.weight]}"),
    )


def _facts(found: Explanation) -> Table:
    facts = Table.grid(padding=(0, 2, 0, 0))
    facts.add_column(style="dim", no_wrap=True)
    facts.add_column(overflow="fold")
    facts.add_row("", found.meaning)
    facts.add_row("what", Text.assemble((f"{found.about}: ", "bold"), _message(found)))
    for said in found.said:
        facts.add_row("said", Text.assemble((f"{said.by}: ", "cyan"), said.text))
    if not found.running:
        facts.add_row("step", _steps(found.step))
        facts.add_row("next", Text(found.next, "bold"))
        facts.add_row("do", Text(found.remedy, "green"))
        facts.add_row("more", Text(f"docs/troubleshooting.md#{found.reason.lower()}", "dim"))
    if found.backend:
        chosen = f" ({found.chosen_by})" if found.chosen_by else ""
        facts.add_row("backend", f"{found.backend}, scheduler {found.scheduler}{chosen}")
    if found.dialect:
        facts.add_row("dialect", found.dialect)
    return facts


def _message(found: Explanation | Finding) -> str:
    return f"{found.pods} pods, e.g. {found.message}" if found.pods > 1 else found.message


def _steps(current: Step) -> Text:
    line = Text()
    now = list(Step).index(current)
    for n, step in enumerate(Step):
        word = SHORT.get(step, step.value)
        if n:
            line.append(" > ", "dim")
        if n == now:
            line.append(f"[{word}]", "bold red")
        else:
            line.append(word, "green" if n < now else "dim")
    return line


def _counts(found: Explanation) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", pad_edge=False)
    table.add_column("CLIQUE", overflow="fold")
    for column in ("WANTED", "MIN", "CREATED", "GATED", "SCHEDULED", "READY"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("REASON", no_wrap=True)
    rows = list(found.cliques)
    if len(rows) > MAX_CLIQUE_ROWS:
        rows.sort(key=lambda c: c.reason.fine)
    for clique in rows[:MAX_CLIQUE_ROWS]:
        table.add_row(*_row(clique))
    if len(rows) > MAX_CLIQUE_ROWS:
        table.add_row(Text(f"and {len(rows) - MAX_CLIQUE_ROWS} more", "dim"))
    return table


def _row(clique: CliqueCounts) -> list[Text]:
    numbers = (clique.created, clique.gated, clique.scheduled, clique.ready)
    enough = (
        "green" if clique.ready >= clique.wanted else "yellow" if clique.ready >= clique.minimum else "red"
    )
    styles = ("", "yellow" if clique.gated else "", "", enough)
    reason = "" if clique.reason is RunReason.RUNNING else clique.reason.value
    return [
        Text(clique.name),
        Text(str(clique.wanted)),
        Text(str(clique.minimum)),
        *(Text(str(n), style) for n, style in zip(numbers, styles, strict=True)),
        Text(reason, STYLES[clique.reason.weight]),
    ]


def _others(found: Explanation) -> list[Text]:
    """One line for each other reason, with how often it occurs."""
    first = {f.reason: f for f in reversed(found.findings) if f.reason is not found.reason}
    counts = {reason: sum(f.reason is reason for f in found.findings) for reason in first}
    return [
        Text.assemble(
            ("note  " if f.reason.weight is Weight.NOTE else "also  ", "dim"),
            (f"{f.reason} ", STYLES[f.reason.weight]),
            (f"{f.about}: ", "bold"),
            _message(f),
            (f" (and {counts[f.reason] - 1} more)" if counts[f.reason] > 1 else "", "dim"),
        )
        for f in sorted(first.values(), key=lambda f: f.rank)
    ]
