"""A compiled schema: prunes, defaults and validates objects."""

from collections.abc import Mapping
from typing import Any

from grove.schema.errors import FieldError, FieldErrorReason, Path, render_path
from grove.schema.lists import check_lists
from grove.schema.node import ABSENT, parse
from grove.schema.rules import check_rules, compile_rules
from grove.schema.shape import fill
from grove.schema.shape import prune as _prune
from grove.schema.values import check_value

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
        """Raises SchemaError for a schema or rule that is not valid or not supported.

        `resource`: the schema describes a whole resource, so apiVersion, kind and metadata are known fields.
        """
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
