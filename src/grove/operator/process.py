"""A process on a real cluster: the operator, or one backend alone, with probes and leader election.

When the configuration file changes, or SIGHUP comes, the controllers finish what they have in hand and start again with
the new one, in the same process: nothing in the cluster is touched by that. A file that cannot be used is reported and
ignored.
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
from grove.operator.assembly import DEFAULT_INIT_IMAGE, BackendProcess, Operator, Process, discover, utc_now
from grove.operator.metrics import GroveMetrics
from grove.runtime.client.client import Client
from grove.runtime.client.http_transport import HttpTransport
from grove.runtime.client.kubeconfig import ClusterConnection
from grove.runtime.client.objects import ObjectKey
from grove.runtime.controller.leader import Elector
from grove.runtime.telemetry.health import HealthServer
from grove.schedulers.registry import ConfigurationError, Registry

log = structlog.get_logger(__name__)

# A mounted ConfigMap changes without any event that a process could wait for everywhere.
LOOK_EVERY = 5.0

Read = Callable[[], OperatorConfiguration]


def calm_the_collector() -> None:
    """Caches of a large cluster hold millions of objects without cycles; looking through them again and again for
    garbage that is not there would cost more than the work itself."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


class UnusableConfigurationError(Exception):
    """What `Read` raises for a file that cannot be used."""


class AddressError(Exception):
    """Probes and metrics cannot be served where they should be."""


class Runner:
    """`read` gives the configuration; `only` is the backend to run alone, or empty for the operator."""

    def __init__(self, cluster: ClusterConnection, read: Read, path: Path | None, only: str = "") -> None:
        self._cluster = cluster
        self._read = read
        self._path = path
        self._only = only
        self._instance = f"{socket.gethostname()}-{os.getpid()}"
        self._stop = asyncio.Event()
        self._process: Process | None = None

    async def run(self) -> None:
        """Until SIGINT or SIGTERM. Raises ConfigurationError or AddressError if it cannot even begin."""
        loop = asyncio.get_running_loop()
        calm_the_collector()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._stop.set)
        transport = HttpTransport(self._cluster, user_agent="grove-operator")
        client = Client(transport, field_manager="grove-operator")
        metrics = GroveMetrics(client.metrics.registry)
        configuration = self._read()
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
                registry = Registry(configuration.scheduler)
                for said in registry.ambiguities():
                    log.warning("several backends match", ambiguity=said)
                process = await self._assemble(configuration, registry, client, transport, metrics)
                metrics.count(process.informers.gangs.cache)
                configuration = await self._until_changed(configuration, process)
        finally:
            await health.stop()
            await client.close()

    async def _until_changed(
        self, configuration: OperatorConfiguration, process: Process
    ) -> OperatorConfiguration:
        """Runs until told to stop or to use another configuration, which it returns."""
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
        return configuration if changed.cancelled() or not changed.done() else changed.result()

    async def _assemble(
        self,
        configuration: OperatorConfiguration,
        registry: Registry,
        client: Client,
        transport: HttpTransport,
        metrics: GroveMetrics,
    ) -> Process:
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
                count_selection=metrics.selected,
            )
        backend = registry.get(self._only)
        if backend is None:
            known = ", ".join(b.name for b in registry.backends)
            raise ConfigurationError(f"there is no enabled backend {self._only!r}; enabled are: {known}")
        return BackendProcess(
            client, configuration, registry, backend, instance=self._instance, elector=elector
        )

    async def _changed(self, current: OperatorConfiguration) -> OperatorConfiguration:
        """Waits for another configuration that can be used, and returns it."""
        asked = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, asked.set)
        text = self._text()
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK_EVERY):
                    await asked.wait()
            now = self._text()
            if now == text and not asked.is_set():
                continue
            text = now
            asked.clear()
            found = self._try_to_read()
            if found is not None and found != current:
                log.info("the configuration changed: starting again with the new one")
                return found

    def _try_to_read(self) -> OperatorConfiguration | None:
        try:
            found = self._read()
            Registry(found.scheduler)
        except (UnusableConfigurationError, ConfigurationError) as e:
            log.error("the changed configuration cannot be used and is ignored", error=str(e))
            return None
        return found

    def _text(self) -> str:
        try:
            return self._path.read_text(encoding="utf-8") if self._path else ""
        except OSError:
            return ""  # in the middle of being replaced; it is looked at again

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
