"""x-kubernetes-validations."""

from typing import Any

import pytest

from grove.schema import FieldErrorReason, Schema, SchemaError
from grove.schema.rules import escape
from tests.unit.schema.one_shot import validate

INTEGER = {"type": "integer"}
INTEGERS = {"type": "array", "items": INTEGER}
STRING = {"type": "string"}
STRINGS = {"type": "object", "additionalProperties": STRING}
NUMBERED = {"type": "array", "items": {"type": "object", "properties": {"n": INTEGER}}}
INT_OR_STRING = {"x-kubernetes-int-or-string": True}


def ruled(rule: str | dict[str, Any], properties: dict[str, Any]) -> dict[str, Any]:
    rule = rule if isinstance(rule, dict) else {"rule": rule}
    return {
        "type": "object",
        "properties": {
            "spec": {"type": "object", "properties": properties, "x-kubernetes-validations": [rule]}
        },
    }


@pytest.mark.parametrize(
    ("rule", "properties", "value", "holds"),
    [
        ("self.min <= self.max", {"min": INTEGER, "max": INTEGER}, {"min": 1, "max": 2}, True),
        ("self.min <= self.max", {"min": INTEGER, "max": INTEGER}, {"min": 3, "max": 2}, False),
        ("!has(self.a) || self.a != ''", {"a": STRING}, {}, True),
        ("!has(self.a) || self.a != ''", {"a": STRING}, {"a": ""}, False),
        ("self.__namespace__ == 'x'", {"namespace": STRING}, {"namespace": "x"}, True),
        ("self.a__dash__b.size() == 1", {"a-b": STRING}, {"a-b": "x"}, True),
        ("self.n > 1.5", {"n": {"type": "number"}}, {"n": 2}, True),
        ("self.l.all(i, i.n > 0)", {"l": NUMBERED}, {"l": [{"n": 1}, {"n": 0}]}, False),
        ("self.m.all(k, self.m[k] != '')", {"m": STRINGS}, {"m": {"a": "b"}}, True),
        ("type(self.x) == string ? self.x == '5%' : self.x == 5", {"x": INT_OR_STRING}, {"x": 5}, True),
        ("self.?a.orValue('d') == 'd'", {"a": STRING}, {}, True),
        ("quantity(self.a).isLessThan(quantity('1Gi'))", {"a": STRING}, {"a": "500Mi"}, True),
        ("quantity(self.a) == quantity('1')", {"a": STRING}, {"a": "1000m"}, True),
        ("quantity(self.a).add(1).compareTo(quantity('2')) == 0", {"a": STRING}, {"a": "1"}, True),
        ("isQuantity(self.a)", {"a": STRING}, {"a": "1 GB"}, False),
        ("duration(self.a) < duration('1h')", {"a": STRING}, {"a": "59m"}, True),
        (
            "timestamp(self.a) < timestamp('2030-01-01T00:00:00Z')",
            {"a": STRING},
            {"a": "2020-01-01T00:00:00Z"},
            True,
        ),
        (
            "self.l.isSorted() && self.l.sum() == 6 && self.l.indexOf(3) == 2",
            {"l": INTEGERS},
            {"l": [1, 2, 3]},
            True,
        ),
        ("self.a.matches('^[a-z]+$') && self.a.find('b+') == 'bb'", {"a": STRING}, {"a": "abbc"}, True),
        ("self.a.split('-').size() == 2", {"a": STRING}, {"a": "a-b"}, True),
    ],
)
def test_a_rule_decides(rule: str, properties: dict[str, Any], value: Any, holds: bool) -> None:
    errors = validate(ruled(rule, properties), {"spec": value})
    assert ([str(e) for e in errors] == []) is holds, errors
    if not holds:
        assert [str(e) for e in errors] == [f"spec: Invalid value: failed rule: {rule}"]


@pytest.mark.parametrize(
    ("rule", "line", "reason"),
    [
        (
            {"rule": "self.a == 1", "message": "must be one"},
            "spec: Invalid value: must be one",
            FieldErrorReason.INVALID,
        ),
        (
            {"rule": "self.a == 1", "message": "no", "reason": "FieldValueForbidden", "fieldPath": ".a"},
            "spec.a: Forbidden: no",
            FieldErrorReason.FORBIDDEN,
        ),
        (
            {"rule": "self.a == 1", "messageExpression": "'a is %d'.format([self.a])", "fieldPath": ".a"},
            "spec.a: Invalid value: a is 2",
            FieldErrorReason.INVALID,
        ),
        (
            {"rule": "self.a == 1", "message": "plain", "messageExpression": "string(1 / (self.a - 2))"},
            "spec: Invalid value: plain",
            FieldErrorReason.INVALID,
        ),
        (
            {"rule": "self.b == 1"},
            'spec: Invalid value: "object": no such key: b evaluating rule: self.b == 1',
            FieldErrorReason.INVALID,
        ),
    ],
)
def test_a_failed_rule_has_its_own_message(rule: dict[str, Any], line: str, reason: FieldErrorReason) -> None:
    (error,) = validate(ruled(rule, {"a": INTEGER, "b": INTEGER}), {"spec": {"a": 2}})
    assert str(error) == line
    assert error.reason is reason


def test_a_rule_on_a_scalar_shows_its_value() -> None:
    schema = ruled(
        "true", {"a": {**INTEGER, "x-kubernetes-validations": [{"rule": "self > 1", "message": "m"}]}}
    )
    assert [str(e) for e in validate(schema, {"spec": {"a": 1}})] == ["spec.a: Invalid value: 1: m"]


