"""Objects that backends look things up in, such as queues: read by Grove, and made by others."""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import orjson

from grove.controllers.shared.companions import Companion, decode_companion
from grove.controllers.shared.predicates import described_anew
from grove.runtime.cache.cache import Cache, Change
from grove.runtime.cache.informer import Informer
from grove.runtime.controller.manager import Manager
from grove.schedulers.backend import Backend
from grove.schedulers.types import ObjectKind

Json = dict[str, Any]


class Lookups:
    """The kinds that backends read, each with a cache of the cluster's objects."""

    def __init__(self, manager: Manager, backends: Iterable[Backend]) -> None:
        self._informers: dict[ObjectKind, Informer[Companion]] = {
            kind: manager.informer(kind, decode_companion, required=False, indexes={"name": _name_of})
            for backend in backends
            for kind in backend.reads
        }

    def of(self, backend: Backend) -> dict[ObjectKind, Mapping[str, Json]]:
        """By kind and name. Without the kinds that are not served, may not be read, or were not read yet."""
        kinds = [k for k in backend.reads if self._informers[k].synced.is_set()]
        return {k: _ByName(self._informers[k].cache) for k in kinds}

    async def follow(self, wake_all: Callable[[], None]) -> None:
        """Calls `wake_all` when a kind can be read, and when an object of it comes, goes or is described anew."""

        def note(change: Change[Companion]) -> None:
            if described_anew(change):
                wake_all()

        async def wait(informer: Informer[Companion]) -> None:
            await informer.synced.wait()
            wake_all()
            informer.cache.subscribe(note)

        async with asyncio.TaskGroup() as group:
            for informer in self._informers.values():
                group.create_task(wait(informer))


class _ByName(Mapping[str, Json]):
    """Objects are taken apart when they are asked for: most never are."""

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
