"""Keeps a cache equal to the server: reads everything once, then follows every change.

Where the server has it, the first state is streamed by the watch itself (`sendInitialEvents`); elsewhere it is
listed in pages. A watch that ends, breaks or falls silent is resumed where it was. When the server no longer has
that version (410, as an HTTP status or inside the stream), everything is read again, and what is missing then is
reported as deleted. Nothing that a server answers ends an informer: it says what is wrong, waits, tries again.

What is subscribed to the cache runs between two events and only takes notes, so no slow reconcile can hold up
the reading.
"""

import asyncio
from collections.abc import Mapping
from typing import Generic, NoReturn

import msgspec
import structlog

from grove.runtime.cache.cache import Cache, Index
from grove.runtime.cache.watch import IdleWatchError, WatchEvent, follow
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


class Informer(Generic[Obj]):
    """`cache` holds what is known, `objects` writes to the server and, at once, to the cache.

    An informer with a selector must not write objects that the selector does not select: no event would ever
    remove them from the cache.
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
    ) -> None:
        self.resource = resource
        # What metrics and probes call it: several may be about one resource.
        self.title = title or resource.plural
        self.cache: Cache[Obj] = Cache(indexes)
        self.objects = ResourceClient(client, resource, decode, cache=self.cache)
        self.synced = asyncio.Event()
        # Why the cache may be behind, or is not filled yet; None while a watch is up.
        self.trouble: Exception | None = None
        self._client = client
        self._decode = decode
        self._namespace = namespace
        self._labels = labels
        self._fields = fields
        self._idle_timeout = idle_timeout
        self._position: int | None = None
        self._can_stream_lists = True
        client.metrics.cache_size.labels(self.title).set_function(self.cache.__len__)

    async def run(self) -> NoReturn:
        """Until cancelled."""
        waits = Backoff(0.2, 30.0, chance=self._client.chance)
        clock = asyncio.get_running_loop().time
        while True:
            started, position = clock(), self._position
            reason = await self._follow_once()
            self._client.metrics.watch_restarts.labels(self.resource.plural, reason).inc()
            # A connection that lived or brought news was sound: go on at once. Else do not hammer the server.
            if clock() - started >= SOUND_AFTER or (position is not None and position != self._position):
                waits.reset()
                wait = 0.0
            else:
                wait = waits.next()
            asked = self.trouble.retry_after if isinstance(self.trouble, ApiError) else None
            await asyncio.sleep(max(wait, asked or 0.0))

    async def _follow_once(self) -> str:
        """One connection, from where we are until it ends. Returns why it ended."""
        try:
            await self._follow()
            return "ended"
        except IdleWatchError as e:
            log.debug("watch is begun again", resource=self.resource.plural, reason=str(e))
            return "idle"
        except Gone as e:
            log.info("version expired, everything is read again", resource=self.resource.plural, error=str(e))
            self._position = None
            return "expired"
        except (RequestError, *NONSENSE) as e:
            # What lasts, such as a kind that is not served, is said once.
            say = log.debug if str(e) == str(self.trouble) else log.warning
            say("cannot follow the server, will try again", resource=self.resource.plural, error=str(e))
            self.trouble = e
            return "failed"

    async def _follow(self) -> None:
        if self._position is None and self._can_stream_lists:
            try:
                return await self._watch(initial=True)
            except (Invalid, BadRequest, IdleWatchError) as e:
                if self._position is not None:
                    raise
                # A server without the feature refuses; one that does not know the option never says "that was all".
                log.debug("no streaming lists here", resource=self.resource.plural, error=str(e))
                self._can_stream_lists = False
        if self._position is None:
            await self._list()
        return await self._watch()

    async def _list(self) -> None:
        try:
            await self._list_pages(PAGE_SIZE)
        except Gone:  # the continue token expired between two pages: ask for all at once
            await self._list_pages(0)

    async def _list_pages(self, limit: int) -> None:
        seen: set[str] = set()
        version = ""
        async for page in self.objects.pages(
            self._namespace, labels=self._labels, fields=self._fields, limit=limit
        ):
            version = version or page.resource_version
            for body in page.bodies:
                self._observe(body, seen)
        self._is_complete(seen, parse_version(version))

    async def _watch(self, *, initial: bool = False) -> None:
        call = requests.watch(
            self.resource,
            self._namespace,
            labels=self._labels,
            fields=self._fields,
            resource_version="" if self._position is None else str(self._position),
            initial_events=initial,
            # Spread, so that the watches of one process do not all end together.
            timeout_seconds=self._client.chance.randint(300, 600),
        )
        stream = await self._client.stream(call)
        seen: set[str] | None = set() if initial else None
        if not initial:
            self.trouble = None

        def take(event: WatchEvent) -> None:
            nonlocal seen
            seen = self._take(event, seen)

        await follow(stream, take, lambda: self._patience(seen))

    def _patience(self, seen: set[str] | None) -> float:
        """How long a connection may be silent. While a first state is streamed, there is no reason for silence."""
        return self._idle_timeout if seen is None else min(self._idle_timeout, INITIAL_SILENCE)

    def _take(self, event: WatchEvent, seen: set[str] | None) -> set[str] | None:
        """Takes in one event. `seen` are the objects of a first state that is still being streamed."""
        if event.type in ("ADDED", "MODIFIED"):
            self._advance(self._observe(event.body, seen), seen)
        elif event.type == "DELETED":
            gone = _metadata.decode(event.body)
            self.cache.forget(uid_of(gone), version_of(gone))
            self._advance(version_of(gone), seen)
        elif event.type == "BOOKMARK":
            bookmark = _metadata.decode(event.body)
            if seen is not None and bookmark.metadata.annotations.get("k8s.io/initial-events-end") == "true":
                self._is_complete(seen, version_of(bookmark))
                return None
            self._advance(version_of(bookmark), seen)
        return seen

    def _observe(self, body: bytes, seen: set[str] | None) -> int:
        """Takes in one object and returns its version. One that cannot be read is reported and left out."""
        obj = self.cache.by_version(stated_version(body))
        # The echo of our own write, as most events are, need not be read: its answer is in the cache already.
        if obj is None or uid_of(obj).encode() not in body:
            try:
                obj = self._decode(body)
                self.cache.observe(obj)
            except Exception as e:  # whatever the caller's functions raise: it concerns this object alone
                return self._report(body, e, seen)
        if seen is not None:
            seen.add(uid_of(obj))
        return version_of(obj)

    def _report(self, body: bytes, error: Exception, seen: set[str] | None) -> int:
        self._client.metrics.undecodable.labels(self.resource.plural).inc()
        partial = _metadata.decode(body)
        log.error(
            "object cannot be read and is left out; what is known of it stays as it was",
            resource=self.resource.plural,
            key=str(key_of(partial)),
            error=str(error),
        )
        if seen is not None:
            seen.add(uid_of(partial))
        return version_of(partial)

    def _advance(self, version: int, seen: set[str] | None) -> None:
        """The next watch begins here. A first state that is only half here is no place to begin from."""
        if seen is None and version > (self._position or 0):
            self._position = version

    def _is_complete(self, seen: set[str], version: int) -> None:
        self.cache.retain(seen, version)
        self._position = version
        self.trouble = None
        self.synced.set()


# What reading an answer raises that is JSON but no object, or has no version.
NONSENSE = (msgspec.DecodeError, ValueError)
# A connection that lasted this long was not refused.
SOUND_AFTER = 5.0
INITIAL_SILENCE = 15.0

_metadata = msgspec.json.Decoder(PartialObject)


def stated_version(body: bytes) -> str:
    """The version that an object in JSON states, found without reading the rest; empty if that is not to be had so.

    Within a string quotes are escaped, so what is looked for is a key wherever it stands. Objects have this key, so
    where it stands once it is the object's own; where an object holds another, that may come first.
    """
    parts = body.split(_VERSION_KEY)
    return parts[1].partition(b'"')[0].decode() if len(parts) == 2 else ""


_VERSION_KEY = b'"resourceVersion":"'
