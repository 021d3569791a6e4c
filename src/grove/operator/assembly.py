"""Puts the operator together from its controllers, on any client: a real cluster's or the embedded one's."""

import asyncio
import random
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any

from grove import __version__
from grove.api.config import OperatorConfiguration
from grove.controllers.backends import Backends
from grove.controllers.cliques import CliqueController
from grove.controllers.gangs import GangController
from grove.controllers.replicas import ReplicaController
from grove.controllers.scalinggroups import ScalingGroupController
from grove.controllers.sets import SetController
from grove.controllers.shapes import Shapes
from grove.controllers.topologies import TopologyController
from grove.controllers.world import OPTIONAL_KINDS, make_world
from grove.runtime.client import Client
from grove.runtime.controller import Controller
from grove.runtime.discovery import resources
from grove.runtime.events import EventRecorder
from grove.runtime.leader import Elector
from grove.runtime.manager import Manager
from grove.runtime.objects import ResourceType
from grove.schedulers.registry import Registry

NAME = "grove.io/operator"
DEFAULT_INIT_IMAGE = f"grove-initc:{__version__}"


def utc_now() -> datetime:
    return datetime.now(UTC)


class Operator:
    """`served` are the optional kinds that the cluster has; see `discover`. `instance` names this process in events."""

    def __init__(
        self,
        client: Client,
        configuration: OperatorConfiguration,
        registry: Registry,
        *,
        served: Iterable[ResourceType] = (),
        instance: str = "grove-operator",
        init_image: str = DEFAULT_INIT_IMAGE,
        now: Callable[[], datetime] = utc_now,
        elector: Elector | None = None,
        chance: random.Random | None = None,
    ) -> None:
        recorder = EventRecorder(client, NAME, instance, now=now)
        self.manager = Manager(client, elector=elector, recorder=recorder)
        self.world = make_world(self.manager, configuration, registry, recorder, now, list(served))
        shapes = Shapes(self.world)
        replicas = ReplicaController(self.world, shapes)
        self._gangs = GangController(self.world, Backends(self.manager, registry.backends))
        self._gang_queue = self._gangs.controller()
        self._topologies = TopologyController(self.world, self.manager, registry.backends)
        self._topology_queue = self._topologies.controller()
        self.controllers: list[Controller[Any]] = [
            SetController(self.world, shapes, replicas).controller(),
            replicas.controller(),
            ScalingGroupController(self.world, shapes).controller(),
            CliqueController(self.world, shapes, init_image=init_image, chance=chance).controller(),
            self._gang_queue,
            self._topology_queue,
        ]
        for controller in self.controllers:
            self.manager.add(controller)

    async def run(self, stop: asyncio.Event) -> None:
        """Until `stop` is set. Raises LeadershipLostError if the lease was lost."""
        async with asyncio.TaskGroup() as group:
            watching = [
                group.create_task(self._gangs.follow_cluster(self._gang_queue)),
                group.create_task(self._topologies.follow_cluster(self._topology_queue)),
            ]
            await self.manager.run(stop)
            for task in watching:
                task.cancel()


async def discover(client: Client) -> list[ResourceType]:
    """Which of the optional kinds this cluster serves."""
    return [k for k in OPTIONAL_KINDS if k.plural in await resources(client, k.group, k.version)]
