"""Patches of each type, and types that a kind does not support."""

from __future__ import annotations

import asyncio

import pytest

from tests.contract.api import JSON_PATCH, MERGE, STRATEGIC, Api
from tests.contract.objects import WIDGETS, configmap, pod, widget


async def test_a_merge_patch_changes_adds_and_removes_by_null(api: Api) -> None:
    await api.created(api.path("configmaps"), configmap("a", one="1", two="2"))
    answer = await api.patch(api.path("configmaps", "a"), {"data": {"one": "x", "two": None, "three": "3"}})
    assert answer.code == 200
    assert answer.body["data"] == {"one": "x", "three": "3"}


async def test_a_merge_patch_replaces_lists(widgets: Api) -> None:
    await widgets.created(widgets.path(WIDGETS), widget("a", tags=["x", "y"]))
    answer = await widgets.patch(widgets.path(WIDGETS, "a"), {"spec": {"tags": ["z"]}})
    assert answer.body["spec"]["tags"] == ["z"]


async def test_removing_a_field_with_a_default_brings_the_default_back(widgets: Api) -> None:
    await widgets.created(widgets.path(WIDGETS), widget("a", size=5))
    answer = await widgets.patch(widgets.path(WIDGETS, "a"), {"spec": {"size": None}})
    assert answer.body["spec"]["size"] == 1


async def test_a_json_patch_applies_its_steps_in_order(widgets: Api) -> None:
    await widgets.created(widgets.path(WIDGETS), widget("a", tags=["x"]))
    steps = [
        {"op": "test", "path": "/spec/title", "value": "a widget"},
        {"op": "add", "path": "/spec/tags/-", "value": "y"},
        {"op": "add", "path": "/spec/tags/0", "value": "w"},
        {"op": "replace", "path": "/spec/title", "value": "new"},
        {"op": "copy", "from": "/spec/title", "path": "/spec/note"},
        {"op": "move", "from": "/spec/note", "path": "/spec/code"},
    ]
    answer = await widgets.patch(widgets.path(WIDGETS, "a"), steps, JSON_PATCH)
    assert answer.code == 200
    assert answer.body["spec"]["tags"] == ["w", "x", "y"]
    assert (answer.body["spec"]["title"], answer.body["spec"]["code"]) == ("new", "new")


async def test_keys_with_slashes_are_escaped(api: Api) -> None:
    await api.created(api.path("configmaps"), configmap("a", labels={"example.com/x": "1"}))
    steps = [{"op": "remove", "path": "/metadata/labels/example.com~1x"}]
    answer = await api.patch(api.path("configmaps", "a"), steps, JSON_PATCH)
    assert answer.body["metadata"].get("labels", {}) == {}


@pytest.mark.parametrize(
    "step",
    [
        {"op": "test", "path": "/spec/size", "value": 9},
        {"op": "remove", "path": "/spec/nope"},
        {"op": "replace", "path": "/spec/nope/deep", "value": 1},
    ],
    ids=lambda step: step["op"],
)
async def test_a_json_patch_that_does_not_apply_is_422(widgets: Api, step: dict[str, object]) -> None:
    await widgets.created(widgets.path(WIDGETS), widget("a"))
    answer = await widgets.patch(widgets.path(WIDGETS, "a"), [step], JSON_PATCH)
    assert answer.body == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": "the server rejected our request due to an error in our request",
        "reason": "Invalid",
        "details": {},
        "code": 422,
    }


@pytest.mark.parametrize(
    ("kind", "body"),
    [(JSON_PATCH, {"op": "remove"}), (JSON_PATCH, "["), (MERGE, []), (MERGE, "{")],
    ids=["json patch not a list", "json patch not json", "merge patch a list", "merge patch not json"],
)
async def test_a_malformed_patch_is_400(widgets: Api, kind: str, body: object) -> None:
    await widgets.created(widgets.path(WIDGETS), widget("a"))
    answer = await widgets.patch(widgets.path(WIDGETS, "a"), body, kind)
    assert (answer.code, answer.status()["reason"]) == (400, "BadRequest")


