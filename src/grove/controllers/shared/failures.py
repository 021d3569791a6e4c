"""What failed in a reconcile, for `status.lastErrors`, for events, and for the retry."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from grove.api import LastError, Time
from grove.runtime.controller.concurrently import Outcome

# Statuses are read by people, and by every watcher.
MAX_LAST_ERRORS = 10
MAX_DESCRIPTION_CHARS = 2000


@dataclass(frozen=True)
class Failure:
    """`code` is part of the API: users and `grove explain` tell kinds of failures apart by it."""

    code: str
    error: Exception


def failed(outcomes: Iterable[Outcome[Any, Any]], code: str) -> list[Failure]:
    return [Failure(code, o.error) for o in outcomes if o.error is not None]


def raise_failures(what: str, failures: Sequence[Failure]) -> None:
    """Raises all errors as one, if there are any, so that the controller retries the key."""
    if failures:
        raise ExceptionGroup(what, [f.error for f in failures])


def last_errors(known: Sequence[LastError], failures: Iterable[Failure], now: datetime) -> list[LastError]:
    """One entry per failure. A known entry keeps its time, so that a lasting error is written once."""
    found: list[LastError] = []
    for failure in failures:
        description = describe(failure.error)
        same = next((k for k in known if k.code == failure.code and k.description == description), None)
        entry = same or LastError(code=failure.code, description=description, observed_at=Time.at(now))
        if entry not in found:
            found.append(entry)
    return found[:MAX_LAST_ERRORS]


def describe(error: Exception) -> str:
    """The error in the server's own words, if it said anything."""
    if isinstance(error, ExceptionGroup):
        parts = dict.fromkeys(describe(e) for e in error.exceptions if isinstance(e, Exception))
        return "; ".join(parts)[:MAX_DESCRIPTION_CHARS]
    return (str(error) or type(error).__name__)[:MAX_DESCRIPTION_CHARS]
