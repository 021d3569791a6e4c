"""Pruning and defaulting."""

from typing import Any

import pytest

from tests.unit.schema.one_shot import default, prune, unknown_fields


def obj(properties: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, **more}


STRING = {"type": "string"}
ANYTHING = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


@pytest.mark.parametrize(
    ("schema", "given", "kept", "dropped"),
    [
        pytest.param(
            obj({"a": STRING}), {"a": "x", "b": 1}, {"a": "x"}, ["b"], id="an unknown field is dropped"
        ),
        pytest.param(
            obj({"spec": obj({"a": STRING})}),
            {"apiVersion": "v1", "kind": "K", "metadata": {"name": "n"}, "spec": {"kind": "x"}},
            {"apiVersion": "v1", "kind": "K", "metadata": {"name": "n"}, "spec": {}},
            ["spec.kind"],
            id="the root keeps its type and metadata",
        ),
        pytest.param(
            obj({"list": {"type": "array", "items": obj({"a": STRING})}}),
            {"list": [{"a": "x"}, {"b": "y", "c": "z"}]},
            {"list": [{"a": "x"}, {}]},
            ["list[1].b", "list[1].c"],
            id="list items are pruned one by one",
        ),
        pytest.param(
            obj({"free": {**ANYTHING, "properties": {"known": obj({"a": STRING})}}}),
            {"free": {"x": {"y": 1}, "known": {"a": "x", "b": 1}}},
            {"free": {"x": {"y": 1}, "known": {"a": "x"}}},
            ["free.known.b"],
            id="preserved fields stay, declared ones below are still pruned",
        ),
        pytest.param(
            obj({"map": {"type": "object", "additionalProperties": obj({"a": STRING})}}),
            {"map": {"k": {"a": "x", "b": 1}}},
            {"map": {"k": {"a": "x"}}},
            ["map.k.b"],
            id="map values follow the schema of additionalProperties",
        ),
        pytest.param(
            obj({"any": {"type": "object", "additionalProperties": True}}),
            {"any": {"k": 1, "o": {"a": 1}}},
            {"any": {"k": 1, "o": {}}},
            ["any.o.a"],
            id="additionalProperties true allows keys but has no schema for objects",
        ),
        pytest.param(
            obj({"template": obj({"spec": obj({"a": STRING})}, **{"x-kubernetes-embedded-resource": True})}),
            {"template": {"apiVersion": "v1", "kind": "K", "metadata": {"x": 1}, "spec": {"b": 1}, "z": 1}},
            {"template": {"apiVersion": "v1", "kind": "K", "metadata": {}, "spec": {}}},
            ["template.metadata.x", "template.spec.b", "template.z"],
            id="an embedded resource keeps its type and metadata",
        ),
        pytest.param(
            obj({"a": STRING}), {"a": {"b": 1}}, {"a": {}}, ["a.b"], id="a wrong type is pruned too"
        ),
    ],
)
def test_pruning_keeps_what_the_schema_knows(schema: Any, given: Any, kept: Any, dropped: list[str]) -> None:
    assert prune(schema, given) == kept
    assert unknown_fields(schema, given) == dropped


def test_pruning_does_not_change_its_argument() -> None:
    given = {"spec": {"a": "x", "b": 1}}
    prune(obj({"spec": obj({"a": STRING})}), given)
    assert given == {"spec": {"a": "x", "b": 1}}


DEFAULTED = {"type": "integer", "default": 1}


@pytest.mark.parametrize(
    ("schema", "given", "filled"),
    [
        pytest.param(obj({"a": DEFAULTED}), {}, {"a": 1}, id="a missing field takes its default"),
        pytest.param(obj({"a": DEFAULTED}), {"a": 0}, {"a": 0}, id="a given field stays"),
        pytest.param(obj({"a": DEFAULTED}), {"a": None}, {"a": 1}, id="a null takes the default"),
        pytest.param(
            obj({"a": {**DEFAULTED, "nullable": True}}), {"a": None}, {"a": None}, id="a nullable null stays"
        ),
        pytest.param(obj({"a": STRING}), {"a": None}, {}, id="a null without a default is dropped"),
        pytest.param(
            obj({"a": obj({"b": DEFAULTED})}), {}, {}, id="a default does not create the object around it"
        ),
        pytest.param(
            obj({"a": obj({"b": DEFAULTED}, default={})}),
            {},
            {"a": {"b": 1}},
            id="unless that object has a default itself",
        ),
        pytest.param(
            obj({"l": {"type": "array", "items": obj({"b": DEFAULTED})}}),
            {"l": [{}, {"b": 2}]},
            {"l": [{"b": 1}, {"b": 2}]},
            id="items are defaulted",
        ),
        pytest.param(
            obj({"m": {"type": "object", "additionalProperties": obj({"b": DEFAULTED})}}),
            {"m": {"k": {}, "n": None}},
            {"m": {"k": {"b": 1}}},
            id="map values are defaulted and nulls among them dropped",
        ),
        pytest.param(
            obj({"l": {"type": "array", "items": STRING}}),
            {"l": [None]},
            {"l": [None]},
            id="a null item stays",
        ),
    ],
)
def test_defaults_fill_what_is_missing(schema: Any, given: Any, filled: Any) -> None:
    assert default(schema, given) == filled


def test_a_default_is_never_shared_between_objects() -> None:
    schema = obj({"a": {"type": "array", "items": STRING, "default": ["x"]}})
    first = default(schema, {})
    first["a"].append("y")
    assert default(schema, {}) == {"a": ["x"]}
