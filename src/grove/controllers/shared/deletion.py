"""Deletes objects, each only if it is still the very object that was read."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from grove.controllers.shared.failures import Failure, failed
from grove.runtime.cache.informer import Informer
from grove.runtime.client.objects import key_of, uid_of
from grove.runtime.controller.concurrently import for_each

# An object that is being deleted may take this long beyond its grace period before Grove reports what it waits for.
DELETION_PATIENCE = timedelta(seconds=30)


def gone_by(obj: Any) -> datetime | None:
    """When the object should be gone at the latest; None if nobody has deleted it."""
    when = obj.metadata.deletion_timestamp
    return datetime.fromisoformat(when) if when is not None else None


async def delete_all(informer: Informer[Any], objects: Iterable[Any], code: str) -> list[Failure]:
    """Skips objects that are already being deleted. Failures get `code`."""

    async def delete(obj: Any) -> None:
        await informer.objects.delete(key_of(obj), uid=uid_of(obj))

    remaining = [o for o in objects if o.metadata.deletion_timestamp is None]
    return failed(await for_each(remaining, delete), code)
