"""Deleting many objects, each once, and only the very object that was seen."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from grove.runtime.cache.informer import Informer
from grove.runtime.client.objects import key_of, uid_of
from grove.runtime.controller.concurrently import for_each

# How long what is going away has to go before somebody says what it waits for.
PATIENCE = timedelta(seconds=30)


def gone_at(obj: Any) -> datetime | None:
    """When it should have gone at the latest; None for what nobody deleted yet."""
    when = obj.metadata.deletion_timestamp
    return datetime.fromisoformat(when) if when is not None else None


async def delete_all(
    informer: Informer[Any], objects: Iterable[Any], code: str
) -> list[tuple[str, Exception]]:
    """Deletes what is not going away already; returns what failed, each with `code`."""
    going = [o for o in objects if o.metadata.deletion_timestamp is None]
    if not going:
        return []

    async def delete(obj: Any) -> None:
        await informer.objects.delete(key_of(obj), uid=uid_of(obj))

    outcomes = await for_each(going, delete)
    return [(code, o.error) for o in outcomes if o.error is not None]
