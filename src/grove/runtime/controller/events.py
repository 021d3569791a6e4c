"""Records Kubernetes events: one line for people about what happened to an object.

`record` queues an event and returns; `run` writes it. Repetitions are counted, not written again: the first occurrence
creates an Event, and the next ones update its `series` at intervals. An event must never make the work fail that it
reports, so an event that cannot be written is dropped and counted in a metric.
"""

import asyncio
import itertools
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal, NoReturn

import msgspec
import structlog

from grove.runtime.client.client import Client
from grove.runtime.client.errors import NamespaceTerminating, NotFound, RequestError
from grove.runtime.client.objects import (
    APIResource,
    KubeObject,
    ObjectKey,
    PartialObject,
    ResourceType,
    key_of,
)
from grove.runtime.client.resource_client import ResourceClient
from grove.runtime.controller.queue import Queue

log = structlog.get_logger(__name__)

EVENTS = APIResource("events.k8s.io", "v1", "events", "Event")


@dataclass(frozen=True)
class EventReference:
    """The object that an event regards."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str


def reference(resource: ResourceType, obj: KubeObject) -> EventReference:
    api_version = f"{resource.group}/{resource.version}" if resource.group else resource.version
    return EventReference(api_version, resource.kind, *key_of(obj), obj.metadata.uid or "")


class EventRecorder:
    """`controller` is the name of the program (`example.com/thing`), `instance` that of this process."""

    def __init__(
        self, client: Client, controller: str, instance: str, *, now: Callable[[], datetime]
    ) -> None:
        self._events = ResourceClient(client, EVENTS, _event.decode)
        self._metrics = client.metrics
        self._controller = controller
        self._instance = instance[:128]
        self._now = now
        self._series: OrderedDict[_EventIdentity, _Series] = OrderedDict()  # least recently seen first
        self._queue: Queue[_EventIdentity] = Queue()
        self._numbers = itertools.count(1)

    def record(
        self,
        regarding: EventReference,
        reason: str,
        note: str,
        *,
        action: str,
        type: Literal["Normal", "Warning"] = "Normal",  # noqa: A002 (the field's name)
    ) -> None:
        """Never waits and never raises. `reason` is one CamelCase word, `action` the operation that was under way."""
        what = _EventIdentity(regarding, type, reason, action, note)
        clock = asyncio.get_running_loop().time()
        self._forget_old(clock)
        series = self._series.get(what)
        if series is None:
            if len(self._series) >= MAX_SERIES:
                self._metrics.events_dropped.inc()
                return
            series = self._series[what] = _Series(self._now(), self._now())
        series.count += 1
        series.last = self._now()
        series.seen = clock
        self._series.move_to_end(what)
        if series.name:
            self._queue.add_after(what, SERIES_UPDATE_INTERVAL_SECONDS)
        else:
            self._queue.add(what)

    async def run(self) -> NoReturn:
        """Writes recorded events until cancelled."""
        while True:
            what = await self._queue.get()
            assert what is not None  # this queue is never closed
            try:
                await self._write(what)
            finally:
                self._queue.done(what)

    async def flush(self) -> None:
        """Writes what is still queued. Call it at the end of the process, after `run` was cancelled."""
        for what in list(self._series):
            await self._write(what)

    async def _write(self, what: "_EventIdentity") -> None:
        series = self._series.get(what)
        if series is None or series.count == series.written:
            return
        count = series.count
        try:
            if not series.name or not await self._count(what, series):
                await self._create(what, series)
        except (NamespaceTerminating, NotFound):
            pass  # the object or its namespace is gone, and its events with it
        except RequestError as e:
            self._metrics.events_dropped.inc()
            log.warning("event dropped", regarding=str(what.regarding), reason=what.reason, error=str(e))
        series.written = count

    async def _create(self, what: "_EventIdentity", series: "_Series") -> None:
        regarding = what.regarding
        namespace = regarding.namespace or "default"
        micros = int(series.first.timestamp() * 1_000_000)
        # The time and a counter of this process: no other event has this name, also after a restart.
        name = f"{regarding.name[:200]}.{micros:x}{next(self._numbers):x}"
        body: dict[str, Any] = {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"name": name, "namespace": namespace},
            "eventTime": _time(series.first),
            "reportingController": self._controller,
            "reportingInstance": self._instance,
            "action": what.action[:128],
            "reason": what.reason[:128],
            "type": what.type,
            "note": what.note.encode()[:1024].decode(errors="ignore"),
            "regarding": {
                "apiVersion": regarding.api_version,
                "kind": regarding.kind,
                "namespace": regarding.namespace,
                "name": regarding.name,
                "uid": regarding.uid,
            },
        }
        if series.count > 1:
            body["series"] = _series_field(series)
        await self._events.create(namespace, msgspec.json.encode(body))
        series.name = name

    async def _count(self, what: "_EventIdentity", series: "_Series") -> bool:
        """Updates the series. Returns False if the Event is gone: servers keep events for an hour."""
        key = ObjectKey(what.regarding.namespace or "default", series.name)
        try:
            await self._events.merge_patch(key, msgspec.json.encode({"series": _series_field(series)}))
        except NotFound:
            return False
        return True

    def _forget_old(self, clock: float) -> None:
        while self._series:
            what, series = next(iter(self._series.items()))
            if clock - series.seen < SERIES_ENDS_AFTER_SECONDS or series.count != series.written:
                return
            del self._series[what]


# A repetition after this time is a new Event.
SERIES_ENDS_AFTER_SECONDS = 360.0
SERIES_UPDATE_INTERVAL_SECONDS = 30.0
MAX_SERIES = 5000


@dataclass(frozen=True)
class _EventIdentity:
    """Events that agree in all of these fields form one series."""

    regarding: EventReference
    type: str
    reason: str
    action: str
    note: str


@dataclass
class _Series:
    """`seen` is the loop time of the last occurrence, `written` the count that the server has."""

    first: datetime
    last: datetime
    count: int = 0
    written: int = 0
    name: str = ""
    seen: float = 0.0


def _series_field(series: _Series) -> dict[str, Any]:
    return {"count": series.count, "lastObservedTime": _time(series.last)}


def _time(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


_event = msgspec.json.Decoder(PartialObject)
