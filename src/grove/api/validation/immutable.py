"""Checks that an update changes no field that the models declare immutable."""

from collections.abc import Iterator
from typing import Any

from grove.api.serialization.codec import to_builtins
from grove.api.serialization.model import FieldInfo, Model, fields
from grove.api.topology import TopologyConstraint
from grove.api.validation.problem import Problem, forbidden
from grove.schema.errors import Path

REMEDY = "set it back, or create a new set under another name and delete this one"


def check_immutable(new: Model, old: Model, path: Path = ()) -> Iterator[Problem]:
    """Compares two models field by field. Matches items of a list by the key that the model declares.

    Skips topology constraints: `check_topology_unchanged` allows some changes of them.
    """
    for field in fields(type(new)):
        here = (*path, field.json_name)
        after, before = getattr(new, field.name), getattr(old, field.name)
        if field.type is TopologyConstraint:
            continue
        if field.about.immutable:
            if to_builtins(after) != to_builtins(before):
                yield forbidden(here, f"this field cannot be changed: it was {_short(before)}", REMEDY)
        elif isinstance(after, Model) and isinstance(before, Model):
            yield from check_immutable(after, before, here)
        elif field.about.key and isinstance(after, list):
            yield from _check_items(field, after, before, here)


def _check_items(field: FieldInfo, new: list[Model], old: list[Model], path: Path) -> Iterator[Problem]:
    if not new:
        return
    key = next(f.name for f in fields(type(new[0])) if f.json_name == field.about.key)
    before = {getattr(item, key): item for item in old}
    for i, item in enumerate(new):
        if getattr(item, key) in before:
            yield from check_immutable(item, before[getattr(item, key)], (*path, i))


def _short(value: Any) -> str:
    text = str(to_builtins(value)) if value not in (None, []) else "not set"
    return text if len(text) <= 80 else text[:77] + "..."
