"""Writes statuses: only if something differs, at most once per reconcile, and in batches.

A status that merely reports is not needed within the second. Changes in quick succession, as when all pods of a clique
start, therefore go into one write: the first change opens a batch window, and the write at its end has them all.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import orjson

from grove.api.serialization import codec
from grove.api.serialization.model import Model
from grove.plan.difference import difference
from grove.runtime.cache.informer import Informer
from grove.runtime.client.objects import Obj, key_of, uid_of

M = TypeVar("M", bound=Model)

STATUS_BATCH_WINDOW_SECONDS = 0.5
# While pods are being created or wait behind their gates, there is little to report.
STARTUP_STATUS_BATCH_WINDOW_SECONDS = 5.0


class StatusWriter:
    def __init__(self) -> None:
        self._due: dict[str, float] = {}  # by uid: the end of the batch window

    async def write(
        self,
        informer: Informer[Obj],
        obj: Obj,
        old: Model | None,
        new: Callable[[], M],
        *,
        immediately: bool = False,
        window_seconds: float = STATUS_BATCH_WINDOW_SECONDS,
        guarded: bool = False,
    ) -> "StatusWriteResult[M]":
        """Writes `new()` if it differs from `old`: immediately, or at the end of the batch window.

        Before that, `new` is not called, and the caller must requeue the object after `requeue_after` seconds. A window
        that is already open gets shorter, but never longer. `guarded` as in `write_status`.
        """
        uid = uid_of(obj)
        if immediately:
            self.forget(uid)
        else:
            now = asyncio.get_running_loop().time()
            due = self._due[uid] = min(self._due.get(uid, now + window_seconds), now + window_seconds)
            if now < due:
                return StatusWriteResult(due - now, None)
        status = new()
        if status != old:
            await write_status(informer, obj, old, status, guarded=guarded)
        self.forget(uid)
        return StatusWriteResult(None, status if status != old else None)

    def is_pending(self, uid: str) -> bool:
        """Whether a batch window is open. The write at its end will cover whatever changes until then."""
        due = self._due.get(uid)
        return due is not None and asyncio.get_running_loop().time() < due

    def forget(self, uid: str) -> None:
        """Closes the batch window of an object that is gone, or whose status was written."""
        self._due.pop(uid, None)


@dataclass(frozen=True)
class StatusWriteResult(Generic[M]):
    requeue_after: float | None
    """The seconds until the end of the batch window; None if it is not open."""
    written: M | None
    """The status that was just written; None if none was."""


async def write_status(
    informer: Informer[Obj], obj: Obj, old: Model | None, new: Model, *, guarded: bool = False
) -> Obj:
    """Returns the object after the write. A status with several writers must be `guarded`: the write then applies only
    to the version that was read, and raises Conflict otherwise."""
    patch = _patch(old, new) if old != new else None
    if patch is None:
        return obj
    if guarded:
        patch["metadata"] = {"resourceVersion": obj.metadata.resource_version}
    return await informer.objects.merge_patch(key_of(obj), orjson.dumps(patch), subresource="status")


def _patch(old: Model | None, new: Model) -> dict[str, Any] | None:
    encoded = codec.encode(new)
    if old is None:
        return {"status": orjson.Fragment(encoded)} if encoded != b"{}" else None
    before, after = orjson.loads(codec.encode(old)), orjson.loads(encoded)
    return difference({"status": before}, {"status": after}, ("status",))
