"""The work queue: one worker per key, nothing lost, nothing twice."""

import asyncio

import pytest

from grove.runtime.controller.queue import Queue

pytestmark = pytest.mark.looptime


async def take(queue: Queue[str], seconds: float = 0.0) -> str | None:
    """What can be had within that time."""
    try:
        async with asyncio.timeout(seconds):
            return await queue.get()
    except TimeoutError:
        return None


async def test_a_key_added_many_times_is_handed_out_once() -> None:
    queue: Queue[str] = Queue()
    for key in ("a", "b", "a", "a"):
        queue.add(key)
    assert [await take(queue, 1), await take(queue, 1), await take(queue, 1)] == ["a", "b", None]


async def test_a_key_in_work_is_not_handed_out_again_before_it_is_done() -> None:
    queue: Queue[str] = Queue()
    queue.add("a")
    assert await queue.get() == "a"
    queue.add("a")
    assert await take(queue, 10) is None
    queue.done("a")
    assert await take(queue, 1) == "a"


async def test_a_worker_that_waits_is_woken() -> None:
    queue: Queue[str] = Queue()
    workers = [asyncio.create_task(queue.get()) for _ in range(2)]
    await asyncio.sleep(1)
    queue.add("a")
    queue.add("b")
    assert sorted(str(k) for k in await asyncio.gather(*workers)) == ["a", "b"]


async def test_a_worker_cancelled_at_the_moment_it_is_woken_passes_the_key_on() -> None:
    queue: Queue[str] = Queue()
    first = asyncio.create_task(queue.get())
    second = asyncio.create_task(queue.get())
    await asyncio.sleep(0)
    queue.add("a")
    first.cancel()
    async with asyncio.timeout(1):
        assert await second == "a"
    assert first.cancelled()


async def test_failures_in_a_row_wait_longer_and_longer_up_to_a_limit() -> None:
    queue: Queue[str] = Queue(first_retry=1.0, longest_retry=5.0)
    clock = asyncio.get_running_loop().time
    queue.add("a")
    waits = []
    for _ in range(5):
        assert await queue.get() == "a"
        failed = clock()
        queue.retry("a")
        queue.done("a")
        assert await take(queue, 100) == "a"
        waits.append(round(clock() - failed))
        queue.done("a")
        queue.add("a")
    assert waits == [1, 2, 4, 5, 5]


async def test_a_success_forgets_the_failures() -> None:
    queue: Queue[str] = Queue(first_retry=1.0, longest_retry=100.0)
    clock = asyncio.get_running_loop().time
    for _ in range(5):
        queue.retry("a")
        await queue.get()
        queue.done("a")
    queue.succeeded("a")
    started = clock()
    queue.retry("a")
    await queue.get()
    assert round(clock() - started) == 1


async def test_the_failures_of_one_key_do_not_delay_another() -> None:
    queue: Queue[str] = Queue(first_retry=100.0)
    queue.retry("a")
    queue.add("b")
    assert await take(queue, 1) == "b"


async def test_the_shorter_of_two_delays_wins() -> None:
    queue: Queue[str] = Queue()
    queue.add_after("a", 50)
    queue.add_after("a", 5)
    queue.add_after("a", 500)
    assert await take(queue, 6) == "a"
    queue.done("a")
    assert await take(queue, 1000) is None


async def test_a_key_taken_before_its_time_is_not_added_again_later() -> None:
    queue: Queue[str] = Queue()
    queue.add_after("a", 50)
    queue.add("a")
    assert await take(queue, 1) == "a"
    queue.done("a")
    assert await take(queue, 100) is None


async def test_a_closed_queue_hands_out_nothing() -> None:
    queue: Queue[str] = Queue()
    waiting = asyncio.create_task(queue.get())
    await asyncio.sleep(0)
    queue.add_after("a", 1)
    queue.close()
    queue.add("b")
    async with asyncio.timeout(10):
        assert await waiting is None
        assert await queue.get() is None
    assert len(queue) == 0