IMMUTABLE = {**STRING, "x-kubernetes-validations": [{"rule": "self == oldSelf", "message": "immutable"}]}


def test_a_transition_rule_runs_only_when_there_was_a_value() -> None:
    schema = Schema(ruled("true", {"a": IMMUTABLE}))
    assert schema.validate({"spec": {"a": "x"}}) == []
    assert schema.validate({"spec": {"a": "x"}}, {"spec": {}}) == []
    assert schema.validate({"spec": {"a": "x"}}, {"spec": {"a": "x"}}) == []
    assert [e.field for e in schema.validate({"spec": {"a": "y"}}, {"spec": {"a": "x"}})] == ["spec.a"]


def list_of(list_type: str) -> dict[str, Any]:
    return {
        "type": "array",
        "x-kubernetes-list-type": list_type,
        **({"x-kubernetes-list-map-keys": ["name"]} if list_type == "map" else {}),
        "items": {"type": "object", "required": ["name"], "properties": {"name": STRING, "a": IMMUTABLE}},
    }


def test_items_of_a_map_list_are_correlated_by_key_and_others_not_at_all() -> None:
    old = {"spec": {"l": [{"name": "x", "a": "1"}, {"name": "y", "a": "2"}]}}
    new = {"spec": {"l": [{"name": "y", "a": "2"}, {"name": "x", "a": "9"}, {"name": "z", "a": "3"}]}}
    assert [e.field for e in Schema(ruled("true", {"l": list_of("map")})).validate(new, old)] == [
        "spec.l[1].a"
    ]
    assert Schema(ruled("true", {"l": list_of("atomic")})).validate(new, old) == []


def test_an_optional_old_self_runs_on_creation_too() -> None:
    rule = {"rule": "oldSelf.hasValue() || self == 'first'", "optionalOldSelf": True}
    schema = Schema(ruled("true", {"a": {**STRING, "x-kubernetes-validations": [rule]}}))
    assert schema.validate({"spec": {"a": "first"}}) == []
    assert [e.field for e in schema.validate({"spec": {"a": "other"}})] == ["spec.a"]
    assert schema.validate({"spec": {"a": "other"}}, {"spec": {"a": "first"}}) == []


def test_a_violated_rule_does_not_block_an_unrelated_update() -> None:
    schema = Schema(ruled("self.a > 5", {"a": INTEGER}))
    stale = {"spec": {"a": 1}}
    assert schema.validate({"metadata": {"labels": {"x": "y"}}, **stale}, stale) == []
    assert schema.validate({"spec": {"a": 2}}, stale) != []


def test_rules_are_skipped_for_a_malformed_object() -> None:
    errors = validate(ruled("self.a > 5", {"a": INTEGER}), {"spec": {"a": "x"}})
    assert [e.reason for e in errors] == [FieldErrorReason.TYPE_INVALID, FieldErrorReason.INVALID]
    assert str(errors[1]) == (
        "<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; "
        "correct the existing errors to complete validation"
    )


def test_a_rule_at_the_root_sees_the_name_and_no_other_metadata() -> None:
    schema = {"type": "object", "x-kubernetes-validations": [{"rule": "self.metadata.name.size() < 5"}]}
    assert validate(schema, {"metadata": {"name": "abc", "labels": {}}}) == []
    assert validate(schema, {"metadata": {"name": "abcdef"}}) != []
    with pytest.raises(SchemaError, match="undefined field 'labels'"):
        Schema({"type": "object", "x-kubernetes-validations": [{"rule": "has(self.metadata.labels)"}]})


def test_map_entries_are_written_in_brackets() -> None:
    entry = {**STRING, "x-kubernetes-validations": [{"rule": "self != ''", "message": "m"}]}
    schema = ruled("true", {"m": {"type": "object", "additionalProperties": entry}})
    assert [str(e) for e in validate(schema, {"spec": {"m": {"k": ""}}})] == [
        'spec.m[k]: Invalid value: "": m'
    ]


@pytest.mark.parametrize(
    ("rule", "says"),
    [
        ({"rule": "self.a >"}, "compilation failed"),
        ({"rule": "url(self.a).getHost() == 'x'"}, "grove.schema.cel_library"),
        ({"rule": "'text'"}, "must evaluate to a bool"),
        ({"rule": "self.a == 'self.b' && has(self.c)"}, "undefined field 'c'"),
        ({"rule": "true", "messageExpression": "self.a + self.c"}, "undefined field 'c'"),
        ({"rule": "true", "messageExpression": "1"}, "must evaluate to a string"),
        ({"rule": "true", "fieldPath": "a.b"}, "fieldPath"),
    ],
)
def test_an_unsupported_rule_is_refused_with_its_path(rule: dict[str, Any], says: str) -> None:
    with pytest.raises(SchemaError, match=r"properties\[spec\]\.x-kubernetes-validations\[0\]") as caught:
        Schema(ruled(rule, {"a": STRING}))
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("name", "escaped"),
    [
        ("plain", "plain"),
        ("namespace", "__namespace__"),
        ("a.b-c/d", "a__dot__b__dash__c__slash__d"),
        ("a__b", "a__underscores__b"),
        ("1a", None),
        ("a b", None),
    ],
)
def test_names_are_escaped_as_kubernetes_does(name: str, escaped: str | None) -> None:
    assert escape(name) == escaped
