"""What the terminal shows: the steps so far, and every gang with its pods. Reads the operator's caches."""

import re
from collections.abc import Sequence

from grove.api import PodGang, labels
from grove.api.pod_view import Pod
from grove.operator.assembly import Operator
from grove.plan.gangs.gates import plan_gates
from grove.plan.pod_state import is_gated, is_ready, is_scheduled, is_terminating
from grove.runtime.client.objects import ObjectKey, key_of
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

SYMBOLS = {
    "gated": ("▒", "yellow"),
    "pending": ("○", "yellow"),
    "starting": ("◐", "cyan"),
    "ready": ("●", "green"),
    "terminating": ("×", "red"),
}


class Board:
    def __init__(self, operator: Operator) -> None:
        self._informers = operator.informers
        self._registry = operator.context.registry

    def render(self, steps: Sequence[tuple[str, str]]) -> RenderableType:
        """`steps` are titles with results. An empty result marks the step that is in progress."""
        progress = Table.grid(padding=(0, 1))
        for title, result in steps:
            mark = Text("✓", "bold green") if result else Text("…", "bold yellow")
            progress.add_row(mark, Text(title, "bold"), Text(result, "green"))
        heading = Text("Grove on the embedded cluster", "bold")
        if not self._informers.gangs.cache:
            return Group(heading, progress)
        gangs = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
        for column in ("PODGANG", "PHASE", "CLIQUE", "PODS", "WAITING FOR"):
            gangs.add_column(column, no_wrap=True)
        for gang in sorted(self._informers.gangs.cache, key=lambda g: g.metadata.name or ""):
            self._add_gang(gangs, gang)
        legend = Text("  ".join(f"{symbol} {name}" for name, (symbol, _) in SYMBOLS.items()), "dim")
        return Group(heading, progress, "", gangs, "", legend)

    def _add_gang(self, table: Table, gang: PodGang) -> None:
        phase = gang.status.phase if gang.status else "new"
        style = {"Running": "green", "Starting": "cyan"}.get(phase, "yellow")
        name = gang.metadata.name or ""
        set_replica = f"{gang.metadata.labels.get(labels.PART_OF, '')}-0-"
        for n, group in enumerate(gang.spec.pod_groups):
            pods = sorted(self._pods_of(gang, group.name), key=lambda p: p.spec.hostname or "")
            table.add_row(
                Text(name if n == 0 else ""),
                Text(phase if n == 0 else "", style),
                Text(group.name.removeprefix(set_replica)),
                Text.assemble(*(_symbol(p) for p in pods)),
                Text(self._waiting_for(gang, group.name, pods), "dim"),
            )

    def _waiting_for(self, gang: PodGang, clique: str, pods: list[Pod]) -> str:
        backend = self._registry.get(gang.metadata.labels.get(labels.SCHEDULER_BACKEND, ""))
        base_name = next((p.metadata.labels.get(labels.BASE_POD_GANG, "") for p in pods), "")
        base = (
            self._informers.gangs.cache.get(ObjectKey(gang.metadata.namespace or "", base_name))
            if base_name
            else gang
        )
        return plan_gates(clique, pods, backend.gate, gang, base).waiting_for if backend else ""

    def _pods_of(self, gang: PodGang, clique: str) -> list[Pod]:
        return [
            p
            for p in self._informers.pods.cache.by_index("gang", key_of(gang))
            if p.metadata.labels.get(labels.POD_CLIQUE) == clique
        ]


def without_web_fonts(svg: str) -> str:
    """Removes the fonts that rich would let the reader's browser download: its own monospaced font will do."""
    return re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)


def _symbol(pod: Pod) -> tuple[str, str]:
    if is_terminating(pod):
        return SYMBOLS["terminating"]
    if is_gated(pod) and pod.spec.scheduling_gates:
        return SYMBOLS["gated"]
    if is_ready(pod):
        return SYMBOLS["ready"]
    return SYMBOLS["starting" if is_scheduled(pod) else "pending"]
