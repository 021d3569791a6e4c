"""The in-flight window: opens while the server keeps up, closes when it does not."""

import asyncio

import pytest

from grove.runtime.client.flow_control import Window

pytestmark = pytest.mark.looptime


async def rounds(window: Window, count: int, latency: float) -> None:
    """Keeps the window full, with a server that takes `latency` for each answer."""

    async def one() -> None:
        await window.enter()
        started = asyncio.get_running_loop().time()
        await asyncio.sleep(latency)
        window.answered(started)
        window.leave()

    for _ in range(count):
        await asyncio.gather(*(one() for _ in range(window.limit)))


async def test_no_more_than_the_limit_are_under_way() -> None:
    window = Window(start=3)
    entered = [asyncio.create_task(window.enter()) for _ in range(5)]
    await asyncio.sleep(1)
    assert [t.done() for t in entered] == [True, True, True, False, False]
    window.leave()
    await asyncio.sleep(1)
    assert [t.done() for t in entered] == [True, True, True, True, False]
    window.leave()
    await asyncio.gather(*entered)


async def test_the_window_opens_while_latency_is_flat() -> None:
    window = Window(start=10)
    await rounds(window, 4, latency=0.05)
    assert window.limit > 20
    await rounds(window, 100, latency=0.05)
    assert window.limit == 200


async def test_the_window_stops_opening_when_latency_rises() -> None:
    window = Window(start=10)
    await rounds(window, 5, latency=0.05)
    reached = window.limit
    await rounds(window, 20, latency=0.5)
    assert window.limit == reached


async def test_after_trouble_the_window_opens_slowly() -> None:
    window = Window(start=20)
    window.overloaded(asyncio.get_running_loop().time(), None)
    await rounds(window, 4, latency=0.05)
    assert 10 < window.limit < 16


async def test_a_window_that_is_not_used_does_not_open() -> None:
    window = Window(start=10)
    for _ in range(1000):
        await window.enter()
        window.answered(asyncio.get_running_loop().time() - 0.01)
        window.leave()
    assert window.limit == 10


async def test_trouble_halves_the_window_once_for_all_requests_of_a_burst() -> None:
    window = Window(start=16)
    started = asyncio.get_running_loop().time()
    await asyncio.sleep(1)
    for _ in range(10):
        window.overloaded(started, None)
    assert window.limit == 8
    window.overloaded(asyncio.get_running_loop().time(), None)
    assert window.limit == 4


async def test_the_window_never_closes_for_good() -> None:
    window = Window(start=2)
    for _ in range(10):
        await asyncio.sleep(1)
        window.overloaded(asyncio.get_running_loop().time(), None)
    async with asyncio.timeout(1):
        await window.enter()


async def test_nothing_starts_before_retry_after_has_passed() -> None:
    window = Window()
    clock = asyncio.get_running_loop().time
    started = clock()
    window.overloaded(started, 5.0)
    await asyncio.gather(*(window.enter() for _ in range(3)))
    assert clock() - started >= 5.0


async def test_an_absurd_retry_after_does_not_stop_us_for_an_hour() -> None:
    window = Window()
    window.overloaded(0.0, 3600.0)
    async with asyncio.timeout(60):
        await window.enter()


@pytest.mark.parametrize("first", ["cancel", "leave"])
async def test_who_stops_waiting_takes_no_place(first: str) -> None:
    """Also when the place is given and the wait is cancelled in the same turn of the loop, in either order."""
    window = Window(start=1)
    await window.enter()
    waiting = [asyncio.create_task(window.enter()) for _ in range(3)]
    await asyncio.sleep(0)
    for act in ("cancel", "leave") if first == "cancel" else ("leave", "cancel"):
        window.leave() if act == "leave" else waiting[0].cancel()
    await asyncio.sleep(0.1)
    assert waiting[1].done()
    waiting[2].cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    assert window.in_flight == 1
