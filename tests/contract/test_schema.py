"""Custom kinds: defaults, pruning, validation by schema and by CEL rules."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contract.api import Api
from tests.contract.objects import WIDGETS, widget

# Reported beside any error that prevents the evaluation of the rules (enums, lists as maps, CEL).
UNCHECKED = ("<nil>", "FieldValueInvalid")


async def test_defaults_are_filled_in_and_stored(widgets: Api) -> None:
    obj = await widgets.created(widgets.path(WIDGETS), widget("a"))
    assert obj["spec"] == {"title": "a widget", "size": 1, "policy": {"mode": "auto", "step": 2}}
    assert (await widgets.get(widgets.path(WIDGETS, "a"))).body["spec"] == obj["spec"]


async def test_defaults_reach_inside_what_the_client_sent(widgets: Api) -> None:
    obj = await widgets.created(
        widgets.path(WIDGETS), widget("a", policy={"mode": "off"}, parts=[{"name": "p"}])
    )
    assert obj["spec"]["policy"] == {"mode": "off", "step": 2}
    assert obj["spec"]["parts"] == [{"name": "p", "count": 1}]


async def test_a_null_where_a_default_exists_becomes_the_default(widgets: Api) -> None:
    obj = await widgets.created(widgets.path(WIDGETS), widget("a", size=None))
    assert obj["spec"]["size"] == 1


async def test_a_null_in_a_nullable_field_is_kept(widgets: Api) -> None:
    obj = await widgets.created(widgets.path(WIDGETS), widget("a", note=None))
    assert obj["spec"]["note"] is None


async def test_a_null_elsewhere_is_dropped(widgets: Api) -> None:
    obj = await widgets.created(widgets.path(WIDGETS), widget("a", color=None))
    assert "color" not in obj["spec"]


async def test_unknown_fields_are_pruned(widgets: Api) -> None:
    body = widget("a", nope=1, policy={"mode": "x", "nope": 1}) | {"nope": 1}
    obj = await widgets.created(widgets.path(WIDGETS), body)
    assert "nope" not in obj
    assert obj["spec"] == {"title": "a widget", "size": 1, "policy": {"mode": "x", "step": 2}}


async def test_unknown_fields_are_kept_where_the_schema_says_so(widgets: Api) -> None:
    extra = {"any": {"thing": [1, "two", None]}}
    obj = await widgets.created(widgets.path(WIDGETS), widget("a", extra=extra))
    assert obj["spec"]["extra"] == extra


async def test_int_or_string_takes_both(widgets: Api) -> None:
    for name, port in (("a", 80), ("b", "http")):
        obj = await widgets.created(widgets.path(WIDGETS), widget(name, port=port))
        assert obj["spec"]["port"] == port


async def test_a_number_field_takes_an_integer_and_keeps_it(widgets: Api) -> None:
    obj = await widgets.created(widgets.path(WIDGETS), widget("a", ratio=2))
    assert obj["spec"]["ratio"] == 2


@pytest.mark.parametrize(
    ("spec", "message", "causes"),
    [
        pytest.param(
            {"size": 200},
            "spec.size: Invalid value: 200: spec.size in body should be less than or equal to 100",
            [("spec.size", "FieldValueInvalid")],
            id="maximum",
        ),
        pytest.param(
            {"size": -1},
            "spec.size: Invalid value: -1: spec.size in body should be greater than or equal to 0",
            [("spec.size", "FieldValueInvalid")],
            id="minimum",
        ),
        pytest.param(
            {"size": "big"},
            'spec.size: Invalid value: "string": spec.size in body must be of type integer: "string"',
            [("spec.size", "FieldValueTypeInvalid"), UNCHECKED],
            id="type",
        ),
        pytest.param(
            {"enabled": "yes"},
            'spec.enabled: Invalid value: "string": spec.enabled in body must be of type boolean: "string"',
            [("spec.enabled", "FieldValueTypeInvalid"), UNCHECKED],
            id="boolean",
        ),
        pytest.param(
            {"color": "pink"},
            'spec.color: Unsupported value: "pink": supported values: "red", "green", "blue"',
            [("spec.color", "FieldValueNotSupported"), UNCHECKED],
            id="enum",
        ),
        pytest.param(
            {"code": "A1"},
            "spec.code: Invalid value: \"A1\": spec.code in body should match '^[a-z]+$'",
            [("spec.code", "FieldValueInvalid")],
            id="pattern",
        ),
        pytest.param(
            {"title": ""},
            'spec.title: Invalid value: "": spec.title in body should be at least 1 chars long',
            [("spec.title", "FieldValueInvalid")],
            id="min length",
        ),
        pytest.param(
            {"title": "x" * 21},
            "spec.title: Too long: may not be more than 20 bytes",
            [("spec.title", "FieldValueTooLong"), UNCHECKED],
            id="max length",
        ),
        pytest.param(
            {"parts": [{"name": str(n)} for n in range(6)]},
            "spec.parts: Too many: 6: must have at most 5 items",
            [("spec.parts", "FieldValueTooMany"), UNCHECKED],
            id="max items",
        ),
        pytest.param(
            {"parts": [{"count": 2}]},
            "spec.parts[0].name: Required value",
            [("spec.parts[0].name", "FieldValueRequired"), UNCHECKED],
            id="required in an item",
        ),
        pytest.param(
            {"parts": [{"name": "p"}, {"name": "p"}]},
            'spec.parts[1]: Duplicate value: {"name":"p"}',
            [("spec.parts[1]", "FieldValueDuplicate")],
            id="duplicate map key",
        ),
        pytest.param(
            {"tags": ["t", "t"]},
            'spec.tags[1]: Duplicate value: "t"',
            [("spec.tags[1]", "FieldValueDuplicate")],
            id="duplicate set item",
        ),
        pytest.param(
            {"limits": {"cpu": "x"}},
            'spec.limits.cpu: Invalid value: "string": spec.limits.cpu in body must be of type integer: "string"',
            [("spec.limits.cpu", "FieldValueTypeInvalid"), UNCHECKED],
            id="additional properties",
        ),
        pytest.param(
            {"port": True},
            'spec.port: Invalid value: "boolean": spec.port in body must be of type integer,string: "boolean"',
            [("spec.port", "FieldValueTypeInvalid"), UNCHECKED],
            id="int or string",
        ),
        pytest.param(
            {"low": 3, "high": 2},
            "spec: Invalid value: low must not exceed high",
            [("spec", "FieldValueInvalid")],
            id="rule",
        ),
        pytest.param(
            {"size": 13},
            "spec.size: Forbidden: a widget has an unlucky size",
            [("spec.size", "FieldValueForbidden")],
            id="rule with path, reason and expression",
        ),
    ],
)
async def test_the_schema_refuses(
    widgets: Api, spec: dict[str, Any], message: str, causes: list[tuple[str, str]]
) -> None:
    answer = await widgets.create(widgets.path(WIDGETS), widget("a", **spec))
    status = answer.status()
    assert (status["code"], status["reason"]) == (422, "Invalid")
    assert answer.causes() == causes
    head = 'Widget.contract.grove.test "a" is invalid: '
    assert status["message"].removeprefix(head).removeprefix("[").startswith(message)
    assert status["details"] | {"causes": None} == {
        "name": "a",
        "group": "contract.grove.test",
        "kind": "Widget",
        "causes": None,
    }
    first = status["details"]["causes"][0]
    assert f"{first['field']}: {first['message']}" == message


async def test_a_fraction_is_no_integer(widgets: Api) -> None:
    answer = await widgets.create(widgets.path(WIDGETS), widget("a", low=1.5))
    assert answer.code == 422
    assert answer.causes()[0] == ("spec.low", "FieldValueTypeInvalid")
    assert 'spec.low in body must be of type integer: "number"' in answer.status()["message"]


async def test_a_missing_required_field_is_named(widgets: Api) -> None:
    body = widget("a")
    del body["spec"]["title"]
    assert (await widgets.create(widgets.path(WIDGETS), body)).causes()[0] == (
        "spec.title",
        "FieldValueRequired",
    )
    del body["spec"]
    assert (await widgets.create(widgets.path(WIDGETS), body)).causes()[0] == ("spec", "FieldValueRequired")


async def test_mistakes_of_values_are_reported_together(widgets: Api) -> None:
    answer = await widgets.create(widgets.path(WIDGETS), widget("a", size=200, color="pink"))
    assert set(answer.causes()) == {
        ("spec.size", "FieldValueInvalid"),
        ("spec.color", "FieldValueNotSupported"),
        UNCHECKED,
    }


async def test_a_kind_that_does_not_belong_to_the_path_is_invalid(widgets: Api) -> None:
    answer = await widgets.create(widgets.path(WIDGETS), widget("a") | {"kind": "Gadget"})
    assert answer.code == 422
    assert answer.causes()[0] == ("kind", "FieldValueInvalid")


async def test_a_transition_rule_compares_with_the_stored_object(widgets: Api) -> None:
    path = widgets.path(WIDGETS, "a")
    await widgets.created(widgets.path(WIDGETS), widget("a", frozen="x"))
    same = await widgets.patch(path, {"spec": {"frozen": "x", "size": 2}})
    assert same.code == 200
    changed = await widgets.patch(path, {"spec": {"frozen": "y"}})
    assert changed.code == 422
    assert changed.causes() == [("spec.frozen", "FieldValueInvalid")]
    assert "frozen is immutable" in changed.status()["message"]


async def test_a_transition_rule_is_skipped_when_a_field_is_added_or_removed(widgets: Api) -> None:
    path = widgets.path(WIDGETS, "a")
    await widgets.created(widgets.path(WIDGETS), widget("a"))
    assert (await widgets.patch(path, {"spec": {"frozen": "x"}})).code == 200
    assert (await widgets.patch(path, {"spec": {"frozen": None}})).code == 200


async def test_rules_hold_for_updates_too(widgets: Api) -> None:
    await widgets.created(widgets.path(WIDGETS), widget("a", low=1, high=2))
    answer = await widgets.patch(widgets.path(WIDGETS, "a"), {"spec": {"low": 5}})
    assert answer.code == 422
    assert (await widgets.get(widgets.path(WIDGETS, "a"))).body["spec"]["low"] == 1
