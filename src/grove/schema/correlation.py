"""Finds the old value of each part of an updated object, and compares the two.

Kubernetes correlates fields and map entries by name, and list items only in lists of type map, by their keys. An item
of any other list has no old value.
"""

from collections.abc import Callable
from typing import Any

from grove.schema.node import ABSENT, Absent, Node

__all__ = ["ABSENT", "Absent", "map_key", "old_field", "old_items", "same"]


def same(a: Any, b: Any) -> bool:
    """Equality of JSON values: true is not 1 (in Python it is), and 1 is 1.0."""
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(v, b[k]) for k, v in a.items())
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    return bool(a == b)


def old_field(old: Any, name: str) -> Any:
    return old.get(name, ABSENT) if isinstance(old, dict) else ABSENT


def old_items(node: Node, old: Any) -> Callable[[Any], Any]:
    """A function from an item to the old item with the same keys, or ABSENT."""
    if node.list_type != "map" or not isinstance(old, list):
        return lambda item: ABSENT
    by_key: dict[str, Any] = {}
    for item in old:
        by_key.setdefault(map_key(node, item), item)
    return lambda item: by_key.get(map_key(node, item), ABSENT)


def map_key(node: Node, item: Any) -> str:
    """The keys of an item as text. A missing key has its default."""
    fields = item if isinstance(item, dict) else {}
    return repr([(type(v := _key_value(node, fields, name)).__name__, v) for name in node.list_map_keys])


def _key_value(node: Node, fields: dict[str, Any], name: str) -> Any:
    if name in fields or node.items is None or name not in node.items.properties:
        return fields.get(name)
    default = node.items.properties[name].default
    return None if default is ABSENT else default
