"""OpenAPI v3 of the served resources, as far as kubectl needs it to explain, validate and apply."""

import hashlib
from typing import Any

import orjson
from grove.runtime.client.transport import Response

from grove_sandbox.apiserver.errors import JSON_HEADERS, not_implemented
from grove_sandbox.apiserver.resources.resource_types import ServedResource
from grove_sandbox.apiserver.schema.definitions import META, REF, name_of
from grove_sandbox.apiserver.state import ServerState

_FIELD_VALIDATION = {"name": "fieldValidation", "in": "query", "schema": {"type": "string"}}


def answer(state: ServerState, path: str) -> Response | None:
    if path == "/openapi/v2":
        raise not_implemented("OpenAPI v2; ask for /openapi/v3")
    if path == "/openapi/v3":
        places = sorted({_place(t) for t in state.registry})
        paths = {place: {"serverRelativeURL": f"/openapi/v3/{place}?hash={_hash(state)}"} for place in places}
        return Response(200, JSON_HEADERS, orjson.dumps({"paths": paths}))
    place = path.removeprefix("/openapi/v3/")
    types = [t for t in state.registry if _place(t) == place]
    if not types:
        return None
    return Response(200, JSON_HEADERS, orjson.dumps(_document(state, types)))


def _place(t: ServedResource) -> str:
    return f"apis/{t.group}/{t.version}" if t.group else f"api/{t.version}"


def _hash(state: ServerState) -> str:
    return hashlib.sha256(f"{state.dialect} {state.registry.revision}".encode()).hexdigest().upper()


def _document(state: ServerState, types: list[ServedResource]) -> dict[str, Any]:
    paths: dict[str, Any] = {}
    schemas: dict[str, Any] = {}
    for t in types:
        name = _add_schema(state, t, schemas)
        kind = {"group": t.group, "version": t.version, "kind": t.kind}
        operation = {
            "parameters": [_FIELD_VALIDATION],
            "responses": {
                "200": {
                    "description": "OK",
                    "content": {"application/json": {"schema": {"$ref": REF + name}}},
                }
            },
            "x-kubernetes-group-version-kind": kind,
        }
        scope = "/namespaces/{namespace}" if t.namespaced else ""
        collection = f"/{_place(t)}{scope}/{t.plural}"
        paths[collection] = {
            "get": {**operation, "x-kubernetes-action": "list"},
            "post": {**operation, "x-kubernetes-action": "post"},
        }
        paths[collection + "/{name}"] = {
            "get": {**operation, "x-kubernetes-action": "get"},
            "patch": {**operation, "x-kubernetes-action": "patch"},
            "put": {**operation, "x-kubernetes-action": "put"},
        }
    return {
        "openapi": "3.0.0",
        "info": {"title": "Grove embedded cluster", "version": f"v{state.dialect}"},
        "paths": paths,
        "components": {"schemas": schemas},
    }


def _add_schema(state: ServerState, t: ServedResource, schemas: dict[str, Any]) -> str:
    """Adds the schema of a kind and everything that it references to `schemas`. Returns its name."""
    name = name_of(state.dialect, t.group, t.version, t.kind)
    if name:
        _add_definition(state, name, schemas)
        return name
    name = f"{'.'.join(reversed(t.group.split('.')))}.{t.version}.{t.kind}"
    kind = {"group": t.group, "version": t.version, "kind": t.kind}
    schema = t.strategy.openapi(state.definitions)
    schemas[name] = {**schema, "x-kubernetes-group-version-kind": [kind]}
    _add_definition(state, META + "ObjectMeta", schemas)
    return name


def _add_definition(state: ServerState, name: str, schemas: dict[str, Any]) -> None:
    if name in schemas:
        return
    schema = schemas[name] = state.definitions[name]
    for ref in _references(schema):
        _add_definition(state, ref, schemas)


def _references(schema: Any) -> list[str]:
    if isinstance(schema, dict):
        found = [schema["$ref"].removeprefix(REF)] if isinstance(schema.get("$ref"), str) else []
        return found + [ref for value in schema.values() for ref in _references(value)]
    if isinstance(schema, list):
        return [ref for value in schema for ref in _references(value)]
    return []
