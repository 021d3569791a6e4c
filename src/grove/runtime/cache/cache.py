"""The newest known state of all objects of one resource.

Two feeds update a cache, in any order and with any delay: the watch, and the answers to our own writes. Answers enter
at once (write-through), so the next read sees what was just written. Three rules keep the feeds consistent:

- A newer resourceVersion wins, so a late watch event changes nothing.
- Objects are told apart by UID, so a recreated object is never confused with its predecessor.
- A deleted object is remembered for a while, with the resourceVersion of its deletion. Neither a late event nor a
  late answer brings it back. Only a newer version does: the object had merely stopped to match a label selector.
"""

import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

import structlog

from grove.runtime.client.objects import KubeObject, Obj, ObjectKey, Origin, key_of, uid_of, version_of

log = structlog.get_logger(__name__)

T_co = TypeVar("T_co", bound=KubeObject, covariant=True)


@dataclass(frozen=True)
class Change(Generic[T_co]):
    """One object was added (`old` is None), changed, or deleted (`new` is None)."""

    old: T_co | None
    new: T_co | None
    origin: Origin = Origin.WATCH

    @property
    def object(self) -> T_co:
        """The newest state; for a deleted object, the last one before its deletion."""
        found = self.new if self.new is not None else self.old
        assert found is not None
        return found


Index = Callable[[Obj], Iterable[Hashable]]
Handler = Callable[[Change[Obj]], None]


class Cache(Generic[Obj]):
    """Reads are calls on memory and never wait. Objects are shared: callers must not modify them.

    `indexes` are functions from an object to the values under which `by_index` finds it. Subscribers run synchronously,
    in the order of the changes, so they must not block: they only enqueue keys or drop cached results. An exception
    of a subscriber is logged and does not reach the feed or other subscribers.
    """

    def __init__(self, indexes: Mapping[str, Index[Obj]] | None = None) -> None:
        self._objects: dict[str, Obj] = {}
        self._names: dict[ObjectKey, str] = {}
        self._index_functions: dict[str, Index[Obj]] = {}
        # By index and value: the UIDs, in insertion order.
        self._indexes: dict[str, dict[Hashable, dict[str, None]]] = {}
        # By UID: the object's values, index by index. Most changes leave them as they are.
        self._values: dict[str, list[_Values]] = {}
        # By UID, oldest first: the version of the deletion, and when it was noted.
        self._deletions: OrderedDict[str, tuple[int, float]] = OrderedDict()
        self._handlers: list[Handler[Obj]] = []
        for name, function in (indexes or {}).items():
            self.add_index(name, function)

    def __len__(self) -> int:
        return len(self._objects)

    def __iter__(self) -> Iterator[Obj]:
        """Iterates over a copy: the cache may change during the iteration."""
        return iter(list(self._objects.values()))

    def get(self, key: ObjectKey) -> Obj | None:
        uid = self._names.get(key)
        return None if uid is None else self._objects[uid]

    def by_uid(self, uid: str) -> Obj | None:
        return self._objects.get(uid)

    def by_index(self, index: str, value: Hashable) -> list[Obj]:
        found = self._indexes[index].get(value)
        return list(map(self._objects.__getitem__, found)) if found else []

    def add_index(self, name: str, function: Index[Obj]) -> None:
        """Idempotent: two readers that need the same index may both add it."""
        if name in self._index_functions:
            if self._index_functions[name] is not function:
                raise ValueError(f"the cache already has another index named {name!r}")
            return
        self._index_functions[name] = function
        buckets = self._indexes[name] = {}
        for uid, obj in self._objects.items():
            values = tuple(function(obj))
            self._values[uid].append(values)
            for value in values:
                buckets.setdefault(value, {})[uid] = None

    def subscribe(self, handler: Handler[Obj]) -> None:
        """Calls the handler for every object in the cache, and from then on for every change."""
        self._handlers.append(handler)
        for obj in self:
            self._call(handler, Change(None, obj))

    def observe(self, obj: Obj, origin: Origin = Origin.WATCH) -> None:
        """Stores a state of an object, unless a newer one is known."""
        uid, version = uid_of(obj), version_of(obj)
        known = self._objects.get(uid)
        if known is not None:
            if version > version_of(known):
                self._put(uid, obj)
                self._notify(Change(known, obj, origin))
            return
        deletion = self._deletions.get(uid)
        if deletion is not None and version <= deletion[0]:
            return
        key = key_of(obj)
        namesake = self.get(key)
        if namesake is not None:
            # Two objects cannot share a name at one time: the older one was deleted before the newer was created.
            if version <= version_of(namesake):
                self._remember_deletion(uid, version_of(namesake))
                return
            self.forget(uid_of(namesake), version, origin)
        self._put(uid, obj)
        self._names[key] = uid
        self._deletions.pop(uid, None)
        self._notify(Change(None, obj, origin))

    def forget(self, uid: str, version: int | None = None, origin: Origin = Origin.WATCH) -> None:
        """Removes an object that was deleted, or no longer matches the selector, at this resourceVersion.

        Without a version the object is gone for ever: no later state of this UID is accepted.
        """
        known = self._objects.get(uid)
        deleted_at = _FOREVER if version is None else version
        if known is not None and deleted_at < version_of(known):
            return
        self._remember_deletion(uid, deleted_at)
        if known is not None:
            del self._objects[uid]
            del self._names[key_of(known)]
            self._move(uid, self._values.pop(uid), [()] * len(self._indexes))
            self._notify(Change(known, None, origin))

    def retain(self, uids: Collection[str], version: int) -> None:
        """Removes every object that a complete list at this resourceVersion did not contain, unless it is newer."""
        for uid in [uid for uid in self._objects if uid not in uids]:
            self.forget(uid, version)

    def _put(self, uid: str, obj: Obj) -> None:
        # Computed first: if an index function raises, the cache is unchanged.
        new = [tuple(function(obj)) for function in self._index_functions.values()]
        old = self._values.get(uid)
        self._objects[uid] = obj
        if old != new:
            self._values[uid] = new
            self._move(uid, old or [()] * len(new), new)

    def _move(self, uid: str, old: "list[_Values]", new: "list[_Values]") -> None:
        """Moves an object in the indexes from its old values to its new ones."""
        for buckets, before, after in zip(self._indexes.values(), old, new, strict=True):
            for value in after:
                buckets.setdefault(value, {})[uid] = None
            for value in set(before).difference(after) if before else ():
                bucket = buckets[value]
                del bucket[uid]
                if not bucket:
                    del buckets[value]

    def _notify(self, change: Change[Obj]) -> None:
        for handler in self._handlers:
            self._call(handler, change)

    def _call(self, handler: Handler[Obj], change: Change[Obj]) -> None:
        try:
            handler(change)
        except Exception:
            log.exception("cache subscriber failed", key=str(key_of(change.object)))

    def _remember_deletion(self, uid: str, version: int) -> None:
        # Real time, not the event loop's: it only bounds memory, no result depends on it.
        now = time.monotonic()
        self._deletions[uid] = (version, now)
        self._deletions.move_to_end(uid)
        while next(iter(self._deletions.values()))[1] < now - DELETION_RECORD_TTL_SECONDS:
            self._deletions.popitem(last=False)


# Longer than any answer or watch event can be delayed. A state that comes even later is corrected by the next relist.
DELETION_RECORD_TTL_SECONDS = 600.0
_FOREVER = 1 << 63

_Values = tuple[Hashable, ...]
