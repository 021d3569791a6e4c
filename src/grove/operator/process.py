"""Runs the operator, or one backend alone, in a real cluster, with probes, metrics and leader election.

When the configuration file changes, or on SIGHUP, running reconciles finish and the controllers restart with the new
configuration, in the same process. That changes nothing in the cluster. An invalid configuration is logged and ignored.
"""

import asyncio
import gc
import os
import signal
import socket
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import structlog

from grove.api.config import OperatorConfiguration
from grove.operator.assembly import (
    DEFAULT_INIT_IMAGE,
    BackendProcess,
    ControllerProcess,
    Operator,
    discover,
    utc_now,
)
from grove.operator.metrics import GroveMetrics
from grove.runtime.client.client import Client
from grove.runtime.client.http_transport import HttpTransport
from grove.runtime.client.kubeconfig import ClusterConnection
from grove.runtime.client.objects import ObjectKey
from grove.runtime.controller.leader import Elector
from grove.runtime.telemetry.health import HealthServer
from grove.schedulers.registry import ConfigurationError, Registry

log = structlog.get_logger(__name__)

# No file system event tells on every platform that a mounted ConfigMap changed, so the file is polled.
CONFIGURATION_POLL_SECONDS = 5.0

ReadConfiguration = Callable[[], OperatorConfiguration]
"""Raises InvalidConfigurationError."""


def tune_garbage_collection() -> None:
    """Makes Python's cycle collector run less often.

    The caches of a large cluster hold millions of objects without cycles. With the default thresholds, searching them
    for garbage costs more than the work itself.
    """
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


class InvalidConfigurationError(Exception):
    """The configuration file cannot be read, or is invalid."""


class AddressError(Exception):
    """The process cannot listen on the address for probes and metrics."""


class Runner:
    """`read` reads the configuration, from the file at `path` if there is one.

    `only` is the name of the backend to run alone, or empty for the operator.
    """

    def __init__(
        self, cluster: ClusterConnection, read: ReadConfiguration, path: Path | None, only: str = ""
    ) -> None:
        self._cluster = cluster
        self._read = read
        self._path = path
        self._only = only
        self._instance = f"{socket.gethostname()}-{os.getpid()}"
        self._stop = asyncio.Event()
        self._process: ControllerProcess | None = None

    async def run(self) -> None:
        """Runs until SIGINT or SIGTERM. Raises ConfigurationError or AddressError if it cannot start."""
        loop = asyncio.get_running_loop()
        tune_garbage_collection()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._stop.set)
        configuration = self._read()
        registry = Registry(configuration.scheduler)
        transport = HttpTransport(self._cluster, user_agent="grove-operator")
        client = Client(transport, field_manager="grove-operator")
        metrics = GroveMetrics(client.metrics.registry)
        health = HealthServer(
            client.metrics, lambda: self._process.manager.readiness() if self._process else {"start": False}
        )
        probes = configuration.server.health_probes
        try:
            if probes.enable:
                host = probes.bind_address or "0.0.0.0"  # noqa: S104
                try:
                    await health.start(host, probes.port)
                except OSError as e:
                    raise AddressError(f"cannot listen on {host}:{probes.port}: {e.strerror or e}") from e
            while not self._stop.is_set():
                for ambiguity in registry.ambiguities():
                    log.warning("several backends match", ambiguity=ambiguity)
                for failure in registry.failures:
                    log.error(
                        "a backend cannot be used, the others work",
                        profile=failure.profile,
                        package=failure.package,
                        error=failure.error,
                    )
                metrics.report_failures(registry.failures)
                process = await self._assemble(configuration, registry, client, transport, metrics)
                metrics.count_gangs(process.informers.gangs.cache)
                configuration, registry = await self._until_changed(configuration, registry, process)
        finally:
            await health.stop()
            await client.close()

    async def _until_changed(
        self, configuration: OperatorConfiguration, registry: Registry, process: ControllerProcess
    ) -> tuple[OperatorConfiguration, Registry]:
        """Runs the process until it is to stop or the configuration changes. Returns what to use next."""
        self._process = process
        stop = asyncio.Event()
        running = asyncio.create_task(process.run(stop))
        changed = asyncio.create_task(self._changed(configuration))
        stopped = asyncio.create_task(self._stop.wait())
        try:
            await asyncio.wait([running, changed, stopped], return_when=asyncio.FIRST_COMPLETED)
        finally:
            stop.set()
            stopped.cancel()
            if not changed.done():
                changed.cancel()
        await running
        return (configuration, registry) if changed.cancelled() or not changed.done() else changed.result()

    async def _assemble(
        self,
        configuration: OperatorConfiguration,
        registry: Registry,
        client: Client,
        transport: HttpTransport,
        metrics: GroveMetrics,
    ) -> ControllerProcess:
        elector = self._elector(configuration, transport)
        if not self._only:
            served = await discover(client)
            image = os.environ.get("GROVE_INIT_CONTAINER_IMAGE", DEFAULT_INIT_IMAGE)
            return Operator(
                client,
                configuration,
                registry,
                served=served,
                instance=self._instance,
                elector=elector,
                init_image=image,
                count_selection=metrics.count_selection,
            )
        backend = registry.get(self._only)
        if backend is None:
            raise ConfigurationError(registry.why_not_enabled(self._only))
        return BackendProcess(
            client, configuration, registry, backend, instance=self._instance, elector=elector
        )

    async def _changed(self, current: OperatorConfiguration) -> tuple[OperatorConfiguration, Registry]:
        """Waits for a valid configuration that differs from the current one. Returns it with its backends."""
        reload_requested = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, reload_requested.set)
        text = self._text()
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(CONFIGURATION_POLL_SECONDS):
                    await reload_requested.wait()
            now = self._text()
            if now == text and not reload_requested.is_set():
                continue
            text = now
            reload_requested.clear()
            found = self._try_to_read()
            if found is not None and found[0] != current:
                log.info("the configuration changed, restarting the controllers with it")
                return found

    def _try_to_read(self) -> tuple[OperatorConfiguration, Registry] | None:
        try:
            found = self._read()
            return found, Registry(found.scheduler)
        except (InvalidConfigurationError, ConfigurationError) as e:
            log.error("the changed configuration is invalid and is ignored", error=str(e))
            return None

    def _text(self) -> str:
        try:
            return self._path.read_text(encoding="utf-8") if self._path else ""
        except OSError:
            return ""  # The file is being replaced. The next poll reads it.

    def _elector(self, configuration: OperatorConfiguration, transport: HttpTransport) -> Elector | None:
        election = configuration.leader_election
        if not election.enabled:
            return None
        name = f"{election.resource_name}-{self._only}" if self._only else election.resource_name
        return Elector(
            transport,
            ObjectKey(election.resource_namespace or self._cluster.namespace, name),
            self._instance,
            now=utc_now,
            duration=election.lease_duration.seconds,
            renew_within=election.renew_deadline.seconds,
            retry_every=election.retry_period.seconds,
        )
