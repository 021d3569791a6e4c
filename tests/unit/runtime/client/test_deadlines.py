"""Many timeouts, one timer."""

import asyncio

import pytest

from grove.runtime.client.deadlines import Deadlines

pytestmark = pytest.mark.looptime


async def wait(deadlines: Deadlines, seconds: float, lasts: float) -> float | None:
    """When it ran out; None when it did not."""
    try:
        with deadlines.until(asyncio.get_running_loop().time() + seconds):
            await asyncio.sleep(lasts)
    except TimeoutError:
        return asyncio.get_running_loop().time()
    return None


async def test_each_wait_runs_out_at_its_own_time() -> None:
    deadlines = Deadlines()
    started = asyncio.get_running_loop().time()
    ends = await asyncio.gather(*(wait(deadlines, seconds, 100) for seconds in (5, 2, 9, 2)))
    assert [end - started for end in ends if end is not None] == pytest.approx([5, 2, 9, 2])


async def test_a_wait_that_is_over_in_time_does_not_run_out() -> None:
    deadlines = Deadlines()
    assert await asyncio.gather(*(wait(deadlines, 5, lasts) for lasts in (1, 4))) == [None, None]


async def test_a_wait_that_begins_later_has_all_of_its_time() -> None:
    deadlines = Deadlines()
    assert await wait(deadlines, 5, 4) is None
    started = asyncio.get_running_loop().time()
    end = await wait(deadlines, 5, 100)
    assert end is not None
    assert end - started == pytest.approx(5)


async def test_a_cancelled_wait_is_cancelled_and_no_timeout() -> None:
    waiting = asyncio.create_task(wait(Deadlines(), 5, 100))
    await asyncio.sleep(1)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting


async def test_a_wait_that_runs_out_while_it_is_cancelled_is_cancelled() -> None:
    async def slow_to_give_up() -> None:
        try:
            await asyncio.sleep(100)
        except asyncio.CancelledError:
            await asyncio.sleep(100)

    async def waits() -> None:
        with Deadlines().until(asyncio.get_running_loop().time() + 5):
            await slow_to_give_up()

    waiting = asyncio.create_task(waits())
    await asyncio.sleep(1)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting


async def test_a_task_goes_on_after_a_wait_that_ran_out() -> None:
    deadlines = Deadlines()
    assert await wait(deadlines, 1, 100) is not None
    assert await wait(deadlines, 5, 4) is None
    task = asyncio.current_task()
    assert task is not None
    assert not task.cancelling()
