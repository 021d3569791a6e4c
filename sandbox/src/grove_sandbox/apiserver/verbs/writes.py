"""Create and update: the path of every write from a decoded body to the store.

A write is decoded (`requests.decoding`), mutated by webhooks, prepared and validated by the strategy of its kind,
judged by validating webhooks, and saved. Each function returns the stored object and the HTTP status. A dry run takes
the same path but stores nothing.
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
from grove_sandbox.apiserver.requests.decoding import decode, read_body, redecode, served
from grove_sandbox.apiserver.resources import metadata
from grove_sandbox.apiserver.resources.strategy import keep
from grove_sandbox.apiserver.state import ApiCall
from grove_sandbox.apiserver.storage import Object, Stored
from grove_sandbox.apiserver.verbs import scale

# From the present object, in the version of the request, to the object that should replace it.
Modifier = Callable[[Object], Object]
GENERATED_NAME_ATTEMPTS = 8


async def create(call: ApiCall) -> tuple[Stored, int]:
    return await create_object(call, read_body(call))


async def create_object(call: ApiCall, body: Object) -> tuple[Stored, int]:
    """Creates the object. With `generateName`, a name that is taken is replaced by another a few times."""
    obj = decode(call, body)
    if call.name and (obj.get("metadata") or {}).get("name") not in (None, "", call.name):
        raise bad_request(_names_differ(obj["metadata"]["name"], call.name))
    if (obj.get("metadata") or {}).get("resourceVersion"):
        raise StatusError(500, "", "resourceVersion should not be set on objects to be created")
    generated = bool((obj.get("metadata") or {}).get("generateName")) and not obj["metadata"].get("name")
    for attempt in range(GENERATED_NAME_ATTEMPTS):
        fresh = dict(obj)
        metadata.fill_server_fields(fresh, call)
        name = fresh["metadata"].get("name", "")
        check_namespace(call, name)
        webhooks = admission.any_registered(call)
        if webhooks:
            changed = await admission.mutate(AdmissionAttempt(call, "CREATE", name, fresh, None))
            fresh = redecode(call, changed, fresh)
        strategy = call.type.strategy
        strategy.prepare_create(fresh, call)
        raise_if_invalid(call, name, strategy.validate_create(fresh, call))
        if webhooks:
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
    return await modify(call, lambda _: body)


async def modify(call: ApiCall, modifier: Modifier, *, tracked: bool = True) -> tuple[Stored, int]:
    """Replaces the stored object by what `modifier` returns for it.

    Webhooks may take time. If another write changes the object meanwhile, the modifier runs again on the new object,
    unless its result names a resourceVersion: then it is a conflict.

    `tracked=False` is for server-side apply, which updates `managedFields` itself.
    """
    strategy = call.type.strategy
    while True:
        stored = call.table.get((call.namespace, call.name))
        if stored is None:
            raise not_found(call.type.resource, call.name)
        old = stored.obj
        before = served(call, stored)
        new = decode(call, modifier(before), before)
        meta = new["metadata"] = dict(new.get("metadata") or {})
        if meta.get("name", call.name) != call.name:
            raise bad_request(_names_differ(meta["name"], call.name))
        pinned = meta.get("resourceVersion")
        if pinned and pinned != old["metadata"]["resourceVersion"]:
            raise conflict(call.type.resource, call.name, STALE)
        meta["resourceVersion"] = old["metadata"]["resourceVersion"]
        metadata.match_namespace(meta, call)
        webhooks = admission.any_registered(call)
        if webhooks:
            changed = await admission.mutate(AdmissionAttempt(call, "UPDATE", call.name, new, old))
            new = redecode(call, changed, new)
        metadata.keep_immutable_fields(new, old)
        if call.subresource == "status":
            strategy.prepare_status(new, old, call)
            errors = strategy.validate_status(new, old, call)
        else:
            strategy.prepare_update(new, old, call)
            errors = strategy.validate_update(new, old, call)
        raise_if_invalid(call, call.name, errors)
        if webhooks:
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
    return await modify_scale(call, lambda _: body)


async def modify_scale(call: ApiCall, modifier: Modifier) -> tuple[Object, int]:
    """`modifier` gets and returns the Scale. Its `spec.replicas` is written to the path that the kind declares."""
    paths = call.type.scale
    assert paths is not None

    def rewrite(obj: Object) -> Object:
        current = scale.read(call, obj)
        target = modifier(current)
        given = (target.get("metadata") or {}).get("resourceVersion")
        if given and given != current["metadata"]["resourceVersion"]:
            raise conflict(call.type.resource, call.name, STALE)
        replicas = (target.get("spec") or {}).get("replicas", 0)
        if not isinstance(replicas, int) or replicas < 0:
            error = invalid("spec.replicas", replicas, "must be greater than or equal to 0")
            raise invalid_object("autoscaling", "Scale", call.name, [error])
        return scale.write(obj, paths.spec_replicas, replicas)

    call.subresource = ""
    stored, status = await modify(call, rewrite)
    return scale.read(call, stored.obj), status


def save(call: ApiCall, obj: Object, before: Stored | None) -> Stored:
    """Stores an object that has passed all rules. An update without a change stores nothing.

    An update that removes the last finalizer of an object with a deletionTimestamp deletes it.
    """
    content = {field: value for field, value in obj.items() if field not in ("kind", "apiVersion")}
    meta = content["metadata"]
    key = (meta.get("namespace", ""), meta["name"])
    store = call.state.store
    if before is not None:
        if content == before.obj:
            return before
        if call.dry_run:
            return Stored(key, content, before.version)
        if _nothing_holds(call, content):
            store.replace_without_event(call.table, key, content)
            return store.delete(call.table, key)
    elif call.dry_run:
        return Stored(key, content, 0)
    return store.put(call.table, key, content)


def _nothing_holds(call: ApiCall, content: Object) -> bool:
    """Whether the object is being deleted and neither finalizers nor a grace period keep it."""
    meta = content["metadata"]
    if not meta.get("deletionTimestamp") or meta.get("finalizers") or meta.get("deletionGracePeriodSeconds"):
        return False
    return not call.type.strategy.held(content)


def raise_if_invalid(call: ApiCall, name: str, errors: list[Any]) -> None:
    if errors:
        raise invalid_object(call.type.group, call.type.kind, name, errors)


def check_namespace(call: ApiCall, name: str) -> None:
    """Objects can only be created in a namespace that exists and is not terminating."""
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
