"""Value validation: type, range, length, pattern, format, enum, required fields and alternatives.

An update does not validate unchanged parts again (Kubernetes calls it ratcheting), so that existing objects stay
editable under a stricter schema. `correlation` finds the old value of each part.
"""

from collections.abc import Iterator
from typing import Any

from grove.schema.correlation import ABSENT, old_field, old_items, same
from grove.schema.errors import (
    FieldError,
    FieldErrorReason,
    Path,
    quote,
    render_number,
    render_path,
    type_names,
)
from grove.schema.node import Node


def check_value(node: Node, value: Any, old: Any = ABSENT, path: Path = ()) -> Iterator[FieldError]:
    if old is not ABSENT and same(value, old):
        return
    yield from _check_type(node, value, path)
    if value is None:
        yield from _check_enum(node, value, path)
        return
    yield from _check_alternatives(node, value, path)
    if isinstance(value, str):
        yield from _check_string(node, value, path)
    elif isinstance(value, list):
        yield from _check_list(node, value, old, path)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield from _check_number(node, value, path)
    yield from _check_enum(node, value, path)
    if isinstance(value, dict):
        yield from _check_object(node, value, old, path)


def _body(path: Path, what: str) -> str:
    return f"{_place(path)} in body {what}"


def _place(path: Path) -> str:
    return render_path(path)


def _check_type(node: Node, value: Any, path: Path) -> Iterator[FieldError]:
    if not node.types:
        return
    if value is None:
        if not node.nullable:
            yield _wrong_type(path, node.types, "null")
        return
    actual = type_names[type(value)]
    if actual in node.types:
        return
    if actual == "integer" and "number" in node.types:
        return
    if actual == "number" and "integer" in node.types and float(value).is_integer():
        return
    yield _wrong_type(path, node.types, actual)


def _wrong_type(path: Path, types: tuple[str, ...], actual: str) -> FieldError:
    detail = _body(path, f'must be of type {",".join(types)}: "{actual}"')
    return FieldError(FieldErrorReason.TYPE_INVALID, path, actual, detail)


def _check_string(node: Node, text: str, path: Path) -> Iterator[FieldError]:
    """Reports only the first of length and pattern that fails, as an API server does."""
    if node.max_length is not None and len(text) > node.max_length:
        unit = "byte" if node.max_length == 1 else "bytes"
        yield FieldError(
            FieldErrorReason.TOO_LONG, path, detail=f"may not be more than {node.max_length} {unit}"
        )
    elif node.min_length is not None and len(text) < node.min_length:
        yield FieldError(
            FieldErrorReason.INVALID,
            path,
            text,
            _body(path, f"should be at least {node.min_length} chars long"),
        )
    elif node.pattern_test is not None and not node.pattern_test(text):
        yield FieldError(FieldErrorReason.INVALID, path, text, _body(path, f"should match '{node.pattern}'"))
    if node.format_test is not None and not node.format_test(text):
        detail = _body(path, f"must be of type {node.format_name}: {quote(text)}")
        yield FieldError(FieldErrorReason.TYPE_INVALID, path, text, detail)


_INTEGERS = {"int32": 1 << 31, "int64": 1 << 63, "": 1 << 63}


def _check_number(node: Node, number: int | float, path: Path) -> Iterator[FieldError]:
    if node.types == ("integer",):
        limit = _INTEGERS[node.format]
        if not (-limit <= number < limit and number == int(number)):
            form = f"with format {node.format}" if node.format else "(default format)"
            detail = f"Checked value must be of type integer {form} in {_place(path)}"
            yield FieldError(FieldErrorReason.INVALID, (), "", detail)
    if node.multiple_of is not None and number % node.multiple_of:
        word = f"should be a multiple of {render_number(node.multiple_of)}"
        yield FieldError(FieldErrorReason.INVALID, path, number, _body(path, word))
    low, high = node.minimum, node.maximum
    if low is not None and (number < low or (node.exclusive_minimum and number == low)):
        word = "greater than" if node.exclusive_minimum else "greater than or equal to"
        yield FieldError(
            FieldErrorReason.INVALID, path, number, _body(path, f"should be {word} {render_number(low)}")
        )
    if high is not None and (number > high or (node.exclusive_maximum and number == high)):
        word = "less than" if node.exclusive_maximum else "less than or equal to"
        yield FieldError(
            FieldErrorReason.INVALID, path, number, _body(path, f"should be {word} {render_number(high)}")
        )


