"""Validates the query parameters that all writes share: `dryRun` and `fieldValidation`."""

from collections.abc import Mapping

from grove_sandbox.apiserver.errors import FieldViolation, invalid_object, unsupported

FIELD_VALIDATION = ("Ignore", "Warn", "Strict")
_KINDS = {"POST": "CreateOptions", "PUT": "UpdateOptions", "PATCH": "PatchOptions", "DELETE": "DeleteOptions"}


def check(method: str, query: Mapping[str, str]) -> None:
    kind = _KINDS.get(method)
    if kind is None:
        return
    errors: list[FieldViolation] = []
    dry_run, directive = query.get("dryRun", ""), query.get("fieldValidation", "")
    if dry_run not in ("", "All"):
        errors.append(unsupported("dryRun", [dry_run], ("All",)))
    if directive and directive not in FIELD_VALIDATION:
        errors.append(unsupported("fieldValidation", directive, FIELD_VALIDATION))
    if errors:
        raise invalid_object("meta.k8s.io", kind, "", errors)
