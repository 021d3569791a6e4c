"""Finds duplicate keys in a JSON text. A JSON decoder would silently keep the last value."""

import json
from typing import Any


def duplicate_fields(text: bytes) -> list[str]:
    """Paths of duplicate keys, such as `data.k` or `spec.containers[0].name`."""
    found: list[str] = []

    def pairs(items: list[tuple[str, Any]]) -> "_Node":
        seen: set[str] = set()
        node = _Node()
        for key, value in items:
            if key in seen:
                node.duplicates.append(key)
            seen.add(key)
            node.children.append((key, value))
        return node

    _collect(json.loads(text, object_pairs_hook=pairs), "", found)
    return found


class _Node:
    def __init__(self) -> None:
        self.duplicates: list[str] = []
        self.children: list[tuple[str, Any]] = []


def _collect(value: Any, path: str, found: list[str]) -> None:
    if isinstance(value, _Node):
        prefix = f"{path}." if path else ""
        found += [prefix + key for key in value.duplicates]
        for key, child in value.children:
            _collect(child, prefix + key, found)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _collect(item, f"{path}[{index}]", found)
