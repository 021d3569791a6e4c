"""Keeps a cache equal to the server: reads everything once, then follows every change.

The path of one event:

1. `watch` splits it off the stream. It waits in the informer for the end of the batch window. Events within this window
   are delivered as one batch: the cache is up to date with all of them before any reconcile runs. So a controller sees
   pods that were deleted together as deleted together, and most events, which are echoes of our own writes, find that
   the answer is already in the cache.
2. The informer decodes it and stores it in the cache. An undecodable object is reported and skipped.
3. The cache runs its subscribers synchronously. They only enqueue keys, so no slow reconcile can block the reading.

Where the server can, the watch itself streams the initial list (`sendInitialEvents`); elsewhere the informer lists page
by page. A watch that ends, breaks or falls silent resumes where it was. If the server no longer has that version (410,
as an HTTP status or inside the stream), the informer relists, and reports what is missing as deleted. No answer of a
server ends an informer: it logs what is wrong, backs off and tries again.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, NoReturn

import msgspec
import structlog

from grove.runtime.cache.cache import Cache, Index
from grove.runtime.cache.watch import IdleWatchError, WatchEvent, read_events
from grove.runtime.client import requests
from grove.runtime.client.backoff import Backoff
from grove.runtime.client.client import Client
from grove.runtime.client.errors import ApiError, BadRequest, Gone, Invalid, RequestError
from grove.runtime.client.objects import (
    Obj,
    PartialObject,
    ResourceType,
    key_of,
    parse_version,
    uid_of,
    version_of,
)
from grove.runtime.client.resource_client import PAGE_SIZE, Decode, ResourceClient

log = structlog.get_logger(__name__)


# Long enough to see as one batch what happened together, too short for a user to notice.
BATCH_WINDOW_SECONDS = 0.02
# A connection that lasted this long was healthy, so the next one starts without backoff.
HEALTHY_AFTER_SECONDS = 5.0
# While the server streams the initial list it has no reason to be silent for longer.
INITIAL_LIST_IDLE_TIMEOUT_SECONDS = 15.0


class Informer(Generic[Obj]):
    """`cache` holds the newest known state. `objects` writes to the server, and its answers enter the cache at once.

    Through an informer with a selector, do not write objects that the selector does not match: no watch event would
    ever remove them from the cache. `batch_window` of 0 delivers every event as it arrives.
    """

    def __init__(
        self,
        client: Client,
        resource: ResourceType,
        decode: Decode[Obj],
        *,
        namespace: str | None = None,
        labels: str = "",
        fields: str = "",
        indexes: Mapping[str, Index[Obj]] | None = None,
        title: str = "",
        idle_timeout: float = 75.0,
        batch_window: float = BATCH_WINDOW_SECONDS,
    ) -> None:
        self.resource = resource
        # The name in metrics and probes: several informers may watch one resource.
        self.title = title or resource.plural
        self.cache: Cache[Obj] = Cache(indexes)
        self.objects = ResourceClient(client, resource, decode, cache=self.cache)
        self.synced = asyncio.Event()
        # Why the cache may be behind or has no initial list yet; None while a watch is up.
        self.trouble: Exception | None = None
        self._client = client
        self._decode = decode
        self._namespace = namespace
        self._labels = labels
        self._fields = fields
        self._idle_timeout = idle_timeout
        self._batch_window = batch_window
        self._batch: list[tuple[Callable[[_ParsedEvent], None], _ParsedEvent]] = []
        self._batch_timer: asyncio.TimerHandle | None = None
        # The resourceVersion at which the next watch resumes; None before the initial list.
        self._position: int | None = None
        self._can_stream_lists = True
        client.metrics.cache_size.labels(self.title).set_function(self.cache.__len__)

    async def run(self) -> NoReturn:
        """Follows the server until cancelled. After that no event is delivered any more."""
        try:
            await self._run()
        finally:
            if self._batch_timer is not None:
                self._batch_timer.cancel()
                self._batch_timer = None
            self._batch = []

    async def _run(self) -> NoReturn:
        backoff = Backoff(0.2, 30.0, chance=self._client.chance)
        clock = asyncio.get_running_loop().time
        while True:
            started, position = clock(), self._position
            reason = await self._follow_once()
            self._client.metrics.watch_restarts.labels(self.resource.plural, reason).inc()
            # A connection that lasted or delivered events was healthy: resume at once. Otherwise back off.
            if clock() - started >= HEALTHY_AFTER_SECONDS or (
                position is not None and position != self._position
            ):
                backoff.reset()
                wait = 0.0
            else:
                wait = backoff.next()
            retry_after = self.trouble.retry_after if isinstance(self.trouble, ApiError) else None
            await asyncio.sleep(max(wait, retry_after or 0.0))

    async def _follow_once(self) -> str:
        """Follows the server over one connection until it ends. Returns why it ended, for the metric."""
        try:
            await self._follow()
            return "ended"
        except IdleWatchError as e:
            log.debug("watch resumes", resource=self.resource.plural, reason=str(e))
            return "idle"
        except Gone as e:
            log.info("resourceVersion expired, relisting", resource=self.resource.plural, error=str(e))
            self._position = None
            return "expired"
        except (RequestError, *MALFORMED_RESPONSE) as e:
            # A lasting error, such as a kind that the cluster does not serve, is a warning only once.
            log_once = log.debug if str(e) == str(self.trouble) else log.warning
            log_once(
                "cannot list or watch, retrying with backoff", resource=self.resource.plural, error=str(e)
            )
            self.trouble = e
            return "failed"

    async def _follow(self) -> None:
        if self._position is None and self._can_stream_lists:
            try:
                return await self._watch(initial=True)
            except (Invalid, BadRequest, IdleWatchError) as e:
                if self._position is not None:
                    raise
                # A server without the feature refuses. One that does not know the option never ends the initial list.
                log.debug(
                    "server does not stream lists, listing page by page",
                    resource=self.resource.plural,
                    error=str(e),
                )
                self._can_stream_lists = False
        if self._position is None:
            await self._list()
        return await self._watch()

    async def _list(self) -> None:
        try:
            await self._list_pages(PAGE_SIZE)
        except Gone:  # the continue token expired between two pages: list without paging
            await self._list_pages(0)

    async def _list_pages(self, limit: int) -> None:
        seen: set[str] = set()
        version = ""
        async for page in self.objects.pages(
            self._namespace, labels=self._labels, fields=self._fields, limit=limit
        ):
            version = version or page.resource_version
            for body in page.bodies:
                self._observe(_parse(WatchEvent("ADDED", body)), seen)
        self._complete_list(seen, parse_version(version))

    async def _watch(self, *, initial: bool = False) -> None:
        call = requests.watch(
            self.resource,
            self._namespace,
            labels=self._labels,
            fields=self._fields,
            resource_version="" if self._position is None else str(self._position),
            initial_events=initial,
            # Random, so that the watches of one process do not all end together.
            timeout_seconds=self._client.chance.randint(300, 600),
        )
        stream = await self._client.stream(call)
        seen: set[str] | None = set() if initial else None
        if not initial:
            self.trouble = None

        def apply(event: _ParsedEvent) -> None:
            nonlocal seen
            seen = self._apply(event, seen)

        def deliver(events: list[WatchEvent]) -> None:
            # Parsed here and not with the batch: a malformed event ends the connection that delivered it.
            self._batch.extend((apply, _parse(event)) for event in events)
            if seen is not None or not self._batch_window:
                self._deliver_batch()
            elif self._batch and self._batch_timer is None:
                loop = asyncio.get_running_loop()
                self._batch_timer = loop.call_later(self._batch_window, self._deliver_batch)

        try:
            await read_events(stream, deliver, lambda: self._idle_timeout_of(seen))
        except Exception:
            self._deliver_batch()
            raise
        self._deliver_batch()

    def _deliver_batch(self) -> None:
        if self._batch_timer is not None:
            self._batch_timer.cancel()
            self._batch_timer = None
        batch, self._batch = self._batch, []
        for apply, event in batch:
            apply(event)

    def _idle_timeout_of(self, seen: set[str] | None) -> float:
        if seen is None:
            return self._idle_timeout
        return min(self._idle_timeout, INITIAL_LIST_IDLE_TIMEOUT_SECONDS)

    def _apply(self, event: "_ParsedEvent", seen: set[str] | None) -> set[str] | None:
        """Applies one event. `seen` holds the UIDs of an initial list that is still being streamed, or is None."""
        if event.type in ("ADDED", "MODIFIED"):
            self._observe(event, seen)
        elif event.type == "DELETED":
            self.cache.forget(uid_of(event.partial), event.version)
        elif event.ends_initial_list and seen is not None:
            self._complete_list(seen, event.version)
            return None
        # An interrupted initial list must not set the resume position.
        if seen is None and event.version > (self._position or 0):
            self._position = event.version
        return seen

    def _observe(self, event: "_ParsedEvent", seen: set[str] | None) -> None:
        """Stores one object. An object that cannot be decoded is reported and skipped."""
        uid = uid_of(event.partial)
        if seen is not None:
            seen.add(uid)
        known = self.cache.by_uid(uid)
        if known is not None and version_of(known) >= event.version:
            return  # the echo of our own write, as most events are: its answer is in the cache already
        try:
            self.cache.observe(self._decode(event.body))
        except Exception as e:  # whatever the caller's functions raise concerns this object alone
            self._report_undecodable(event.partial, e)

    def _report_undecodable(self, partial: PartialObject, error: Exception) -> None:
        self._client.metrics.undecodable.labels(self.resource.plural).inc()
        log.error(
            "object cannot be decoded and is skipped; the cache keeps its last known state",
            resource=self.resource.plural,
            key=str(key_of(partial)),
            error=str(error),
        )

    def _complete_list(self, seen: set[str], version: int) -> None:
        self.cache.retain(seen, version)
        self._position = version
        self.trouble = None
        self.synced.set()


@dataclass(frozen=True, slots=True)
class _ParsedEvent:
    """A watch event whose metadata is decoded; the object itself is decoded only if it is newer than the cache."""

    type: str
    partial: PartialObject
    version: int
    body: bytes

    @property
    def ends_initial_list(self) -> bool:
        return self.partial.metadata.annotations.get("k8s.io/initial-events-end") == "true"


def _parse(event: WatchEvent) -> _ParsedEvent:
    """Raises one of `MALFORMED_RESPONSE`."""
    partial = _metadata.decode(event.body)
    if event.type != "BOOKMARK":
        uid_of(partial)
    return _ParsedEvent(event.type, partial, version_of(partial), event.body)


# Raised when an answer is JSON but not an object, or has no usable resourceVersion.
MALFORMED_RESPONSE = (msgspec.DecodeError, ValueError)

_metadata = msgspec.json.Decoder(PartialObject)
