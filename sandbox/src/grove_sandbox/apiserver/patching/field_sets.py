"""Sets of field paths, as server-side apply tracks them, and their `fieldsV1` encoding in managedFields.

A path is a tuple of steps: `f:name` for a field, `k:{"name":"a"}` for an item of a keyed list, `v:"x"` for an item of a
set. A value that is merged as a whole (a scalar, an atomic list or map) is one path.
"""

from collections.abc import Iterator
from typing import Any

import orjson

from grove_sandbox.apiserver.schema.definitions import Definitions, resolve

Path = tuple[str, ...]
Fields = frozenset[Path]

_IDENTITY: Fields = frozenset(
    [("f:apiVersion",), ("f:kind",)]
    + [
        ("f:metadata", f"f:{field}")
        for field in (
            "name", "namespace", "generateName", "uid", "resourceVersion", "generation", "selfLink",
            "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "managedFields",
        )
    ]
)  # fmt: skip


class Typed:
    """Reads objects of one kind by its OpenAPI `schema`, whose references are found in `definitions`."""

    def __init__(self, definitions: Definitions, schema: Any) -> None:
        self._definitions, self._schema = definitions, schema

    def fields(self, obj: Any) -> dict[Path, Any]:
        """Every field that a manager can own, with its value."""
        return {path: value for path, value in self._walk(self._schema, obj, ()) if path not in _IDENTITY}

    def merge(self, live: Any, config: Any) -> Any:
        """`live` with `config` merged into it."""
        return self._merge(self._schema, live, config)

    def remove(self, obj: Any, paths: Fields) -> Any:
        """`obj` without these fields."""
        return self._remove(self._schema, obj, (), paths)

    def _walk(self, schema: Any, value: Any, path: Path) -> Iterator[tuple[Path, Any]]:
        schema = self._target(schema)
        if isinstance(value, dict) and value and not _is_atomic_map(schema):
            if path and path[-1].startswith("k:"):
                yield path, None
            for key, child in value.items():
                yield from self._walk(self._child(schema, key), child, (*path, f"f:{key}"))
        elif isinstance(value, list) and _list_type(schema) == "map":
            for item in value:
                yield from self._walk(schema.get("items") or {}, item, (*path, self._key(schema, item)))
        elif isinstance(value, list) and _list_type(schema) == "set":
            for item in value:
                yield (*path, "v:" + orjson.dumps(item).decode()), item
        else:
            yield path, value

    def _merge(self, schema: Any, live: Any, config: Any) -> Any:
        schema = self._target(schema)
        if isinstance(config, dict) and isinstance(live, dict) and not _is_atomic_map(schema):
            result = dict(live)
            for key, value in config.items():
                result[key] = self._merge(self._child(schema, key), live.get(key), value)
            return result
        if isinstance(config, list) and isinstance(live, list):
            if _list_type(schema) == "set":
                return [*live, *(item for item in config if item not in live)]
            if _list_type(schema) == "map":
                present = {self._key(schema, item): item for item in live}
                wanted = {self._key(schema, item): item for item in config}
                items = schema.get("items") or {}
                merged = [
                    self._merge(items, item, wanted[key]) if key in wanted else item
                    for key, item in present.items()
                ]
                return merged + [item for key, item in wanted.items() if key not in present]
        return config

    def _remove(self, schema: Any, value: Any, path: Path, removed: Fields) -> Any:
        schema = self._target(schema)
        if isinstance(value, dict) and not _is_atomic_map(schema):
            result = {}
            for key, child in value.items():
                below = (*path, f"f:{key}")
                if below in removed:
                    continue
                kept = self._remove(self._child(schema, key), child, below, removed)
                if kept not in ({}, []) or child in ({}, []):
                    result[key] = kept
            return result
        if isinstance(value, list) and _list_type(schema) == "map":
            items = schema.get("items") or {}
            return [
                self._remove(items, item, (*path, self._key(schema, item)), removed)
                for item in value
                if (*path, self._key(schema, item)) not in removed
            ]
        if isinstance(value, list) and _list_type(schema) == "set":
            return [item for item in value if (*path, "v:" + orjson.dumps(item).decode()) not in removed]
        return value

    def _key(self, schema: Any, item: Any) -> str:
        """The step to an item of a keyed list. A missing key has its default."""
        names = schema.get("x-kubernetes-list-map-keys") or ("name",)
        properties = self._target(schema.get("items") or {}).get("properties") or {}
        keys = {
            n: item.get(n, (properties.get(n) or {}).get("default")) for n in names if isinstance(item, dict)
        }
        present = {name: value for name, value in keys.items() if value is not None}
        return "k:" + orjson.dumps(present, option=orjson.OPT_SORT_KEYS).decode()

    def _target(self, schema: Any) -> Any:
        """The schema behind a reference, with the list and map types that are declared at the reference."""
        _, target = resolve(self._definitions, schema)
        return target

    def _child(self, schema: Any, key: str) -> Any:
        properties = schema.get("properties") or {}
        if key in properties:
            return properties[key]
        extra = schema.get("additionalProperties")
        return extra if isinstance(extra, dict) else {}


def _list_type(schema: Any) -> str:
    return str(schema.get("x-kubernetes-list-type", "atomic"))


def _is_atomic_map(schema: Any) -> bool:
    return bool(schema.get("x-kubernetes-map-type") == "atomic")


def encode(fields: Fields) -> dict[str, Any]:
    """The nested form of `fieldsV1`. `.` marks a field that is owned itself and contains owned fields."""
    tree: dict[str, Any] = {}
    for path in sorted(fields):
        node = tree
        for step in path:
            node = node.setdefault(step, {})
        node["."] = {}
    return _tidy(tree)


def _tidy(node: dict[str, Any]) -> dict[str, Any]:
    if set(node) == {"."}:
        return {}
    return {step: _tidy(child) if step != "." else {} for step, child in node.items()}


def decode(tree: dict[str, Any], path: Path = ()) -> Fields:
    found: set[Path] = set()
    if path and (not tree or "." in tree):
        found.add(path)
    for step, child in tree.items():
        if step != ".":
            found |= decode(child, (*path, step))
    return frozenset(found)


def path_text(path: Path) -> str:
    """The path as conflict messages print it: `.spec.containers[name="a"].image`."""
    text = ""
    for step in path:
        kind, _, rest = step.partition(":")
        if kind == "f":
            text += f".{rest}"
        elif kind == "k":
            keys = orjson.loads(rest)
            text += "[" + ",".join(f"{k}={orjson.dumps(v).decode()}" for k, v in keys.items()) + "]"
        else:
            text += f"[={rest}]"
    return text
