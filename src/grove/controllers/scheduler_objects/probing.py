"""Asks an API server about the kinds of a backend: which it serves, their fields, and which fields it keeps.

A server silently drops fields of features that are switched off. The OpenAPI document does not tell; a dry run does.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import orjson
import structlog

from grove.runtime.client.client import Client
from grove.runtime.client.discovery import resources
from grove.runtime.client.errors import ApiError, NotFound, ServerError, TooManyRequests, TransportError
from grove.runtime.client.requests import Call
from grove.runtime.client.transport import Request
from grove.schedulers.backend import Backend
from grove.schedulers.types import ObjectKind, Probe

log = structlog.get_logger(__name__)

Json = dict[str, Any]

# Deep enough for any field that a backend writes. Schemas may be recursive.
_MAX_FIELD_DEPTH = 8


@dataclass(frozen=True)
class DiscoveryResult:
    """What the cluster serves of one backend's kinds: the fields of each kind, and the names of the backend's probes
    whose field the server kept or dropped."""

    fields: Mapping[ObjectKind, frozenset[str]]
    kept: frozenset[str]
    dropped: frozenset[str]


async def discover_kinds(client: Client, backend: Backend) -> DiscoveryResult:
    """Raises RequestError."""
    group_versions = dict.fromkeys((k.group, k.version) for k in backend.kinds)
    listed = {gv: await resources(client, *gv) for gv in group_versions}
    served = [k for k in backend.kinds if k.plural in listed[k.group, k.version]]
    fields = {k: await fields_of(client, k) for k in served}
    answers = {p.name: await is_kept(client, p) for p in backend.probes if _can_probe(p, served)}
    return DiscoveryResult(
        fields,
        frozenset(name for name, kept in answers.items() if kept),
        frozenset(name for name, kept in answers.items() if kept is False),
    )


async def fields_of(client: Client, kind: ObjectKind) -> frozenset[str]:
    """The paths of all fields of a kind, from the server's OpenAPI document; none if it publishes none.

    Raises RequestError.
    """
    path = f"/openapi/v3/apis/{kind.api_version}" if kind.group else f"/openapi/v3/api/{kind.version}"
    try:
        answer = await client.send(
            Call(Request("GET", path, {}, {"accept": "application/json"}), "get", "openapi")
        )
        schemas: Json = orjson.loads(answer.body).get("components", {}).get("schemas", {})
    except NotFound:
        return frozenset()
    except orjson.JSONDecodeError as e:
        raise TransportError(f"GET {path}: not an answer of an API server: {e}") from e
    root = next((s for s in schemas.values() if _is(s, kind)), None)
    return frozenset(_paths(root, schemas, "", _MAX_FIELD_DEPTH)) if root is not None else frozenset()


async def is_kept(client: Client, probe: Probe) -> bool | None:
    """Whether a dry run keeps the probe's field; None if the server refuses the object, which says nothing.

    Raises RequestError if the server fails or cannot be reached.
    """
    kind = probe.kind
    body = {"apiVersion": kind.api_version, "kind": kind.kind} | probe.body
    where = f"/apis/{kind.api_version}" if kind.group else f"/api/{kind.version}"
    path = f"{where}/namespaces/default/{kind.plural}" if kind.namespaced else f"{where}/{kind.plural}"
    request = Request(
        "POST", path, {"dryRun": "All"}, {"content-type": "application/json"}, msgspec.json.encode(body)
    )
    try:
        answer = await client.send(Call(request, "create", kind.plural))
    except (ServerError, TooManyRequests):
        raise
    except ApiError as e:
        log.debug("the server refused a probe", probe=probe.name, error=str(e))
        return None
    return bool(_at(orjson.loads(answer.body), probe.path) == _at(probe.body, probe.path))


def _can_probe(probe: Probe, served: Sequence[ObjectKind]) -> bool:
    """Core kinds are served everywhere. A kind that is not served cannot be probed."""
    return not probe.kind.group or probe.kind in served


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
    """Follows `$ref`, which may be inside an `allOf`, beside a description."""
    for part in (schema, *schema.get("allOf", [])):
        if "$ref" in part:
            return schemas.get(part["$ref"].rpartition("/")[2], {})  # type: ignore[no-any-return]
    return schema


def _at(value: Any, path: str) -> Any:
    for step in path.split("."):
        value = value.get(step) if isinstance(value, dict) else None
    return value
