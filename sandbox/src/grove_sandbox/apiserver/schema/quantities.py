"""Amounts of resources in the form the API server stores them: `0.5` becomes `500m`, `1024Ki` becomes `1Mi`."""

import re
from fractions import Fraction
from functools import lru_cache
from math import ceil

from grove_sandbox.apiserver.errors import bad_request

_FORM = re.compile(r"([+-]?)([0-9]+\.?[0-9]*|\.[0-9]+)(Ki|Mi|Gi|Ti|Pi|Ei|[numkMGTPE]?|[eE][+-]?[0-9]+)")
_BINARY = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}


def parse(text: str) -> Fraction:
    """The amount itself; raises `ApiError` for what is no quantity."""
    return _read(text)[0]


@lru_cache(4096)
def canonical(value: str | int | float) -> str:
    amount, suffix = _read(str(value))
    if suffix in _BINARY[1:]:
        return _binary(amount) if amount.denominator == 1 else _decimal(amount, "")
    return _decimal(amount, suffix)


@lru_cache(4096)
def _read(text: str) -> tuple[Fraction, str]:
    match = _FORM.fullmatch(text)
    if not match:
        raise bad_request(
            "quantities must match the regular expression "
            "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'" + f", and {text!r} does not"
        )
    sign, digits, suffix = match.groups()
    amount = Fraction(digits) * (-1 if sign == "-" else 1)
    if suffix in _BINARY:
        amount *= 1024 ** _BINARY.index(suffix)
    elif suffix in _DECIMAL:
        amount *= Fraction(10) ** _DECIMAL[suffix]
    else:
        amount *= Fraction(10) ** int(suffix[1:])
    return amount, suffix


def _binary(amount: Fraction) -> str:
    number, step = int(amount), 0
    if abs(number) < 1024:
        return str(number)
    while number and number % 1024 == 0 and step < len(_BINARY) - 1:
        number, step = number // 1024, step + 1
    return f"{number}{_BINARY[step]}"


def _decimal(amount: Fraction, suffix: str) -> str:
    nanos = ceil(amount * 10**9)
    if nanos == 0:
        return "0"
    exponent = -9
    while nanos % 1000 == 0 and exponent < 18:
        nanos, exponent = nanos // 1000, exponent + 3
    if suffix[:1] in ("e", "E") and len(suffix) > 1:
        return f"{nanos}e{exponent}" if exponent else str(nanos)
    unit = next(unit for unit, power in _DECIMAL.items() if power == exponent)
    return f"{nanos}{unit}"
