"""The command `grove explain`."""

from typing import TYPE_CHECKING, Annotated

import typer

from grove.cli.options import ContextOption, KubeconfigOption
from grove.cli.output import CommandError, Exit, Output, OutputOption, print_data

if TYPE_CHECKING:
    from grove.plan.explain import Explanation, Observed
    from grove.runtime.client.kubeconfig import ClusterConnection

NameArgument = Annotated[
    str,
    typer.Argument(
        help="NAME or KIND/NAME, such as pcs/llama, pg/llama-0, pcsg/..., pclq/... or pod/...", metavar="NAME"
    ),
]
NamespaceOption = Annotated[
    str | None, typer.Option("--namespace", "-n", help="Default: the namespace of the kubeconfig's context.")
]
WatchOption = Annotated[
    bool, typer.Option("--watch", "-w", help="Print a new answer whenever it changes, until Ctrl-C.")
]


def explain(
    name: NameArgument,
    namespace: NamespaceOption = None,
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = None,
    output: OutputOption = Output.TABLE,
    watch: WatchOption = False,
) -> None:
    """Say why a set, gang, scaling group, clique or pod does not run, who must act next, and what you can do.

    Reads the cluster and changes nothing. Exit code 0 if everything that the spec asks for runs, 1 otherwise.
    docs/troubleshooting.md has a section for each reason.
    """
    import asyncio
    import os

    from grove.runtime.client.errors import RequestError
    from grove.runtime.client.kubeconfig import KubeconfigError, find_cluster
    from grove.runtime.telemetry.logs import configure

    configure("info" if os.environ.get("GROVE_DEBUG") else "critical", "text")
    try:
        cluster = find_cluster(str(kubeconfig) if kubeconfig else None, context)
    except KubeconfigError as e:
        hint = "name a cluster: --kubeconfig FILE, or set KUBECONFIG"
        raise CommandError(str(e), hint, Exit.USAGE) from e
    answers: list[Explanation] = []
    try:
        asyncio.run(_answer(cluster, namespace or cluster.namespace, name, output, watch, answers))
    except RequestError as e:
        raise CommandError(str(e), f"check that {cluster.server} is the right cluster and is running") from e
    except KeyboardInterrupt:
        if not answers:
            raise SystemExit(130) from None
    if not answers[-1].running:
        raise SystemExit(int(Exit.NO))


async def _answer(
    cluster: "ClusterConnection",
    namespace: str,
    name: str,
    output: Output,
    watch: bool,
    answers: "list[Explanation]",
) -> None:
    """Prints the answer and appends it to `answers`; with `watch`, does so after every change, until interrupted."""
    from grove.cli.explain.cluster import find_subject, read, watch_subject
    from grove.plan import explain as plan
    from grove.runtime.client.client import Client
    from grove.runtime.client.http_transport import HttpTransport

    def answer(seen: "Observed") -> None:
        found = plan.explain(seen)
        if not answers or found != answers[-1]:
            _print(found, output, again=bool(answers))
            answers.append(found)

    client = Client(HttpTransport(cluster, user_agent="grove-explain"), field_manager="grove-explain")
    try:
        subject = await find_subject(client, namespace, name)
        answer(await read(client, subject))
        if watch:
            await watch_subject(client, subject, answer)
            raise CommandError(f"{subject.target} was deleted")
    finally:
        await client.close()


def _print(found: "Explanation", output: Output, *, again: bool) -> None:
    """An empty line, or a YAML document separator, comes before every answer but the first."""
    import sys

    import msgspec

    if output is Output.TABLE:
        from grove.cli.explain.terminal import print_explanation

        print_explanation(found, again=again)
    else:
        if again and output is Output.YAML:
            sys.stdout.write("---\n")
        print_data(msgspec.to_builtins(found), output)
    sys.stdout.flush()
