"""Which schemas an API server accepts."""

from typing import Any

import pytest

from grove.schema import check_schema

STRING = {"type": "string"}


def root(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


GOOD = root(
    apiVersion=STRING,
    kind=STRING,
    metadata={"type": "object"},
    spec={
        "type": "object",
        "properties": {
            "port": {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]},
            "replicas": {"type": "integer", "default": 1, "minimum": 0},
            "a": STRING,
            "free": {"x-kubernetes-preserve-unknown-fields": True},
            "list": {
                "type": "array",
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["name"],
                "items": {"type": "object", "required": ["name"], "properties": {"name": STRING}},
            },
        },
        "oneOf": [{"required": ["a"]}, {"properties": {"a": {"enum": ["x"]}}}],
    },
)


def test_a_structural_schema_has_no_errors() -> None:
    assert check_schema(GOOD) == []


@pytest.mark.parametrize(
    ("schema", "line"),
    [
        ({}, ".type: Required value: must not be empty at the root"),
        ({"type": "array", "items": STRING}, '.type: Invalid value: "array": must be object at the root'),
        (root(a={}), ".properties[a].type: Required value: must not be empty for specified object fields"),
        (root(a={"type": "array"}), ".properties[a].items: Required value: must be specified"),
        (
            root(a={"type": "array", "items": {}}),
            ".properties[a].items.type: Required value: must not be empty for specified array items",
        ),
        (
            root(a={**STRING, "anyOf": [{"type": "string"}]}),
            ".properties[a].anyOf[0].type: Forbidden: must be empty to be structural",
        ),
        (
            {"type": "object", "allOf": [{"properties": {"b": {"enum": ["x"]}}}]},
            (
                ".properties[b]: Required value: because it is defined in "
                "openAPIV3Schema.allOf[0].properties[b]"
            ),
        ),
        (
            root(a={"type": "object", "properties": {"b": STRING}, "additionalProperties": STRING}),
            (
                ".properties[a].additionalProperties: Forbidden: "
                "additionalProperties and properties are mutual exclusive"
            ),
        ),
        (
            root(a={"type": "array", "items": STRING, "uniqueItems": True}),
            (
                ".properties[a].uniqueItems: Forbidden: "
                "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
            ),
        ),
        (root(a={**STRING, "$ref": "#/x"}), ".properties[a].$ref: Forbidden: $ref is not supported"),
        (
            root(a={"type": "array", "items": STRING, "x-kubernetes-list-type": "map"}),
            (
                ".properties[a].x-kubernetes-list-map-keys: Required value: "
                "must not be empty if x-kubernetes-list-type is map"
            ),
        ),
        (
            root(metadata={"type": "object", "properties": {"labels": {"type": "object"}}}),
            (
                ".properties[metadata]: Forbidden: must not specify anything other than name and "
                "generateName, but metadata is implicitly specified"
            ),
        ),
        (
            root(a={"type": "integer", "default": "x"}),
            ('.properties[a].default: Invalid value: "string":  in body must be of type integer: "string"'),
        ),
        (
            root(a={"type": "object", "properties": {"b": STRING}, "default": {"c": 1}}),
            '.properties[a].default: Invalid value: {"c":1}: must not have unknown fields',
        ),
        (
            root(a={"type": "object", "x-kubernetes-embedded-resource": True}),
            (
                ".properties[a].properties: Required value: must not be empty if "
                "x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields"
            ),
        ),
    ],
)
def test_a_schema_that_is_not_structural_is_refused_with_the_reason(
    schema: dict[str, Any], line: str
) -> None:
    assert f"openAPIV3Schema{line}" in [str(error) for error in check_schema(schema)]


def test_keys_of_a_map_list_must_be_required_or_have_a_default() -> None:
    items = {"type": "object", "properties": {"name": STRING, "o": {"type": "object"}}}
    schema = root(
        a={
            "type": "array",
            "items": items,
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name", "o", "gone"],
        }
    )
    assert [error.message for error in check_schema(schema)] == [
        (
            "Required value: this property is in x-kubernetes-list-map-keys, so it must have a default or be a "
            "required property"
        ),
        'Invalid value: "object": must be a scalar type if parent array\'s x-kubernetes-list-type is map',
        (
            "Required value: this property is in x-kubernetes-list-map-keys, so it must have a default or be a "
            "required property"
        ),
        'Invalid value: ["name","o","gone"]: entries must all be names of item properties',
    ]


def test_a_rule_that_does_not_compile_is_an_error_of_the_schema() -> None:
    schema = root(a={**STRING, "x-kubernetes-validations": [{"rule": "self ++"}]})
    (error,) = check_schema(schema)
    assert "x-kubernetes-validations[0].rule: compilation failed" in error.detail


def test_a_rule_with_old_self_needs_correlatable_items() -> None:
    item = {**STRING, "x-kubernetes-validations": [{"rule": "self == oldSelf"}]}
    (error,) = check_schema(root(a={"type": "array", "items": item}))
    assert str(error) == (
        'openAPIV3Schema.properties[a].items.x-kubernetes-validations[0].rule: Invalid value: "self == oldSelf": '
        "oldSelf cannot be used on the uncorrelatable portion of the schema within openAPIV3Schema.properties[a]"
    )
