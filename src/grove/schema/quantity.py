"""Quantities such as `500m`, `2Gi` or `1e3`, read and written as Kubernetes' `resource.Quantity` does.

    quantity  ::=  [+-] number [suffix]
    number    ::=  digits | digits . [digits] | . digits            ASCII digits only
    suffix    ::=  n u m k M G T P E  |  Ki Mi Gi Ti Pi Ei  |  e or E, a sign if any, digits

The amount is exact. Like Kubernetes, reading rounds away from zero to a multiple of 10^-9, and limits a quantity with
a binary suffix to 2^63-1. The rules differ from Kubernetes' code in three places, each on purpose: a text without
any digit (`m`) is refused, though Kubernetes reads 0; so is an exponent beyond 999, which can keep Kubernetes
busy for minutes; and `canonical` always normalizes, where Kubernetes keeps spellings such as `+5`, `007` or `1E3`.
"""

import re
from enum import Enum
from fractions import Fraction
from functools import total_ordering
from math import ceil, floor

_QUANTITY = re.compile(
    r"(?P<number>[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))"
    r"(?:(?P<binary>[KMGTPE]i)|[eE](?P<exponent>[+-]?[0-9]+)|(?P<decimal>[numkMGTPE]?))"
)
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_SUFFIXES = {exponent: suffix for suffix, exponent in _DECIMAL.items()}

_MAX_EXPONENT = 999
_MAX_BINARY = Fraction(2**63 - 1)
_NANO = Fraction(1, 10**9)


class QuantityFormat(Enum):
    """Which kind of suffix a quantity was written with; its canonical form has the same kind where it can."""

    DECIMAL = "DecimalSI"
    EXPONENT = "DecimalExponent"
    BINARY = "BinarySI"


@total_ordering
class Quantity:
    """An amount of a resource. Equality, order and hash go by `amount`; `written` is the JSON value it was read from.

    Raises ValueError for a value that is not a quantity. Space around the text is ignored, as an API server does when
    it reads JSON.
    """

    def __init__(self, written: str | float) -> None:
        self.written = written  # JSON numbers are quantities too
        self.amount, self.format = parse_quantity(str(written).strip())

    @classmethod
    def of(cls, amount: Fraction, format: QuantityFormat = QuantityFormat.DECIMAL) -> "Quantity":  # noqa: A002
        """The quantity in its canonical form, rounded away from zero to a multiple of 10^-9."""
        return cls(_canonical(_rounded(amount), format))

    def canonical(self) -> str:
        """The text that an API server stores: `0.5` is `500m`, `1024Ki` is `1Mi`, `12e4` is `120e3`."""
        return _canonical(self.amount, self.format)

    def __str__(self) -> str:
        return str(self.written)

    def __repr__(self) -> str:
        return f"Quantity({self.written!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Quantity) and self.amount == other.amount

    def __lt__(self, other: "Quantity") -> bool:
        return self.amount < other.amount

    def __hash__(self) -> int:
        return hash(self.amount)

    def __add__(self, other: "Quantity") -> "Quantity":
        return Quantity.of(self.amount + other.amount, self.format if self.amount else other.format)

    def __mul__(self, count: int) -> "Quantity":
        return Quantity.of(self.amount * count, self.format)


def parse_quantity(text: str) -> tuple[Fraction, QuantityFormat]:
    """As Kubernetes' `ParseQuantity`: no space around the text. Raises ValueError for a text that is not a quantity."""
    match = _QUANTITY.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a quantity: write it as in 500m, 2, 1.5 or 16Gi")
    amount = Fraction(match["number"])
    if match["binary"]:
        amount = _rounded(amount * 2 ** _BINARY[match["binary"]])
        return max(-_MAX_BINARY, min(amount, _MAX_BINARY)), QuantityFormat.BINARY
    if match["exponent"] is None:
        return _rounded(amount * Fraction(10) ** _DECIMAL[match["decimal"]]), QuantityFormat.DECIMAL
    exponent = int(match["exponent"])
    if abs(exponent) > _MAX_EXPONENT:
        raise ValueError(f"{text!r} is not a quantity: its exponent is out of range")
    return _rounded(amount * Fraction(10) ** exponent), QuantityFormat.EXPONENT


def _rounded(amount: Fraction) -> Fraction:
    """Away from zero, so that a request for a resource never becomes zero."""
    nano = amount / _NANO
    return (ceil(nano) if nano > 0 else floor(nano)) * _NANO


def _canonical(amount: Fraction, format: QuantityFormat) -> str:  # noqa: A002
    if amount == 0:
        return "0"
    if format is QuantityFormat.BINARY and amount.denominator == 1 and abs(amount) >= 1024:
        number, suffix = int(amount), ""
        for larger in _BINARY:
            if number % 1024:
                break
            number, suffix = number // 1024, larger
        return f"{number}{suffix}"
    number, exponent = int(amount / _NANO), -9
    while number % 1000 == 0:
        number, exponent = number // 1000, exponent + 3
    # There is no suffix for 10^21 and above. Kubernetes up to 1.37 prints no exponent there (`1000E` becomes `1`);
    # later releases print one, as here.
    if format is QuantityFormat.EXPONENT or exponent not in _SUFFIXES:
        return f"{number}e{exponent}" if exponent else str(number)
    return f"{number}{_SUFFIXES[exponent]}"
