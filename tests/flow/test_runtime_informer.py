"""Informers against the embedded cluster, with and without faults: the cache ends up equal to the server."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from grove_sandbox.apiserver import ApiServer
from grove_sandbox.faults import Faults, Rates

from grove.runtime.cache.informer import Informer
from grove.runtime.client.client import Client
from grove.runtime.client.errors import Conflict, RequestError
from grove.runtime.client.objects import ObjectKey
from grove.runtime.client.transport import Transport
from tests.flow.runtime_cluster import CONFIG_MAPS, ConfigMap, body, cached, decode, settled, stored, straight

pytestmark = pytest.mark.looptime


@asynccontextmanager
async def informer(transport: Transport, seed: int = 0) -> AsyncIterator[Informer[ConfigMap]]:
    client = Client(transport, chance=random.Random(seed))
    made = Informer(client, CONFIG_MAPS, decode, namespace="default")
    task = asyncio.create_task(made.run())
    try:
        yield made
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def agrees(server: ApiServer, subject: Informer[ConfigMap]) -> None:
    async def equal() -> bool:
        return cached(subject) == await stored(server)

    await settled(equal)


async def test_every_kind_of_change_arrives() -> None:
    server = ApiServer()
    objects = straight(server)
    await objects.create("default", body("before"))
    async with informer(server) as subject:
        await subject.synced.wait()
        assert cached(subject) == await stored(server)
        await objects.create("default", body("a"))
        await objects.merge_patch(ObjectKey("default", "before"), b'{"data":{"x":"y"}}')
        await agrees(server, subject)
        await objects.delete(ObjectKey("default", "a"))
        await objects.create("default", body("a"))
        await agrees(server, subject)


async def test_thousands_of_objects_are_read_in_one_go() -> None:
    server = ApiServer()
    for number in range(2000):
        await straight(server).create("default", body(f"c{number}"))
    async with informer(server) as subject:
        await subject.synced.wait()
        assert cached(subject) == await stored(server)


async def test_a_compacted_history_leads_to_a_relist_that_reports_deletions() -> None:
    server = ApiServer()
    objects = straight(server)
    for name in "abc":
        await objects.create("default", body(name))
    faults = Faults(seed=1)
    async with informer(faults.transport(server)) as subject:
        await subject.synced.wait()
        gone: list[str] = []
        subject.cache.subscribe(
            lambda change: gone.append(change.object.metadata.name or "") if change.new is None else None
        )
        faults.rates = Rates(watch_gone=1.0)
        await objects.delete(ObjectKey("default", "b"))
        server.compact()
        await asyncio.sleep(1)
        faults.stop()
        await agrees(server, subject)
        assert gone == ["b"]


async def test_an_hour_of_silence_costs_nothing_and_loses_nothing() -> None:
    server = ApiServer()
    async with informer(server) as subject:
        await subject.synced.wait()
        await asyncio.sleep(3600)
        await straight(server).create("default", body("late"))
        await agrees(server, subject)


async def test_read_your_writes_holds_however_late_the_watch_is() -> None:
    server = ApiServer()
    faults = Faults(seed=3, rates=Rates(watch_lag=1.0), lag=60.0)
    async with informer(faults.transport(server)) as subject:
        await subject.synced.wait()
        for number in range(20):
            key = ObjectKey("default", f"c{number}")
            made = await subject.objects.create("default", body(key.name))
            assert subject.cache.get(key) == made
            changed = await subject.objects.merge_patch(key, b'{"data":{"x":"y"}}')
            assert subject.cache.get(key) == changed
            if number % 2:
                await subject.objects.delete(key, uid=made.metadata.uid)
                assert subject.cache.get(key) is None
        assert cached(subject) == await stored(server)
        for _ in range(100):  # the late events come in, and take nothing back
            await asyncio.sleep(30)
            assert cached(subject) == await stored(server)


@pytest.mark.parametrize("seed", range(20))
async def test_whatever_goes_wrong_the_cache_ends_up_equal_to_the_server(seed: int) -> None:
    server = ApiServer(seed=seed)
    faults = Faults(seed, Rates.all(0.08))
    dice = random.Random(seed)
    async with informer(faults.transport(server), seed) as subject:
        for _ in range(150):
            # Half of the writes are the informer's own, with faults, and half are somebody else's.
            objects = subject.objects if dice.random() < 0.5 else straight(server)
            key = ObjectKey("default", f"c{dice.randrange(8)}")
            try:
                match dice.randrange(4):
                    case 0 | 1:
                        await objects.create("default", body(key.name))
                    case 2:
                        await objects.merge_patch(key, f'{{"data":{{"x":"{dice.random()}"}}}}'.encode())
                    case 3:
                        await objects.delete(key)
            except RequestError:
                pass  # refused, or lost: the server knows what came of it
            if dice.random() < 0.05:
                server.compact()
            await asyncio.sleep(dice.random())
        faults.stop()
        await agrees(server, subject)


async def test_a_guarded_write_on_a_stale_version_is_refused() -> None:
    server = ApiServer()
    made = await straight(server).create("default", body("a"))
    await straight(server).merge_patch(ObjectKey("default", "a"), b'{"data":{"x":"y"}}')
    stale = f'{{"metadata":{{"resourceVersion":"{made.metadata.resource_version}"}},"data":{{"x":"z"}}}}'
    with pytest.raises(Conflict):
        await straight(server).merge_patch(ObjectKey("default", "a"), stale.encode())
