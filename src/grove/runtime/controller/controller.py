"""A controller: brings what one key stands for to where it should be, whenever something it depends on changes.

::

    controller = Controller(
        "replicaset",
        reconcile,
        [
            Trigger(sets, itself, why="a changed spec changes which pods there should be"),
            Trigger(pods, owner("ReplicaSet"), why="a pod that came or went changes what is missing"),
        ],
    )

Events only say which keys to look at; a reconcile reads the caches and works out the rest, so events may be merged,
repeated or come late. A reconcile may return after how many seconds to look again, for repair only: nothing
on the way to the goal may wait for a timer.
"""

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Iterator, Sequence
from typing import Any, Generic, TypeVar

import structlog

from grove.runtime.cache.cache import Change
from grove.runtime.cache.informer import Informer
from grove.runtime.client.errors import Conflict, Hindrance, NamespaceGoing, Vanished
from grove.runtime.controller.in_hand import IN_HAND, is_foreseen
from grove.runtime.controller.queue import Queue
from grove.runtime.controller.triggers import Trigger
from grove.runtime.telemetry.metrics import Metrics

log = structlog.get_logger(__name__)

K = TypeVar("K", bound=Hashable)

# Raises to be called again later, with a growing wait. Returns the seconds after which to look again, or None.
Reconcile = Callable[[K], Awaitable[float | None]]


class Controller(Generic[K]):
    """Runs when `run` is awaited; ends when it is `stop`ped, after the items in hand, or at once when cancelled."""

    def __init__(
        self,
        name: str,
        reconcile: Reconcile[K],
        triggers: Sequence[Trigger[Any, K]],
        *,
        workers: int = 8,
        metrics: Metrics | None = None,
    ) -> None:
        self.name = name
        self.queue: Queue[K] = Queue()
        self.informers: list[Informer[Any]] = [trigger.informer for trigger in triggers]
        self._reconcile = reconcile
        self._workers = workers
        self._filling: asyncio.Future[Any] | None = None
        # Keys that saw an old state: somebody else wrote first.
        self._outrun: set[K] = set()
        self._metrics = metrics or Metrics()
        self._metrics.queue_depth.labels(name).set_function(self.queue.__len__)
        for trigger in triggers:
            trigger.informer.cache.subscribe(self._notes(trigger))

    async def run(self) -> None:
        """Waits until all caches are filled: a reconcile that sees half the objects would make the other half anew."""
        self._filling = asyncio.gather(*(informer.synced.wait() for informer in self.informers))
        try:
            await self._filling
        except asyncio.CancelledError:
            if self.queue.closed:
                return
            raise
        async with asyncio.TaskGroup() as group:
            for number in range(self._workers):
                group.create_task(self._work(), name=f"{self.name}-{number}")

    def wake(self, key: K) -> None:
        """Something that the key depends on has changed."""
        if not is_foreseen(self.name, key):
            self.queue.add(key)

    def stop(self) -> None:
        """Lets each worker finish the item in hand, and no more."""
        self.queue.close()
        if self._filling is not None:
            self._filling.cancel()

    def _notes(self, trigger: Trigger[Any, K]) -> Callable[[Change[Any]], None]:
        def note(change: Change[Any]) -> None:
            if trigger.when(change):
                for key in trigger.concerned(change):
                    self.wake(key)
            elif self._outrun:
                # It could not matter, but may be the change that brings the new state.
                for key in trigger.concerned(change):
                    if key in self._outrun:
                        self.wake(key)

        return note

    async def _work(self) -> None:
        while (key := await self.queue.get()) is not None:
            try:
                IN_HAND.set((self.name, key))
                await self._reconcile_one(key)
            finally:
                self.queue.done(key)

    async def _reconcile_one(self, key: K) -> None:
        clock = asyncio.get_running_loop().time
        started = clock()
        result = "cancelled"
        try:
            again = await self._reconcile(key)
        except Exception as e:
            if _only_outrun(e):
                # What somebody else did first may have come by now, or comes with an event; the retry makes sure.
                result = "conflict"
                if key not in self._outrun:
                    self._outrun.add(key)
                    self.queue.add(key)
                log.debug("object changed or went meanwhile, will look again", error=str(e))
            else:
                result = "failed"
                _report(e)
            self.queue.retry(key)
        else:
            result = "done"
            self.queue.succeeded(key)
            if again is not None:
                self.queue.add_after(key, again)
        finally:
            if self._outrun and result != "conflict":
                self._outrun.discard(key)
            self._metrics.reconciled(self.name, result, clock() - started)


def _report(error: Exception) -> None:
    said = "reconcile failed, will try again"
    if _are_all(error, Hindrance):
        log.error(said, error="; ".join(dict.fromkeys(str(e) for e in _each(error))))
    else:
        log.exception(said)


def _only_outrun(error: Exception) -> bool:
    """Somebody else changed or deleted the object, or all that is in its namespace, first."""
    return _are_all(error, Conflict, Vanished, NamespaceGoing)


def _are_all(error: Exception, *kinds: type[Exception]) -> bool:
    return all(isinstance(e, kinds) for e in _each(error))


def _each(error: Exception) -> Iterator[Exception]:
    """The error, or the many of a batch."""
    if isinstance(error, ExceptionGroup):
        for inner in error.exceptions:
            yield from _each(inner)
    else:
        yield error