async def test_a_strategic_patch_merges_lists_by_key(api: Api) -> None:
    containers = [{"name": "main", "image": "app:1"}, {"name": "side", "image": "side:1"}]
    await api.created(api.path("pods"), pod("a", containers=containers))
    patch = {"spec": {"containers": [{"name": "side", "image": "side:2"}]}}
    answer = await api.patch(api.path("pods", "a"), patch, STRATEGIC)
    assert answer.code == 200
    images = [container["image"] for container in answer.body["spec"]["containers"]]
    assert images == ["app:1", "side:2"]


async def test_a_strategic_patch_removes_list_items_on_request(api: Api) -> None:
    await api.created(api.path("pods"), pod("a", gates=("x", "y")))
    patch = {"spec": {"schedulingGates": [{"name": "x", "$patch": "delete"}]}}
    answer = await api.patch(api.path("pods", "a"), patch, STRATEGIC)
    assert answer.code == 200
    assert answer.body["spec"]["schedulingGates"] == [{"name": "y"}]


async def test_custom_kinds_take_no_strategic_patch(widgets: Api) -> None:
    await widgets.created(widgets.path(WIDGETS), widget("a"))
    answer = await widgets.patch(widgets.path(WIDGETS, "a"), {}, STRATEGIC)
    assert answer.body == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": "the body of the request was in an unknown format - accepted media types include: "
        "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml",
        "reason": "UnsupportedMediaType",
        "code": 415,
    }


async def test_a_patch_of_no_known_type_is_415(api: Api) -> None:
    await api.created(api.path("configmaps"), configmap("a"))
    answer = await api.patch(api.path("configmaps", "a"), {}, "application/json")
    assert (answer.code, answer.status()["reason"]) == (415, "UnsupportedMediaType")


async def test_patching_a_missing_object_is_404(widgets: Api) -> None:
    for kind, body in ((MERGE, {"spec": {}}), (JSON_PATCH, [])):
        answer = await widgets.patch(widgets.path(WIDGETS, "a"), body, kind)
        assert (answer.code, answer.status()["reason"]) == (404, "NotFound")


async def test_a_patch_that_names_an_old_version_is_a_conflict(widgets: Api) -> None:
    obj = await widgets.created(widgets.path(WIDGETS), widget("a"))
    await widgets.patch(widgets.path(WIDGETS, "a"), {"spec": {"size": 2}})
    old = {"metadata": {"resourceVersion": obj["metadata"]["resourceVersion"]}, "spec": {"size": 3}}
    answer = await widgets.patch(widgets.path(WIDGETS, "a"), old)
    assert (answer.code, answer.status()["reason"]) == (409, "Conflict")
    assert (await widgets.get(widgets.path(WIDGETS, "a"))).body["spec"]["size"] == 2


async def test_patches_that_name_no_version_never_conflict(api: Api) -> None:
    await api.created(api.path("configmaps"), configmap("a"))
    path = api.path("configmaps", "a")
    answers = await asyncio.gather(*(api.patch(path, {"data": {f"k{n}": "v"}}) for n in range(5)))
    assert [answer.code for answer in answers] == [200] * 5
    assert len((await api.get(path)).body["data"]) == 5


async def test_a_patch_cannot_rename(widgets: Api) -> None:
    await widgets.created(widgets.path(WIDGETS), widget("a"))
    answer = await widgets.patch(widgets.path(WIDGETS, "a"), {"metadata": {"name": "b"}})
    status = answer.status()
    assert status["code"] == 400
    assert status["message"] == "the name of the object (b) does not match the name on the URL (a)"


async def test_the_result_of_a_patch_is_validated(widgets: Api) -> None:
    await widgets.created(widgets.path(WIDGETS), widget("a"))
    answer = await widgets.patch(widgets.path(WIDGETS, "a"), {"spec": None})
    assert answer.code == 422
    assert answer.causes()[0] == ("spec", "FieldValueRequired")
