"""The demonstration itself: an embedded cluster, an operator in it, a set that lives its life, and a board to watch."""

import asyncio
import re
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import orjson
from grove.api import PodCliqueSet, PodGang, labels
from grove.api.config import OperatorConfiguration
from grove.api.pod_view import Pod
from grove.api.serialization.crds import all_crds
from grove.operator.assembly import Operator, utc_now
from grove.plan.gangs.gates import plan_gates
from grove.plan.pod_state import is_gated, is_ready, is_scheduled, is_terminating
from grove.runtime.client.objects import ObjectKey, key_of
from grove.schedulers.registry import Registry
from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from grove_sandbox.cluster import EmbeddedCluster
from grove_sandbox.commands.sandbox import write_kubeconfig
from grove_sandbox.http import serve

SET = ObjectKey("default", "llama")
GROUP = ObjectKey("default", "llama-0-prefill")

# How long a step may take before it counts as failed, and how long each picture stands at least.
PATIENCE = 30.0
PAUSE = 1.2

SYMBOLS = {
    "gated": ("▒", "yellow"),
    "waiting": ("○", "yellow"),
    "starting": ("◐", "cyan"),
    "ready": ("●", "green"),
}
LEAVING = ("×", "red")


_UNLIMITED = {kind: {"limit": -1, "quota": -1} for kind in ("cpu", "memory", "gpu")}


@dataclass(frozen=True)
class DemoScheduler:
    """A simulated scheduler, the name that pods ask for it by, and the objects that it needs to be there."""

    simulated: str
    name: str
    needs: tuple[tuple[str, dict[str, Any]], ...] = ()


def _kai_queue(name: str, **spec: Any) -> tuple[str, dict[str, Any]]:
    queue = {"apiVersion": "scheduling.run.ai/v2", "kind": "Queue", "metadata": {"name": name}}
    return "/apis/scheduling.run.ai/v2/queues", queue | {"spec": {"resources": _UNLIMITED, **spec}}


SCHEDULERS = {
    "default": DemoScheduler("kube-1.37", "default-scheduler"),
    "kai": DemoScheduler(
        "kai", "kai-scheduler", (_kai_queue("all"), _kai_queue("default-queue", parentQueue="all"))
    ),
    "koordinator": DemoScheduler("koordinator", "koord-scheduler"),
    "volcano": DemoScheduler("volcano", "volcano"),
    "yunikorn": DemoScheduler("yunikorn", "yunikorn"),
}


class StepFailedError(Exception):
    """A step of the demonstration was not seen to happen."""


