"""Finalizers: adding and removing ours, leaving those of others."""

import orjson

from grove.runtime.cache.informer import Informer
from grove.runtime.client.errors import NotFound
from grove.runtime.client.objects import Obj, key_of


async def add_finalizer(informer: Informer[Obj], obj: Obj, finalizers: list[str], ours: str) -> Obj:
    """The object afterwards. Guarded by its version: finalizers are a list, which a patch replaces as a whole."""
    return await _write(informer, obj, [*finalizers, ours])


async def remove_finalizer(informer: Informer[Obj], obj: Obj, finalizers: list[str], ours: str) -> None:
    if ours not in finalizers:
        return
    try:
        await _write(informer, obj, [f for f in finalizers if f != ours])
    except NotFound:
        return  # it is gone already, which is what we want


async def _write(informer: Informer[Obj], obj: Obj, finalizers: list[str]) -> Obj:
    patch = {"metadata": {"finalizers": finalizers, "resourceVersion": obj.metadata.resource_version}}
    return await informer.objects.merge_patch(key_of(obj), orjson.dumps(patch))
