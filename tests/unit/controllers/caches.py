"""Informers without a server: tests put objects into their caches."""

from typing import Any, cast

from grove.api.config import OperatorConfiguration, SchedulerProfile, Schedulers
from grove.controllers.shared.context import OperatorContext
from grove.controllers.shared.informers import Informers, make_informers
from grove.runtime.cache.informer import Informer
from grove.runtime.client.client import Client
from grove.runtime.client.transport import Request, Response, Stream
from grove.runtime.controller.events import EventRecorder
from grove.runtime.controller.manager import Manager
from grove.schedulers.kube import Kubernetes
from grove.schedulers.registry import Registry
from tests.unit.plan.observed import NOW


class NoServer:
    async def send(self, request: Request) -> Response:
        raise NotImplementedError

    async def stream(self, request: Request) -> Stream:
        raise NotImplementedError

    async def close(self) -> None:
        raise NotImplementedError


def empty_informers() -> Informers:
    return make_informers(Manager(Client(NoServer())), (), ())


def context(registry: Registry | None = None) -> OperatorContext:
    profiles = [SchedulerProfile(name="default-scheduler")]
    configuration = OperatorConfiguration(scheduler=Schedulers(profiles=profiles))
    return OperatorContext(
        configuration=configuration,
        registry=registry or Registry(configuration.scheduler, {"default": Kubernetes}),
        recorder=cast(EventRecorder, None),
        now=lambda: NOW,
    )


def put(informer: Informer[Any], obj: Any, version: int, **labels: str) -> None:
    """As a watch delivers it, in this version and with these labels beside its own."""
    metadata = {"uid": obj.metadata.name, "resource_version": str(version)}
    copy = type(obj).from_json(obj.to_json())
    for field, value in metadata.items():
        setattr(copy.metadata, field, value)
    copy.metadata.labels |= {f"grove.io/{key.replace('_', '-')}": value for key, value in labels.items()}
    informer.cache.observe(copy)
