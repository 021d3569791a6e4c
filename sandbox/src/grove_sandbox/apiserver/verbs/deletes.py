"""Delete: at once, after a grace period, or when the last finalizer is removed."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from grove_sandbox import timestamps
from grove_sandbox.apiserver import admission
from grove_sandbox.apiserver.admission import AdmissionAttempt
from grove_sandbox.apiserver.errors import (
    GroupResource,
    bad_request,
    conflict,
    forbidden_field,
    invalid_object,
    not_found,
    unsupported,
)
from grove_sandbox.apiserver.requests import bodies
from grove_sandbox.apiserver.resources.metadata import FOREGROUND, ORPHAN
from grove_sandbox.apiserver.state import ApiCall
from grove_sandbox.apiserver.storage import Object, Stored
from grove_sandbox.apiserver.verbs.selectors import matcher

POLICIES = ("Foreground", "Background", "Orphan")


@dataclass
class DeletionOptions:
    grace: int | None = None
    policy: str | None = None
    orphan: bool | None = None
    uid: str | None = None
    version: str | None = None


@dataclass(frozen=True)
class Deleted:
    """An object that was removed, in its last version."""

    last: Stored


async def delete(call: ApiCall) -> tuple[Object | Stored, int]:
    """The response body and status: the object if it still exists or its kind returns it, otherwise a Status."""
    options = read_options(call)
    key = (call.namespace, call.name)
    stored = call.table.get(key)
    if stored is None:
        raise not_found(call.type.resource, call.name)
    await _call_webhooks(call, stored)
    stored = call.table.get(key)
    if stored is None:
        raise not_found(call.type.resource, call.name)
    left = remove(call, stored, options)
    if isinstance(left, Stored):
        return left, 202 if options.orphan is False else 200
    status = 200
    if call.type.strategy.returns_deleted:
        return left.last, status
    details = call.type.resource.details(call.name, uid=stored.uid)
    body = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
    return {**body, "details": {k: v for k, v in details.items() if v}}, status


async def delete_collection(call: ApiCall) -> list[Stored]:
    options = read_options(call)
    matches = matcher(call.type, call.query)
    chosen = [s for s in call.table.scan(call.scope) if matches is None or matches(s)]
    for stored in chosen:
        await _call_webhooks(call, stored)
        if call.table.get(stored.key) is stored:
            remove(call, stored, options)
    return chosen


async def _call_webhooks(call: ApiCall, stored: Stored) -> None:
    if admission.any_registered(call):
        attempt = AdmissionAttempt(call, "DELETE", stored.key[1], None, stored.obj)
        await admission.mutate(attempt)
        await admission.validate(attempt)


def remove(call: ApiCall, stored: Stored, options: DeletionOptions) -> Stored | Deleted:
    """Removes the object, or sets its deletionTimestamp if finalizers or a grace period keep it."""
    call.type.strategy.check_delete(stored.key[1], call)
    _check_preconditions(call, stored, options)
    obj, meta = stored.obj, dict(stored.obj["metadata"])
    now = call.state.now()
    marked = meta.get("deletionTimestamp")
    grace = call.type.strategy.grace_period(obj, options.grace)
    if grace is not None and marked and meta.get("deletionGracePeriodSeconds"):
        current = meta["deletionGracePeriodSeconds"]
        if options.grace is None or grace >= current:
            return stored  # already being deleted, and the grace period gets no shorter
        start = timestamps.parse(marked) - timedelta(seconds=current)
        until = max(start + timedelta(seconds=grace), now)
        meta["deletionTimestamp"] = timestamps.rfc3339(until)
        meta["deletionGracePeriodSeconds"] = max(grace, 1) if until == now and grace else grace
    elif grace is not None and not marked:
        meta["deletionTimestamp"] = timestamps.rfc3339(now + timedelta(seconds=grace))
        meta["deletionGracePeriodSeconds"] = grace
        _increment_generation(meta)
    strategy = call.type.strategy
    finalizers = _finalizers(meta.get("finalizers") or [], options)
    if not marked:
        finalizers += [f for f in strategy.adds_finalizers if f not in finalizers]
    if not finalizers and not meta.get("deletionGracePeriodSeconds") and not strategy.held(obj):
        return _remove_now(call, stored, {**obj, "metadata": meta})
    if grace is None or not meta.get("deletionTimestamp"):
        if not marked:
            meta["deletionTimestamp"] = timestamps.rfc3339(now)
            _increment_generation(meta)
        meta["deletionGracePeriodSeconds"] = 0
    if finalizers:
        meta["finalizers"] = finalizers
    else:
        meta.pop("finalizers", None)
    new: Object = {**obj, "metadata": meta}
    strategy.mark_deleting(new)
    if new == obj:
        return stored
    if call.dry_run:
        return Stored(stored.key, new, stored.version)
    return call.state.store.put(call.table, stored.key, new)


def _remove_now(call: ApiCall, stored: Stored, last: Object) -> Deleted:
    """Removes the object. Like a real server, first stores the grace period of zero, which watches see."""
    if call.dry_run:
        return Deleted(Stored(stored.key, last, stored.version))
    if last != stored.obj:
        last["metadata"].pop("finalizers", None)
        stored = call.state.store.put(call.table, stored.key, last)
    call.state.store.delete(call.table, stored.key)
    return Deleted(stored)


def read_options(call: ApiCall) -> DeletionOptions:
    options = DeletionOptions()
    body: dict[str, Any] = bodies.parse(call) if call.body.strip() else {}
    if not isinstance(body, dict):
        raise bad_request("delete options must be an object")
    query = call.query
    merged: dict[str, Any] = dict(body)
    if "gracePeriodSeconds" in query:
        merged.setdefault("gracePeriodSeconds", int(query["gracePeriodSeconds"]))
    if "propagationPolicy" in query:
        merged.setdefault("propagationPolicy", query["propagationPolicy"])
    if "orphanDependents" in query:
        merged.setdefault("orphanDependents", query["orphanDependents"] == "true")
    options.grace = merged.get("gracePeriodSeconds")
    if options.grace is not None and options.grace < 0:
        options.grace = 1
    options.policy, options.orphan = merged.get("propagationPolicy"), merged.get("orphanDependents")
    conditions = merged.get("preconditions") or {}
    options.uid, options.version = conditions.get("uid"), conditions.get("resourceVersion")
    if merged.get("dryRun"):
        call.query = {**query, "dryRun": "All"}
    errors = []
    if options.policy is not None and options.policy not in POLICIES:
        errors.append(unsupported("propagationPolicy", options.policy, POLICIES))
    if options.policy is not None and options.orphan is not None:
        errors.append(
            forbidden_field(
                "propagationPolicy", "orphanDependents and deletionPropagation cannot be both set"
            )
        )
    if errors:
        raise invalid_object("meta.k8s.io", "DeleteOptions", "", errors)
    return options


def _check_preconditions(call: ApiCall, stored: Stored, options: DeletionOptions) -> None:
    meta = stored.obj["metadata"]
    resource = GroupResource(call.type.group, call.type.kind)
    if options.uid is not None and options.uid != meta["uid"]:
        why = (
            f"the UID in the precondition ({options.uid}) does not match the UID in record ({meta['uid']}). "
            "The object might have been deleted and then recreated"
        )
        raise conflict(resource, stored.key[1], why)
    if options.version is not None and options.version != meta["resourceVersion"]:
        why = (
            f"the ResourceVersion in the precondition ({options.version}) does not match the ResourceVersion "
            f"in record ({meta['resourceVersion']}). The object might have been modified"
        )
        raise conflict(resource, stored.key[1], why)


def _finalizers(present: list[str], options: DeletionOptions) -> list[str]:
    """The object's finalizers, plus the garbage collector's own that the propagation policy requires."""
    if options.orphan is not None:
        orphan, foreground = options.orphan, False
    elif options.policy is not None:
        orphan, foreground = options.policy == "Orphan", options.policy == "Foreground"
    else:
        orphan, foreground = ORPHAN in present, FOREGROUND in present
    kept = [finalizer for finalizer in present if finalizer not in (ORPHAN, FOREGROUND)]
    return kept + [ORPHAN] * orphan + [FOREGROUND] * foreground


def _increment_generation(meta: Object) -> None:
    if meta.get("generation"):
        meta["generation"] += 1
