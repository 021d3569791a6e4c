"""Runs controllers in one process: starts the informers, waits for leadership, runs the controllers, shuts down."""

import asyncio
from collections.abc import Coroutine, Mapping
from contextlib import suppress
from typing import Any, NoReturn

import msgspec
import structlog

from grove.runtime.cache.cache import Change, Index
from grove.runtime.cache.informer import BATCH_WINDOW_SECONDS, Informer
from grove.runtime.client.backoff import Backoff
from grove.runtime.client.client import Client
from grove.runtime.client.discovery import resources
from grove.runtime.client.errors import RequestError
from grove.runtime.client.objects import APIResource, Obj, PartialObject, ResourceType
from grove.runtime.client.resource_client import Decode
from grove.runtime.controller.controller import Controller
from grove.runtime.controller.events import EventRecorder
from grove.runtime.controller.leader import Elector, LeadershipLostError

log = structlog.get_logger(__name__)


class Manager:
    """Informers are shared: one per resource and selector, however many controllers read from it."""

    def __init__(
        self,
        client: Client,
        *,
        elector: Elector | None = None,
        recorder: EventRecorder | None = None,
        grace: float = 20.0,
        batch_window: float = BATCH_WINDOW_SECONDS,
    ) -> None:
        self.client = client
        self._batch_window = batch_window
        self._elector = elector
        self._recorder = recorder
        self._grace = grace
        self._informers: dict[tuple[str, ...], tuple[Informer[Any], Decode[Any]]] = {}
        self._required: list[Informer[Any]] = []
        self._controllers: list[Controller[Any]] = []
        self.definitions: Informer[PartialObject] = Informer(
            client, DEFINITIONS, msgspec.json.Decoder(PartialObject).decode, batch_window=batch_window
        )
        """The CustomResourceDefinitions of the cluster. Followed only if the process has optional informers."""

    def informer(
        self,
        resource: ResourceType,
        decode: Decode[Obj],
        *,
        namespace: str | None = None,
        labels: str = "",
        fields: str = "",
        indexes: Mapping[str, Index[Obj]] | None = None,
        title: str = "",
        required: bool = True,
    ) -> Informer[Obj]:
        """The informer for this resource and selector. The first call creates it, later ones may add indexes.

        The process is not ready before a `required` informer has its initial list. Pass False for a kind that the
        cluster may not serve: such an informer starts once the cluster serves it.
        """
        identity = (resource.group, resource.version, resource.plural, namespace or "", labels, fields)
        if identity not in self._informers:
            made = Informer(
                self.client,
                resource,
                decode,
                namespace=namespace,
                labels=labels,
                fields=fields,
                title=title,
                batch_window=self._batch_window,
            )
            self._informers[identity] = made, decode
            if required:
                self._required.append(made)
        informer, first_decode = self._informers[identity]
        if decode != first_decode:
            raise ValueError(f"another informer for {resource.plural} exists that decodes into another class")
        for name, function in (indexes or {}).items():
            informer.cache.add_index(name, function)
        return informer

    def add(self, controller: Controller[Any]) -> None:
        self._controllers.append(controller)

    def readiness(self) -> Mapping[str, bool]:
        """For `/readyz`: which caches have their initial list."""
        return {f"cache of {i.title}": i.synced.is_set() for i in self._required}

    async def run(self, stop: asyncio.Event) -> None:
        """Runs until `stop` is set, and then until all running reconciles are done or `grace` seconds have passed.

        Raises `LeadershipLostError` if the lease was lost. The workers are stopped by then, and the process should end.
        """
        lost: LeadershipLostError | None = None
        async with asyncio.TaskGroup() as group:
            helpers = [group.create_task(informer.run()) for informer in self._required]
            helpers += [group.create_task(run) for run in self._run_optional()]
            if self._recorder is not None:
                helpers.append(group.create_task(self._recorder.run()))
            try:
                if self._elector is None:
                    await self._work(stop)
                else:
                    await self._elector.lead(lambda: self._work(stop), stop)
            except LeadershipLostError as e:
                lost = e
            for helper in helpers:
                helper.cancel()
        if lost is not None:
            raise lost
        if self._recorder is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(FLUSH_TIMEOUT_SECONDS):
                    await self._recorder.flush()

    def _run_optional(self) -> list[Coroutine[Any, Any, NoReturn]]:
        """An optional informer starts when its kind is served; the CustomResourceDefinition announces that."""
        waiting = [i for i, _ in self._informers.values() if i not in self._required]
        if not waiting:
            return []
        return [self.definitions.run(), *(self._run_when_served(i) for i in waiting)]

    async def _run_when_served(self, informer: Informer[Any]) -> NoReturn:
        defined = asyncio.Event()
        name = f"{informer.resource.plural}.{informer.resource.group}"

        def note(change: Change[PartialObject]) -> None:
            if change.object.metadata.name == name:
                defined.set()

        self.definitions.cache.subscribe(note)
        backoff = Backoff(0.5, DISCOVERY_INTERVAL_SECONDS)
        while not await self._is_served(informer):
            defined.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(
                    backoff.next() if informer.trouble else DISCOVERY_INTERVAL_SECONDS
                ):
                    await defined.wait()
        await informer.run()

    async def _is_served(self, informer: Informer[Any]) -> bool:
        resource = informer.resource
        try:
            found = await resources(self.client, resource.group, resource.version)
        except RequestError as e:
            informer.trouble = e
            return False
        informer.trouble = None
        return resource.plural in found

    async def _work(self, stop: asyncio.Event) -> None:
        async with asyncio.TaskGroup() as group:
            working = [group.create_task(c.run(), name=c.name) for c in self._controllers]
            await stop.wait()
            log.info("stopping after the running reconciles")
            for controller in self._controllers:
                controller.stop()
            _, late = await asyncio.wait(working, timeout=self._grace) if working else ((), ())
            for task in late:
                log.warning("controller did not stop in time, cancelling it", controller=task.get_name())
                task.cancel()


# For kinds without a CustomResourceDefinition, which come with a new release of the server.
DISCOVERY_INTERVAL_SECONDS = 60.0
DEFINITIONS = APIResource(
    "apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", namespaced=False
)
# How long the shutdown may wait for the last events to be written.
FLUSH_TIMEOUT_SECONDS = 5.0
