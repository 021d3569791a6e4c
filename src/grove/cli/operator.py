"""`grove operator` and `grove backend`: run against the cluster of the kubeconfig, or inside a cluster."""

from pathlib import Path
from typing import Annotated

import typer

from grove.cli.files import read_configuration
from grove.cli.options import ConfigOption, ContextOption, KubeconfigOption
from grove.cli.output import CommandError, Exit

OnlyOption = Annotated[
    str, typer.Option(help="The backend to run: default, kai, koordinator, volcano or yunikorn.")
]


def operator(
    config: ConfigOption = None, kubeconfig: KubeconfigOption = None, context: ContextOption = None
) -> None:
    """Run the operator until SIGTERM or Ctrl-C. It reloads its configuration file when the file changes."""
    _run(config, kubeconfig, context, "")


def backend(
    only: OnlyOption,
    config: ConfigOption = None,
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = None,
) -> None:
    """Run one scheduler backend alone, next to an operator whose profile for it has `separate: true`."""
    _run(config, kubeconfig, context, only)


def _run(config: Path | None, kubeconfig: Path | None, context: str | None, only: str) -> None:
    import uvloop

    from grove.api.config import OperatorConfiguration
    from grove.operator.process import AddressError, InvalidConfigurationError, Runner
    from grove.runtime.client.kubeconfig import KubeconfigError, find_cluster
    from grove.runtime.controller.leader import LeadershipLostError
    from grove.runtime.telemetry.logs import configure
    from grove.schedulers.registry import ConfigurationError

    def load() -> OperatorConfiguration:
        return read_configuration(config) if config else OperatorConfiguration()

    configuration = load()
    configure(configuration.log_level, configuration.log_format)

    def reload() -> OperatorConfiguration:
        try:
            return load()
        except CommandError as e:
            raise InvalidConfigurationError(str(e)) from e

    async def run() -> None:
        cluster = find_cluster(str(kubeconfig) if kubeconfig else None, context)
        await Runner(cluster, reload, config, only).run()

    try:
        uvloop.run(run())  # asyncio's own loop costs about 10 % more instructions
    except KubeconfigError as e:
        raise CommandError(str(e), "name a cluster: --kubeconfig FILE, or set KUBECONFIG", Exit.USAGE) from e
    except ConfigurationError as e:
        raise CommandError(str(e), "see scheduler.profiles in the configuration", Exit.USAGE) from e
    except AddressError as e:
        remedy = "stop the program that listens there, or set server.healthProbes.port in the configuration"
        raise CommandError(str(e), remedy, Exit.USAGE) from e
    except LeadershipLostError as e:
        raise CommandError(
            str(e), "another replica leads now; this process exits so that it can be restarted"
        ) from e
