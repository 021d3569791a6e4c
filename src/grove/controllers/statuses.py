"""Writing a status: once per reconcile at most, and only when something differs."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

import orjson

from grove.api import LastError, Time, codec
from grove.api.model import Model
from grove.plan.difference import difference
from grove.runtime.errors import ApiError
from grove.runtime.informer import Informer
from grove.runtime.objects import Obj, key_of


async def write_status(
    informer: Informer[Obj], obj: Obj, old: Model | None, new: Model, *, guarded: bool = False
) -> Obj:
    """The object afterwards. `guarded`: only on the version that was read, for a status with several writers."""
    if old == new:
        return obj
    patch = difference({"status": _json(old)}, {"status": _json(new)}, ("status",))
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


def _json(status: Model | None) -> dict[str, Any]:
    found: dict[str, Any] = orjson.loads(codec.encode(status)) if status is not None else {}
    return found
