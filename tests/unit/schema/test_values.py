"""Value validation, in the words of the real server."""

from typing import Any

import pytest

from grove.schema import FieldErrorReason, Schema, SchemaError
from tests.unit.schema.one_shot import validate


def spec(schema: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": {"spec": {"type": "object", "properties": {"x": schema}}}}


@pytest.mark.parametrize(
    ("schema", "value", "reason", "line"),
    [
        (
            {"type": "integer"},
            "a",
            FieldErrorReason.TYPE_INVALID,
            'spec.x: Invalid value: "string": spec.x in body must be of type integer: "string"',
        ),
        (
            {"type": "string"},
            None,
            FieldErrorReason.TYPE_INVALID,
            'spec.x: Invalid value: "null": spec.x in body must be of type string: "null"',
        ),
        (
            {"type": "boolean"},
            1,
            FieldErrorReason.TYPE_INVALID,
            'spec.x: Invalid value: "integer": spec.x in body must be of type boolean: "integer"',
        ),
        (
            {"x-kubernetes-int-or-string": True},
            True,
            FieldErrorReason.TYPE_INVALID,
            'spec.x: Invalid value: "boolean": spec.x in body must be of type integer,string: "boolean"',
        ),
        (
            {"type": "string", "enum": ["a", "b"]},
            "c",
            FieldErrorReason.NOT_SUPPORTED,
            'spec.x: Unsupported value: "c": supported values: "a", "b"',
        ),
        (
            {"type": "integer", "enum": [1, 2]},
            3,
            FieldErrorReason.NOT_SUPPORTED,
            'spec.x: Unsupported value: 3: supported values: "1", "2"',
        ),
        (
            {"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}}},
            {},
            FieldErrorReason.REQUIRED,
            "spec.x.a: Required value",
        ),
        (
            {"type": "integer", "minimum": 1},
            0,
            FieldErrorReason.INVALID,
            "spec.x: Invalid value: 0: spec.x in body should be greater than or equal to 1",
        ),
        (
            {"type": "integer", "maximum": 1.0, "exclusiveMaximum": True},
            1,
            FieldErrorReason.INVALID,
            "spec.x: Invalid value: 1: spec.x in body should be less than 1",
        ),
        (
            {"type": "number", "multipleOf": 2},
            2.5,
            FieldErrorReason.INVALID,
            "spec.x: Invalid value: 2.5: spec.x in body should be a multiple of 2",
        ),
        (
            {"type": "string", "minLength": 2},
            "a",
            FieldErrorReason.INVALID,
            'spec.x: Invalid value: "a": spec.x in body should be at least 2 chars long',
        ),
        (
            {"type": "string", "maxLength": 2},
            "abc",
            FieldErrorReason.TOO_LONG,
            "spec.x: Too long: may not be more than 2 bytes",
        ),
        (
            {"type": "string", "pattern": "^[a-z]+$"},
            "a\n",
            FieldErrorReason.INVALID,
            "spec.x: Invalid value: \"a\\n\": spec.x in body should match '^[a-z]+$'",
        ),
        (
            {"type": "string", "format": "date-time"},
            "yesterday",
            FieldErrorReason.TYPE_INVALID,
            'spec.x: Invalid value: "yesterday": spec.x in body must be of type date-time: "yesterday"',
        ),
        (
            {"type": "array", "items": {"type": "string"}, "minItems": 1},
            [],
            FieldErrorReason.INVALID,
            "spec.x: Invalid value: 0: spec.x in body should have at least 1 items",
        ),
        (
            {"type": "array", "items": {"type": "string"}, "maxItems": 1},
            ["a", "b"],
            FieldErrorReason.TOO_MANY,
            "spec.x: Too many: 2: must have at most 1 item",
        ),
        (
            {"type": "object", "additionalProperties": {"type": "string"}, "maxProperties": 0},
            {"a": "b"},
            FieldErrorReason.TOO_MANY,
            "spec.x: Too many: 1: must have at most 0 items",
        ),
        (
            {"type": "object", "additionalProperties": {"type": "string"}},
            {"a": 1},
            FieldErrorReason.TYPE_INVALID,
            'spec.x.a: Invalid value: "integer": spec.x.a in body must be of type string: "integer"',
        ),
        (
            {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
            ["a", "b", "a", "a"],
            FieldErrorReason.DUPLICATE,
            'spec.x[2]: Duplicate value: "a"',
        ),
        (
            {"type": "integer", "format": "int32"},
            1 << 31,
            FieldErrorReason.INVALID,
            '<nil>: Invalid value: "": Checked value must be of type integer with format int32 in spec.x',
        ),
    ],
)
def test_one_mistake_is_one_error(
    schema: dict[str, Any], value: Any, reason: FieldErrorReason, line: str
) -> None:
    (error,) = validate(spec(schema), {"spec": {"x": value}})
    assert str(error) == line
    assert error.reason is reason


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "integer"}, 2.0),
        ({"type": "number"}, 2),
        ({"type": "string", "nullable": True}, None),
        ({"x-kubernetes-int-or-string": True}, "25%"),
        ({"x-kubernetes-int-or-string": True}, 25),
        ({"type": "string", "format": "date-time"}, "2024-02-29T10:00:00.5+02:00"),
        ({"type": "string", "format": "unheard-of"}, "anything"),
        ({"type": "string", "maxLength": 3}, "äöü"),
        ({"type": "string", "pattern": r"\p{Greek}"}, "alpha α"),
        ({"type": "object", "x-kubernetes-preserve-unknown-fields": True}, {"a": [1]}),
        ({"x-kubernetes-preserve-unknown-fields": True}, [1, "a"]),
    ],
)
def test_a_value_that_a_server_accepts_is_accepted(schema: dict[str, Any], value: Any) -> None:
    assert validate(spec(schema), {"spec": {"x": value}}) == []


