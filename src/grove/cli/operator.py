"""`grove operator`: runs the operator on the cluster that the kubeconfig names, or inside a cluster."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from grove.cli.output import CommandError, Exit

if TYPE_CHECKING:
    from grove.api.config import OperatorConfiguration
    from grove.runtime.http import HttpTransport
    from grove.runtime.leader import Elector

ConfigOption = Annotated[Path | None, typer.Option(help="An OperatorConfiguration; defaults without.")]
KubeconfigOption = Annotated[
    Path | None, typer.Option(help="Default: $KUBECONFIG, ~/.kube/config, or the pod's service account.")
]
ContextOption = Annotated[
    str | None, typer.Option(help="A context of the kubeconfig; the current one without.")
]


def operator(
    config: ConfigOption = None, kubeconfig: KubeconfigOption = None, context: ContextOption = None
) -> None:
    """Run the operator until it is told to stop (Ctrl-C, SIGTERM)."""
    import asyncio

    from grove.runtime.leader import LeadershipLostError
    from grove.runtime.logs import configure

    configuration = read_configuration(config)
    configure(configuration.log_level, configuration.log_format)
    try:
        asyncio.run(_run(configuration, kubeconfig, context))
    except LeadershipLostError as e:
        raise CommandError(str(e), "another operator leads; this one ends, to be started again") from e


def read_configuration(path: Path | None) -> "OperatorConfiguration":
    """Raises CommandError with everything that is wrong with the file."""
    from grove.api.codec import DecodeError
    from grove.api.config import OperatorConfiguration
    from grove.api.validation import check_configuration
    from grove.api.yaml import YamlError

    if path is None:
        return OperatorConfiguration()
    try:
        found = OperatorConfiguration.from_yaml(path.read_text(encoding="utf-8"))
    except OSError as e:
        raise CommandError(f"{path}: {e.strerror}", code=Exit.USAGE) from e
    except (DecodeError, YamlError) as e:
        raise CommandError(f"{path}: {e}", "mend the configuration first", Exit.USAGE) from e
    problems = check_configuration(found)
    if problems:
        listed = "\n".join(f"  {p} ({p.remedy})" for p in problems)
        raise CommandError(f"{path} is not valid:\n{listed}", code=Exit.USAGE)
    return found


async def _run(configuration: "OperatorConfiguration", kubeconfig: Path | None, context: str | None) -> None:
    import asyncio
    import os
    import signal
    import socket

    from grove.operator.assembly import DEFAULT_INIT_IMAGE, Operator, discover
    from grove.runtime.client import Client
    from grove.runtime.health import HealthServer
    from grove.runtime.http import HttpTransport
    from grove.runtime.kubeconfig import KubeconfigError, find_cluster
    from grove.schedulers.registry import ConfigurationError, Registry

    try:
        cluster = find_cluster(str(kubeconfig) if kubeconfig else None, context)
        registry = Registry(configuration.scheduler)
    except KubeconfigError as e:
        raise CommandError(
            str(e), "say which cluster: --kubeconfig FILE, or set KUBECONFIG", Exit.USAGE
        ) from e
    except ConfigurationError as e:
        raise CommandError(str(e), "see scheduler.profiles in the configuration", Exit.USAGE) from e
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    instance = f"{socket.gethostname()}-{os.getpid()}"
    transport = HttpTransport(cluster, user_agent="grove-operator")
    client = Client(transport, field_manager="grove-operator")
    made = Operator(
        client,
        configuration,
        registry,
        served=await discover(client),
        instance=instance,
        init_image=os.environ.get("GROVE_INIT_CONTAINER_IMAGE", DEFAULT_INIT_IMAGE),
        elector=_elector(configuration, transport, instance, cluster.namespace),
    )
    health = HealthServer(client.metrics, made.manager.readiness)
    probes = configuration.server.health_probes
    try:
        if probes.enable:
            await health.start(probes.bind_address or "0.0.0.0", probes.port)  # noqa: S104
        await made.run(stop)
    finally:
        await health.stop()
        await client.close()


def _elector(
    configuration: "OperatorConfiguration", transport: "HttpTransport", instance: str, namespace: str
) -> "Elector | None":
    from grove.operator.assembly import utc_now
    from grove.runtime.leader import Elector
    from grove.runtime.objects import ObjectKey

    election = configuration.leader_election
    if not election.enabled:
        return None
    return Elector(
        transport,
        ObjectKey(election.resource_namespace or namespace, election.resource_name),
        instance,
        now=utc_now,
        duration=election.lease_duration.seconds,
        renew_within=election.renew_deadline.seconds,
        retry_every=election.retry_period.seconds,
    )