class Demonstration:
    def __init__(
        self, cluster: EmbeddedCluster, operator: Operator, console: Console, scheduler: str
    ) -> None:
        self.scheduler = scheduler
        self.cluster = cluster
        self.informers = operator.informers
        self._registry = operator.context.registry
        self.console = console
        self.steps: list[tuple[str, str]] = []
        self.changed = asyncio.Event()
        self.moment: RenderableType | None = None
        for informer in (
            self.informers.pods,
            self.informers.gangs,
            self.informers.cliques,
            self.informers.sets,
        ):
            informer.cache.subscribe(lambda change: self.changed.set())

    async def step(self, title: str, act: Callable[[], Awaitable[Any]], seen: Callable[[], str]) -> None:
        """Does something, and waits until `seen` says what came of it."""
        self.steps.append((title, ""))
        await act()
        try:
            async with asyncio.timeout(PATIENCE):
                while not (result := seen()):
                    self._remember_the_moment()
                    self.changed.clear()
                    await self.changed.wait()
        except TimeoutError:
            raise StepFailedError(f"{title}: not seen within {PATIENCE:.0f} seconds") from None
        self.steps[-1] = (title, result)
        if not self.console.is_terminal and not self.console.record:
            self.console.print(f"ok  {title}: {result}", highlight=False, soft_wrap=True)
        await asyncio.sleep(PAUSE)

    def _remember_the_moment(self) -> None:
        """For the picture: the first view of a third gang that is on its way."""
        gangs = list(self.informers.gangs.cache)
        starting = [g for g in gangs if g.status is not None and g.status.phase == "Starting"]
        if self.moment is None and len(gangs) == 3 and starting:
            self.moment = self.board()

    def running(self, gangs: int, pods: int) -> str:
        """What there is, once so many gangs run with so many ready pods, and nothing else."""
        found = list(self.informers.gangs.cache)
        ready = [p for p in self.informers.pods.cache if is_ready(p)]
        whole = len(found) == gangs and all(g.status and g.status.phase == "Running" for g in found)
        if whole and len(ready) == pods == len(self.informers.pods.cache):
            return f"{gangs} gangs, {pods} pods, all running"
        return ""

    def board(self) -> RenderableType:
        """The picture of this moment: what was done, and every gang with its pods."""
        told = Table.grid(padding=(0, 1))
        for title, result in self.steps:
            mark = Text("✓", "bold green") if result else Text("…", "bold yellow")
            told.add_row(mark, Text(title, "bold"), Text(result, "green"))
        heading = Text("Grove on the embedded cluster", "bold")
        if not self.informers.gangs.cache:
            return Group(heading, told)
        gangs = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
        for column in ("PODGANG", "PHASE", "CLIQUE", "PODS", "WAITING FOR"):
            gangs.add_column(column, no_wrap=True)
        for gang in sorted(self.informers.gangs.cache, key=lambda g: g.metadata.name or ""):
            self._add_gang(gangs, gang)
        legend = Text("  ".join(f"{s} {name}" for name, (s, _) in SYMBOLS.items()) + "  × leaving", "dim")
        return Group(heading, told, "", gangs, "", legend)

    def _add_gang(self, table: Table, gang: PodGang) -> None:
        phase = gang.status.phase if gang.status else "new"
        style = {"Running": "green", "Starting": "cyan"}.get(phase, "yellow")
        name = gang.metadata.name or ""
        for n, group in enumerate(gang.spec.pod_groups):
            pods = sorted(self._pods_of(gang, group.name), key=lambda p: p.spec.hostname or "")
            table.add_row(
                Text(name if n == 0 else ""),
                Text(phase if n == 0 else "", style),
                Text(group.name.removeprefix(f"{SET.name}-0-")),
                Text.assemble(*(_symbol(p) for p in pods)),
                Text(self._waiting_for(gang, group.name, pods), "dim"),
            )

    def _waiting_for(self, gang: PodGang, clique: str, pods: list[Pod]) -> str:
        backend = self._registry.get(gang.metadata.labels.get(labels.SCHEDULER_BACKEND, ""))
        base_name = next((p.metadata.labels.get(labels.BASE_POD_GANG, "") for p in pods), "")
        base = (
            self.informers.gangs.cache.get(ObjectKey(gang.metadata.namespace or "", base_name))
            if base_name
            else gang
        )
        return plan_gates(clique, pods, backend.gate, gang, base).waiting_for if backend else ""

    def _pods_of(self, gang: PodGang, clique: str) -> list[Pod]:
        return [
            p
            for p in self.informers.pods.cache.by_index("gang", key_of(gang))
            if p.metadata.labels.get(labels.POD_CLIQUE) == clique
        ]


def _without_web_fonts(svg: str) -> str:
    """A picture must not fetch anything: whoever looks at it has a monospaced font."""
    return re.sub(r"@font-face \{\{.*?\}\}\s*", "", svg, flags=re.DOTALL)


def _symbol(pod: Pod) -> tuple[str, str]:
    if is_terminating(pod):
        return LEAVING
    if is_gated(pod) and pod.spec.scheduling_gates:
        return SYMBOLS["gated"]
    if is_ready(pod):
        return SYMBOLS["ready"]
    return SYMBOLS["starting" if is_scheduled(pod) else "waiting"]


