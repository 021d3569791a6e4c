"""The steps of operators and backends. A test decides which of the waiting steps happens next.

    start     a controller takes a key from its queue and reads the caches
    request   a request reaches the server, and its answer enters the cache
    watch     a watch brings a process a change that the process did not make itself
    act       somebody else does something: a user, a scheduler

Two states are equal if they agree in the objects on the server, the waiting steps, the keys of all queues, the watch
events that each process has yet to receive, and everything that each running reconcile has read and been answered: that
alone decides what it will do. Versions, uids and times are left out: they differ in each order.

Events, and the statuses of sets, groups and cliques, which no controller reads, are written without waiting. What
controllers remember beside the caches (`Applier`, `SetJudgements`, `StatusWriter`) saves work and decides nothing, so
it is not part of a state.
"""

import asyncio
import hashlib
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from contextvars import ContextVar
from typing import Any

import orjson
import pytest
from grove_sandbox.apiserver import Write

from grove.operator.assembly import ControllerProcess
from grove.runtime.cache.cache import Cache
from grove.runtime.cache.informer import Informer
from grove.runtime.client.transport import Request, Response, Stream, Transport
from tests.flow.operating import quiet

Json = dict[str, Any]
# An object in a version: its uid and resourceVersion.
Version = tuple[str, str]
# What was asked, and which objects were the answer.
Reads = list[tuple[str, list[Version]]]


class Steps:
    """The steps of the processes that are added.

    Steps wait only between `begin` and `end`. A step whose name contains one of `at_once` never waits. `remembered`
    returns what an observer remembers beside the objects.
    """

    def __init__(
        self,
        objects: "Objects",
        monkeypatch: pytest.MonkeyPatch,
        *,
        at_once: Collection[str] = (),
        remembered: Callable[[], Any],
    ) -> None:
        self._objects, self._at_once, self._remembered = objects, at_once, remembered
        self._begun = False
        self._waiting: dict[str, asyncio.Future[None]] = {}
        self._starting: dict[str, Callable[[], Awaitable[Any]]] = {}
        self._in_hand: dict[str, Reads] = {}
        self._processes: dict[str, ControllerProcess] = {}
        for name in ("get", "by_uid", "by_index"):
            monkeypatch.setattr(Cache, name, _noted(name, getattr(Cache, name)))
        monkeypatch.setattr(Cache, "_notify", _unnoted(Cache._notify))

    def add(self, name: str, process: ControllerProcess) -> None:
        """Before the process runs; its transport is a `Stepwise` of the same name."""
        self._processes[name] = process
        for controller in process.controllers:
            controller._reconcile = self._stepwise(f"{name}: {controller.name}", controller._reconcile)

    def informers(self, process: str) -> list[Informer[Any]]:
        return [informer for informer, _ in self._processes[process].manager._informers.values()]

    @property
    def choices(self) -> list[str]:
        return sorted(self._waiting)

    def begin(self) -> None:
        self._begun = True

    def end(self) -> None:
        self._begun = False
        for step in self.choices:
            self.take(step)

    async def wait(self, step: str) -> None:
        if not self._begun or any(part in step for part in self._at_once):
            return
        while step in self._waiting:
            step += "'"
        turn = self._waiting[step] = asyncio.get_running_loop().create_future()
        await turn

    def take(self, step: str) -> None:
        turn = self._waiting.pop(step)
        if not turn.done():
            turn.set_result(None)

    async def is_idle(self, step: str) -> bool:
        """Runs the reconcile on trial, up to its first request."""
        if step not in self._starting:
            return False
        asked: list[Request] = []
        token = _trying.set(asked)
        task = asyncio.ensure_future(self._starting[step]())
        _trying.reset(token)
        await quiet()
        task.cancel()
        await asyncio.wait([task])
        failed = not task.cancelled() and task.exception() is not None
        return not failed and not any(written(r) for r in asked)

    def state(self) -> Any:
        seen = self._objects.seen
        in_hand = [
            (title, sorted((what, [seen(v) for v in found]) for what, found in reads))
            for title, reads in sorted(self._in_hand.items())
        ]
        controllers = [c for p in self._processes.values() for c in p.controllers]
        queues = [
            [sorted(map(str, keys)) for keys in (c.queue._waiting, c.queue._timers, c._conflicted)]
            for c in controllers
        ]
        on_the_way = [self._objects.after(i) for name in self._processes for i in self.informers(name)]
        return [self._objects.state(), in_hand, queues, on_the_way, self._remembered()]

    def _stepwise(self, who: str, reconcile: Callable[[Any], Any]) -> Callable[[Any], Any]:
        async def when_it_is_its_turn(key: Any) -> Any:
            title = f"{who} {key}"
            step = f"{who} starts {key}"
            self._starting[step] = lambda: reconcile(key)
            await self.wait(step)
            del self._starting[step]
            self._in_hand[title] = []
            token = _reads.set(self._in_hand[title])
            try:
                return await reconcile(key)
            finally:
                _reads.reset(token)
                del self._in_hand[title]

        return when_it_is_its_turn


_reads: ContextVar[Reads | None] = ContextVar("reads", default=None)
_trying: ContextVar[list[Request] | None] = ContextVar("trying", default=None)


