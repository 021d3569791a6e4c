"""Builds requests to a Kubernetes API as values. There is no I/O, so tests can read and compare them.

A `Call` is a request, its name in logs and metrics, and whether it may be retried when it is unknown whether the first
attempt was applied.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import msgspec

from grove.runtime.client.objects import ResourceType
from grove.runtime.client.transport import Request

Propagation = Literal["Background", "Foreground", "Orphan"]


@dataclass(frozen=True)
class Call:
    request: Request
    verb: str
    resource: str
    # False only for a create with a generated name: sent twice, it would create two objects.
    repeatable: bool = True


def get(resource: ResourceType, namespace: str | None, name: str, *, subresource: str = "") -> Call:
    return _call("get", "GET", resource, object_path(resource, namespace, name, subresource))


def list_page(
    resource: ResourceType,
    namespace: str | None,
    *,
    labels: str = "",
    fields: str = "",
    limit: int = 0,
    continue_token: str = "",
) -> Call:
    query = _selectors(labels, fields)
    if limit:
        query["limit"] = str(limit)
    if continue_token:
        query["continue"] = continue_token
    return _call("list", "GET", resource, collection_path(resource, namespace), query)


def watch(
    resource: ResourceType,
    namespace: str | None,
    *,
    labels: str = "",
    fields: str = "",
    resource_version: str = "",
    initial_events: bool = False,
    timeout_seconds: int = 0,
) -> Call:
    """`initial_events` asks the server to stream the initial list first and to mark its end with a bookmark."""
    query = {**_selectors(labels, fields), "watch": "true", "allowWatchBookmarks": "true"}
    if initial_events:
        query |= {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
    if resource_version:
        query["resourceVersion"] = resource_version
    if timeout_seconds:
        query["timeoutSeconds"] = str(timeout_seconds)
    return _call("watch", "GET", resource, collection_path(resource, namespace), query)


def create(
    resource: ResourceType,
    namespace: str | None,
    body: bytes,
    *,
    generate_name: bool = False,
    field_manager: str = "",
) -> Call:
    path = collection_path(resource, namespace, one_namespace=True)
    query = _manager(field_manager)
    return _call("create", "POST", resource, path, query, body, repeatable=not generate_name)


def post_subresource(
    resource: ResourceType, namespace: str | None, name: str, subresource: str, body: bytes
) -> Call:
    """For subresources that perform an action: `binding`, `eviction`."""
    return _call("create", "POST", resource, object_path(resource, namespace, name, subresource), body=body)


def update(
    resource: ResourceType,
    namespace: str | None,
    name: str,
    body: bytes,
    *,
    subresource: str = "",
    field_manager: str = "",
) -> Call:
    path = object_path(resource, namespace, name, subresource)
    return _call("update", "PUT", resource, path, _manager(field_manager), body)


def patch(
    resource: ResourceType,
    namespace: str | None,
    name: str,
    body: bytes,
    content_type: str,
    *,
    subresource: str = "",
    field_manager: str = "",
    force: bool = False,
) -> Call:
    path = object_path(resource, namespace, name, subresource)
    query = _manager(field_manager)
    if force:
        query["force"] = "true"
    return _call("patch", "PATCH", resource, path, query, body, content_type)


MERGE_PATCH = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"


class Preconditions(msgspec.Struct, rename="camel", omit_defaults=True):
    uid: str | None = None
    resource_version: str | None = None


class DeleteOptions(msgspec.Struct, rename="camel", omit_defaults=True, kw_only=True):
    preconditions: Preconditions | None = None
    propagation_policy: Propagation | None = None
    grace_period_seconds: int | None = None


def delete(resource: ResourceType, namespace: str | None, name: str, options: DeleteOptions) -> Call:
    path = object_path(resource, namespace, name)
    return _call("delete", "DELETE", resource, path, body=_delete_body(options))


def delete_collection(
    resource: ResourceType,
    namespace: str | None,
    options: DeleteOptions,
    *,
    labels: str = "",
    fields: str = "",
) -> Call:
    path = collection_path(resource, namespace, one_namespace=True)
    query = _selectors(labels, fields)
    return _call("deletecollection", "DELETE", resource, path, query, _delete_body(options))


def collection_path(resource: ResourceType, namespace: str | None, *, one_namespace: bool = False) -> str:
    """The path of a resource in one namespace or, without one, in all namespaces."""
    root = f"/apis/{resource.group}/{resource.version}" if resource.group else f"/api/{resource.version}"
    if resource.namespaced and namespace:
        return f"{root}/namespaces/{_segment(namespace, resource)}/{resource.plural}"
    if resource.namespaced and one_namespace:
        raise ValueError(f"{resource.kind} is namespaced: this request needs a namespace")
    return f"{root}/{resource.plural}"


def object_path(resource: ResourceType, namespace: str | None, name: str, subresource: str = "") -> str:
    path = f"{collection_path(resource, namespace, one_namespace=True)}/{_segment(name, resource)}"
    return f"{path}/{subresource}" if subresource else path


def _segment(name: str, resource: ResourceType) -> str:
    # An empty name would turn "delete this one" into "delete all of them".
    if not name or name in (".", "..") or "/" in name or "%" in name or "?" in name or "#" in name:
        raise ValueError(f"{name!r} is not a valid name of a {resource.kind}")
    return name


def _selectors(labels: str, fields: str) -> dict[str, str]:
    query = {}
    if labels:
        query["labelSelector"] = labels
    if fields:
        query["fieldSelector"] = fields
    return query


def _manager(field_manager: str) -> dict[str, str]:
    return {"fieldManager": field_manager} if field_manager else {}


def _delete_body(options: DeleteOptions) -> bytes:
    body = msgspec.json.encode(options)
    return b'{"kind":"DeleteOptions","apiVersion":"v1"' + (b"," + body[1:] if body != b"{}" else b"}")


def _call(
    verb: str,
    method: str,
    resource: ResourceType,
    path: str,
    query: Mapping[str, str] | None = None,
    body: bytes = b"",
    content_type: str = "application/json",
    repeatable: bool = True,
) -> Call:
    headers = {"content-type": content_type} if body else {}
    return Call(Request(method, path, query or {}, headers, body), verb, resource.plural, repeatable)
