"""Writing a status: once per reconcile at most, only when something differs, and not for every pod that moves."""

import asyncio
import math
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any, Generic, NamedTuple, TypeVar

import orjson

from grove.api import LastError, Time
from grove.api.serialization import codec
from grove.api.serialization.model import Model
from grove.plan.difference import difference
from grove.runtime.cache.informer import Informer
from grove.runtime.client.errors import ApiError
from grove.runtime.client.objects import Obj, key_of, uid_of

M = TypeVar("M", bound=Model)

# How long changes of an object's state are gathered into one report of it.
GATHER = 0.5
# The same while its pods are being made or are behind the gate: until then, there is little to report.
GATHER_ON_THE_WAY = 5.0
# A timer may be early by the clock's resolution.
A_MOMENT = 0.001


class Reports:
    """Statuses that only report what happens. Nobody acts on them within the second, so changes that come in quick
    succession, as when all pods of a clique start, are reported together."""

    def __init__(self) -> None:
        self._due: dict[str, float] = {}

    async def write(
        self,
        informer: Informer[Obj],
        obj: Obj,
        old: Model | None,
        new: Callable[[], M],
        *,
        at_once: bool = False,
        gather: float = GATHER,
        guarded: bool = False,
    ) -> "Reported[M]":
        """Writes `new` if it differs from `old`: at once, or when it is due; it is not worked out before.

        `guarded` as in `write_status`.
        """
        uid = uid_of(obj)
        if at_once:
            self.forget(uid)
        else:
            now = asyncio.get_running_loop().time()
            due = self._due[uid] = min(self._due.get(uid, math.inf), now + gather)
            left = due - now
            if left > A_MOMENT:
                return Reported(left, None)
        status = new()
        if status != old:
            await write_status(informer, obj, old, status, guarded=guarded)
        self.forget(uid)
        return Reported(None, status if status != old else None)

    def to_come(self, uid: str) -> bool:
        """Whether a report waits, which is going to tell of all that changes until then."""
        due = self._due.get(uid)
        return due is not None and due - asyncio.get_running_loop().time() > A_MOMENT

    def forget(self, uid: str) -> None:
        self._due.pop(uid, None)


class Reported(NamedTuple, Generic[M]):
    """`look_again`: after how many seconds a report is due that waits. `written`: what was written just now."""

    look_again: float | None
    written: M | None


async def write_status(
    informer: Informer[Obj], obj: Obj, old: Model | None, new: Model, *, guarded: bool = False
) -> Obj:
    """The object afterwards. `guarded`: only on the version that was read, for a status with several writers."""
    if old == new:
        return obj
    patch = _patch(old, new)
    if patch is None:
        return obj
    if guarded:
        patch["metadata"] = {"resourceVersion": obj.metadata.resource_version}
    return await informer.objects.merge_patch(key_of(obj), orjson.dumps(patch), subresource="status")


def last_errors(
    known: Sequence[LastError], failures: Iterable[tuple[str, Exception]], now: datetime
) -> list[LastError]:
    """One entry per failure, (code, error); a known one keeps its time, so that a lasting error is written once."""
    found: list[LastError] = []
    for code, error in failures:
        description = describe(error)
        same = next((k for k in known if k.code == code and k.description == description), None)
        entry = same or LastError(code=code, description=description, observed_at=Time.at(now))
        if entry not in found:
            found.append(entry)
    return found[:MOST_ERRORS]


def describe(error: Exception) -> str:
    """The server's own words, if it said anything."""
    if isinstance(error, ExceptionGroup):
        return "; ".join(dict.fromkeys(describe(e) for e in error.exceptions if isinstance(e, Exception)))[
            :2000
        ]
    if isinstance(error, ApiError):
        return str(error)[:2000]
    return (str(error) or type(error).__name__)[:2000]


MOST_ERRORS = 10


def _patch(old: Model | None, new: Model) -> dict[str, Any] | None:
    encoded = codec.encode(new)
    if old is None:
        return {"status": orjson.Fragment(encoded)} if encoded != b"{}" else None
    before, after = orjson.loads(codec.encode(old)), orjson.loads(encoded)
    return difference({"status": before}, {"status": after}, ("status",))
