"""A controller: reconciles a key whenever something that the key depends on changes.

::

    controller = Controller(
        "replicaset",
        reconcile,
        [
            Trigger(sets, itself, why="a changed spec changes which pods should exist"),
            Trigger(pods, owner("ReplicaSet"), why="a pod that was added or deleted changes how many are missing"),
        ],
    )

Triggers only say which keys to reconcile. A reconcile reads the caches and works out the rest, so changes may be
merged, repeated or delivered late. A reconcile may return the seconds after which to requeue its key. That is for
repair and for reports: no progress towards the goal may wait for a timer.
"""

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Iterator, Sequence
from typing import Any, Generic, TypeVar

import structlog

from grove.runtime.cache.cache import Change
from grove.runtime.cache.informer import Informer
from grove.runtime.client.errors import Conflict, ExternalError, NamespaceTerminating, Vanished
from grove.runtime.client.objects import Origin
from grove.runtime.controller.queue import Queue
from grove.runtime.controller.triggers import SignalTrigger, Trigger
from grove.runtime.telemetry.current_reconcile import CURRENT_RECONCILE
from grove.runtime.telemetry.metrics import Metrics

log = structlog.get_logger(__name__)

K = TypeVar("K", bound=Hashable)

# Called by a worker, with at most one call per key at a time. It returns the seconds after which to requeue the key, or
# None. An exception requeues the key with backoff.
Reconcile = Callable[[K], Awaitable[float | None]]


class Controller(Generic[K]):
    """Works while `run` is awaited. `stop` lets running reconciles finish; cancelling `run` ends them at once."""

    def __init__(
        self,
        name: str,
        reconcile: Reconcile[K],
        triggers: Sequence[Trigger[Any, K] | SignalTrigger[Any, K]],
        *,
        workers: int = 8,
        metrics: Metrics | None = None,
    ) -> None:
        self.name = name
        self.queue: Queue[K] = Queue()
        self._required: list[Informer[Any]] = []
        self._reconcile = reconcile
        self._workers = workers
        self._initial_lists: asyncio.Future[Any] | None = None
        # Keys whose last reconcile failed because it had read an outdated state.
        self._conflicted: set[K] = set()
        self._metrics = metrics or Metrics()
        self._metrics.queue_depth.labels(name).set_function(self.queue.__len__)
        for trigger in triggers:
            if isinstance(trigger, SignalTrigger):
                trigger.signal.subscribe(self._on_signal(trigger))
            else:
                if not trigger.optional:
                    self._required.append(trigger.informer)
                trigger.informer.cache.subscribe(self._on_change(trigger))

    async def run(self) -> None:
        """Starts the workers once all caches have their initial list.

        A reconcile that saw only some of the objects would create the others again.
        """
        self._initial_lists = asyncio.gather(*(informer.synced.wait() for informer in self._required))
        try:
            await self._initial_lists
        except asyncio.CancelledError:
            if self.queue.closed:
                return
            raise
        async with asyncio.TaskGroup() as group:
            for number in range(self._workers):
                group.create_task(self._work(), name=f"{self.name}-{number}")

    def stop(self) -> None:
        """Lets each worker finish its current reconcile, and start no other."""
        self.queue.close()
        if self._initial_lists is not None:
            self._initial_lists.cancel()

    def _on_change(self, trigger: Trigger[Any, K]) -> Callable[[Change[Any]], None]:
        def on_change(change: Change[Any]) -> None:
            if trigger.when(change):
                for key in trigger.concerned(change):
                    self._enqueue(key, change.origin)
            elif self._conflicted:
                # The predicate rejects the change, but it may bring the state that a conflicted key waits for.
                for key in trigger.concerned(change):
                    if key in self._conflicted:
                        self._enqueue(key, change.origin)

        return on_change

    def _on_signal(self, trigger: SignalTrigger[Any, K]) -> Callable[[Any], None]:
        def on_signal(value: Any) -> None:
            for key in trigger.keys(value):
                if trigger.after_seconds:
                    self.queue.add_after(key, trigger.after_seconds)
                else:
                    self.queue.add(key)

        return on_signal

    def _enqueue(self, key: K, origin: Origin) -> None:
        """A change that a reconcile expects from its own write does not requeue the key of that reconcile."""
        if origin is Origin.EXPECTED_WRITE and CURRENT_RECONCILE.get() == (self.name, key):
            return
        self.queue.add(key)

    async def _work(self) -> None:
        while (key := await self.queue.get()) is not None:
            CURRENT_RECONCILE.set((self.name, key))
            try:
                await self._reconcile_one(key)
            finally:
                CURRENT_RECONCILE.set(None)
                self.queue.done(key)

    async def _reconcile_one(self, key: K) -> None:
        clock = asyncio.get_running_loop().time
        started = clock()
        result = "cancelled"
        try:
            requeue_after = await self._reconcile(key)
        except Exception as e:
            if _is_conflict(e):
                # The newer state may be in the cache by now, or comes with a watch event. The retry makes sure.
                result = "conflict"
                if key not in self._conflicted:
                    self._conflicted.add(key)
                    self.queue.add(key)
                log.debug("object was changed or deleted during the reconcile, requeued", error=str(e))
            else:
                result = "failed"
                _log_failure(e)
            self.queue.retry(key)
        else:
            result = "done"
            self.queue.succeeded(key)
            if requeue_after is not None:
                self.queue.add_after(key, requeue_after)
        finally:
            if result != "conflict":
                self._conflicted.discard(key)
            self._metrics.reconciled(self.name, result, clock() - started)


def _log_failure(error: Exception) -> None:
    """The message of an external error says everything. Any other error is a defect and needs a traceback."""
    event = "reconcile failed, requeued with backoff"
    if _all_are(error, ExternalError):
        log.error(event, error="; ".join(dict.fromkeys(str(e) for e in _leaves(error))))
    else:
        log.exception(event)


def _is_conflict(error: Exception) -> bool:
    """Whether somebody else changed or deleted the object, or deletes its whole namespace."""
    return _all_are(error, Conflict, Vanished, NamespaceTerminating)


def _all_are(error: Exception, *kinds: type[Exception]) -> bool:
    return all(isinstance(e, kinds) for e in _leaves(error))


def _leaves(error: Exception) -> Iterator[Exception]:
    """The error itself, or the errors of an exception group, however deep."""
    if isinstance(error, ExceptionGroup):
        for inner in error.exceptions:
            yield from _leaves(inner)
    else:
        yield error
