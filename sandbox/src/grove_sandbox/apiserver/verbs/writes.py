"""Create, update and their subresources: the way from a client's bytes to a stored object.

Each function returns the stored object and the HTTP status. Nothing is stored on a dry run.
"""

from collections.abc import Callable
from typing import Any

from grove_sandbox.apiserver import admission
from grove_sandbox.apiserver.admission import AdmissionAttempt
from grove_sandbox.apiserver.errors import (
    STALE,
    StatusError,
    already_exists,
    bad_request,
    conflict,
    invalid,
    invalid_object,
    not_found,
)
from grove_sandbox.apiserver.patching import managed_fields
from grove_sandbox.apiserver.requests import bodies
from grove_sandbox.apiserver.requests.duplicate_fields import duplicate_fields
from grove_sandbox.apiserver.resources import metadata
from grove_sandbox.apiserver.resources.strategy import keep, undecodable
from grove_sandbox.apiserver.state import ApiCall
from grove_sandbox.apiserver.storage import Object, Stored
from grove_sandbox.apiserver.verbs import scale

Change = Callable[[Object], Object]  # the served form of a stored object in, the wanted form out
GENERATED_NAME_ATTEMPTS = 8


async def create(call: ApiCall) -> tuple[Stored, int]:
    return await create_object(call, read_body(call))


async def create_object(call: ApiCall, body: Object) -> tuple[Stored, int]:
    obj = decode(call, body)
    if call.name and (obj.get("metadata") or {}).get("name") not in (None, "", call.name):
        raise bad_request(_names_differ(obj["metadata"]["name"], call.name))
    if (obj.get("metadata") or {}).get("resourceVersion"):
        raise StatusError(500, "", "resourceVersion should not be set on objects to be created")
    generated = bool((obj.get("metadata") or {}).get("generateName")) and not obj["metadata"].get("name")
    for attempt in range(GENERATED_NAME_ATTEMPTS):
        fresh = dict(obj)
        metadata.begin(fresh, call)
        name = fresh["metadata"].get("name", "")
        check_namespace(call, name)
        watched = admission.is_watched(call)
        if watched:
            changed = await admission.mutate(AdmissionAttempt(call, "CREATE", name, fresh, None))
            fresh = redecode(call, changed, fresh)
        strategy = call.type.strategy
        strategy.prepare_create(fresh, call)
        refuse(call, name, strategy.validate_create(fresh, call))
        if watched:
            await admission.validate(AdmissionAttempt(call, "CREATE", name, fresh, None))
        key = (fresh["metadata"].get("namespace", ""), name)
        taken = call.table.get(key)
        if taken is None:
            return save(call, fresh, None), 201
        if not generated or attempt == GENERATED_NAME_ATTEMPTS - 1:
            break
    deleting = bool(taken and taken.obj["metadata"].get("deletionTimestamp"))
    raise already_exists(call.type.resource, name, deleting=deleting)


async def update(call: ApiCall) -> tuple[Stored, int]:
    body = read_body(call)
    stored = call.table.get((call.namespace, call.name))
    if stored is None and call.type.strategy.creates_on_update and not call.subresource:
        return await create_object(call, body)
    given = body.get("metadata") or {}
    if given.get("name") and given["name"] != call.name:
        raise bad_request(_names_differ(given["name"], call.name))
    if not given.get("name"):
        raise bad_request(
            _names_differ("<unknown>", call.name) if not given else _names_differ("", call.name)
        )
    if stored and given.get("uid") and given["uid"] != stored.uid:
        why = f"Precondition failed: UID in precondition: {given['uid']}, UID in object meta: {stored.uid}"
        raise conflict(call.type.resource, call.name, why)
    if stored and not given.get("resourceVersion") and not call.type.strategy.unconditional_update:
        error = invalid("metadata.resourceVersion", 0, "must be specified for an update")
        raise invalid_object(call.type.group, call.type.plural, call.name, [error])
    return await change(call, lambda _: body)


