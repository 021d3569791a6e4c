"""The newest known state of all objects of one resource.

Two sources feed it, in any order and with any delay: the watch, and the answers to our own writes
(write-through, so that what was written is seen by the very next read). Three rules keep them consistent:

- a newer resourceVersion wins, so an event that the watch delivers late changes nothing;
- objects are told apart by UID, so a re-created object is never confused with its predecessor;
- what was deleted is remembered for a while with the version of its end, so that neither a late event nor the
  late answer to a write brings it back. Only a newer version does: an object that had merely left the selection
  of a label selector.
"""

import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from typing import Generic, TypeVar

import msgspec
import structlog

from grove.runtime.client.objects import KubeObject, Obj, ObjectKey, key_of, uid_of, version_of

log = structlog.get_logger(__name__)

T_co = TypeVar("T_co", bound=KubeObject, covariant=True)


class Change(msgspec.Struct, Generic[T_co], frozen=True):
    """One object became known (`old` is None), changed, or went away (`new` is None)."""

    old: T_co | None
    new: T_co | None

    @property
    def object(self) -> T_co:
        """The newest state: that before its end, if the object went away."""
        found = self.new if self.new is not None else self.old
        assert found is not None
        return found


Index = Callable[[Obj], Iterable[Hashable]]
Handler = Callable[[Change[Obj]], None]


class Cache(Generic[Obj]):
    """Reads are plain calls on memory and never wait. Objects are shared: change none of them in place.

    `indexes` are plain functions from an object to the keys to find it by. Handlers are called at once, in the order of
    the changes, and must be quick: they note what to do (`Queue.add`) and leave the doing to others. One that raises
    is logged and disturbs nobody else.
    """

    def __init__(self, indexes: Mapping[str, Index[Obj]] | None = None) -> None:
        self._objects: dict[str, Obj] = {}
        self._names: dict[ObjectKey, str] = {}
        self._versions: dict[str | None, Obj] = {}
        self._index_functions: dict[str, Index[Obj]] = {}
        # The UIDs, in order, of what stands under a value.
        self._indexes: dict[str, dict[Hashable, dict[str, None]]] = {}
        # What each object stands under, index by index: mostly a change leaves it there.
        self._values: dict[str, list[_Values]] = {}
        self._ends: OrderedDict[str, tuple[int, float]] = OrderedDict()  # oldest first: version, when noted
        self._handlers: list[Handler[Obj]] = []
        for name, function in (indexes or {}).items():
            self.add_index(name, function)

    def __len__(self) -> int:
        return len(self._objects)

    def __iter__(self) -> Iterator[Obj]:
        """Over a copy: the cache may change meanwhile."""
        return iter(list(self._objects.values()))

    def get(self, key: ObjectKey) -> Obj | None:
        uid = self._names.get(key)
        return None if uid is None else self._objects[uid]

    def by_uid(self, uid: str) -> Obj | None:
        return self._objects.get(uid)

    def by_version(self, version: str) -> Obj | None:
        """The object whose newest known state has this resourceVersion: no two writes have the same."""
        return self._versions.get(version)

    def by_index(self, index: str, value: Hashable) -> list[Obj]:
        found = self._indexes[index].get(value)
        return list(map(self._objects.__getitem__, found)) if found else []

    def add_index(self, name: str, function: Index[Obj]) -> None:
        """The same index may be added twice, by two readers who need it."""
        if name in self._index_functions:
            if self._index_functions[name] is not function:
                raise ValueError(f"there is another index of the name {name!r}")
            return
        self._index_functions[name] = function
        buckets = self._indexes[name] = {}
        for uid, obj in self._objects.items():
            values = tuple(function(obj))
            self._values[uid].append(values)
            for value in values:
                buckets.setdefault(value, {})[uid] = None

    def subscribe(self, handler: Handler[Obj]) -> None:
        """Calls the handler for each object there is, and then for every change."""
        self._handlers.append(handler)
        for obj in self:
            self._notify(Change(None, obj), (handler,))

    def observe(self, obj: Obj) -> None:
        """Takes in a state of an object, from the watch or from the answer to a read or write."""
        uid, version = uid_of(obj), version_of(obj)
        known = self._objects.get(uid)
        if known is not None:
            if version > version_of(known):
                self._put(uid, obj)
                self._versions.pop(known.metadata.resource_version, None)
                self._notify(Change(known, obj))
            return
        end = self._ends.get(uid)
        if end is not None and version <= end[0]:
            return
        key = key_of(obj)
        namesake = self.get(key)
        if namesake is not None:
            # Of two objects with one name the older is gone: its end was before the start of the newer.
            if version <= version_of(namesake):
                self._remember_end(uid, version_of(namesake))
                return
            self.forget(uid_of(namesake), version)
        self._put(uid, obj)
        self._names[key] = uid
        self._ends.pop(uid, None)
        self._notify(Change(None, obj))

    def forget(self, uid: str, version: int | None = None) -> None:
        """The object is gone, or no longer selected, as of this resourceVersion. Without one: it is gone for good."""
        known = self._objects.get(uid)
        end = _FOR_GOOD if version is None else version
        if known is not None and end < version_of(known):
            return
        self._remember_end(uid, end)
        if known is not None:
            del self._objects[uid]
            del self._names[key_of(known)]
            self._versions.pop(known.metadata.resource_version, None)
            self._move(uid, self._values.pop(uid), [()] * len(self._indexes))
            self._notify(Change(known, None))

    def retain(self, uids: Collection[str], version: int) -> None:
        """A complete list, as of this resourceVersion, had only these: all others that are not newer are gone."""
        for uid in [uid for uid in self._objects if uid not in uids]:
            self.forget(uid, version)

    def _put(self, uid: str, obj: Obj) -> None:
        # First: if an index function raises, nothing has changed.
        new = [tuple(function(obj)) for function in self._index_functions.values()]
        old = self._values.get(uid)
        self._objects[uid] = obj
        self._versions[obj.metadata.resource_version] = obj
        if old != new:
            self._values[uid] = new
            self._move(uid, old or [()] * len(new), new)

    def _move(self, uid: str, old: "list[_Values]", new: "list[_Values]") -> None:
        """From the places where an object stood to those where it stands now."""
        for buckets, before, after in zip(self._indexes.values(), old, new, strict=True):
            for value in after:
                buckets.setdefault(value, {})[uid] = None
            for value in set(before).difference(after) if before else ():
                bucket = buckets[value]
                del bucket[uid]
                if not bucket:
                    del buckets[value]

    def _notify(self, change: Change[Obj], handlers: Iterable[Handler[Obj]] = ()) -> None:
        for handler in handlers or self._handlers:
            try:
                handler(change)
            except Exception:
                log.exception("a handler failed on a change", key=str(key_of(change.object)))

    def _remember_end(self, uid: str, version: int) -> None:
        # Real time, not the loop's: it bounds memory alone, and no result depends on it.
        now = time.monotonic()
        self._ends[uid] = (version, now)
        self._ends.move_to_end(uid)
        while next(iter(self._ends.values()))[1] < now - ENDS_KEPT_FOR:
            self._ends.popitem(last=False)


# Longer than any request or watch can be late. After that, a late state would be put right by the next relist.
ENDS_KEPT_FOR = 600.0
_FOR_GOOD = 1 << 63

_Values = tuple[Hashable, ...]
