"""The limit of requests in flight rises while the server keeps up, and falls when it does not."""

import asyncio

import pytest

from grove.runtime.client.flow_control import InFlightLimit

pytestmark = pytest.mark.looptime


async def rounds(limit: InFlightLimit, count: int, latency: float) -> None:
    """Keeps as many requests in flight as allowed, to a server that takes `latency` for each answer."""

    async def one() -> None:
        await limit.acquire()
        started = asyncio.get_running_loop().time()
        await asyncio.sleep(latency)
        limit.answered(started)
        limit.release()

    for _ in range(count):
        await asyncio.gather(*(one() for _ in range(limit.current)))


async def test_no_more_requests_than_the_limit_are_in_flight() -> None:
    limit = InFlightLimit(start=3)
    entered = [asyncio.create_task(limit.acquire()) for _ in range(5)]
    await asyncio.sleep(1)
    assert [t.done() for t in entered] == [True, True, True, False, False]
    limit.release()
    await asyncio.sleep(1)
    assert [t.done() for t in entered] == [True, True, True, True, False]
    limit.release()
    await asyncio.gather(*entered)


async def test_the_limit_rises_while_latency_is_flat() -> None:
    limit = InFlightLimit(start=10)
    await rounds(limit, 4, latency=0.05)
    assert limit.current > 20
    await rounds(limit, 100, latency=0.05)
    assert limit.current == 200


async def test_the_limit_stops_rising_when_latency_rises() -> None:
    limit = InFlightLimit(start=10)
    await rounds(limit, 5, latency=0.05)
    reached = limit.current
    await rounds(limit, 20, latency=0.5)
    assert limit.current == reached


async def test_after_an_overload_the_limit_rises_slowly() -> None:
    limit = InFlightLimit(start=20)
    limit.overloaded(asyncio.get_running_loop().time(), None)
    await rounds(limit, 4, latency=0.05)
    assert 10 < limit.current < 16


async def test_a_limit_that_is_not_reached_does_not_rise() -> None:
    limit = InFlightLimit(start=10)
    for _ in range(1000):
        await limit.acquire()
        limit.answered(asyncio.get_running_loop().time() - 0.01)
        limit.release()
    assert limit.current == 10


async def test_an_overload_halves_the_limit_once_for_all_requests_of_a_burst() -> None:
    limit = InFlightLimit(start=16)
    started = asyncio.get_running_loop().time()
    await asyncio.sleep(1)
    for _ in range(10):
        limit.overloaded(started, None)
    assert limit.current == 8
    limit.overloaded(asyncio.get_running_loop().time(), None)
    assert limit.current == 4


async def test_the_limit_never_falls_to_zero() -> None:
    limit = InFlightLimit(start=2)
    for _ in range(10):
        await asyncio.sleep(1)
        limit.overloaded(asyncio.get_running_loop().time(), None)
    async with asyncio.timeout(1):
        await limit.acquire()


async def test_nothing_starts_before_retry_after_has_passed() -> None:
    limit = InFlightLimit()
    clock = asyncio.get_running_loop().time
    started = clock()
    limit.overloaded(started, 5.0)
    await asyncio.gather(*(limit.acquire() for _ in range(3)))
    assert clock() - started >= 5.0


async def test_an_absurd_retry_after_does_not_stop_us_for_an_hour() -> None:
    limit = InFlightLimit()
    limit.overloaded(0.0, 3600.0)
    async with asyncio.timeout(60):
        await limit.acquire()


@pytest.mark.parametrize("first", ["cancel", "release"])
async def test_a_cancelled_request_does_not_count_as_in_flight(first: str) -> None:
    """Also when it may start and is cancelled in the same iteration of the event loop, in either order."""
    limit = InFlightLimit(start=1)
    await limit.acquire()
    waiting = [asyncio.create_task(limit.acquire()) for _ in range(3)]
    await asyncio.sleep(0)
    for act in ("cancel", "release") if first == "cancel" else ("release", "cancel"):
        limit.release() if act == "release" else waiting[0].cancel()
    await asyncio.sleep(0.1)
    assert waiting[1].done()
    waiting[2].cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    assert limit.in_flight == 1
