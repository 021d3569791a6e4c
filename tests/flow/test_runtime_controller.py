"""A controller on the runtime against the embedded cluster: it converges, whatever fails, and then is quiet."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from grove_sandbox.apiserver import ApiServer
from grove_sandbox.faults import Faults, FaultyTransport, Rates

from grove.runtime.client.objects import ObjectKey
from grove.runtime.client.transport import Transport
from tests.flow.runtime_cluster import Counted, FleetController, body, settled, straight

pytestmark = pytest.mark.looptime

FLEET = ObjectKey("default", "fleet")


def fleet(size: int, colour: str = "red") -> bytes:
    return body("fleet", {"size": str(size), "colour": colour}, {"role": "fleet"})


@asynccontextmanager
async def process(transport: Transport) -> AsyncIterator[FleetController]:
    """A whole process; it may end before the test does."""
    made = FleetController(transport)
    stop = asyncio.Event()
    task = asyncio.create_task(made.manager.run(stop))
    try:
        yield made
    finally:
        stop.set()
        _, late = await asyncio.wait([task], timeout=60)
        assert not late
        if not isinstance(transport, FaultyTransport) or not transport.killed.is_set():
            task.result()


async def members(server: ApiServer) -> dict[str, str]:
    found = await straight(server).list("default", labels="role=member")
    return {o.metadata.name or "": o.data["colour"] for o in found.items}


async def converged(server: ApiServer, size: int, colour: str) -> None:
    expected = {f"fleet-{n}": colour for n in range(size)}

    async def equal() -> bool:
        return await members(server) == expected

    await settled(equal)


async def test_a_fleet_is_made_changed_and_removed() -> None:
    server = ApiServer()
    async with process(server):
        await straight(server).create("default", fleet(5))
        await converged(server, 5, "red")
        await straight(server).merge_patch(FLEET, b'{"data":{"size":"3","colour":"blue"}}')
        await converged(server, 3, "blue")
        await straight(server).delete(ObjectKey("default", "fleet-1"))
        await converged(server, 3, "blue")
        await straight(server).delete(FLEET)
        await converged(server, 0, "blue")


async def test_a_late_watch_makes_no_object_twice() -> None:
    server = ApiServer()
    created: list[str] = []
    server.on_write(lambda w: created.append(w.key[1]) if w.type == "ADDED" else None)
    faults = Faults(seed=1, rates=Rates(watch_lag=1.0), lag=30.0)
    counted = Counted(faults.transport(server))
    async with process(counted):
        await straight(server).create("default", fleet(10))
        await converged(server, 10, "red")
        await asyncio.sleep(300)
    assert sorted(created) == sorted(["fleet", *(f"fleet-{n}" for n in range(10))])
    assert [r.method for r in counted.requests if r.method != "GET"] == ["POST"] * 10


async def test_a_steady_state_makes_no_requests() -> None:
    server = ApiServer()
    counted = Counted(server)
    async with process(counted) as subject:
        await straight(server).create("default", fleet(50))
        await converged(server, 50, "red")
        await asyncio.sleep(10)
        counted.requests.clear()
        for _ in range(100):
            subject.controller.queue.add(FLEET)
            await asyncio.sleep(1)
        assert subject.controller.queue.idle
        assert counted.requests == []


@pytest.mark.parametrize("seed", range(20))
async def test_it_converges_whatever_goes_wrong(seed: int) -> None:
    server = ApiServer(seed=seed)
    faults = Faults(seed, Rates.all(0.1))
    async with process(faults.transport(server)):
        await straight(server).create("default", fleet(12))
        await asyncio.sleep(20)
        await straight(server).merge_patch(FLEET, b'{"data":{"size":"7","colour":"blue"}}')
        await converged(server, 7, "blue")
        faults.stop()
        await asyncio.sleep(300)
        assert await members(server) == {f"fleet-{n}": "blue" for n in range(7)}


@pytest.mark.parametrize("write", range(1, 14))
async def test_killed_after_any_write_a_new_process_makes_the_same_objects(write: int) -> None:
    """A fleet of six, of which two are too many and one has the wrong colour: twelve writes from nothing to the end."""
    server = ApiServer()
    await straight(server).create("default", fleet(6))
    faults = Faults(seed=0)
    first = faults.transport(server)
    first.kill_after(write)
    async with process(first):
        await asyncio.sleep(5)
        await straight(server).merge_patch(FLEET, b'{"data":{"size":"4","colour":"blue"}}')
        await asyncio.sleep(5)
    async with process(server):
        await converged(server, 4, "blue")
    assert first.killed.is_set() == (write <= 12)
