"""Objects that backends look up by name, such as queues. Others create them; Grove only reads them."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import orjson

from grove.controllers.shared.companions import Companion, decode_companion
from grove.controllers.shared.predicates import spec_or_metadata_changed
from grove.runtime.cache.cache import Cache
from grove.runtime.cache.informer import Informer
from grove.runtime.client.objects import ObjectKey
from grove.runtime.controller.manager import Manager
from grove.runtime.controller.triggers import Trigger
from grove.schedulers.backend import Backend
from grove.schedulers.types import ObjectKind

Json = dict[str, Any]


class Lookups:
    """An informer for each kind that a backend reads."""

    def __init__(self, manager: Manager, backends: Iterable[Backend]) -> None:
        self._informers: dict[ObjectKind, Informer[Companion]] = {
            kind: manager.informer(kind, decode_companion, required=False, indexes={"name": _name_of})
            for backend in backends
            for kind in backend.reads
        }

    @property
    def informers(self) -> Iterable[Informer[Companion]]:
        return self._informers.values()

    def triggers(
        self, keys: Callable[[object], Iterable[ObjectKey]], why: str
    ) -> list[Trigger[Companion, ObjectKey]]:
        return [
            Trigger(i, keys, when=spec_or_metadata_changed, why=why, optional=True) for i in self.informers
        ]

    def of(self, backend: Backend) -> dict[ObjectKind, Mapping[str, Json]]:
        """By kind and name. Kinds that are not served, may not be read, or were not read yet are missing."""
        kinds = [k for k in backend.reads if self._informers[k].synced.is_set()]
        return {k: _ObjectsByName(self._informers[k].cache) for k in kinds}


class _ObjectsByName(Mapping[str, Json]):
    """A live view of a cache. It parses an object when it is looked up: most never are."""

    def __init__(self, cache: Cache[Companion]) -> None:
        self._cache = cache

    def __getitem__(self, name: str) -> Json:
        found = self._cache.by_index("name", name)
        if not found:
            raise KeyError(name)
        body: Json = orjson.loads(found[0].body)
        return body

    def __contains__(self, name: object) -> bool:
        return bool(self._cache.by_index("name", name))

    def __iter__(self) -> Iterator[str]:
        return (o.metadata.name or "" for o in self._cache)

    def __len__(self) -> int:
        return len(self._cache)


def _name_of(obj: Companion) -> list[str]:
    return [obj.metadata.name or ""]
