"""What a cluster serves of a backend's kinds: which fields they have, and which of them the server keeps."""

from collections.abc import Mapping
from typing import Any

import msgspec
import orjson
import structlog

from grove.runtime.client import Client
from grove.runtime.errors import RequestError
from grove.runtime.requests import Call
from grove.runtime.transport import Request
from grove.schedulers.backend import ObjectKind, Probe

log = structlog.get_logger(__name__)

Json = dict[str, Any]

# Deep enough for any field that a backend writes; schemas may be recursive.
_DEPTH = 8


async def fields_of(client: Client, kind: ObjectKind) -> frozenset[str]:
    """The paths of all fields of a kind, from the server's OpenAPI document; none where it publishes none."""
    path = f"/openapi/v3/apis/{kind.api_version}" if kind.group else f"/openapi/v3/api/{kind.version}"
    try:
        answer = await client.send(
            Call(Request("GET", path, {}, {"accept": "application/json"}), "get", "openapi")
        )
        schemas: Json = orjson.loads(answer.body).get("components", {}).get("schemas", {})
    except (RequestError, orjson.JSONDecodeError):
        return frozenset()
    root = next((s for s in schemas.values() if _is(s, kind)), None)
    return frozenset(_paths(root, schemas, "", _DEPTH)) if root is not None else frozenset()


async def is_kept(client: Client, probe: Probe) -> bool | None:
    """Whether a dry run keeps the probe's field; None when the server refuses it and so does not say."""
    kind = probe.kind
    body = {"apiVersion": kind.api_version, "kind": kind.kind} | probe.body
    where = f"/apis/{kind.api_version}" if kind.group else f"/api/{kind.version}"
    path = f"{where}/namespaces/default/{kind.plural}" if kind.namespaced else f"{where}/{kind.plural}"
    request = Request(
        "POST", path, {"dryRun": "All"}, {"content-type": "application/json"}, msgspec.json.encode(body)
    )
    try:
        answer = await client.send(Call(request, "create", kind.plural))
    except RequestError as e:
        log.debug("the server refused a probe", probe=probe.name, error=str(e))
        return None
    return bool(_at(orjson.loads(answer.body), probe.path) == _at(probe.body, probe.path))


def _is(schema: Json, kind: ObjectKind) -> bool:
    names = schema.get("x-kubernetes-group-version-kind", [])
    return {"group": kind.group, "version": kind.version, "kind": kind.kind} in names


def _paths(schema: Mapping[str, Any], schemas: Json, prefix: str, depth: int) -> list[str]:
    schema = _resolved(schema, schemas)
    if depth == 0:
        return []
    found: list[str] = []
    for name, field in schema.get("properties", {}).items():
        path = f"{prefix}.{name}" if prefix else name
        found += [path, *_paths(field, schemas, path, depth - 1)]
    items = schema.get("items")
    return found + _paths(items, schemas, prefix, depth - 1) if items else found


def _resolved(schema: Mapping[str, Any], schemas: Json) -> Mapping[str, Any]:
    """Follows `$ref`, also where it stands in an `allOf` beside a description."""
    for part in (schema, *schema.get("allOf", [])):
        if "$ref" in part:
            return schemas.get(part["$ref"].rpartition("/")[2], {})  # type: ignore[no-any-return]
    return schema


def _at(value: Any, path: str) -> Any:
    for step in path.split("."):
        value = value.get(step) if isinstance(value, dict) else None
    return value
