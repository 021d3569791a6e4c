"""Kubernetes' scalar types: durations, times, int-or-string; and how msgspec reads and writes them.

A value keeps the text that it was read from, so a round trip changes nothing. Its meaning (a number of nanoseconds, a
point in time) is computed on demand. Quantities are in `grove.schema.quantity`.
"""

import re
from datetime import UTC, datetime
from fractions import Fraction
from typing import Annotated, Self

import msgspec

from grove.api.serialization.model import About
from grove.schema.quantity import Quantity

# Kubernetes keeps whichever of the two the user wrote.
IntOrString = Annotated[int | str, About(schema={"x-kubernetes-int-or-string": True})]


_DURATION_UNITS = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,
    "μs": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}
_DURATION_PART = re.compile(r"([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)")


class Duration(str):
    """A Go duration such as `4h0m0s` or `30m`."""

    def __new__(cls, text: str) -> Self:
        _parse_duration(text)
        return super().__new__(cls, text)

    @classmethod
    def of(cls, *, hours: int = 0, minutes: int = 0, seconds: int = 0, nanoseconds: int = 0) -> Self:
        """A duration in Go's canonical form: `of(minutes=30)` is `30m0s`."""
        return cls(_format_duration(((hours * 60 + minutes) * 60 + seconds) * 10**9 + nanoseconds))

    @property
    def nanoseconds(self) -> int:
        return _parse_duration(self)

    @property
    def seconds(self) -> float:
        return self.nanoseconds / 10**9

    def canonical(self) -> "Duration":
        """The same duration as Go prints it."""
        return Duration(_format_duration(self.nanoseconds))


def _parse_duration(text: str) -> int:
    sign, body = (-1, text[1:]) if text.startswith("-") else (1, text.removeprefix("+"))
    if body == "0":
        return 0
    parts = list(_DURATION_PART.finditer(body))
    if not parts or "".join(p.group() for p in parts) != body:
        raise ValueError(f"{text!r} is not a duration: write it as in 4h, 30m or 1h30m")
    total = sum(Fraction(p[1]) * _DURATION_UNITS[p[2]] for p in parts)
    if total >= 2**63:
        raise ValueError(f"{text!r} is too long for a duration: the longest is about 292 years")
    return sign * int(total)


def _format_duration(nanoseconds: int) -> str:
    if nanoseconds == 0:
        return "0s"
    sign, left = ("-", -nanoseconds) if nanoseconds < 0 else ("", nanoseconds)
    for unit in ("ns", "µs", "ms"):
        size = _DURATION_UNITS[unit]
        if left < size * 1000:
            return f"{sign}{_decimal(left, size)}{unit}"
    minutes, rest = divmod(left, 60 * 10**9)
    hours, minutes = divmod(minutes, 60)
    seconds = f"{_decimal(rest, 10**9)}s"
    if hours:
        return f"{sign}{hours}h{minutes}m{seconds}"
    return f"{sign}{minutes}m{seconds}" if minutes else f"{sign}{seconds}"


def _decimal(value: int, size: int) -> str:
    whole, rest = divmod(value, size)
    digits = len(str(size)) - 1
    return f"{whole}.{rest:0{digits}d}".rstrip("0").rstrip(".") if rest else str(whole)


_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)", re.ASCII)


class _Instant(str):
    def __new__(cls, text: str) -> Self:
        if not _TIME.fullmatch(text):
            raise ValueError(f"{text!r} is not an RFC 3339 time such as 2026-01-31T12:00:00Z")
        datetime.fromisoformat(text)
        return super().__new__(cls, text)

    def when(self) -> datetime:
        """The time in UTC, with microsecond precision."""
        return datetime.fromisoformat(self).astimezone(UTC)


class Time(_Instant):
    """`metav1.Time`: written to the second."""

    @classmethod
    def at(cls, when: datetime) -> Self:
        return cls(_utc(when).replace(tzinfo=None).isoformat(timespec="seconds") + "Z")


class MicroTime(_Instant):
    """`metav1.MicroTime`: written to the microsecond, always with six digits."""

    @classmethod
    def at(cls, when: datetime) -> Self:
        return cls(_utc(when).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z")


def _utc(when: datetime) -> datetime:
    if when.tzinfo is None:
        raise ValueError(f"{when!r} has no time zone")
    return when.astimezone(UTC)


# The CRD schemas of these types.
SCHEMAS: dict[type, dict[str, object]] = {
    Duration: {"type": "string"},
    Quantity: {"x-kubernetes-int-or-string": True},
    Time: {"type": "string", "format": "date-time"},
    MicroTime: {"type": "string", "format": "date-time"},
}


def decode_hook(kind: type, value: object) -> object:
    """For msgspec: reads a scalar from a JSON string; a quantity also from a JSON number."""
    if kind is Quantity and isinstance(value, str | int | float) and not isinstance(value, bool):
        return Quantity(value)
    if kind in SCHEMAS and isinstance(value, str):
        return kind(value)
    raise msgspec.ValidationError(f"Expected `{kind.__name__}`, got `{type(value).__name__}`")


def encode_hook(value: object) -> object:
    """For msgspec: writes a scalar as it was read."""
    if isinstance(value, (_Instant, Duration)):
        return str(value)
    if isinstance(value, Quantity):
        return value.written
    raise NotImplementedError(f"cannot write {type(value).__name__} as JSON")