def test_a_fraction_in_an_integer_field_gives_two_errors() -> None:
    assert [str(e) for e in validate(spec({"type": "integer"}), {"spec": {"x": 1.5}})] == [
        'spec.x: Invalid value: "number": spec.x in body must be of type integer: "number"',
        '<nil>: Invalid value: "": Checked value must be of type integer (default format) in spec.x',
    ]


def test_all_mistakes_are_reported_at_once() -> None:
    schema = spec(
        {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["name"],
                "properties": {"name": {"type": "string"}, "n": {"type": "integer", "minimum": 0}},
            },
        }
    )
    errors = validate(schema, {"spec": {"x": [{"n": -1}, {"name": 1}]}})
    assert [(e.field, e.reason) for e in errors] == [
        ("spec.x[0].n", FieldErrorReason.INVALID),
        ("spec.x[0].name", FieldErrorReason.REQUIRED),
        ("spec.x[1].name", FieldErrorReason.TYPE_INVALID),
    ]
    assert errors[0].path == ("spec", "x", 0, "n")


LIST_MAP = {
    "type": "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["name"],
    "items": {
        "type": "object",
        "required": ["name"],
        "properties": {"name": {"type": "string"}, "n": {"type": "integer", "maximum": 5}},
    },
}


def test_two_items_of_a_map_list_must_not_have_the_same_keys() -> None:
    errors = validate(spec(LIST_MAP), {"spec": {"x": [{"name": "a"}, {"name": "b"}, {"name": "a", "n": 1}]}})
    assert [str(e) for e in errors] == ['spec.x[2]: Duplicate value: {"name":"a"}']


def test_a_map_list_item_without_its_key_is_refused() -> None:
    errors = validate(spec(LIST_MAP), {"spec": {"x": [{"n": 1}]}})
    assert [str(e) for e in errors] == ["spec.x[0].name: Required value"]


ONE_OF = {
    "type": "object",
    "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
    "oneOf": [{"required": ["a"]}, {"required": ["b"]}],
}


def test_one_of_says_how_many_alternatives_fit() -> None:
    none = validate(spec(ONE_OF), {"spec": {"x": {}}})
    assert [str(e) for e in none] == [
        '<nil>: Invalid value: "": "spec.x" must validate one and only one schema (oneOf). Found none valid',
        "spec.x.a: Required value",
    ]
    both = validate(spec(ONE_OF), {"spec": {"x": {"a": "", "b": ""}}})
    assert [e.detail for e in both] == [
        '"spec.x" must validate one and only one schema (oneOf). Found 2 valid alternatives'
    ]
    assert validate(spec(ONE_OF), {"spec": {"x": {"a": ""}}}) == []


@pytest.mark.parametrize(
    ("junctor", "good", "bad"),
    [
        ({"anyOf": [{"minimum": 10}, {"maximum": 1}]}, 0, 5),
        ({"allOf": [{"minimum": 1}, {"maximum": 3}]}, 2, 4),
        ({"not": {"enum": [7]}}, 8, 7),
    ],
)
def test_junctors(junctor: dict[str, Any], good: int, bad: int) -> None:
    schema = spec({"type": "integer", **junctor})
    assert validate(schema, {"spec": {"x": good}}) == []
    assert validate(schema, {"spec": {"x": bad}}) != []


def test_an_unchanged_part_of_an_update_is_not_validated_again() -> None:
    schema = Schema(spec(LIST_MAP))
    old = {"spec": {"x": [{"name": "a", "n": 9}]}}
    moved = {"spec": {"x": [{"name": "b"}, {"name": "a", "n": 9}]}}
    changed = {"spec": {"x": [{"name": "a", "n": 8}]}}
    assert schema.validate(moved, old) == []
    assert [e.field for e in schema.validate(changed, old)] == ["spec.x[0].n"]
    assert [e.field for e in schema.validate(moved)] == ["spec.x[1].n"]


@pytest.mark.parametrize("pattern", ["(?=a)", r"(a)\1", "["])
def test_a_pattern_that_is_not_re2_is_refused(pattern: str) -> None:
    with pytest.raises(SchemaError, match=r"properties\[x\]\.pattern"):
        Schema(spec({"type": "string", "pattern": pattern}))
