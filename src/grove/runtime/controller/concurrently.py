"""Many objects, a bounded number at a time, with a result for each: one failure stops none of the others."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")
R = TypeVar("R")


@dataclass(slots=True)
class Outcome(Generic[T, R]):
    """What became of one item: a result, or the error that it failed with."""

    item: T
    result: R | None = None
    error: Exception | None = None


async def for_each(
    items: Iterable[T], act: Callable[[T], Awaitable[R]], *, at_once: int = 50
) -> list[Outcome[T, R]]:
    """Acts on every item and returns the outcomes in the order of the items.

    `at_once` bounds the memory and the tasks; how many requests the server gets at once is up to the
    client's window. A cancellation stops all.
    """
    outcomes: list[Outcome[T, R]] = [Outcome(item) for item in items]
    remaining = iter(outcomes)
    if len(outcomes) < 2:  # as nearly always: no tasks
        await _work(remaining, act)
        return outcomes
    # Lighter than a TaskGroup, which is for tasks that fail: these keep their errors as outcomes.
    tasks = [asyncio.create_task(_work(remaining, act)) for _ in range(min(at_once, len(outcomes)) - 1)]
    try:
        await _work(remaining, act)
        for task in tasks:
            await task
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise
    return outcomes


def raise_failures(outcomes: Iterable[Outcome[T, R]], what: str) -> None:
    """Raises all errors together, if there are any, so that the caller tries again."""
    errors = [outcome.error for outcome in outcomes if outcome.error is not None]
    if errors:
        raise ExceptionGroup(what, errors)


async def _work(remaining: Iterator[Outcome[T, R]], act: Callable[[T], Awaitable[R]]) -> None:
    for outcome in remaining:
        try:
            outcome.result = await act(outcome.item)
        except Exception as e:  # belongs to this item alone, and is handed to the caller
            outcome.error = e
