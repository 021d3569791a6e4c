"""The demo: a cluster, an operator, and five steps in the life of a set.

A step acts, then waits until its result is visible in the operator's caches. A step whose result does not appear in
time raises `StepFailedError`.
"""

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any

import orjson
from grove.api import PodCliqueSet
from grove.api.config import OperatorConfiguration
from grove.api.pod_view import Pod
from grove.api.serialization.crds import all_crds
from grove.operator.assembly import Operator
from grove.plan.pod_state import is_ready
from grove.runtime.client.objects import ObjectKey, key_of
from grove.schedulers.registry import Registry
from rich.console import Console, RenderableType
from rich.live import Live

from grove_sandbox.cluster import CRDS, EmbeddedCluster
from grove_sandbox.commands.demo.board import Board, without_web_fonts
from grove_sandbox.commands.demo.schedulers import SCHEDULERS
from grove_sandbox.commands.sandbox import write_kubeconfig
from grove_sandbox.http import serve
from grove_sandbox.timestamps import utc_now

SETS = "/apis/grove.io/v1alpha1/namespaces/default/podcliquesets"
SET = ObjectKey("default", "llama")
GROUP = ObjectKey("default", "llama-0-prefill")

STEP_TIMEOUT_SECONDS = 30.0
# So that a spectator can read the result of a step before the next one begins.
PAUSE_SECONDS = 1.2
SVG_COLUMNS = 118


class StepFailedError(Exception):
    """The result of a step was not observed in time."""


async def play(scheduler: str, *, keep: bool = False, svg: Path | None = None) -> None:
    """Runs all steps. Raises StepFailedError at the first step whose result is not observed."""
    console = Console(record=svg is not None, width=SVG_COLUMNS if svg else None)
    chosen = SCHEDULERS[scheduler]
    async with (
        EmbeddedCluster(nodes=6, now=utc_now, schedulers=[chosen.simulated]) as cluster,
        _operating(cluster) as operator,
    ):
        for path, needed in chosen.prerequisites:
            await cluster.create(path, needed)
        demo = Demonstration(cluster, operator, console, chosen.name)
        if console.is_terminal and svg is None:
            with Live(get_renderable=demo.board, console=console, refresh_per_second=12, transient=True):
                await demo.run()
            console.print(demo.board())
        else:
            await demo.run()
        if svg is not None:
            console.print(demo.snapshot)
            console.print(
                *(f"[green]✓[/] [bold]{t}[/]  [green]{r}[/]" for t, r in demo.steps[2:]),
                sep="\n",
                highlight=False,
            )
        console.print("\n[bold green]Every step was observed in the cluster.[/]")
        if svg is not None:
            _write_svg(console, svg)
        if keep:
            await _serve_until_cancelled(demo)


