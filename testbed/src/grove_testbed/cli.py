"""``grove-testbed``: build programs, run a cluster by hand, list both."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from grove_testbed import components
from grove_testbed.build import BuildError, NotBuiltError, build, cache_folder, is_built
from grove_testbed.cluster import Cluster
from grove_testbed.nodes import requirements
from grove_testbed.nodes.base_image import build_base_image
from grove_testbed.nodes.network import NetworkError
from grove_testbed.processes import StartError
from grove_testbed.schedulers import SCHEDULERS
from grove_testbed.toolchain import NoGoError

app = typer.Typer(help=__doc__, no_args_is_help=True, add_completion=False)
console = Console(stderr=True)


# What the user can act on.
ERRORS = (
    BuildError,
    StartError,
    NoGoError,
    NotBuiltError,
    components.UnknownComponentError,
    requirements.MachineError,
    NetworkError,
)


def run() -> None:
    """The console script: an error the user can act on is one message, not a traceback."""
    try:
        app()
    except ERRORS as error:
        console.print(f"[red]error:[/red] {error}", highlight=False)
        sys.exit(1)


@app.command("build")
def build_command(
    names: Annotated[
        list[str] | None, typer.Argument(help="programs or groups, NAME or NAME@VERSION; none means all")
    ] = None,
    k8s: Annotated[
        str, typer.Option(help="Kubernetes minor version, where none is named")
    ] = components.DEFAULT_K8S,
) -> None:
    """Compile what is missing from the cache: `build control-plane@1.36 volcano`, or `build` for everything."""
    for spec in names or _all_groups():
        wanted = f"{spec}@{k8s}" if components.is_kubernetes(spec) else spec
        for component in components.select(wanted):
            _build(component)


@app.command("list")
def list_command() -> None:
    """What can be built, what is built, and which clusters run."""
    table = Table("component", "version", "built", box=None)
    for component in components.everything():
        table.add_row(component.name, component.version, "yes" if is_built(component) else "no")
    Console().print(table)
    for folder in sorted(_runs().glob("*/pid")):
        Console().print(f"running: {folder.parent.name} (pid {folder.read_text()})")


@app.command()
def up(
    k8s: Annotated[str, typer.Option(help="Kubernetes minor version")] = components.DEFAULT_K8S,
    name: Annotated[str, typer.Option(help="what `down` calls it")] = "default",
    scheduler: Annotated[str, typer.Option(help=f"one of: {', '.join(SCHEDULERS)}, none")] = "default",
    nodes: Annotated[
        int | None, typer.Option(help="how many fake nodes to join; 4 unless some are real")
    ] = None,
    real_nodes: Annotated[int, typer.Option(help="how many nodes with containers to join; needs root")] = 0,
    detach: Annotated[bool, typer.Option(help="return once it is ready; end it with `down`")] = False,
) -> None:
    """Run a cluster until Ctrl-C, or until `grove-testbed down`; builds what is missing first."""
    state = _runs() / name
    if (state / "pid").exists():
        raise StartError(f"Cluster {name} runs already; end it first: grove-testbed down --name {name}")
    if scheduler not in (*SCHEDULERS, "none"):
        raise components.UnknownComponentError(
            f"no scheduler {scheduler}; there are: {', '.join(SCHEDULERS)}"
        )
    wanted = components.select(f"control-plane@{k8s}")
    if real_nodes:
        requirements.check()
        wanted += components.select(f"node@{k8s}")
    fake = nodes if nodes is not None else 0 if real_nodes else 4
    if scheduler not in ("none", "default"):
        wanted += components.select(scheduler)
    for component in wanted:
        _build(component)
    state.mkdir(parents=True, exist_ok=True)
    (state / "kubeconfig").unlink(missing_ok=True)
    if detach:
        counts = [f"--nodes={fake}", f"--real-nodes={real_nodes}"]
        _detach(state, ["--k8s", k8s, "--name", name, "--scheduler", scheduler, *counts])
    else:
        chosen = "" if scheduler == "none" else scheduler
        _serve(state, k8s, scheduler=chosen, nodes=fake, real_nodes=real_nodes)


@app.command()
def down(name: Annotated[str, typer.Option(help="the name given to `up`")] = "default") -> None:
    """End a cluster that `up` started."""
    pid_file = _runs() / name / "pid"
    try:
        pid = int(pid_file.read_text())
        os.kill(pid, signal.SIGTERM)
    except FileNotFoundError:
        console.print(f"Cluster {name} does not run.")
        return
    except ProcessLookupError:
        pid_file.unlink()
        console.print(f"Cluster {name} had died; forgotten.")
        return
    while pid_file.exists():
        time.sleep(0.1)
    console.print(f"Cluster {name} is down.")


@app.command("install-node-packages")
def install_node_packages(
    if_possible: Annotated[
        bool, typer.Option("--if-possible", help="where it is not, say why and go on")
    ] = False,
) -> None:
    """Install the Debian packages that real nodes need: containerd, runc, network plugins, image builders."""
    try:
        requirements.install(console.print)
    except requirements.MachineError as error:
        if not if_possible:
            raise
        console.print(f"Tests on real nodes will be skipped: {error}", highlight=False)


@app.command("can-run-nodes")
def can_run_nodes() -> None:
    """Succeed if real nodes can run here; else say what is missing, and fail."""
    try:
        requirements.check()
    except requirements.MachineError as error:
        console.print(str(error), highlight=False)
        raise typer.Exit(1) from None


@app.command("base-image")
def base_image_command() -> None:
    """Print where the base image of containers is, a tar archive; make it from Debian packages if it is missing."""
    Console().print(str(build_base_image(console.print)), soft_wrap=True)


def _serve(state: Path, k8s: str, *, scheduler: str, nodes: int, real_nodes: int) -> None:
    def end(*_: object) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, end)
    (state / "pid").write_text(str(os.getpid()))
    try:
        with Cluster.start(k8s, scheduler=scheduler, nodes=nodes, real_nodes=real_nodes) as cluster:
            (state / "kubeconfig").symlink_to(cluster.kubeconfig())
            console.print(f"Kubernetes {k8s} is up at {cluster.url}. Logs: {cluster.logs}")
            Console().print(f"export KUBECONFIG={cluster.kubeconfig()}", soft_wrap=True)
            try:
                signal.pause()
            except KeyboardInterrupt:
                console.print("Ending.")
    finally:
        (state / "kubeconfig").unlink(missing_ok=True)
        (state / "pid").unlink()


def _detach(state: Path, options: list[str]) -> None:
    """Starts this same command as a process of its own and waits until it has written its kubeconfig."""
    log = state / "log"
    with log.open("w") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "grove_testbed.cli", "up", *options],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    while not (state / "kubeconfig").exists():
        if process.poll() is not None:
            raise StartError(log.read_text())
        time.sleep(0.1)
    Console().print(f"export KUBECONFIG={(state / 'kubeconfig').readlink()}", soft_wrap=True)


def _build(component: components.Component) -> None:
    if is_built(component):
        console.print(f"{component.title}: built")
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    started, said = time.monotonic(), time.monotonic()
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task(component.title, total=None)

        def progress(done: int, total: int) -> None:
            nonlocal said
            bar.update(task, completed=done, total=total)
            if not console.is_terminal and (done == 0 or time.monotonic() > said + 15):
                said = time.monotonic()
                console.print(f"{component.title}: {done} of {total} packages compiled")

        build(component, progress, console.print)
    console.print(f"{component.title}: built in {time.monotonic() - started:.0f} s")


def _all_groups() -> list[str]:
    """Nodes need Linux: kubelet and kube-proxy do not compile for anything else that we run on."""
    return [name for name in components.GROUPS if name != "node" or sys.platform == "linux"]


def _runs() -> Path:
    return cache_folder() / "run"


if __name__ == "__main__":
    run()
