"""Reads quantities and gives their stored form. A malformed quantity answers 400."""

from fractions import Fraction
from functools import lru_cache

from grove.schema.quantity import Quantity

from grove_sandbox.apiserver.errors import bad_request


def parse(value: str | float) -> Fraction:
    return _read(value).amount


@lru_cache(4096)
def canonical(value: str | float) -> str:
    return _read(value).canonical()


def _read(value: str | float) -> Quantity:
    try:
        return Quantity(value)
    except ValueError as e:
        raise bad_request(
            "quantities must match the regular expression "
            "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'" + f", and {value!r} does not"
        ) from e