async def play(scheduler: str, *, keep: bool = False, svg: Path | None = None) -> None:
    """Raises StepFailedError at the first step that was not seen to happen."""
    console = Console(record=svg is not None, width=118 if svg else None)
    chosen = SCHEDULERS[scheduler]
    async with (
        EmbeddedCluster(nodes=6, now=utc_now, schedulers=[chosen.simulated]) as cluster,
        operating(cluster) as operator,
    ):
        for path, needed in chosen.needs:
            await cluster.create(path, needed)
        shown = Demonstration(cluster, operator, console, chosen.name)
        if console.is_terminal and svg is None:
            with Live(get_renderable=shown.board, console=console, refresh_per_second=12, transient=True):
                await _act(shown)
            console.print(shown.board())
        else:
            await _act(shown)
        if svg is not None:
            console.print(shown.moment)
            console.print(
                *(f"[green]✓[/] [bold]{t}[/]  [green]{r}[/]" for t, r in shown.steps[2:]),
                sep="\n",
                highlight=False,
            )
        console.print("\n[bold green]Every step was seen to happen.[/]")
        if svg is not None:
            console.save_svg(str(svg), title="grove demo", code_format=_without_web_fonts(CONSOLE_SVG_FORMAT))
        if keep:
            await _stay(shown)


async def _act(shown: Demonstration) -> None:
    informers, cluster = shown.informers, shown.cluster
    path = "/apis/grove.io/v1alpha1/namespaces/default/podcliquesets"
    example = _example(shown.scheduler)

    async def scale(copies: int) -> None:
        await informers.groups.objects.set_scale(GROUP, copies)

    async def lose_a_pod() -> None:
        victim = min(informers.pods.cache, key=lambda p: p.spec.hostname or "")
        lost.append(victim)
        await informers.pods.objects.delete(key_of(victim))

    def replaced() -> str:
        new = [p for p in informers.pods.cache if p.spec.hostname == lost[0].spec.hostname and is_ready(p)]
        same = [p for p in new if p.metadata.uid == lost[0].metadata.uid]
        if not new or same or not shown.running(3, 17):
            return ""
        return f"{lost[0].metadata.name} is replaced by {new[0].metadata.name}, in its gang and with its hostname"

    def gone() -> str:
        caches = (
            informers.sets,
            informers.cliques,
            informers.groups,
            informers.gangs,
            informers.pods,
            informers.companions["Service"],
        )
        left = sum(len(i.cache) for i in caches)
        return "nothing is left" if not left else ""

    lost: list[Pod] = []
    await shown.step(
        "apply a set: router, prefill, decode",
        lambda: cluster.create(path, example),
        lambda: shown.running(2, 13),
    )
    await shown.step("scale prefill out to 3 copies", lambda: scale(3), lambda: shown.running(3, 17))
    await shown.step("lose a pod", lose_a_pod, replaced)
    await shown.step("scale prefill in to 2 copies", lambda: scale(2), lambda: shown.running(2, 13))
    await shown.step("delete the set", lambda: informers.sets.objects.delete(SET), gone)


@asynccontextmanager
async def operating(cluster: EmbeddedCluster) -> AsyncIterator[Operator]:
    """An operator on the cluster, with Grove's kinds installed."""
    for crd in all_crds():
        await cluster.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd)
    configuration = OperatorConfiguration()
    operator = Operator(
        cluster.client("grove-operator"), configuration, Registry(configuration.scheduler), now=utc_now
    )
    async with operator.running():
        yield operator


async def _stay(shown: Demonstration) -> None:
    kubeconfig = Path.cwd() / ".cache" / "demo.kubeconfig"
    async with serve(shown.cluster.server, port=0) as url:
        write_kubeconfig(kubeconfig, url)
        await shown.cluster.create(
            "/apis/grove.io/v1alpha1/namespaces/default/podcliquesets", _example(shown.scheduler)
        )
        shown.console.print(
            "\nThe set is back, for you to play with. Ctrl-C ends the cluster.\n\n"
            f"  export KUBECONFIG={kubeconfig}\n  kubectl get pcs,pclq,pcsg,pg,pods\n",
            highlight=False,
        )
        sys.stdout.flush()
        try:
            await asyncio.Event().wait()
        finally:
            kubeconfig.unlink(missing_ok=True)


def _example(scheduler: str) -> dict[str, Any]:
    """The set of examples/disaggregated.yaml; its pods take a moment to become ready, so that it can be watched."""
    text = (files("grove_sandbox.commands.demo") / "demo.yaml").read_text(encoding="utf-8")
    found: dict[str, Any] = orjson.loads(PodCliqueSet.from_yaml(text).to_json())
    for clique in found["spec"]["template"]["cliques"]:
        clique["spec"]["podSpec"]["schedulerName"] = scheduler
    return found