async def change(call: ApiCall, wanted: Change, *, tracked: bool = True) -> tuple[Stored, int]:
    """Replace the stored object by `wanted` of it, again if it changed meanwhile and nobody named a version.

    `tracked` is false for server-side apply, which settles the ownership of fields itself.
    """
    strategy = call.type.strategy
    while True:
        stored = call.table.get((call.namespace, call.name))
        if stored is None:
            raise not_found(call.type.resource, call.name)
        old = stored.obj
        before = served(call, stored)
        new = decode(call, wanted(before), before)
        meta = new["metadata"] = dict(new.get("metadata") or {})
        if meta.get("name", call.name) != call.name:
            raise bad_request(_names_differ(meta["name"], call.name))
        pinned = meta.get("resourceVersion")
        if pinned and pinned != old["metadata"]["resourceVersion"]:
            raise conflict(call.type.resource, call.name, STALE)
        meta["resourceVersion"] = old["metadata"]["resourceVersion"]
        metadata.match_namespace(meta, call)
        watched = admission.is_watched(call)
        if watched:
            changed = await admission.mutate(AdmissionAttempt(call, "UPDATE", call.name, new, old))
            new = redecode(call, changed, new)
        metadata.carry_over(new, old)
        if call.subresource == "status":
            strategy.prepare_status(new, old, call)
            errors = strategy.validate_status(new, old, call)
        else:
            strategy.prepare_update(new, old, call)
            errors = strategy.validate_update(new, old, call)
        refuse(call, call.name, errors)
        if watched:
            await admission.validate(AdmissionAttempt(call, "UPDATE", call.name, new, old))
        if tracked and "managedFields" in old["metadata"]:
            keep(new["metadata"], old["metadata"], "managedFields")
            managed_fields.track_update(
                new, old, managed_fields.typed_of(call), managed_fields.author_of(call)
            )
        if call.table.get(stored.key) is stored:
            return save(call, new, stored), 200


async def update_scale(call: ApiCall) -> tuple[Object, int]:
    body = read_body(call, kind="Scale")
    return await change_scale(call, lambda _: body)


async def change_scale(call: ApiCall, wanted: Change) -> tuple[Object, int]:
    """`wanted` maps the Scale object; its `spec.replicas` is then written where the kind keeps it."""
    paths = call.type.scale
    assert paths is not None

    def rewrite(obj: Object) -> Object:
        current = scale.read(call, obj)
        target = wanted(current)
        given = (target.get("metadata") or {}).get("resourceVersion")
        if given and given != current["metadata"]["resourceVersion"]:
            raise conflict(call.type.resource, call.name, STALE)
        replicas = (target.get("spec") or {}).get("replicas", 0)
        if not isinstance(replicas, int) or replicas < 0:
            error = invalid("spec.replicas", replicas, "must be greater than or equal to 0")
            raise invalid_object("autoscaling", "Scale", call.name, [error])
        return scale.write(obj, paths.spec_replicas, replicas)

    call.subresource = ""
    stored, status = await change(call, rewrite)
    return scale.read(call, stored.obj), status


def save(call: ApiCall, obj: Object, before: Stored | None) -> Stored:
    """Store what all rules have accepted; an update that changes nothing writes nothing."""
    content = {field: value for field, value in obj.items() if field not in ("kind", "apiVersion")}
    meta = content["metadata"]
    key = (meta.get("namespace", ""), meta["name"])
    store = call.state.store
    if before is not None:
        if content == before.obj:
            return before
        if call.dry_run:
            return Stored(key, content, before.version)
        if _is_over(call, content):
            store.replace_quietly(call.table, key, content)
            return store.delete(call.table, key)
    elif call.dry_run:
        return Stored(key, content, 0)
    return store.put(call.table, key, content)


def _is_over(call: ApiCall, content: Object) -> bool:
    """Whether nothing keeps an object any more that is marked for deletion."""
    meta = content["metadata"]
    if not meta.get("deletionTimestamp") or meta.get("finalizers") or meta.get("deletionGracePeriodSeconds"):
        return False
    return not call.type.strategy.held(content)


