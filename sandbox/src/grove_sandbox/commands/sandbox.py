"""`grove sandbox`: the embedded cluster as a server, for kubectl and for trying things out."""

import sys
from pathlib import Path
from typing import Annotated

import typer
from grove.cli.output import CommandError, Exit

app = typer.Typer(no_args_is_help=True, help="Run the embedded cluster, for trying things out with kubectl.")

START_TIMEOUT_SECONDS = 15.0

NodesOption = Annotated[int, typer.Option("--nodes", min=0, help="Number of nodes.")]
PortOption = Annotated[int, typer.Option("--port", help="Port on 127.0.0.1; 0 picks a free one.")]
KeepOption = Annotated[
    bool,
    typer.Option("--keep", help="Leave it running in the background; `grove sandbox down` stops it."),
]
ReleaseOption = Annotated[
    str, typer.Option("--kubernetes", help="Kubernetes release to imitate: 1.34, 1.35, 1.36 or 1.37.")
]
KubeconfigOption = Annotated[
    Path | None,
    typer.Option("--kubeconfig", help="Where to write the kubeconfig; a file in ~/.cache by default."),
]


@app.command()
def up(
    nodes: NodesOption = 3,
    port: PortOption = 0,
    keep: KeepOption = False,
    kubernetes: ReleaseOption = "1.37",
    kubeconfig: KubeconfigOption = None,
) -> None:
    """Run the embedded cluster: a Kubernetes API for kubectl, with nodes, a kubelet and a scheduler.

    It keeps everything in memory. Ctrl-C stops it; with --keep it runs in the background until `grove sandbox
    down`. It is for trying things out, not for production.
    """
    from grove_sandbox.apiserver.schema.definitions import DIALECTS

    if kubernetes not in DIALECTS:
        known = ", ".join(DIALECTS)
        raise CommandError(f"unknown Kubernetes release {kubernetes!r}", f"choose one of {known}", Exit.USAGE)
    path = kubeconfig or _home() / "kubeconfig"
    if keep:
        _start_in_background(nodes, port, kubernetes, path)
        return
    import asyncio

    try:
        asyncio.run(_serve(nodes, port, kubernetes, path))
    finally:
        path.unlink(missing_ok=True)
    typer.echo("sandbox stopped")


@app.command()
def down() -> None:
    """Stop the embedded cluster that `grove sandbox up --keep` left running."""
    import os
    import signal

    pid_file = _home() / "pid"
    pid = _running(pid_file)
    if pid is None:
        raise CommandError("no sandbox is running in the background", "start one: grove sandbox up --keep")
    os.kill(pid, signal.SIGTERM)
    pid_file.unlink(missing_ok=True)
    typer.echo(f"sandbox stopped (process {pid})")


async def _serve(nodes: int, port: int, kubernetes: str, kubeconfig: Path) -> None:
    import asyncio
    import signal
    from datetime import UTC, datetime
    from typing import cast

    from grove_sandbox.apiserver.schema.definitions import Dialect
    from grove_sandbox.cluster import EmbeddedCluster
    from grove_sandbox.http import serve
    from grove_sandbox.webhooks import call_webhook

    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, ended.set)
    dialect = cast(Dialect, kubernetes)
    try:
        async with (
            EmbeddedCluster(
                nodes=nodes, dialect=dialect, now=lambda: datetime.now(UTC), call_webhook=call_webhook
            ) as cluster,
            serve(cluster.server, port=port) as url,
        ):
            write_kubeconfig(kubeconfig, url)
            typer.echo(_greeting(url, nodes, kubernetes, kubeconfig))
            typer.echo("Press Ctrl-C to stop it.")
            sys.stdout.flush()
            await ended.wait()
            await cluster.server.close()
    except OSError as error:
        raise CommandError(
            f"cannot listen on port {port}: {error.strerror}", "choose another --port"
        ) from None


def _start_in_background(nodes: int, port: int, kubernetes: str, kubeconfig: Path) -> None:
    import subprocess
    import time

    home = _home()
    home.mkdir(parents=True, exist_ok=True)
    pid_file, log = home / "pid", home / "log"
    if (pid := _running(pid_file)) is not None:
        raise CommandError(
            f"a sandbox is already running (process {pid})", "stop it first: grove sandbox down"
        )
    kubeconfig.unlink(missing_ok=True)
    command = [
        sys.executable,
        "-m",
        "grove_sandbox.commands.sandbox",
        str(nodes),
        str(port),
        kubernetes,
        str(kubeconfig),
    ]
    with log.open("wb") as output:
        child = subprocess.Popen(  # noqa: S603 - our own interpreter and module
            command, stdout=output, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, start_new_session=True
        )
    deadline = time.monotonic() + START_TIMEOUT_SECONDS
    while not kubeconfig.exists():
        if child.poll() is not None or time.monotonic() > deadline:
            child.terminate()
            raise CommandError("the sandbox did not start", f"see its log: {log}")
        time.sleep(0.05)
    pid_file.write_text(str(child.pid))
    typer.echo(log.read_text().removesuffix("Press Ctrl-C to stop it.\n").rstrip())
    typer.echo("It runs in the background. Stop it with: grove sandbox down")


def _running(pid_file: Path) -> int | None:
    """The process id of a running sandbox in the background."""
    import os

    try:
        pid = int(pid_file.read_text())
        os.kill(pid, 0)
    except (FileNotFoundError, ValueError, ProcessLookupError, PermissionError):
        return None
    return pid


def _home() -> Path:
    import os

    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "grove" / "sandbox"


def write_kubeconfig(path: Path, url: str) -> None:
    import json

    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "grove-sandbox", "cluster": {"server": url}}],
        "users": [{"name": "admin", "user": {"token": "not-checked"}}],
        "contexts": [{"name": "grove-sandbox", "context": {"cluster": "grove-sandbox", "user": "admin"}}],
        "current-context": "grove-sandbox",
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(path.name + ".new")
    draft.write_text(json.dumps(config, indent=2) + "\n")
    draft.rename(path)


def _greeting(url: str, nodes: int, kubernetes: str, kubeconfig: Path) -> str:
    return (
        f"Embedded cluster at {url}: Kubernetes {kubernetes}, {nodes} nodes, in memory.\n\n"
        f"  export KUBECONFIG={kubeconfig}\n"
        "  kubectl get nodes\n"
    )


if __name__ == "__main__":
    up(int(sys.argv[1]), int(sys.argv[2]), False, sys.argv[3], Path(sys.argv[4]))
