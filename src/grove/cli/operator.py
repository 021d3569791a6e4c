"""`grove operator` and `grove backend`: run on the cluster that the kubeconfig names, or inside a cluster."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from grove.cli.output import CommandError, Exit

if TYPE_CHECKING:
    from grove.api.config import OperatorConfiguration

ConfigOption = Annotated[Path | None, typer.Option(help="An OperatorConfiguration; defaults without.")]
KubeconfigOption = Annotated[
    Path | None, typer.Option(help="Default: $KUBECONFIG, ~/.kube/config, or the pod's service account.")
]
ContextOption = Annotated[
    str | None, typer.Option(help="A context of the kubeconfig; the current one without.")
]
OnlyOption = Annotated[
    str, typer.Option(help="The backend to run: default, kai, koordinator, volcano or yunikorn.")
]


def operator(
    config: ConfigOption = None, kubeconfig: KubeconfigOption = None, context: ContextOption = None
) -> None:
    """Run the operator until it is told to stop (Ctrl-C, SIGTERM). A changed configuration is taken up as it runs."""
    _run(config, kubeconfig, context, "")


def backend(
    only: OnlyOption,
    config: ConfigOption = None,
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = None,
) -> None:
    """Run one scheduler backend alone, beside an operator whose profile for it says `separate: true`."""
    _run(config, kubeconfig, context, only)


def read_configuration(path: Path | None) -> "OperatorConfiguration":
    """Raises CommandError with everything that is wrong with the file."""
    from grove.api.config import OperatorConfiguration
    from grove.api.serialization.codec import DecodeError
    from grove.api.serialization.yaml import YamlError
    from grove.api.validation import check_configuration

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


def _run(config: Path | None, kubeconfig: Path | None, context: str | None, only: str) -> None:
    import uvloop

    from grove.operator.process import AddressError, Runner, UnusableConfigurationError
    from grove.runtime.client.kubeconfig import KubeconfigError, find_cluster
    from grove.runtime.controller.leader import LeadershipLostError
    from grove.runtime.telemetry.logs import configure
    from grove.schedulers.registry import ConfigurationError

    configuration = read_configuration(config)
    configure(configuration.log_level, configuration.log_format)

    def read() -> "OperatorConfiguration":
        try:
            return read_configuration(config)
        except CommandError as e:
            raise UnusableConfigurationError(str(e)) from e

    async def run() -> None:
        cluster = find_cluster(str(kubeconfig) if kubeconfig else None, context)
        await Runner(cluster, read, config, only).run()

    try:
        uvloop.run(run())  # asyncio's own loop takes a tenth more instructions
    except KubeconfigError as e:
        raise CommandError(
            str(e), "say which cluster: --kubeconfig FILE, or set KUBECONFIG", Exit.USAGE
        ) from e
    except ConfigurationError as e:
        raise CommandError(str(e), "see scheduler.profiles in the configuration", Exit.USAGE) from e
    except AddressError as e:
        remedy = "end what listens there, or set server.healthProbes.port in the configuration"
        raise CommandError(str(e), remedy, Exit.USAGE) from e
    except LeadershipLostError as e:
        raise CommandError(str(e), "another operator leads; this one ends, to be started again") from e
