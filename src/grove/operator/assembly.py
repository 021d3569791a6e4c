"""Puts the operator together from its controllers, on any client: a real cluster's or the embedded one's."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Collection, Coroutine
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

from grove import __version__
from grove.api import PodClique
from grove.api.config import OperatorConfiguration
from grove.controllers.podclique.controller import CliqueController
from grove.controllers.podcliqueset.replica_controller import ReplicaController
from grove.controllers.podcliqueset.set_controller import SetController
from grove.controllers.podcliqueset.set_judgements import SetJudgements
from grove.controllers.podgang.controller import GangController
from grove.controllers.scalinggroup import ScalingGroupController
from grove.controllers.scheduler_objects.local_backends import LocalBackends
from grove.controllers.shared.companions import OPTIONAL_KINDS
from grove.controllers.shared.context import OperatorContext
from grove.controllers.shared.informers import GangInformers, Informers, make_gang_informers, make_informers
from grove.controllers.topology import TopologyController
from grove.runtime.cache.informer import BATCH_WINDOW_SECONDS, Informer
from grove.runtime.client.client import Client
from grove.runtime.client.discovery import resources
from grove.runtime.client.objects import ResourceType
from grove.runtime.controller.controller import Controller
from grove.runtime.controller.events import EventRecorder
from grove.runtime.controller.leader import Elector, LeadershipLostError
from grove.runtime.controller.manager import Manager
from grove.schedulers.backend import Backend
from grove.schedulers.registry import Registry

NAME = "grove.io/operator"
DEFAULT_INIT_IMAGE = f"grove-initc:{__version__}"


def utc_now() -> datetime:
    return datetime.now(UTC)


class ControllerProcess:
    """Controllers that run together on one client. `instance` names this process in events."""

    informers: GangInformers

    def __init__(
        self,
        client: Client,
        configuration: OperatorConfiguration,
        registry: Registry,
        *,
        instance: str = "grove-operator",
        now: Callable[[], datetime] = utc_now,
        elector: Elector | None = None,
        batch_window: float = BATCH_WINDOW_SECONDS,
        count_selection: Callable[[str], None] = lambda backend: None,
    ) -> None:
        recorder = EventRecorder(client, NAME, instance, now=now)
        self.context = OperatorContext(
            configuration=configuration,
            registry=registry,
            recorder=recorder,
            now=now,
            metrics=client.metrics,
            count_selection=count_selection,
        )
        self.manager = Manager(client, elector=elector, recorder=recorder, batch_window=batch_window)
        self.controllers: list[Controller[Any]] = []
        self._background: list[Callable[[], Coroutine[Any, Any, None]]] = []

    def translate(self, backends: LocalBackends, cliques: Informer[PodClique] | None = None) -> None:
        """Adds the controller of PodGangs. It keeps schedulers' own objects; with `cliques`, it initializes gangs."""
        self.controllers.append(GangController(self.context, self.informers, backends, cliques).controller())
        self._background.append(backends.follow_cluster)

    async def run(self, stop: asyncio.Event) -> None:
        """Runs until `stop` is set. Raises LeadershipLostError if the lease was lost."""
        for controller in self.controllers:
            self.manager.add(controller)
        lost: LeadershipLostError | None = None
        async with asyncio.TaskGroup() as group:
            background = [group.create_task(task()) for task in self._background]
            try:
                await self.manager.run(stop)
            except LeadershipLostError as e:
                lost = e
            for running in background:
                running.cancel()
        if lost is not None:
            raise lost

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Runs the process while the body of an `async with` runs."""
        stop = asyncio.Event()
        async with asyncio.TaskGroup() as group:
            run = group.create_task(self.run(stop))
            yield
            stop.set()
            await run


class Operator(ControllerProcess):
    """The whole operator, with every backend that does not run as a deployment of its own.

    It creates the schedulers' topology objects for all backends, those of other deployments too: a
    ClusterTopologyBinding has one status. `served` are the optional kinds that the cluster has; see `discover`.
    """

    informers: Informers

    def __init__(
        self,
        client: Client,
        configuration: OperatorConfiguration,
        registry: Registry,
        *,
        served: Collection[ResourceType] = (),
        init_image: str = DEFAULT_INIT_IMAGE,
        chance: random.Random | None = None,
        **settings: Any,
    ) -> None:
        super().__init__(client, configuration, registry, **settings)
        context = self.context
        informers = self.informers = make_informers(self.manager, registry.backends, served)
        judgements = SetJudgements(context, informers)
        backends = LocalBackends(self.manager, registry.local, registry)
        replicas = ReplicaController(context, informers, judgements)
        self.controllers += [
            SetController(context, informers, judgements, replicas).controller(),
            replicas.controller(),
            ScalingGroupController(context, informers, judgements).controller(),
            CliqueController(
                context, informers, judgements, backends, init_image=init_image, chance=chance
            ).controller(),
        ]
        self.translate(backends, informers.cliques)
        topologies = TopologyController(context, informers, self.manager)
        self.controllers.append(topologies.controller())
        self._background.append(topologies.follow_cluster)


class BackendProcess(ControllerProcess):
    """One backend on its own: it keeps its scheduler's objects and reports on each PodGang."""

    def __init__(
        self,
        client: Client,
        configuration: OperatorConfiguration,
        registry: Registry,
        backend: Backend,
        **settings: Any,
    ) -> None:
        super().__init__(client, configuration, registry, **settings)
        self.informers = make_gang_informers(self.manager, [backend])
        self.translate(LocalBackends(self.manager, [backend], registry))


async def discover(client: Client) -> list[ResourceType]:
    """Which of the optional kinds this cluster serves."""
    return [k for k in OPTIONAL_KINDS if k.plural in await resources(client, k.group, k.version)]
