"""Which old value corresponds to a value of an update, and whether the two are the same.

Kubernetes follows fields and map keys by name, and list items only in lists of type map, by their keys; an
item of any other list has no past.
"""

from collections.abc import Callable
from typing import Any

from grove.schema.node import ABSENT, Absent, Node

__all__ = ["ABSENT", "Absent", "map_key", "old_field", "old_items", "same"]


def same(a: Any, b: Any) -> bool:
    """Equal as JSON values: unlike in Python, true is not 1; like in JSON, 1 is 1.0."""
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
    """For an item of a list of type map, the old item of the same keys."""
    if node.list_type != "map" or not isinstance(old, list):
        return lambda item: ABSENT
    by_key: dict[str, Any] = {}
    for item in old:
        by_key.setdefault(map_key(node, item), item)
    return lambda item: by_key.get(map_key(node, item), ABSENT)


def map_key(node: Node, item: Any) -> str:
    """The identity of an item; an item that lacks a key takes the key's default."""
    fields = item if isinstance(item, dict) else {}
    return repr([(type(v := _key_value(node, fields, name)).__name__, v) for name in node.list_map_keys])


def _key_value(node: Node, fields: dict[str, Any], name: str) -> Any:
    if name in fields or node.items is None or name not in node.items.properties:
        return fields.get(name)
    default = node.items.properties[name].default
    return None if default is ABSENT else default
