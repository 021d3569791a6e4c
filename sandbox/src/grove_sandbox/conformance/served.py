"""What a cluster with a scheduler's CustomResourceDefinitions serves, as a backend gets it."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from grove.schedulers.types import Json, ObjectKind, Served


def served_by(
    definitions: Iterable[Mapping[str, Any]],
    *,
    objects: Iterable[Mapping[str, Any]] = (),
    kept: Iterable[str] = (),
) -> Served:
    """What a cluster with these CustomResourceDefinitions serves; `objects` are existing objects of their kinds.

    `kept` are the names of the backend's probes whose field the server keeps.
    """
    fields = {kind: frozenset(_paths(schema, "")) for d in definitions for kind, schema in _versions(d)}
    by_kind: dict[ObjectKind, dict[str, Json]] = {kind: {} for kind in fields}
    for obj in objects:
        kind = next(k for k in fields if (k.api_version, k.kind) == (obj["apiVersion"], obj["kind"]))
        by_kind[kind][obj["metadata"]["name"]] = dict(obj)
    return Served(fields, kept=frozenset(kept), objects=by_kind)


def _versions(definition: Mapping[str, Any]) -> Iterator[tuple[ObjectKind, Json]]:
    spec = definition["spec"]
    names, namespaced = spec["names"], spec["scope"] == "Namespaced"
    for version in spec["versions"]:
        if version["served"]:
            kind = ObjectKind(spec["group"], version["name"], names["plural"], names["kind"], namespaced)
            yield kind, version["schema"]["openAPIV3Schema"]


def _paths(schema: Mapping[str, Any], prefix: str) -> Iterator[str]:
    for name, field in schema.get("properties", {}).items():
        path = f"{prefix}.{name}" if prefix else name
        yield path
        yield from _paths(field, path)
    if "items" in schema:
        yield from _paths(schema["items"], prefix)
