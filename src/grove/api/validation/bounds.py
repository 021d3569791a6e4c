"""Checks numbers against the bounds that the models declare."""

from collections.abc import Iterator
from typing import Any

from grove.api.serialization.model import FieldInfo, Model, fields
from grove.api.validation.problem import Problem, invalid
from grove.schema.errors import Path


def check_bounds(value: Any, path: Path = ()) -> Iterator[Problem]:
    """Reports every number in a model, or in a list of models, that is out of bounds."""
    if isinstance(value, list):
        for i, item in enumerate(value):
            yield from check_bounds(item, (*path, i))
    elif isinstance(value, Model):
        for field in fields(type(value)):
            here = (*path, field.json_name)
            yield from _check(field, getattr(value, field.name), here)
            yield from check_bounds(getattr(value, field.name), here)


def _check(field: FieldInfo, value: Any, path: Path) -> Iterator[Problem]:
    lowest = field.about.at_least if field.about.above is None else field.about.above + 1
    if lowest is not None and isinstance(value, int) and value < lowest:
        yield invalid(path, value, f"must be at least {lowest}", f"set {field.json_name} to {lowest} or more")
    if field.about.at_most is not None and isinstance(value, int) and value > field.about.at_most:
        most = field.about.at_most
        yield invalid(path, value, f"must be at most {most}", f"set {field.json_name} to {most} or less")
