"""Wall-clock time that follows the event loop, so that four hours of virtual time are four hours on every object."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

EPOCH = datetime(2030, 1, 1, tzinfo=UTC)


def loop_clock(epoch: datetime = EPOCH) -> Callable[[], datetime]:
    """`epoch` when the loop's clock shows zero, which under looptime is the start of the test."""

    def now() -> datetime:
        return epoch + timedelta(seconds=asyncio.get_running_loop().time())

    return now