def read_body(call: ApiCall, kind: str = "") -> Object:
    """The body as a JSON object of the kind this path serves."""
    body = bodies.parse(call)
    if not isinstance(body, dict):
        raise bad_request("couldn't get version/kind; json parse error: the body is not an object")
    if not kind:
        _check_kind(call, body)
    elif body.get("kind", kind) != kind:
        raise bad_request(f"the kind in the data ({body['kind']}) does not match the expected kind ({kind})")
    if call.query.get("fieldValidation") == "Strict" and call.body[:1] == b"{":
        _refuse_duplicates(call)
    return body


def _check_kind(call: ApiCall, body: Object) -> None:
    expected, version = call.type.kind, call.type.api_version
    kind, given = body.get("kind"), body.get("apiVersion")
    if call.type.custom and (not kind or not given):
        missing = "Kind" if not kind else "apiVersion"
        raise bad_request(
            f"the object provided is unrecognized (must be of type {expected}): "
            f"Object '{missing}' is missing in '{call.body.decode(errors='replace')}'"
        )
    if given and given != version:
        raise bad_request(
            f"the API version in the data ({given}) does not match the expected API version ({version})"
        )
    if kind and kind != expected:
        if call.type.custom:
            name = (body.get("metadata") or {}).get("name", "")
            error = invalid("kind", kind, f"must be {expected}")
            raise invalid_object(call.type.group, expected, name, [error])
        raise bad_request(f'{kind} in version "{call.type.version}" cannot be handled as a {expected}')


def _refuse_duplicates(call: ApiCall) -> None:
    """JSON with a field twice decodes to the last one; strict validation wants to know."""
    found = duplicate_fields(call.body)
    if found:
        raise undecodable(
            call, "strict decoding error: " + ", ".join(f'duplicate field "{p}"' for p in found)
        )


def decode(call: ApiCall, body: Object, old: Object | None = None) -> Object:
    """Unknown fields are dropped, and refused or warned about as the request asks."""
    body.setdefault("kind", call.type.kind)
    body.setdefault("apiVersion", call.type.api_version)
    obj, unknown = call.type.strategy.decode(body, call, old)
    if unknown:
        found = [f'unknown field "{path}"' for path in unknown]
        directive = call.query.get("fieldValidation") or "Warn"
        if directive == "Strict":
            raise undecodable(call, "strict decoding error: " + ", ".join(found))
        if directive == "Warn":
            call.warnings += found
    if call.type.conversion:
        obj = call.type.conversion.to_stored(obj)
    return obj


def redecode(call: ApiCall, changed: Object | None, before: Object) -> Object:
    """What webhooks made of an object, with defaults and without unknown fields again."""
    if changed is None or changed is before:
        return before
    obj, _ = call.type.strategy.decode(call.typed(changed), call, before)
    obj["metadata"] = dict(obj["metadata"])
    return obj


def served(call: ApiCall, stored: Stored) -> Object:
    obj = call.type.conversion.to_served(stored.obj) if call.type.conversion else stored.obj
    return call.typed(obj)


def refuse(call: ApiCall, name: str, errors: list[Any]) -> None:
    if errors:
        raise invalid_object(call.type.group, call.type.kind, name, errors)


def check_namespace(call: ApiCall, name: str) -> None:
    """Content needs a namespace that exists and is not on its way out."""
    if not call.type.namespaced:
        return
    found = call.state.find("", "v1", "namespaces", call.namespace)
    if found is None:
        raise StatusError(
            404,
            "NotFound",
            f'namespaces "{call.namespace}" not found',
            {"name": call.namespace, "kind": "namespaces"},
        )
    if found.obj["metadata"].get("deletionTimestamp"):
        resource = call.type.resource
        cause = {
            "reason": "NamespaceTerminating",
            "message": f"namespace {call.namespace} is being terminated",
            "field": "metadata.namespace",
        }
        raise StatusError(
            403,
            "Forbidden",
            f'{resource} "{name}" is forbidden: unable to create new content in namespace {call.namespace} '
            "because it is being terminated",
            resource.details(name, causes=[cause]),
        )


def _names_differ(given: str, expected: str) -> str:
    return f"the name of the object ({given}) does not match the name on the URL ({expected})"
