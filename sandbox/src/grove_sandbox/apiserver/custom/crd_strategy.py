"""Defaults and validation of CustomResourceDefinitions."""

from collections import Counter

from grove.schema import check_schema

from grove_sandbox.apiserver.custom.custom_resources import (
    printer_column,
    translate,
)
from grove_sandbox.apiserver.errors import (
    FieldViolation,
    duplicate,
    invalid,
    not_implemented,
    required,
    unsupported,
)
from grove_sandbox.apiserver.resources import names
from grove_sandbox.apiserver.resources.strategy import Strategy
from grove_sandbox.apiserver.state import ApiCall
from grove_sandbox.apiserver.storage import Object

CLEANUP = "customresourcecleanup.apiextensions.k8s.io"
COLUMN_TYPES = ("integer", "number", "string", "boolean", "date")


class DefinitionStrategy(Strategy):
    has_generation = True
    adds_finalizers = (CLEANUP,)

    def prepare_create(self, obj: Object, call: ApiCall) -> None:
        _fill_in(obj)
        super().prepare_create(obj, call)

    def initial_status(self, obj: Object, call: ApiCall) -> Object:
        stored = [v["name"] for v in obj["spec"].get("versions") or () if v.get("storage")]
        return {"conditions": None, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": stored}

    def prepare_update(self, new: Object, old: Object, call: ApiCall) -> None:
        _fill_in(new)
        super().prepare_update(new, old, call)
        current = [v["name"] for v in new["spec"].get("versions") or () if v.get("storage")]
        known = old["status"].get("storedVersions") or []
        added = [name for name in current if name not in known]
        if added:
            new["status"] = {**new["status"], "storedVersions": [*known, *added]}

    def validate(self, obj: Object, call: ApiCall) -> list[FieldViolation]:
        spec = obj["spec"]
        chosen = spec.get("names") or {}
        errors: list[FieldViolation] = []
        expected = f"{chosen.get('plural', '')}.{spec.get('group', '')}"
        if obj["metadata"].get("name") != expected:
            detail = 'must be spec.names.plural+"."+spec.group'
            errors.append(invalid("metadata.name", obj["metadata"].get("name"), detail))
        if not spec.get("group"):
            errors.append(required("spec.group"))
        elif "." not in spec["group"]:
            detail = "should be a domain with at least one dot"
            errors.append(invalid("spec.group", spec["group"], detail))
        errors += [required(f"spec.names.{field}") for field in ("plural", "kind") if not chosen.get(field)]
        plural = chosen.get("plural") or ""
        if plural:
            errors += [
                invalid("spec.names.plural", plural, problem) for problem in names.service_name(plural)
            ]
        if spec.get("scope") not in ("Cluster", "Namespaced"):
            if spec.get("scope"):
                errors.append(unsupported("spec.scope", spec["scope"], ("Cluster", "Namespaced")))
            else:
                errors.append(required("spec.scope"))
        return errors + _validate_versions(spec.get("versions") or [])

    def validate_update(self, new: Object, old: Object, call: ApiCall) -> list[FieldViolation]:
        errors = super().validate_update(new, old, call)
        for field in ("group", "scope"):
            if new["spec"].get(field) != old["spec"].get(field):
                errors.append(invalid(f"spec.{field}", new["spec"].get(field), "field is immutable"))
        for field in ("plural", "kind"):
            if new["spec"]["names"].get(field) != old["spec"]["names"].get(field):
                detail = "field is immutable"
                errors.append(invalid(f"spec.names.{field}", new["spec"]["names"].get(field), detail))
        return errors

    def mark_deleting(self, obj: Object) -> None:
        status = dict(obj.get("status") or {})
        others = [c for c in status.get("conditions") or () if c["type"] != "Terminating"]
        terminating = {
            "type": "Terminating",
            "status": "True",
            "lastTransitionTime": obj["metadata"]["deletionTimestamp"],
            "reason": "InstanceDeletionInProgress",
            "message": "CustomResource deletion is in progress",
        }
        obj["status"] = {**status, "conditions": [*others, terminating]}


def _fill_in(obj: Object) -> None:
    spec = obj["spec"] = dict(obj.get("spec") or {})
    chosen = spec["names"] = dict(spec.get("names") or {})
    kind = chosen.get("kind") or ""
    chosen.setdefault("singular", kind.lower())
    chosen.setdefault("listKind", f"{kind}List")
    spec.setdefault("conversion", {"strategy": "None"})
    if spec["conversion"].get("strategy") == "Webhook":
        raise not_implemented("conversion webhooks of custom resources; use strategy None")
    versions = spec.get("versions") or []
    spec["versions"] = [{"served": False, "storage": False, **version} for version in versions]


def _validate_versions(versions: list[Object]) -> list[FieldViolation]:
    errors: list[FieldViolation] = []
    if sum(1 for version in versions if version.get("storage")) != 1:
        errors.append(
            invalid("spec.versions", versions, "must have exactly one version marked as storage version")
        )
    # If all versions have the same schema, a real server moves it to the top level before validation.
    schemas = [(version.get("schema") or {}).get("openAPIV3Schema") for version in versions]
    shared = schemas[0] if schemas and all(schema == schemas[0] for schema in schemas) else None
    if shared is not None:
        errors += translate(check_schema(shared, ("spec", "validation", "openAPIV3Schema")))
    counts = Counter(version.get("name") for version in versions)
    for index, version in enumerate(versions):
        path = f"spec.versions[{index}]"
        if counts[version.get("name")] > 1:
            errors.append(duplicate(f"{path}.name", version.get("name")))
        errors += [
            invalid(f"{path}.name", version.get("name"), p)
            for p in names.service_name(version.get("name") or "")
        ]
        schema = (version.get("schema") or {}).get("openAPIV3Schema")
        if schema is None:
            errors.append(required(f"{path}.schema.openAPIV3Schema", "schemas are required"))
            continue
        if shared is not None:
            continue
        errors += translate(check_schema(schema, ("spec", "versions", index, "schema", "openAPIV3Schema")))
        errors += _validate_columns(version.get("additionalPrinterColumns") or [], path)
        errors += _validate_scale((version.get("subresources") or {}).get("scale"), path)
    return errors


def _validate_columns(columns: list[Object], path: str) -> list[FieldViolation]:
    errors: list[FieldViolation] = []
    for index, column in enumerate(columns):
        where = f"{path}.additionalPrinterColumns[{index}]"
        if column.get("type") not in COLUMN_TYPES:
            errors.append(unsupported(f"{where}.type", column.get("type"), COLUMN_TYPES))
            continue
        try:
            printer_column(column)
        except (ValueError, KeyError) as error:
            errors.append(invalid(f"{where}.jsonPath", column.get("jsonPath"), str(error)))
    return errors


def _validate_scale(scale: Object | None, path: str) -> list[FieldViolation]:
    if scale is None:
        return []
    errors = [
        required(f"{path}.subresources.scale.{field}")
        for field in ("specReplicasPath", "statusReplicasPath")
        if not scale.get(field)
    ]
    for field, prefix in (("specReplicasPath", ".spec."), ("statusReplicasPath", ".status.")):
        value = scale.get(field) or prefix
        if not value.startswith(prefix):
            detail = f"should be a json path under {prefix[:-1]}"
            errors.append(invalid(f"{path}.subresources.scale.{field}", value, detail))
    return errors
