"""A small controller of the runtime's own, run against the embedded cluster: a fleet of config maps."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterable

import msgspec
from grove_sandbox.apiserver import ApiServer

from grove.runtime.cache.informer import Informer
from grove.runtime.client.client import Client
from grove.runtime.client.errors import AlreadyExists
from grove.runtime.client.objects import APIResource, ObjectKey, PartialMetadata, key_of
from grove.runtime.client.resource_client import ResourceClient
from grove.runtime.client.transport import Request, Response, Stream, Transport
from grove.runtime.controller.concurrently import for_each, raise_failures
from grove.runtime.controller.controller import Controller
from grove.runtime.controller.manager import Manager
from grove.runtime.controller.triggers import Trigger, added_or_deleted, itself
from grove.runtime.telemetry.metrics import Metrics

METRICS = Metrics()  # of no interest
CONFIG_MAPS = APIResource("", "v1", "configmaps", "ConfigMap")


class ConfigMap(msgspec.Struct, rename="camel", omit_defaults=True, kw_only=True, gc=False):
    api_version: str = "v1"
    kind: str = "ConfigMap"
    metadata: PartialMetadata
    data: dict[str, str] = {}


decode = msgspec.json.Decoder(ConfigMap).decode


def body(name: str, data: dict[str, str] | None = None, labels: dict[str, str] | None = None) -> bytes:
    metadata = {"name": name, "labels": labels or {}}
    made = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data or {}}
    return msgspec.json.encode(made)


def straight(server: ApiServer) -> ResourceClient[ConfigMap]:
    """A way to the server on which nothing goes wrong, for the test itself."""
    return ResourceClient(Client(server, metrics=METRICS, chance=random.Random(0)), CONFIG_MAPS, decode)


async def stored(server: ApiServer) -> dict[str, str]:
    """What is on the server: name to UID and version."""
    return shown((await straight(server).list("default")).items)


def cached(informer: Informer[ConfigMap]) -> dict[str, str]:
    return shown(informer.cache)


def shown(objects: Iterable[ConfigMap]) -> dict[str, str]:
    return {o.metadata.name or "": f"{o.metadata.uid}@{o.metadata.resource_version}" for o in objects}


async def settled(condition: Callable[[], Awaitable[bool]]) -> None:
    """Waits, in virtual time, for what must come true."""
    async with asyncio.timeout(600):
        while not await condition():  # noqa: ASYNC110
            await asyncio.sleep(0.1)


class Counted:
    """A transport that remembers what was asked."""

    def __init__(self, inner: Transport) -> None:
        self.requests: list[Request] = []
        self._inner = inner

    async def send(self, request: Request) -> Response:
        self.requests.append(request)
        return await self._inner.send(request)

    async def stream(self, request: Request) -> Stream:
        return await self._inner.stream(request)

    async def close(self) -> None:
        await self._inner.close()


class FleetController:
    """Keeps as many members as a fleet's `data.size` says, each with the fleet's `data.colour`."""

    def __init__(self, transport: Transport) -> None:
        self.manager = Manager(Client(transport, chance=random.Random(0)))
        self.fleets = self.manager.informer(CONFIG_MAPS, decode, labels="role=fleet")
        self.members = self.manager.informer(
            CONFIG_MAPS,
            decode,
            labels="role=member",
            indexes={"fleet": lambda o: [o.metadata.labels["fleet"]]},
        )
        self.controller: Controller[ObjectKey] = Controller(
            "fleet",
            self.reconcile,
            [
                Trigger(self.fleets, itself, why="its size or colour may have changed"),
                Trigger(
                    self.members,
                    _fleet_of,
                    why="a member that was added or deleted changes how many are missing",
                    when=added_or_deleted,
                ),
            ],
        )
        self.manager.add(self.controller)

    async def reconcile(self, key: ObjectKey) -> None:
        fleet = self.fleets.cache.get(key)
        wanted = range(int(fleet.data["size"]) if fleet else 0)
        colour = fleet.data["colour"] if fleet else ""
        members = {m.metadata.name or "": m for m in self.members.cache.by_index("fleet", key.name)}
        names = {f"{key.name}-{n}" for n in wanted}

        async def create(name: str) -> None:
            labels = {"role": "member", "fleet": key.name}
            try:
                await self.members.objects.create(key.namespace, body(name, {"colour": colour}, labels))
            except AlreadyExists:
                await self.members.objects.get(ObjectKey(key.namespace, name))

        async def paint(member: ConfigMap) -> None:
            patch = {
                "metadata": {"resourceVersion": member.metadata.resource_version},
                "data": {"colour": colour},
            }
            await self.members.objects.merge_patch(key_of(member), msgspec.json.encode(patch))

        async def remove(member: ConfigMap) -> None:
            await self.members.objects.delete(key_of(member), uid=member.metadata.uid)

        kept = [m for name, m in members.items() if name in names]
        raise_failures(await for_each(sorted(names - set(members)), create), "create members")
        raise_failures(
            await for_each([m for m in kept if m.data.get("colour") != colour], paint), "paint members"
        )
        raise_failures(
            await for_each([m for n, m in members.items() if n not in names], remove), "remove members"
        )


def _fleet_of(member: ConfigMap) -> list[ObjectKey]:
    return [ObjectKey(member.metadata.namespace or "", member.metadata.labels["fleet"])]
