"""What the cluster remembers: objects, one counter of versions, and a bounded history of changes.

Every write takes the next number of one counter shared by all resources, as etcd's revision. Each table
(one per resource) keeps the last changes, oldest first. A watch is no queue but a position in that
history: it costs nothing while it waits, it shares every encoded event with all others, and one that
falls behind what is kept learns that its version has expired, as in a real cluster.

Objects are stored without `kind` and `apiVersion`, and encoded once: an answer in any served version is
that version's prefix and the same bytes. A stored object is never changed in place.
"""

import asyncio
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import orjson

from grove_sandbox.apiserver.errors import GroupResource

Object = dict[str, Any]
Key = tuple[str, str]  # namespace ("" for cluster scope) and name
ChangeType = Literal["ADDED", "MODIFIED", "DELETED"]

HISTORY = 5_000  # changes of each resource; up to twice as many are kept


class Stored:
    """One version of one object. `tail` is its JSON without the opening brace."""

    __slots__ = ("_tail", "key", "labels", "obj", "version")

    def __init__(self, key: Key, obj: Object, version: int) -> None:
        self.key = key
        self.obj = obj
        self.version = version
        self.labels: dict[str, str] = obj["metadata"].get("labels") or {}
        self._tail: bytes | None = None

    @property
    def tail(self) -> bytes:
        if self._tail is None:
            self._tail = orjson.dumps(self.obj)[1:]
        return self._tail

    @property
    def uid(self) -> str:
        uid: str = self.obj["metadata"]["uid"]
        return uid


@dataclass(frozen=True, slots=True)
class StoredChange:
    type: ChangeType
    version: int
    key: Key
    now: Stored  # for DELETED: the last state, at the version of the deletion
    before: Stored | None


class Table:
    """All objects of one resource, and what happened to them lately."""

    def __init__(self, resource: GroupResource, store: "Store") -> None:
        self.resource = resource
        self.objects: dict[Key, Stored] = {}
        self.first = 0  # absolute position of changes[0]
        self.changes: list[StoredChange] = []
        self.compacted = store.version  # the newest version that is no longer in the history
        self._store = store
        self.closed = False  # its resource is no longer served
        self._sorted: list[Key] | None = None
        self._wakers: set[asyncio.Event] = set()

    def get(self, key: Key) -> Stored | None:
        return self.objects.get(key)

    def keys(self) -> list[Key]:
        """In etcd's order: by namespace, then by name."""
        if self._sorted is None:
            self._sorted = sorted(self.objects)
        return self._sorted

    def scan(self, namespace: str | None) -> Iterator[Stored]:
        for key in self.keys():
            if namespace is None or key[0] == namespace:
                yield self.objects[key]

    def at(self, version: int) -> dict[Key, Stored]:
        """The objects as they were; the caller has checked that `version` is not compacted."""
        past = dict(self.objects)
        for change in reversed(self.changes):
            if change.version <= version:
                break
            if change.before is None:
                past.pop(change.key, None)
            else:
                past[change.key] = change.before
        return past

    @property
    def end(self) -> int:
        return self.first + len(self.changes)

    def position_after(self, version: int) -> int:
        return self.first + bisect_right(self.changes, version, key=lambda change: change.version)

    def since(self, position: int) -> list[StoredChange]:
        return self.changes[position - self.first :]

    def subscribe(self, waker: asyncio.Event) -> None:
        self._wakers.add(waker)

    def unsubscribe(self, waker: asyncio.Event) -> None:
        self._wakers.discard(waker)

    def record(self, change: StoredChange) -> None:
        if change.type == "DELETED":
            del self.objects[change.key]
            self._sorted = None
        else:
            self.objects[change.key] = change.now
            if change.type == "ADDED":
                self._sorted = None
        self.changes.append(change)
        if len(self.changes) >= 2 * self._store.history:
            self.compact(keep=self._store.history)
        for waker in self._wakers:
            waker.set()

    def compact(self, keep: int = 0) -> None:
        """Forget all but the last changes; a watch that needs the others gets 410."""
        gone = len(self.changes) - keep
        if gone <= 0:
            return
        self.compacted = self.changes[gone - 1].version
        del self.changes[:gone]
        self.first += gone
        for waker in self._wakers:
            waker.set()

    def close(self) -> None:
        """End every watch: the resource is no longer served."""
        self.closed = True
        for waker in self._wakers:
            waker.set()


class Store:
    def __init__(self, history: int = HISTORY) -> None:
        self.version = 1
        self.history = history
        self.tables: dict[GroupResource, Table] = {}
        self.listeners: list[Callable[[Table, StoredChange], None]] = []

    def table(self, resource: GroupResource) -> Table:
        table = self.tables.get(resource)
        if table is None:
            table = self.tables[resource] = Table(resource, self)
        return table

    def drop(self, resource: GroupResource) -> None:
        table = self.tables.pop(resource, None)
        if table is not None:
            table.close()

    def put(self, table: Table, key: Key, obj: Object) -> Stored:
        """Write `obj`, whose top level and metadata the caller hands over."""
        self.version += 1
        obj["metadata"]["resourceVersion"] = str(self.version)
        before = table.objects.get(key)
        now = Stored(key, obj, self.version)
        self._commit(table, StoredChange("MODIFIED" if before else "ADDED", self.version, key, now, before))
        return now

    def delete(self, table: Table, key: Key) -> Stored:
        before = table.objects[key]
        self.version += 1
        metadata = {**before.obj["metadata"], "resourceVersion": str(self.version)}
        now = Stored(key, {**before.obj, "metadata": metadata}, self.version)
        self._commit(table, StoredChange("DELETED", self.version, key, now, before))
        return now

    def _commit(self, table: Table, change: StoredChange) -> None:
        table.record(change)
        for listener in self.listeners:
            listener(table, change)

    def replace_quietly(self, table: Table, key: Key, obj: Object) -> None:
        """The last state of an object whose deletion follows at once; watchers see only the deletion."""
        table.objects[key] = Stored(key, obj, table.objects[key].version)