def _check_list(node: Node, items: list[Any], old: Any, path: Path) -> Iterator[FieldError]:
    if node.items is not None:
        before = old_items(node, old)
        for i, item in enumerate(items):
            yield from check_value(node.items, item, before(item), (*path, i))
    if node.min_items is not None and len(items) < node.min_items:
        detail = _body(path, f"should have at least {node.min_items} items")
        yield FieldError(FieldErrorReason.INVALID, path, len(items), detail)
    if node.max_items is not None and len(items) > node.max_items:
        yield _too_many(path, len(items), node.max_items)
    if node.unique_items and any(same(a, b) for i, a in enumerate(items) for b in items[:i]):
        yield FieldError(FieldErrorReason.INVALID, path, "", _body(path, "shouldn't contain duplicates"))


def _check_object(node: Node, fields: dict[str, Any], old: Any, path: Path) -> Iterator[FieldError]:
    if node.min_properties is not None and len(fields) < node.min_properties:
        detail = _body(path, f"should have at least {node.min_properties} properties")
        yield FieldError(FieldErrorReason.INVALID, path, len(fields), detail)
    if node.max_properties is not None and len(fields) > node.max_properties:
        yield _too_many(path, len(fields), node.max_properties)
    for name, value in fields.items():
        child = node.child(name)
        if child is not None:
            yield from check_value(child, value, old_field(old, name), (*path, name))
        elif node.additional is False:
            detail = f"{_place(path)}.{name} in body is a forbidden property"
            yield FieldError(FieldErrorReason.INVALID, path, name, detail)
    for name in node.required:
        if name not in fields:
            yield FieldError(FieldErrorReason.REQUIRED, (*path, name))


def _too_many(path: Path, count: int, limit: int) -> FieldError:
    unit = "item" if limit == 1 else "items"
    return FieldError(FieldErrorReason.TOO_MANY, path, count, f"must have at most {limit} {unit}")


def _check_enum(node: Node, value: Any, path: Path) -> Iterator[FieldError]:
    if node.enum and not any(same(value, allowed) for allowed in node.enum):
        names = ", ".join(quote(v if isinstance(v, str) else render_enum(v)) for v in node.enum)
        yield FieldError(FieldErrorReason.NOT_SUPPORTED, path, value, f"supported values: {names}")


def render_enum(value: Any) -> str:
    return FieldError(FieldErrorReason.INVALID, (), value).message.removeprefix("Invalid value: ")


def _check_alternatives(node: Node, value: Any, path: Path) -> Iterator[FieldError]:
    """allOf, anyOf, oneOf, not. If no alternative fits, reports the errors of the first one too."""
    place = quote(_place(path))
    if node.any_of:
        failures = [list(check_value(sub, value, path=path)) for sub in node.any_of]
        if all(failures):
            yield _no_fit(f"{place} must validate at least one schema (anyOf)")
            yield from failures[0]
    if node.one_of:
        failures = [list(check_value(sub, value, path=path)) for sub in node.one_of]
        fitting = sum(not errors for errors in failures)
        if fitting != 1:
            found = f"Found {fitting} valid alternatives" if fitting else "Found none valid"
            yield _no_fit(f"{place} must validate one and only one schema (oneOf). {found}")
        if not fitting:
            yield from failures[0]
    if node.all_of:
        failures = [list(check_value(sub, value, path=path)) for sub in node.all_of]
        for errors in failures:
            yield from errors
        if any(failures):
            none = "" if not all(failures) else ". None validated"
            yield _no_fit(f"{place} must validate all the schemas (allOf){none}")
    if node.not_ is not None and not any(check_value(node.not_, value, path=path)):
        yield _no_fit(f"{place} must not validate the schema (not)")


def _no_fit(detail: str) -> FieldError:
    return FieldError(FieldErrorReason.INVALID, (), "", detail)
