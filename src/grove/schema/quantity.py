"""Kubernetes quantities (`500m`, `2Gi`, `1e3`) as exact fractions."""

import re
from fractions import Fraction

_SHAPE = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+))((?:[eE][+-]?\d+)|[KMGTPE]i|[numkMGTPE]?)")
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}


def parse_quantity(text: str) -> Fraction:
    """Raises ValueError for a text that is no quantity."""
    found = _SHAPE.fullmatch(text)
    if not found:
        raise ValueError(f"{text!r} is no quantity: a number with a suffix such as m, k, M, Gi is expected")
    number, suffix = Fraction(found[1]), found[2]
    if suffix in _BINARY:
        return number * (1 << _BINARY[suffix])
    exponent = _DECIMAL.get(suffix)
    if exponent is None:
        exponent = int(suffix[1:])
        if abs(exponent) > 30:
            raise ValueError(f"{text!r} is no quantity: its exponent is out of range")
    scale = Fraction(10**exponent) if exponent >= 0 else Fraction(1, 10**-exponent)
    return number * scale
