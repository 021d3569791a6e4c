"""Acts on many items concurrently, with a result for each: one failure does not stop the others."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")
R = TypeVar("R")


@dataclass(slots=True)
class Outcome(Generic[T, R]):
    """The result of one item, or its error."""

    item: T
    result: R | None = None
    error: Exception | None = None


async def for_each(
    items: Iterable[T], act: Callable[[T], Awaitable[R]], *, concurrency: int = 50
) -> list[Outcome[T, R]]:
    """Acts on every item and returns the outcomes in the order of the items.

    `concurrency` bounds tasks and memory. How many requests are in flight is up to the client's flow control. If the
    caller is cancelled, so are all items.
    """
    outcomes: list[Outcome[T, R]] = [Outcome(item) for item in items]
    remaining = iter(outcomes)
    async with asyncio.TaskGroup() as group:
        for _ in range(min(concurrency, len(outcomes))):
            group.create_task(_work(remaining, act))
    return outcomes


def raise_failures(outcomes: Iterable[Outcome[T, R]], what: str) -> None:
    """Raises the errors of all items as one exception group, if there are any."""
    errors = [outcome.error for outcome in outcomes if outcome.error is not None]
    if errors:
        raise ExceptionGroup(what, errors)


async def _work(remaining: Iterator[Outcome[T, R]], act: Callable[[T], Awaitable[R]]) -> None:
    for outcome in remaining:
        try:
            outcome.result = await act(outcome.item)
        except Exception as e:  # concerns this item alone; the caller finds it in the outcome
            outcome.error = e
