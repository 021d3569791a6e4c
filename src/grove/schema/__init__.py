"""Judges JSON as a Kubernetes API server does: structural schemas, CEL rules, quantities, names.

    schema = compile(crd_version["schema"]["openAPIV3Schema"])
    obj = schema.default(schema.prune(obj))
    errors = schema.validate(obj, old)

Knows no kind and imports nothing else of Grove. Compile a schema once and use it for any number of objects. The error
messages are those of Kubernetes 1.36 and later.

    node, structural               parses a schema; checks that an API server would accept it
    shape                          pruning and defaulting
    values, formats, lists         value validation
    rules, cel_library             x-kubernetes-validations
    correlation, errors, regex     old values of an update; field errors and paths; RE2
    quantity, name_syntax          the grammar of quantities and of names
"""

from collections.abc import Mapping
from typing import Any

from grove.schema.errors import FieldError, FieldErrorReason, Key, Path, render_path
from grove.schema.lists import check_lists
from grove.schema.node import ABSENT, SchemaError, parse
from grove.schema.rules import check_rules, compile_rules
from grove.schema.shape import fill
from grove.schema.shape import prune as _prune
from grove.schema.structural import check_schema
from grove.schema.values import check_value

__all__ = [
    "FieldError",
    "FieldErrorReason",
    "Key",
    "Path",
    "Schema",
    "SchemaError",
    "check_schema",
    "compile",
    "default",
    "prune",
    "render_path",
    "unknown_fields",
    "validate",
]

# After these errors the CEL rules are skipped, as an API server does: they assume values of the declared types.
_BLOCKING = (
    FieldErrorReason.NOT_SUPPORTED,
    FieldErrorReason.REQUIRED,
    FieldErrorReason.TOO_LONG,
    FieldErrorReason.TOO_MANY,
    FieldErrorReason.TYPE_INVALID,
)
_NOT_RUN = (
    "some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation"
)


class Schema:
    """A compiled schema. No method changes its argument; results share unchanged parts with it."""

    def __init__(self, schema: Mapping[str, Any], *, resource: bool = True) -> None:
        self._node = parse(schema)
        self._resource = resource
        self._rules = compile_rules(self._node, is_root=resource)

    def prune(self, obj: Any) -> Any:
        """The object without unknown fields."""
        return _prune(self._node, obj, [], is_root=self._resource)

    def unknown_paths(self, obj: Any) -> list[Path]:
        """The paths of the fields that `prune` drops, in document order."""
        found: list[Path] = []
        _prune(self._node, obj, found, is_root=self._resource)
        return found

    def unknown_fields(self, obj: Any) -> list[str]:
        """The same paths as sorted text such as `spec.cliques[0].nmae`."""
        return sorted(render_path(path) for path in self.unknown_paths(obj))

    def default(self, obj: Any) -> Any:
        """The object with defaults filled in, and without nulls where null is not allowed."""
        return fill(self._node, obj)

    def validate(self, obj: Any, old: Any = ABSENT) -> list[FieldError]:
        """All errors at once. With `old`, transition rules apply, and unchanged parts are not validated again."""
        errors = [*check_value(self._node, obj, old), *check_lists(self._node, obj)]
        if self._rules is not None:
            if any(error.reason in _BLOCKING for error in errors):
                errors.append(FieldError(FieldErrorReason.INVALID, (), None, _NOT_RUN))
            else:
                errors += check_rules(self._rules, obj, old)
        return errors


def compile(schema: Mapping[str, Any], *, resource: bool = True) -> Schema:  # noqa: A001
    """Raises SchemaError for a schema or rule that is not valid or not supported.

    `resource`: the schema describes a whole resource, so apiVersion, kind and metadata are known fields.
    """
    return Schema(schema, resource=resource)


def prune(schema: Mapping[str, Any], obj: Any) -> Any:
    return compile(schema).prune(obj)


def unknown_fields(schema: Mapping[str, Any], obj: Any) -> list[str]:
    return compile(schema).unknown_fields(obj)


def default(schema: Mapping[str, Any], obj: Any) -> Any:
    return compile(schema).default(obj)


def validate(schema: Mapping[str, Any], obj: Any, old: Any = ABSENT) -> list[FieldError]:
    return compile(schema).validate(obj, old)
