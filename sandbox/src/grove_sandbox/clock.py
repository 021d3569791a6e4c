"""A wall clock that follows the event loop, so that timestamps of objects advance with virtual time."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

EPOCH = datetime(2030, 1, 1, tzinfo=UTC)


def loop_clock(epoch: datetime = EPOCH) -> Callable[[], datetime]:
    """A clock that shows `epoch` when the loop's time is zero, which with looptime is the start of the test."""

    def now() -> datetime:
        return epoch + timedelta(seconds=asyncio.get_running_loop().time())

    return now
