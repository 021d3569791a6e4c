"""Faults by seed: what a process under test meets, and that one seed is one run."""

import asyncio

import msgspec
import orjson
import pytest
from grove_sandbox.apiserver import ApiServer
from grove_sandbox.clock import loop_clock
from grove_sandbox.faults import HANG_SECONDS, FaultKind, Faults, FaultyTransport, Killed, Rates
from grove_sandbox.kubelet.objects import PODS as POD_TYPE
from grove_sandbox.kubelet.objects import KubeletPod

from grove.runtime.cache.informer import Informer
from grove.runtime.client.client import Client
from grove.runtime.client.errors import TransportError
from grove.runtime.client.objects import ResourceType
from grove.runtime.client.transport import Request, Stream
from tests.unit.sandbox.apiserver.calls import CONFIG_MAPS, PODS, Calls, config_map, pod

pytestmark = pytest.mark.looptime


def server() -> ApiServer:
    return ApiServer(now=loop_clock())


def create(name: str) -> Request:
    return Request("POST", CONFIG_MAPS, {}, {}, orjson.dumps(config_map(name)))


@pytest.mark.parametrize(
    ("fault", "status", "reason"),
    [(FaultKind.TOO_MANY, 429, "TooManyRequests"), (FaultKind.SERVER_ERROR, 500, "InternalError")],
)
async def test_a_refused_write_is_not_made(fault: FaultKind, status: int, reason: str) -> None:
    api = Calls(server())
    faults = Faults(seed=1)
    faults.next(fault)
    response = await faults.transport(api.server).send(create("a"))
    assert (response.status, orjson.loads(response.body)["reason"]) == (status, reason)
    assert not await api.exists(f"{CONFIG_MAPS}/a")


async def test_a_429_says_when_to_come_back() -> None:
    faults = Faults(seed=1)
    faults.next(FaultKind.TOO_MANY)
    response = await faults.transport(server()).send(create("a"))
    assert response.headers["retry-after"] == "1"


async def test_a_conflict_is_for_updates_only() -> None:
    api = Calls(server())
    faults = Faults(seed=1, rates=Rates(conflict=1.0))
    transport = faults.transport(api.server)
    assert (await transport.send(create("a"))).status == 201
    patch = Request("PATCH", f"{CONFIG_MAPS}/a", {}, {"content-type": "application/merge-patch+json"}, b"{}")
    assert (await transport.send(patch)).status == 409


@pytest.mark.parametrize(
    ("fault", "applied"), [(FaultKind.LOST_REQUEST, False), (FaultKind.LOST_RESPONSE, True)]
)
async def test_without_an_answer_the_write_may_have_been_made_or_not(fault: FaultKind, applied: bool) -> None:
    api = Calls(server())
    faults = Faults(seed=1)
    faults.next(fault)
    before = asyncio.get_running_loop().time()
    with pytest.raises(TransportError):
        await faults.transport(api.server).send(create("a"))
    assert asyncio.get_running_loop().time() - before == HANG_SECONDS
    assert await api.exists(f"{CONFIG_MAPS}/a") is applied


async def test_a_fault_can_be_meant_for_one_request() -> None:
    api = Calls(server())
    faults = Faults(seed=1)
    faults.next(FaultKind.SERVER_ERROR, when=lambda request: b'"b"' in request.body)
    transport = faults.transport(api.server)
    codes = [(await transport.send(create(name))).status for name in "abc"]
    assert codes == [201, 500, 201]
    assert faults.log == [f"server_error POST {CONFIG_MAPS}"]


async def test_a_process_dies_right_after_the_write_it_was_to_die_after() -> None:
    api = Calls(server())
    transport = Faults(seed=1).transport(api.server)
    transport.kill_after(2)
    assert (await transport.send(create("a"))).status == 201
    with pytest.raises(Killed):
        await transport.send(create("b"))
    assert transport.killed.is_set()
    assert await api.exists(f"{CONFIG_MAPS}/b")
    with pytest.raises(Killed):
        await transport.send(create("c"))
    assert not await api.exists(f"{CONFIG_MAPS}/c")


async def watch(transport: FaultyTransport) -> Stream:
    return await transport.stream(Request("GET", CONFIG_MAPS, {"watch": "true"}))


async def test_a_broken_watch_ends_in_the_middle_of_a_line() -> None:
    api = Calls(server())
    await api.create(CONFIG_MAPS, config_map("a"))
    faults = Faults(seed=1)
    faults.next(FaultKind.WATCH_BREAK)
    pieces = (await watch(faults.transport(api.server))).chunks()
    assert not (await anext(pieces)).endswith(b"\n")
    with pytest.raises(TransportError):
        await anext(pieces)


async def test_the_history_of_a_watch_may_expire() -> None:
    api = Calls(server())
    await api.create(CONFIG_MAPS, config_map("a"))
    faults = Faults(seed=1)
    faults.next(FaultKind.WATCH_GONE)
    stream = await watch(faults.transport(api.server))
    (line,) = [piece async for piece in stream.chunks()]
    event = orjson.loads(line)
    assert (event["type"], event["object"]["code"]) == ("ERROR", 410)


async def test_a_watch_may_be_refused_outright() -> None:
    faults = Faults(seed=1)
    faults.next(FaultKind.WATCH_REFUSED)
    stream = await watch(faults.transport(server()))
    assert stream.status == 410


async def test_replayed_events_end_with_the_newest() -> None:
    api = Calls(server())
    await api.create(CONFIG_MAPS, config_map("a"))
    faults = Faults(seed=1)
    pieces = (await watch(faults.transport(api.server))).chunks()
    first = await anext(pieces)
    faults.next(FaultKind.WATCH_REPLAY)
    await api.create(CONFIG_MAPS, config_map("b"))
    second = await anext(pieces)
    assert [await anext(pieces), await anext(pieces)] == [first, second]


async def test_events_that_lag_arrive_later() -> None:
    api = Calls(server())
    await api.create(CONFIG_MAPS, config_map("a"))
    faults = Faults(seed=1, lag=7.0)
    faults.next(FaultKind.WATCH_LAG)
    before = asyncio.get_running_loop().time()
    assert await anext((await watch(faults.transport(api.server))).chunks())
    assert asyncio.get_running_loop().time() - before == 7.0


async def run(seed: int) -> tuple[list[str], list[str]]:
    """An informer and a writer under fire; what went wrong, and what the cache holds in the end."""
    api = Calls(server())
    faults = Faults(seed, Rates.all(0.08))
    client = Client(faults.transport(api.server), attempts=20, chance=faults.chance)
    resource: ResourceType = POD_TYPE
    informer: Informer[KubeletPod] = Informer(client, resource, msgspec.json.Decoder(KubeletPod).decode)
    task = asyncio.create_task(informer.run())
    for number in range(30):
        await api.create(PODS, pod(f"p{number}"))
        await asyncio.sleep(1)
        if number % 3 == 2:
            await api.delete(f"{PODS}/p{number - 1}")
    faults.stop()
    await asyncio.sleep(600)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    known = sorted(p.metadata.name or "" for p in informer.cache)
    truth = sorted(p["metadata"]["name"] for p in (await api.get(PODS))["items"])
    assert known == truth
    return faults.log, known


async def test_an_informer_under_fire_ends_up_knowing_the_truth() -> None:
    log, known = await run(11)
    assert len({line.split()[0] for line in log}) >= 3, log
    assert len(known) == 20


async def test_one_seed_is_one_run() -> None:
    first, again, other = await run(5), await run(5), await run(6)
    assert first == again
    assert first[0] != other[0]
