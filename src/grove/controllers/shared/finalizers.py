"""Adds and removes Grove's finalizers and leaves those of others.

A merge patch replaces the list of finalizers as a whole, so it names the version that was read: somebody else's
finalizer is never lost, and a concurrent change is a Conflict.
"""

import orjson

from grove.runtime.cache.informer import Informer
from grove.runtime.client.errors import NotFound
from grove.runtime.client.objects import Obj, key_of


async def add_finalizer(informer: Informer[Obj], obj: Obj, finalizers: list[str], ours: str) -> Obj:
    """Returns the object after the write."""
    return await _write(informer, obj, [*finalizers, ours])


async def remove_finalizer(informer: Informer[Obj], obj: Obj, finalizers: list[str], ours: str) -> None:
    if ours not in finalizers:
        return
    try:
        await _write(informer, obj, [f for f in finalizers if f != ours])
    except NotFound:
        return  # already gone, which is the goal


async def _write(informer: Informer[Obj], obj: Obj, finalizers: list[str]) -> Obj:
    patch = {"metadata": {"finalizers": finalizers, "resourceVersion": obj.metadata.resource_version}}
    return await informer.objects.merge_patch(key_of(obj), orjson.dumps(patch))
