"""Kubernetes events: one line for people about what happened to an object.

`record` notes the event and returns; writing is done by `run`. What happens again is not written again but counted: the
first occurrence is an object of its own, and the others become its `series`, written now and then. Events
are worth less than what they tell of, so one that cannot be written is dropped and counted, and nobody fails over it.
"""

import asyncio
import itertools
from collections import OrderedDict
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple, NoReturn

import msgspec
import structlog

from grove.runtime.client.client import Client
from grove.runtime.client.errors import NamespaceGoing, NotFound, RequestError
from grove.runtime.client.objects import KubeObject, ObjectKey, PartialObject, Resource, ResourceType, key_of
from grove.runtime.client.resource_client import ResourceClient
from grove.runtime.controller.queue import Queue

log = structlog.get_logger(__name__)

EVENTS = Resource("events.k8s.io", "v1", "events", "Event")


class Reference(NamedTuple):
    """Which object an event is about."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str


def reference(resource: ResourceType, obj: KubeObject) -> Reference:
    api_version = f"{resource.group}/{resource.version}" if resource.group else resource.version
    return Reference(api_version, resource.kind, *key_of(obj), obj.metadata.uid or "")


class EventRecorder:
    """`controller` names the program (`example.com/thing`), `instance` this process."""

    def __init__(
        self, client: Client, controller: str, instance: str, *, now: Callable[[], datetime]
    ) -> None:
        self._events = ResourceClient(client, EVENTS, _event.decode)
        self._metrics = client.metrics
        self._controller = controller
        self._instance = instance[:128]
        self._now = now
        self._series: OrderedDict[_What, _Series] = OrderedDict()  # least recently seen first
        self._queue: Queue[_What] = Queue()
        self._numbers = itertools.count(1)

    def record(
        self,
        regarding: Reference,
        reason: str,
        note: str,
        *,
        action: str,
        type: Literal["Normal", "Warning"] = "Normal",  # noqa: A002 (the field's name)
    ) -> None:
        """Never waits and never raises. `reason` is one CamelCase word, `action` what was being done."""
        what = _What(regarding, type, reason, action, note)
        clock = asyncio.get_running_loop().time()
        self._forget_old(clock)
        series = self._series.get(what)
        if series is None:
            if len(self._series) >= MOST_KEPT:
                self._metrics.events_dropped.inc()
                return
            series = self._series[what] = _Series(self._now())
        series.count += 1
        series.last = self._now()
        series.seen = clock
        self._series.move_to_end(what)
        if series.name:
            self._queue.add_after(what, SERIES_EVERY)
        else:
            self._queue.add(what)

    async def run(self) -> NoReturn:
        """Writes what is recorded, until cancelled."""
        while True:
            what = await self._queue.get()
            assert what is not None  # this queue is never closed
            try:
                await self._write(what)
            finally:
                self._queue.done(what)

    async def flush(self) -> None:
        """Writes at once what is not yet written; for the end of the process, after `run` was cancelled."""
        for what in list(self._series):
            await self._write(what)

    async def _write(self, what: "_What") -> None:
        series = self._series.get(what)
        if series is None or series.count == series.written:
            return
        count = series.count
        try:
            if not series.name or not await self._count(what, series):
                await self._create(what, series)
        except (NamespaceGoing, NotFound):
            pass  # there is nobody left to tell
        except RequestError as e:
            self._metrics.events_dropped.inc()
            log.warning("event is dropped", regarding=str(what.regarding), reason=what.reason, error=str(e))
        series.written = count

    async def _create(self, what: "_What", series: "_Series") -> None:
        regarding = what.regarding
        namespace = regarding.namespace or "default"
        micros = int(series.first.timestamp() * 1_000_000)
        # The time and a number of this process: never the name of another event, also not after a restart.
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
            body["series"] = _counted(series)
        await self._events.create(namespace, msgspec.json.encode(body))
        series.name = name

    async def _count(self, what: "_What", series: "_Series") -> bool:
        """False if the event is gone: servers keep them for an hour."""
        key = ObjectKey(what.regarding.namespace or "default", series.name)
        try:
            await self._events.merge_patch(key, msgspec.json.encode({"series": _counted(series)}))
        except NotFound:
            return False
        return True

    def _forget_old(self, clock: float) -> None:
        while self._series:
            what, series = next(iter(self._series.items()))
            if clock - series.seen < SERIES_ENDS_AFTER or series.count != series.written:
                return
            del self._series[what]


# The same again after this time is a new event.
SERIES_ENDS_AFTER = 360.0
SERIES_EVERY = 30.0
MOST_KEPT = 5000


class _What(NamedTuple):
    """Events that agree in all of this are one series."""

    regarding: Reference
    type: str
    reason: str
    action: str
    note: str


class _Series:
    __slots__ = ("count", "first", "last", "name", "seen", "written")

    def __init__(self, first: datetime) -> None:
        self.first = first
        self.last = first
        self.count = 0
        self.written = 0
        self.name = ""
        self.seen = 0.0


def _counted(series: _Series) -> dict[str, Any]:
    return {"count": series.count, "lastObservedTime": _time(series.last)}


def _time(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


_event = msgspec.json.Decoder(PartialObject)
