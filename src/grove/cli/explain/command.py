"""`grove explain`: one answer to "why is it not running", for a set, gang, group, clique or pod."""

from typing import TYPE_CHECKING, Annotated

import typer

from grove.cli.operator import ContextOption, KubeconfigOption
from grove.cli.output import CommandError, Exit, Output, OutputOption, print_data

if TYPE_CHECKING:
    from grove.plan.explain import Explanation, Observed
    from grove.runtime.client.kubeconfig import Cluster

NameArgument = Annotated[
    str,
    typer.Argument(
        help="NAME or KIND/NAME, such as pcs/llama, pg/llama-0, pcsg/..., pclq/... or pod/...", metavar="NAME"
    ),
]
NamespaceOption = Annotated[
    str | None, typer.Option("--namespace", "-n", help="The one of the kubeconfig's context without.")
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
    """Say why a set, gang, clique or pod does not run, who must act next, and what you can do.

    Reads the cluster and changes nothing. Exit code 0 when everything that is asked for runs, 1 otherwise.
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
        hint = "say which cluster: --kubeconfig FILE, or set KUBECONFIG"
        raise CommandError(str(e), hint, Exit.USAGE) from e
    answers: list[Explanation] = []
    try:
        asyncio.run(_answer(cluster, namespace or cluster.namespace, name, output, watch, answers))
    except RequestError as e:
        raise CommandError(str(e), f"check that {cluster.server} is the right cluster, and runs") from e
    except KeyboardInterrupt:
        if not answers:
            raise SystemExit(130) from None
    if not answers[-1].running:
        raise SystemExit(int(Exit.NO))


async def _answer(
    cluster: "Cluster",
    namespace: str,
    name: str,
    output: Output,
    watch: bool,
    answers: "list[Explanation]",
) -> None:
    """Prints answers and notes them: one, or as many as there are until interrupted."""
    from grove.cli.explain.cluster import find_subject, follow, read
    from grove.plan import explain as plan
    from grove.runtime.client.client import Client
    from grove.runtime.client.http_transport import HttpTransport

    def tell(seen: "Observed") -> None:
        found = plan.explain(seen)
        if not answers or found != answers[-1]:
            _print(found, output, again=bool(answers))
            answers.append(found)

    client = Client(HttpTransport(cluster, user_agent="grove-explain"), field_manager="grove-explain")
    try:
        subject = await find_subject(client, namespace, name)
        tell(await read(client, subject))
        if watch:
            await follow(client, subject, tell)
            raise CommandError(f"{subject.target} was deleted")
    finally:
        await client.close()


def _print(found: "Explanation", output: Output, *, again: bool) -> None:
    """Answers after the first are told apart: by an empty line, or as YAML documents."""
    import sys

    import msgspec

    if output is Output.TABLE:
        from grove.cli.explain.show import show

        show(found, again=again)
    else:
        if again and output is Output.YAML:
            sys.stdout.write("---\n")
        print_data(msgspec.to_builtins(found), output)
    sys.stdout.flush()
