"""Pruning and defaulting. Both return a new object that shares unchanged parts with the argument."""

import copy
from typing import Any

from grove.schema.errors import Path
from grove.schema.node import ABSENT, Node

_META = frozenset(("apiVersion", "kind", "metadata"))
_IDENTITY = {"name", "generateName", "namespace", "uid", "resourceVersion", "generation", "selfLink"}
_TIMES = {"creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"}
_OBJECT_META = (
    _IDENTITY | _TIMES | {"labels", "annotations", "ownerReferences", "finalizers", "managedFields"}
)


def prune(node: Node, value: Any, unknown: list[Path], path: Path = (), *, is_root: bool = False) -> Any:
    """`value` without unknown fields; their paths are appended to `unknown`.

    Keeps apiVersion, kind and metadata of a resource, at the root or embedded.
    """
    if isinstance(value, list):
        items = node.items
        if items is None:
            return (
                value
                if node.preserve_unknown
                else [_strip(v, unknown, (*path, i)) for i, v in enumerate(value)]
            )
        return [prune(items, v, unknown, (*path, i)) for i, v in enumerate(value)]
    if not isinstance(value, dict):
        return value
    is_resource = is_root or node.embedded_resource
    kept = {}
    for name, sub in value.items():
        if is_resource and name in _META:
            kept[name] = sub if is_root else _prune_embedded(name, sub, unknown, path)
        elif (child := node.child(name)) is not None:
            kept[name] = prune(child, sub, unknown, (*path, name))
        elif node.preserve_unknown:
            kept[name] = sub
        elif node.additional is not None:
            kept[name] = _strip(sub, unknown, (*path, name))
        else:
            unknown.append((*path, name))
    return kept


def _prune_embedded(name: str, value: Any, unknown: list[Path], path: Path) -> Any:
    """Prunes the metadata of an embedded resource. The API server itself prunes that of the root."""
    if name != "metadata" or not isinstance(value, dict):
        return value
    unknown.extend((*path, name, field) for field in value if field not in _OBJECT_META)
    return {field: sub for field, sub in value.items() if field in _OBJECT_META}


def _strip(value: Any, unknown: list[Path], path: Path) -> Any:
    """A value without a schema of its own loses all fields."""
    if isinstance(value, list):
        return [_strip(v, unknown, (*path, i)) for i, v in enumerate(value)]
    if isinstance(value, dict):
        unknown.extend((*path, name) for name in value)
        return {}
    return value


def fill(node: Node, value: Any) -> Any:
    """`value` with the schema's defaults.

    A null that is not allowed is replaced by the default; without a default, it is removed from its map.
    """
    if isinstance(value, list):
        items = node.items
        if items is None:
            return value
        return [fill(items, _instead_of_null(items, v)) for v in value]
    if not isinstance(value, dict):
        return value
    filled = {}
    for name, given in value.items():
        child = node.child(name)
        if child is None:
            filled[name] = given
            continue
        sub = _instead_of_null(child, given)
        if sub is None and not child.nullable:
            continue
        filled[name] = fill(child, sub)
    for name, child in node.properties.items():
        if name not in filled and _has_default(child):
            filled[name] = fill(child, copy.deepcopy(child.default))
    return filled


def _has_default(node: Node) -> bool:
    return node.default is not ABSENT and node.default is not None


def _instead_of_null(node: Node, value: Any) -> Any:
    if value is None and not node.nullable and _has_default(node):
        return copy.deepcopy(node.default)
    return value
