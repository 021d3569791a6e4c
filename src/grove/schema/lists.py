"""Validates lists of type set and map: no equal items, no items with equal keys."""

from collections.abc import Hashable, Iterator
from typing import Any

import msgspec

from grove.schema.errors import FieldError, FieldErrorReason, Key, Path
from grove.schema.node import Node


def check_lists(node: Node, value: Any, path: Path = ()) -> Iterator[FieldError]:
    if isinstance(value, dict):
        for name, sub in value.items():
            if name in node.properties:
                yield from check_lists(node.properties[name], sub, (*path, name))
            elif isinstance(node.additional, Node):
                yield from check_lists(node.additional, sub, (*path, Key(name)))
    elif isinstance(value, list):
        if node.list_type == "set":
            yield from _duplicates(value, path)
        elif node.list_type == "map":
            yield from _check_map(node, value, path)
        if node.items is not None:
            for i, item in enumerate(value):
                yield from check_lists(node.items, item, (*path, i))


def _check_map(node: Node, items: list[Any], path: Path) -> Iterator[FieldError]:
    for i, item in enumerate(items):
        if item is not None and not isinstance(item, dict):
            detail = "must be an object for an array of list-type map"
            yield FieldError(FieldErrorReason.INVALID, (*path, i), item, detail)
            return
    keys = [{k: item[k] for k in node.list_map_keys if k in item} if item else {} for item in items]
    yield from _duplicates(keys, path)


def _duplicates(values: list[Any], path: Path) -> Iterator[FieldError]:
    """Reports only the second occurrence of each value, as an API server does."""
    seen: dict[Hashable, int] = {}
    for i, value in enumerate(values):
        identity = msgspec.json.encode(value, order="deterministic")
        seen[identity] = seen.get(identity, 0) + 1
        if seen[identity] == 2:
            yield FieldError(FieldErrorReason.DUPLICATE, (*path, i), value)
