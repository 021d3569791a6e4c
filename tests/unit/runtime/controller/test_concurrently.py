"""Batches: each item has its own outcome."""

import asyncio

import pytest

from grove.runtime.controller.concurrently import for_each, raise_failures

pytestmark = pytest.mark.looptime


async def test_one_failure_does_not_stop_the_others_and_is_returned_with_its_item() -> None:
    async def act(item: int) -> int:
        await asyncio.sleep(1)
        if item == 3:
            raise ValueError("three")
        return item * 10

    outcomes = await for_each(range(6), act, concurrency=2)
    assert [o.item for o in outcomes] == [0, 1, 2, 3, 4, 5]
    assert [o.result for o in outcomes] == [0, 10, 20, None, 40, 50]
    assert [str(o.error) for o in outcomes if o.error] == ["three"]
    with pytest.raises(ExceptionGroup, match="six pods") as caught:
        raise_failures(outcomes, "six pods")
    assert [str(e) for e in caught.value.exceptions] == ["three"]


async def test_the_concurrency_is_used_and_not_exceeded() -> None:
    in_work = most = 0

    async def act(item: int) -> None:
        nonlocal in_work, most
        in_work += 1
        most = max(most, in_work)
        await asyncio.sleep(1)
        in_work -= 1

    raise_failures(await for_each(range(100), act, concurrency=7), "all")
    assert most == 7


async def test_no_items_need_no_work() -> None:
    async def act(item: int) -> None:
        raise AssertionError

    assert await for_each([], act) == []


async def test_a_cancellation_stops_all() -> None:
    begun: list[int] = []

    async def act(item: int) -> None:
        begun.append(item)
        await asyncio.sleep(10)

    task = asyncio.create_task(for_each(range(100), act, concurrency=3))
    await asyncio.sleep(1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.sleep(100)
    assert begun == [0, 1, 2]


@pytest.mark.parametrize("first_takes", [1, 10])
async def test_a_cancellation_waits_until_all_items_have_ended(first_takes: int) -> None:
    """Also when the caller's own share is done, and it only waits for the others."""
    under_way: set[int] = set()

    async def act(item: int) -> None:
        under_way.add(item)
        try:
            await asyncio.sleep(10 if item else first_takes)
        finally:
            await asyncio.sleep(1)
            under_way.discard(item)

    before = asyncio.all_tasks()
    task = asyncio.create_task(for_each(range(4), act, concurrency=4))
    await asyncio.sleep(5)
    assert {1, 2, 3} <= under_way
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert under_way == set()
    assert asyncio.all_tasks() == before


async def test_an_error_that_is_not_of_one_item_ends_all_and_leaves_nothing_running() -> None:
    class Stop(BaseException):
        pass

    async def act(item: int) -> None:
        await asyncio.sleep(item)
        if item == 1:
            raise Stop

    before = asyncio.all_tasks()
    with pytest.raises(BaseExceptionGroup) as caught:
        await for_each([1, 20, 30], act)
    assert caught.value.subgroup(Stop) is not None
    assert asyncio.all_tasks() == before
