"""Rules for `metadata` that hold for every kind: fields the server sets, immutable fields, validation."""

from collections.abc import Callable, Mapping
from typing import Any

from grove_sandbox.apiserver.errors import FieldViolation, bad_request, forbidden_field, invalid, required
from grove_sandbox.apiserver.resources import names
from grove_sandbox.apiserver.state import ApiCall
from grove_sandbox.apiserver.storage import Object

NameRule = Callable[[str], list[str]]

FOREGROUND = "foregroundDeletion"
ORPHAN = "orphan"
ANNOTATIONS_LIMIT_BYTES = 256 * 1024
IMMUTABLE = "field is immutable"
_SERVER_FIELDS = ("deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "generation")


def fill_server_fields(obj: Object, call: ApiCall) -> None:
    """Sets the fields of a new object that the server owns, and drops values that a client gave for them."""
    metadata = obj["metadata"] = dict(obj.get("metadata") or {})
    for field in _SERVER_FIELDS:
        metadata.pop(field, None)
    match_namespace(metadata, call)
    if metadata.get("generateName") and not metadata.get("name"):
        metadata["name"] = metadata["generateName"][:58] + call.state.name_suffix()
    metadata["uid"] = call.state.new_uid()
    metadata["creationTimestamp"] = call.state.timestamp()


def match_namespace(metadata: Object, call: ApiCall) -> None:
    namespace = metadata.get("namespace") or ""
    if not call.type.namespaced:
        metadata.pop("namespace", None)
        return
    if not namespace:
        metadata["namespace"] = call.namespace
    elif namespace != call.namespace:
        raise bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )


def keep_immutable_fields(new: Object, old: Object) -> None:
    """Copies the fields that no update can change from the stored object, before validation."""
    fresh, stored = new["metadata"], old["metadata"]
    for field in ("generation", "creationTimestamp"):
        if field in stored:
            fresh[field] = stored[field]
        else:
            fresh.pop(field, None)
    if "deletionTimestamp" in stored:
        fresh["deletionTimestamp"] = stored["deletionTimestamp"]
    for field in ("deletionGracePeriodSeconds", "managedFields", "uid"):
        if field in stored:
            fresh.setdefault(field, stored[field])


def validate(metadata: Object, name_rule: NameRule, *, namespaced: bool) -> list[FieldViolation]:
    errors: list[FieldViolation] = []
    prefix = metadata.get("generateName") or ""
    if prefix:
        # Unlike a name, a prefix may end with a dash or a dot.
        problems = name_rule(prefix.rstrip("-.") + "a" if prefix[-1] in "-." else prefix)
        errors += [invalid("metadata.generateName", prefix, problem) for problem in problems]
    name = metadata.get("name") or ""
    if not name:
        errors.append(required("metadata.name", "name or generateName is required"))
    else:
        errors += [invalid("metadata.name", name, problem) for problem in name_rule(name)]
    namespace = metadata.get("namespace") or ""
    if namespaced and not namespace:
        errors.append(required("metadata.namespace"))
    elif namespaced:
        errors += [invalid("metadata.namespace", namespace, problem) for problem in names.label(namespace)]
    return errors + _validate_common(metadata)


def validate_update(new: Object, old: Object) -> list[FieldViolation]:
    fresh, stored = new["metadata"], old["metadata"]
    errors: list[FieldViolation] = []
    if stored.get("deletionTimestamp"):
        added = sorted(set(fresh.get("finalizers") or ()) - set(stored.get("finalizers") or ()))
        if added:
            listed = ", ".join(f'"{finalizer}"' for finalizer in added)
            detail = (
                "no new finalizers can be added if the object is being deleted, "
                f"found new finalizers []string{{{listed}}}"
            )
            errors.append(forbidden_field("metadata.finalizers", detail))
    errors += [
        invalid(f"metadata.{field}", fresh.get(field), IMMUTABLE)
        for field in ("name", "namespace", "uid", "deletionTimestamp", "deletionGracePeriodSeconds")
        if fresh.get(field) != stored.get(field)
    ]
    return errors + _validate_common(fresh)


def validate_labels(labels: Mapping[str, Any], path: str) -> list[FieldViolation]:
    errors: list[FieldViolation] = []
    for key, value in labels.items():
        errors += [invalid(path, key, problem) for problem in names.qualified_name(key)]
        errors += [invalid(path, value, problem) for problem in names.label_value(value)]
    return errors


def _validate_common(metadata: Object) -> list[FieldViolation]:
    errors = validate_labels(metadata.get("labels") or {}, "metadata.labels")
    annotations = metadata.get("annotations") or {}
    for key in annotations:
        problems = names.qualified_name(key.lower())
        errors += [invalid("metadata.annotations", key, problem) for problem in problems]
    if sum(len(key) + len(value) for key, value in annotations.items()) > ANNOTATIONS_LIMIT_BYTES:
        body = f"Too long: may not be more than {ANNOTATIONS_LIMIT_BYTES} bytes"
        errors.append(FieldViolation("metadata.annotations", "FieldValueTooLong", body))
    errors += _validate_owners(metadata.get("ownerReferences") or [])
    finalizers = metadata.get("finalizers") or []
    for finalizer in finalizers:
        problems = names.qualified_name(finalizer)
        errors += [invalid("metadata.finalizers", finalizer, problem) for problem in problems]
    if FOREGROUND in finalizers and ORPHAN in finalizers:
        detail = f"finalizer {ORPHAN} and {FOREGROUND} cannot be both set"
        errors.append(invalid("metadata.finalizers", finalizers, detail))
    return errors


def _validate_owners(owners: list[Object]) -> list[FieldViolation]:
    errors: list[FieldViolation] = []
    controller = ""
    for index, owner in enumerate(owners):
        path = f"metadata.ownerReferences[{index}]"
        errors += [
            required(f"{path}.{field}", "must not be empty")
            for field in ("apiVersion", "kind", "name", "uid")
            if not owner.get(field)
        ]
        if owner.get("controller"):
            this = f"{owner.get('kind')}/{owner.get('name')}"
            if controller:
                detail = (
                    "Only one reference can have Controller set to true. Found "
                    f'"true" in references for {controller} and {this}'
                )
                errors.append(invalid("metadata.ownerReferences", owners, detail))
            controller = this
    return errors
