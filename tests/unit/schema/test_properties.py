"""Laws that hold for any JSON."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from grove.schema import Schema

NAMES = st.sampled_from(["a", "b", "c", "items", "spec", "metadata", "kind", "namespace", "z"])
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=8),
)
JSON: st.SearchStrategy[Any] = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(NAMES, inner, max_size=5)),
    max_leaves=20,
)

LEAVES: st.SearchStrategy[dict[str, Any]] = st.sampled_from(
    [
        {"type": "string", "minLength": 1, "pattern": "^[a-z]*$"},
        {"type": "string", "nullable": True, "default": "d", "format": "date-time"},
        {"type": "integer", "format": "int32", "maximum": 7, "default": 1},
        {"type": "number", "multipleOf": 0.5},
        {"x-kubernetes-int-or-string": True},
        {"x-kubernetes-preserve-unknown-fields": True},
        {"type": "boolean", "enum": [True], "x-kubernetes-validations": [{"rule": "self || oldSelf"}]},
        {"type": "string", "x-kubernetes-validations": [{"rule": "self.size() > 2 && self != 'abc'"}]},
    ]
)


def containers(inner: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    objects = st.builds(
        lambda properties, required, preserve: {
            "type": "object",
            "properties": properties,
            "required": required,
            **({"x-kubernetes-preserve-unknown-fields": True} if preserve else {}),
        },
        st.dictionaries(NAMES, inner, max_size=4),
        st.lists(NAMES, max_size=2, unique=True),
        st.booleans(),
    )
    maps = inner.map(lambda value: {"type": "object", "additionalProperties": value, "maxProperties": 2})
    lists = st.builds(
        lambda items, kind: {"type": "array", "items": items, "x-kubernetes-list-type": kind, "maxItems": 3},
        inner,
        st.sampled_from(["atomic", "set"]),
    )
    return st.one_of(objects, maps, lists)


SCHEMAS = st.recursive(LEAVES, containers, max_leaves=8)


@given(SCHEMAS, JSON, JSON)
def test_validation_never_raises(schema: dict[str, Any], obj: Any, old: Any) -> None:
    compiled = Schema(schema)
    for error in [*compiled.validate(obj), *compiled.validate(obj, old)]:
        assert str(error)


@given(SCHEMAS, JSON)
def test_an_update_without_changes_has_no_errors_except_in_lists(schema: dict[str, Any], obj: Any) -> None:
    """Ratcheting: a stored object can be written again. Only the uniqueness of list items is checked every time."""
    errors = Schema(schema).validate(obj, obj)
    assert all(error.reason in ("FieldValueDuplicate", "FieldValueInvalid") for error in errors), errors


@given(SCHEMAS, JSON)
def test_pruning_twice_is_pruning_once(schema: dict[str, Any], obj: Any) -> None:
    compiled = Schema(schema)
    once = compiled.prune(obj)
    assert compiled.prune(once) == once
    assert compiled.unknown_fields(once) == []


@given(SCHEMAS, JSON)
def test_defaulting_twice_is_defaulting_once(schema: dict[str, Any], obj: Any) -> None:
    compiled = Schema(schema)
    once = compiled.default(obj)
    assert compiled.default(once) == once


@given(SCHEMAS, JSON)
def test_no_method_changes_the_object_it_is_given(schema: dict[str, Any], obj: Any) -> None:
    before = repr(obj)
    compiled = Schema(schema)
    compiled.prune(obj)
    compiled.default(obj)
    compiled.validate(obj)
    assert repr(obj) == before
