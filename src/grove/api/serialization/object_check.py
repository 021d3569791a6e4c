"""Checks one object without a cluster, and reports all mistakes at once.

An object is checked twice: against the schema of its kind, as an API server does, and by `grove.api.validation`. To
find the second kind of mistakes despite the first, values that the schema refuses are removed and missing ones filled
with placeholders; problems that these edits may have caused are not reported.
"""

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

from grove.api.meta import Resource
from grove.api.podcliqueset import PodCliqueSet
from grove.api.serialization import codec
from grove.api.serialization.crds import schema
from grove.api.topology import ClusterTopologyBinding
from grove.api.validation import Problem, ValidationContext, check_binding, validate
from grove.api.validation.topology import placed_constraints
from grove.schema import FieldError, FieldErrorReason, Path, Schema


def object_problems(value: Any, model: type[Resource], context: ValidationContext) -> Iterator[Problem]:
    found = _compiled(model)
    unknown = found.unknown_paths(value)
    errors = [e for e in found.validate(found.default(value)) if e.path]
    yield from (_unknown_field(path, schema(model)) for path in unknown)
    misspelt = {(*path[:-1], _meant(path, schema(model))) for path in unknown}
    yield from (_explained(e, _at(value, e.path), schema(model)) for e in errors if e.path not in misspelt)
    repaired = _RepairedObject(found.default(found.prune(value)), errors, schema(model))
    try:
        obj = codec.decode(codec.encode(repaired.value), model)
    except codec.DecodeError as e:
        if not errors:
            yield Problem(FieldErrorReason.INVALID, e.path, detail=e.message)
        return
    yield from (p for p in _semantic_problems(obj, context) if not repaired.may_have_caused(p.path))


def _semantic_problems(obj: Resource, context: ValidationContext) -> list[Problem]:
    if isinstance(obj, PodCliqueSet):
        # A topology that is not among the files may exist in the cluster.
        named = {p.name for p in placed_constraints(obj)}
        return validate(
            obj,
            None,
            context if named & (context.topologies or {}).keys() else replace(context, topologies=None),
        )
    if isinstance(obj, ClusterTopologyBinding):
        return check_binding(obj, context.configuration)
    return []


@cache
def _compiled(model: type[Resource]) -> Schema:
    return Schema(schema(model))


class _RepairedObject:
    """An object without the values that the schema refuses, and with placeholders for the ones that it misses."""

    def __init__(self, value: Any, errors: list[FieldError], whole: Mapping[str, Any]) -> None:
        self.value = codec.to_builtins(value)
        self._touched: set[Path] = set()
        for n, error in enumerate(errors):
            *around, name = error.path
            parent = _at(self.value, tuple(around))
            if not isinstance(parent, dict) or not isinstance(name, str):
                continue
            expected = _schema_at(whole, error.path)
            if error.reason is FieldErrorReason.REQUIRED:
                parent[name] = _placeholder(expected, n)
            else:
                parent.pop(name, None)
            # Rules compare a number with the numbers next to it, so its whole parent is suspect.
            self._touched.add(tuple(around) if expected.get("type") == "integer" else error.path)

    def may_have_caused(self, path: Path) -> bool:
        """Whether a problem at this path may be a consequence of the repair."""
        return any(path[: len(t)] == t and len(path) <= len(t) + 1 for t in self._touched)


def _placeholder(found: Mapping[str, Any], n: int) -> Any:
    match found.get("type"):
        case "object":
            return {name: _placeholder(found["properties"][name], n) for name in found.get("required", [])}
        case "array":
            return []
        case "integer" | "number":
            return 1
        case "boolean":
            return False
        case _:
            return found.get("enum", [f"unnamed-{n}"])[0]


def _at(value: Any, path: Path) -> Any:
    for step in path:
        if isinstance(value, dict) and isinstance(step, str):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            return None
    return value


def _schema_at(whole: Mapping[str, Any], path: Path) -> Mapping[str, Any]:
    for step in path:
        whole = whole.get("items" if isinstance(step, int) else "properties", {})
        whole = whole if isinstance(step, int) else whole.get(step, {})
    return whole


def _unknown_field(path: Path, whole: Mapping[str, Any]) -> Problem:
    meant = _meant(path, whole)
    known = ", ".join(_schema_at(whole, path[:-1]).get("properties", {}))
    remedy = f"did you mean {meant}?" if meant else f"the fields here are {known}"
    return Problem(
        FieldErrorReason.INVALID, path, detail=f"there is no field {str(path[-1])!r} here", remedy=remedy
    )


def _meant(path: Path, whole: Mapping[str, Any]) -> str:
    """The field that the user probably meant; empty if none is similar."""
    names = {name.lower(): name for name in _schema_at(whole, path[:-1]).get("properties", {})}
    near = difflib.get_close_matches(str(path[-1]).lower(), names, n=1, cutoff=0.7)
    return names[near[0]] if near else ""


def _explained(error: FieldError, value: Any, whole: Mapping[str, Any]) -> Problem:
    """Adds a remedy to a schema error, taken from the description of the field."""
    expected = _schema_at(whole, error.path)
    text = expected.get("description", "")
    missing = error.reason is FieldErrorReason.REQUIRED
    remedy = f"{'add ' if missing else ''}{error.path[-1]}: {text}" if text else ""
    if error.reason is FieldErrorReason.TYPE_INVALID and "type" in expected:
        return Problem(error.reason, error.path, value, f"must be of type {expected['type']}", remedy)
    return Problem(error.reason, error.path, error.value, error.detail, remedy)