class Demonstration:
    """`steps` are titles with results. `snapshot`, for the SVG, is the board while a third gang starts."""

    def __init__(
        self, cluster: EmbeddedCluster, operator: Operator, console: Console, scheduler: str
    ) -> None:
        self.cluster = cluster
        self.console = console
        self.scheduler = scheduler
        self.steps: list[tuple[str, str]] = []
        self.snapshot: RenderableType | None = None
        self._informers = operator.informers
        self._board = Board(operator)
        self._changed = asyncio.Event()
        informers = self._informers
        for informer in (informers.pods, informers.gangs, informers.cliques, informers.sets):
            informer.cache.subscribe(lambda change: self._changed.set())

    def board(self) -> RenderableType:
        return self._board.render(self.steps)

    async def run(self) -> None:
        informers = self._informers
        lost: list[Pod] = []

        async def scale(copies: int) -> None:
            await informers.groups.objects.set_scale(GROUP, copies)

        async def delete_a_pod() -> None:
            lost.append(min(informers.pods.cache, key=lambda p: p.spec.hostname or ""))
            await informers.pods.objects.delete(key_of(lost[0]))

        def replaced() -> str:
            old = lost[0]
            new = [p for p in informers.pods.cache if p.spec.hostname == old.spec.hostname and is_ready(p)]
            if not new or new[0].metadata.uid == old.metadata.uid or not self._running(3, 17):
                return ""
            return f"{new[0].metadata.name} replaces {old.metadata.name}: same gang, same hostname"

        await self._step(
            "apply a set: router, prefill, decode", self.create_set, lambda: self._running(2, 13)
        )
        await self._step("scale prefill out to 3 copies", lambda: scale(3), lambda: self._running(3, 17))
        await self._step("delete a pod", delete_a_pod, replaced)
        await self._step("scale prefill in to 2 copies", lambda: scale(2), lambda: self._running(2, 13))
        await self._step("delete the set", lambda: informers.sets.objects.delete(SET), self._all_deleted)

    async def create_set(self) -> None:
        """The set of examples/disaggregated.yaml, whose pods here take a moment to start and to stop."""
        text = (files("grove_sandbox.commands.demo") / "demo.yaml").read_text(encoding="utf-8")
        manifest: dict[str, Any] = orjson.loads(PodCliqueSet.from_yaml(text).to_json())
        for clique in manifest["spec"]["template"]["cliques"]:
            clique["spec"]["podSpec"]["schedulerName"] = self.scheduler
        await self.cluster.create(SETS, manifest)

    async def _step(self, title: str, act: Callable[[], Awaitable[Any]], observe: Callable[[], str]) -> None:
        """Acts, then waits until `observe` returns a result. It is called after every change in the caches."""
        self.steps.append((title, ""))
        await act()
        try:
            async with asyncio.timeout(STEP_TIMEOUT_SECONDS):
                while not (result := observe()):
                    self._take_snapshot()
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            raise StepFailedError(f"{title}: no result within {STEP_TIMEOUT_SECONDS:.0f} seconds") from None
        self.steps[-1] = (title, result)
        if not self.console.is_terminal and not self.console.record:
            self.console.print(f"ok  {title}: {result}", highlight=False, soft_wrap=True)
        await asyncio.sleep(PAUSE_SECONDS)

    def _take_snapshot(self) -> None:
        gangs = list(self._informers.gangs.cache)
        starting = [g for g in gangs if g.status is not None and g.status.phase == "Starting"]
        if self.snapshot is None and len(gangs) == 3 and starting:
            self.snapshot = self.board()

    def _running(self, gangs: int, pods: int) -> str:
        """Empty until exactly so many gangs run and exactly so many pods exist, all of them ready."""
        found = list(self._informers.gangs.cache)
        ready = [p for p in self._informers.pods.cache if is_ready(p)]
        all_running = len(found) == gangs and all(g.status and g.status.phase == "Running" for g in found)
        if all_running and len(ready) == pods == len(self._informers.pods.cache):
            return f"{gangs} gangs, {pods} pods, all running"
        return ""

    def _all_deleted(self) -> str:
        informers = self._informers
        caches = (
            informers.sets,
            informers.cliques,
            informers.groups,
            informers.gangs,
            informers.pods,
            informers.companions["Service"],
        )
        return "" if any(len(informer.cache) for informer in caches) else "all its objects are deleted"


def _write_svg(console: Console, path: Path) -> None:
    path.write_text(without_web_fonts(console.export_svg(title="grove demo")), encoding="utf-8")


@asynccontextmanager
async def _operating(cluster: EmbeddedCluster) -> AsyncIterator[Operator]:
    """Installs Grove's CRDs and runs an operator."""
    for crd in all_crds():
        await cluster.create(CRDS, crd)
    configuration = OperatorConfiguration()
    operator = Operator(
        cluster.client("grove-operator"), configuration, Registry(configuration.scheduler), now=utc_now
    )
    async with operator.running():
        yield operator


async def _serve_until_cancelled(demo: Demonstration) -> None:
    kubeconfig = Path.cwd() / ".cache" / "demo.kubeconfig"
    async with serve(demo.cluster.server, port=0) as url:
        write_kubeconfig(kubeconfig, url)
        await demo.create_set()
        demo.console.print(
            "\nThe cluster keeps running, with the set applied again. Press Ctrl-C to stop it.\n\n"
            f"  export KUBECONFIG={kubeconfig}\n  kubectl get pcs,pclq,pcsg,pg,pods\n",
            highlight=False,
        )
        sys.stdout.flush()
        try:
            await asyncio.Event().wait()
        finally:
            kubeconfig.unlink(missing_ok=True)
