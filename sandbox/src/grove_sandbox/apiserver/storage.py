"""The store: objects, one counter of resource versions, and a bounded history of changes.

Every write increments one counter that all resources share, like etcd's revision. Each resource has a table, which
keeps its last changes, oldest first. A watch is a position in that history, not a queue: it costs nothing while it
waits, and all watches share the encoded objects. A watch that falls behind the kept history gets 410, as in a real
cluster.

Objects are stored without `kind` and `apiVersion` and encoded once. A response in any served version is the prefix of
that version followed by the same bytes. A stored object is never changed in place.
"""

import asyncio
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import orjson

from grove_sandbox.apiserver.errors import GroupResource

Object = dict[str, Any]
Key = tuple[str, str]  # namespace ("" for cluster scope) and name
ChangeType = Literal["ADDED", "MODIFIED", "DELETED"]

HISTORY = 5_000  # changes per resource that are kept at least, and twice as many at most


class Stored:
    """One version of one object."""

    def __init__(self, key: Key, obj: Object, version: int) -> None:
        self.key = key
        self.obj = obj
        self.version = version
        self.labels: dict[str, str] = obj["metadata"].get("labels") or {}

    @cached_property
    def tail(self) -> bytes:
        """The JSON of the object without its opening brace, encoded once for all readers."""
        return orjson.dumps(self.obj)[1:]

    @property
    def uid(self) -> str:
        uid: str = self.obj["metadata"]["uid"]
        return uid


@dataclass(frozen=True)
class StoredChange:
    type: ChangeType
    version: int
    key: Key
    now: Stored  # for DELETED: the last state, with the resource version of the deletion
    before: Stored | None


class Table:
    """All objects of one resource, and their recent changes."""

    def __init__(self, resource: GroupResource, store: "Store") -> None:
        self.resource = resource
        self.objects: dict[Key, Stored] = {}
        self.first = 0  # absolute position of changes[0]
        self.changes: list[StoredChange] = []
        self.compacted = store.version  # newest version whose changes are no longer kept
        self._store = store
        self.closed = False  # the resource is no longer served: watches end
        self._sorted: list[Key] | None = None
        self._watches: set[asyncio.Event] = set()

    def get(self, key: Key) -> Stored | None:
        return self.objects.get(key)

    def keys(self) -> list[Key]:
        """Sorted as in etcd: by namespace, then by name."""
        if self._sorted is None:
            self._sorted = sorted(self.objects)
        return self._sorted

    def scan(self, namespace: str | None) -> Iterator[Stored]:
        for key in self.keys():
            if namespace is None or key[0] == namespace:
                yield self.objects[key]

    def at(self, version: int) -> dict[Key, Stored]:
        """The objects at an earlier version. The caller must check that it is not compacted."""
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

    def subscribe(self, watch: asyncio.Event) -> None:
        self._watches.add(watch)

    def unsubscribe(self, watch: asyncio.Event) -> None:
        self._watches.discard(watch)

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
        for watch in self._watches:
            watch.set()

    def compact(self, keep: int = 0) -> None:
        """Drops all but the last `keep` changes. A watch that needs the others gets 410."""
        dropped = len(self.changes) - keep
        if dropped <= 0:
            return
        self.compacted = self.changes[dropped - 1].version
        del self.changes[:dropped]
        self.first += dropped
        for watch in self._watches:
            watch.set()

    def close(self) -> None:
        """Ends all watches, because the resource is no longer served."""
        self.closed = True
        for watch in self._watches:
            watch.set()


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
        """Creates or replaces an object. The caller must not use the top level and `metadata` of `obj` afterwards."""
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

    def replace_without_event(self, table: Table, key: Key, obj: Object) -> None:
        """Replaces the last state of an object that is deleted right after. Watches see only the deletion."""
        table.objects[key] = Stored(key, obj, table.objects[key].version)