class Objects:
    """Observes writes: the content of every version of every object, and which version is the newest."""

    def __init__(self) -> None:
        self.now: dict[str, Json] = {}
        self._newest: dict[str, Version] = {}
        self._said: dict[Version, str] = {}
        self._names: dict[str, str] = {}
        self._log: dict[str, list[Version]] = defaultdict(list)

    def __call__(self, write: Write) -> None:
        plural, meta = write.resource.plural, write.now["metadata"]
        if plural == "events":
            return
        name, version = "/".join((plural, write.key[1])), (meta["uid"], meta["resourceVersion"])
        self._names[meta["uid"]] = f"<{name}>"
        self._said[version] = f"{write.type == 'DELETED'} {self.content(write.now)}"
        self._log[plural].append(version)
        if write.type == "DELETED":
            del self.now[name], self._newest[name]
        else:
            self.now[name], self._newest[name] = write.now, version

    def state(self) -> Any:
        return sorted((name, self._said[version]) for name, version in self._newest.items())

    def content(self, obj: Json) -> str:
        """A digest, with names in place of uids, and conditions sorted by type: their order depends on chance."""
        meta = {k: v for k, v in obj["metadata"].items() if k not in _MADE_UP}
        stated = {**obj, "metadata": meta, "status": _in_order(obj.get("status"))}
        text = orjson.dumps(stated, option=orjson.OPT_SORT_KEYS).decode()
        for uid, name in self._names.items():
            text = text.replace(uid, name)
        return hashlib.blake2b(text.encode(), digest_size=12).hexdigest()

    def seen(self, version: Version) -> tuple[str, bool]:
        """The content of an object in a version, and whether that is its newest: else a guarded write will fail."""
        return self._said.get(version, ""), version in self._newest.values()

    def after(self, informer: Informer[Any]) -> list[Any]:
        """The watch events that an informer has yet to receive, in order, and whether each will be new to it."""
        position = informer._position or 0
        log = self._log[informer.resource.plural]
        return [(self._said[v], is_news(informer, *v)) for v in log if int(v[1]) > position]


_MADE_UP = ("resourceVersion", "uid", "managedFields", "creationTimestamp")


class Stepwise:
    """The connection of a process to the server, on which writes and new watch events are steps."""

    def __init__(self, inner: Transport, steps: Steps, process: str) -> None:
        self._inner, self._steps, self._process = inner, steps, process

    async def send(self, request: Request) -> Response:
        if (asked := _trying.get()) is not None:
            asked.append(request)
            await asyncio.Event().wait()  # until it is cancelled
        what = written(request)
        if what:
            await self._steps.wait(f"{self._process}: {what}")
        answer = await self._inner.send(request)
        if (reads := _reads.get()) is not None:
            meta = orjson.loads(answer.body).get("metadata", {})
            found = [(meta["uid"], meta["resourceVersion"])] if "uid" in meta else []
            reads.append((f"{what} {answer.status}", found))
        return answer

    async def stream(self, request: Request) -> Stream:
        stream = await self._inner.stream(request)
        plural, labels = request.path.rpartition("/")[2], request.query.get("labelSelector", "")
        for informer in self._steps.informers(self._process):
            if (informer.resource.plural, informer._labels) == (plural, labels):
                return _News(stream, informer, self._steps, f"{self._process} watches {plural}")
        return stream

    async def close(self) -> None:
        """The server outlives the process."""


class _News:
    """A watch, line by line."""

    def __init__(self, inner: Stream, informer: Informer[Any], steps: Steps, step: str) -> None:
        self.status, self.headers = inner.status, inner.headers
        self._inner, self._informer, self._steps, self._step = inner, informer, steps, step

    async def chunks(self) -> AsyncIterator[bytes]:
        async for chunk in self._inner.chunks():
            for line in chunk.splitlines(keepends=True):
                event = orjson.loads(line)
                meta = event["object"]["metadata"]
                if event["type"] != "BOOKMARK" and is_news(
                    self._informer, meta["uid"], meta["resourceVersion"]
                ):
                    await self._steps.wait(f"{self._step}/{meta['name']}")
                yield line

    async def close(self) -> None:
        await self._inner.close()


def is_news(informer: Informer[Any], uid: str, version: str) -> bool:
    """Whether a version is new to an informer. It is not if the same process wrote it."""
    known, end = informer.cache._objects.get(uid), informer.cache._deletions.get(uid)
    if known is not None:
        return int(version) > int(known.metadata.resource_version)
    return end is None or int(version) > end[0]


def written(request: Request) -> str:
    """What a request writes, as in `PATCH podgangs/s-0/status`; empty if no controller reads it."""
    what = request.path.rpartition("/namespaces/")[2].partition("/")[2]
    is_report = what.startswith("podclique") and what.endswith("/status")
    if request.method == "GET" or "dryRun" in request.query or what.startswith("events") or is_report:
        return ""
    if request.method == "POST":
        what += f"/{orjson.loads(request.body)['metadata']['name']}"
    return f"{request.method} {what}"


def _noted(name: str, read: Callable[..., Any]) -> Callable[..., Any]:
    def reading(self: Cache[Any], *key: Any) -> Any:
        found = read(self, *key)
        if (reads := _reads.get()) is not None:
            objects = found if isinstance(found, list) else [found] if found is not None else []
            seen = (f"{name} {key}" if name == "get" else name, [_version(o) for o in objects])
            if seen not in reads:
                reads.append(seen)
        return found

    return reading


def _version(obj: Any) -> Version:
    return obj.metadata.uid, obj.metadata.resource_version


def _unnoted(notify: Callable[..., None]) -> Callable[..., None]:
    """Reads of cache subscribers do not count as reads of the reconcile whose write notified them."""

    def notifying(self: Cache[Any], *arguments: Any) -> None:
        token = _reads.set(None)
        try:
            notify(self, *arguments)
        finally:
            _reads.reset(token)

    return notifying


def _in_order(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {
            k: sorted(v, key=lambda c: str(c["type"])) if k == "conditions" else _in_order(v)
            for k, v in value.items()
        }
    return [_in_order(v) for v in value] if isinstance(value, list) else value
