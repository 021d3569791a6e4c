"""The CEL functions of Kubernetes that this engine supports: quantities, list and regex helpers.

The CEL library itself has extensions for strings, optionals, math, bindings and encoders. A rule that uses any other
function of Kubernetes (url(), ip(), cidr(), semver(), format.named(), two-variable comprehensions, sets) fails to
compile and is refused.
"""

import re
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Any

from cel_expr_python import cel
from cel_expr_python.ext import ext_bindings, ext_encoders, ext_math, ext_optional, ext_strings

from grove.schema.quantity import parse_quantity

_BOOL, _INT, _STRING, _DYN = cel.Type.BOOL, cel.Type.INT, cel.Type.STRING, cel.Type.DYN
_LIST, _STRINGS = cel.Type.List(_DYN), cel.Type.List(_STRING)

# A CEL value cannot be a Python object, so a quantity is a map that contains its exact amount. Equal quantities are
# equal maps, so == works.
_QUANTITY = cel.Type.Map(_STRING, _STRING)
_Quantity = dict[str, str]


def _quantity(text: str) -> _Quantity:
    return _pack(parse_quantity(text)[0])


def _pack(value: Fraction) -> _Quantity:
    return {"quantity": str(value)}


def _value(packed: _Quantity) -> Fraction:
    return Fraction(packed["quantity"])


def _is_quantity(text: str) -> bool:
    try:
        parse_quantity(text)
    except ValueError:
        return False
    return True


def _as_integer(packed: _Quantity) -> int:
    value = _value(packed)
    if value.denominator != 1:
        raise ValueError(f"cannot convert the quantity {value} to an integer")
    return int(value)


def _sign(value: Fraction) -> int:
    return (value > 0) - (value < 0)


def _with_either(combine: Callable[[Fraction, Fraction], Fraction], result: str) -> list[cel.Overload]:
    """`add` and `sub` accept a quantity or an integer."""
    return [
        _member(
            f"{result}_quantity",
            _QUANTITY,
            [_QUANTITY, _QUANTITY],
            lambda a, b: _pack(combine(_value(a), _value(b))),
        ),
        _member(
            f"{result}_int", _QUANTITY, [_QUANTITY, _INT], lambda a, b: _pack(combine(_value(a), Fraction(b)))
        ),
    ]


def _member(name: str, result: cel.Type, parameters: list[cel.Type], run: Callable[..., Any]) -> cel.Overload:
    return cel.Overload(f"k8s_{name}", result, parameters, is_member=True, impl=run)


def _free(name: str, result: cel.Type, parameters: list[cel.Type], run: Callable[..., Any]) -> cel.Overload:
    return cel.Overload(f"k8s_{name}", result, parameters, impl=run)


@lru_cache(maxsize=256)
def _python_regex(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.ASCII)


def _find(text: str, pattern: str) -> str:
    found = _python_regex(pattern).search(text)
    return found[0] if found else ""


def _find_all(text: str, pattern: str) -> list[str]:
    return [found[0] for found in _python_regex(pattern).finditer(text)]


def _index(items: list[Any], wanted: Any) -> int:
    return next((i for i, item in enumerate(items) if item == wanted), -1)


def _last_index(items: list[Any], wanted: Any) -> int:
    return next((i for i in reversed(range(len(items))) if items[i] == wanted), -1)


def _is_sorted(items: list[Any]) -> bool:
    return all(a <= b for a, b in pairwise(items))


_FUNCTIONS: dict[str, list[cel.Overload]] = {
    "quantity": [_free("quantity", _QUANTITY, [_STRING], _quantity)],
    "isQuantity": [_free("isQuantity", _BOOL, [_STRING], _is_quantity)],
    "asInteger": [_member("asInteger", _INT, [_QUANTITY], _as_integer)],
    "isInteger": [_member("isInteger", _BOOL, [_QUANTITY], lambda q: _value(q).denominator == 1)],
    "asApproximateFloat": [_member("asFloat", cel.Type.DOUBLE, [_QUANTITY], lambda q: float(_value(q)))],
    "sign": [_member("sign", _INT, [_QUANTITY], lambda q: _sign(_value(q)))],
    "add": _with_either(lambda a, b: a + b, "add"),
    "sub": _with_either(lambda a, b: a - b, "sub"),
    "isLessThan": [
        _member("isLessThan", _BOOL, [_QUANTITY, _QUANTITY], lambda a, b: _value(a) < _value(b)),
    ],
    "isGreaterThan": [
        _member("isGreaterThan", _BOOL, [_QUANTITY, _QUANTITY], lambda a, b: _value(a) > _value(b)),
    ],
    "compareTo": [
        _member("compareTo", _INT, [_QUANTITY, _QUANTITY], lambda a, b: _sign(_value(a) - _value(b))),
    ],
    "isSorted": [_member("isSorted", _BOOL, [_LIST], _is_sorted)],
    "sum": [_member("sum", _DYN, [_LIST], sum)],
    "min": [_member("min", _DYN, [_LIST], min)],
    "max": [_member("max", _DYN, [_LIST], max)],
    "indexOf": [_member("list_indexOf", _INT, [_LIST, _DYN], _index)],
    "lastIndexOf": [_member("list_lastIndexOf", _INT, [_LIST, _DYN], _last_index)],
    "find": [_member("find", _STRING, [_STRING, _STRING], _find)],
    "findAll": [_member("findAll", _STRINGS, [_STRING, _STRING], _find_all)],
}

EXTENSIONS = [
    ext_strings.ExtStrings(),
    ext_optional.ExtOptional(),
    ext_math.ExtMath(),
    ext_bindings.ExtBindings(),
    ext_encoders.ExtEncoders(),
    cel.CelExtension("kubernetes", [cel.FunctionDecl(name, uses) for name, uses in _FUNCTIONS.items()]),
]
