"""Server-side apply: ownership of fields, conflicts, removal."""

from __future__ import annotations

from typing import Any

from tests.contract.api import APPLY, Answer, Api, Json
from tests.contract.objects import WIDGETS, configmap, pod, widget


async def apply(api: Api, path: str, body: Json, manager: str, **options: Any) -> Answer:
    return await api.patch(path, body, APPLY, fieldManager=manager, **options)


def managers(obj: Json) -> dict[str, Json]:
    return {entry["manager"]: entry for entry in obj["metadata"]["managedFields"]}


async def test_applying_to_nothing_creates(api: Api) -> None:
    answer = await apply(api, api.path("configmaps", "a"), configmap("a", k="v"), "one")
    assert answer.code == 201
    assert answer.body["data"] == {"k": "v"}
    entry = managers(answer.body)["one"]
    assert (entry["operation"], entry["apiVersion"], entry["fieldsType"]) == ("Apply", "v1", "FieldsV1")
    assert entry["fieldsV1"]["f:data"] == {"f:k": {}}


async def test_an_apply_needs_a_manager(api: Api) -> None:
    answer = await api.patch(api.path("configmaps", "a"), configmap("a"), APPLY)
    assert answer.body == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": 'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: '
        "is required for apply patch",
        "reason": "Invalid",
        "details": {
            "group": "meta.k8s.io",
            "kind": "PatchOptions",
            "causes": [
                {
                    "reason": "FieldValueRequired",
                    "message": "Required value: is required for apply patch",
                    "field": "fieldManager",
                }
            ],
        },
        "code": 422,
    }


async def test_applying_again_removes_fields_that_are_no_longer_applied(api: Api) -> None:
    path = api.path("configmaps", "a")
    await apply(api, path, configmap("a", k="v", gone="soon"), "one")
    answer = await apply(api, path, configmap("a", k="v"), "one")
    assert (answer.code, answer.body["data"]) == (200, {"k": "v"})


async def test_applying_the_same_changes_nothing(api: Api) -> None:
    path = api.path("configmaps", "a")
    first = await apply(api, path, configmap("a", k="v"), "one")
    second = await apply(api, path, configmap("a", k="v"), "one")
    assert second.rv == first.rv


async def test_managers_of_different_fields_do_not_conflict(api: Api) -> None:
    path = api.path("configmaps", "a")
    await apply(api, path, configmap("a", one="1"), "one")
    answer = await apply(api, path, configmap("a", two="2"), "two")
    assert answer.body["data"] == {"one": "1", "two": "2"}
    answer = await apply(api, path, configmap("a"), "one")
    assert answer.body["data"] == {"two": "2"}


async def test_another_managers_value_is_a_conflict(api: Api) -> None:
    path = api.path("configmaps", "a")
    await apply(api, path, configmap("a", k="1"), "one")
    answer = await apply(api, path, configmap("a", k="2"), "two")
    assert answer.body == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": 'Apply failed with 1 conflict: conflict with "one": .data.k',
        "reason": "Conflict",
        "details": {
            "causes": [
                {"reason": "FieldManagerConflict", "message": 'conflict with "one"', "field": ".data.k"}
            ]
        },
        "code": 409,
    }


async def test_force_takes_a_field_over(api: Api) -> None:
    path = api.path("configmaps", "a")
    await apply(api, path, configmap("a", k="1", other="x"), "one")
    answer = await apply(api, path, configmap("a", k="2"), "two", force="true")
    assert (answer.code, answer.body["data"]) == (200, {"k": "2", "other": "x"})
    owners = managers(answer.body)
    assert owners["two"]["fieldsV1"]["f:data"] == {"f:k": {}}
    assert owners["one"]["fieldsV1"]["f:data"] == {"f:other": {}}


async def test_two_managers_that_apply_the_same_value_share_the_field(api: Api) -> None:
    path = api.path("configmaps", "a")
    await apply(api, path, configmap("a", k="1"), "one")
    assert (await apply(api, path, configmap("a", k="1"), "two")).code == 200
    answer = await apply(api, path, configmap("a"), "one")
    assert answer.body["data"] == {"k": "1"}


async def test_an_update_takes_fields_over_without_a_conflict(api: Api) -> None:
    path = api.path("configmaps", "a")
    await apply(api, path, configmap("a", k="1"), "one")
    await api.patch(path, {"data": {"k": "2"}}, fieldManager="editor")
    answer = await apply(api, path, configmap("a", k="1"), "one")
    assert answer.code == 409
    cause = answer.status()["details"]["causes"][0]
    assert (cause["reason"], cause["field"]) == ("FieldManagerConflict", ".data.k")
    assert cause["message"].startswith('conflict with "editor" using v1')


async def test_lists_merge_by_their_keys(api: Api) -> None:
    path = api.path("pods", "a")
    await apply(api, path, pod("a", containers=[{"name": "main", "image": "app:1"}]), "one")
    change = pod("a", containers=[{"name": "main", "image": "app:2"}])
    answer = await apply(api, path, change, "one")
    assert answer.code == 200
    assert [c["image"] for c in answer.body["spec"]["containers"]] == ["app:2"]
    assert "f:containers" in managers(answer.body)["one"]["fieldsV1"]["f:spec"]


async def test_custom_lists_merge_by_the_keys_of_their_schema(widgets: Api) -> None:
    path = widgets.path(WIDGETS, "a")
    await apply(widgets, path, widget("a", parts=[{"name": "p", "count": 3}]), "one")
    other = widget("a") | {"spec": {"parts": [{"name": "q"}]}}
    answer = await apply(widgets, path, other, "two")
    assert answer.code == 200
    assert answer.body["spec"]["parts"] == [{"name": "p", "count": 3}, {"name": "q", "count": 1}]


async def test_sets_merge_by_value(widgets: Api) -> None:
    path = widgets.path(WIDGETS, "a")
    await apply(widgets, path, widget("a", tags=["x"]), "one")
    other = widget("a") | {"spec": {"tags": ["y"]}}
    answer = await apply(widgets, path, other, "two")
    assert answer.body["spec"]["tags"] == ["x", "y"]


async def test_applying_a_status_leaves_the_rest(widgets: Api) -> None:
    await widgets.created(widgets.path(WIDGETS), widget("a"))
    body = {
        "apiVersion": "contract.grove.test/v1",
        "kind": "Widget",
        "metadata": {"name": "a"},
        "status": {"phase": "Good"},
    }
    answer = await apply(widgets, widgets.path(WIDGETS, "a", "status"), body, "one")
    assert answer.code == 200
    assert answer.body["status"] == {"phase": "Good"}
    assert answer.body["spec"]["title"] == "a widget"
    assert managers(answer.body)["one"]["subresource"] == "status"


async def test_what_is_applied_is_validated(widgets: Api) -> None:
    answer = await apply(widgets, widgets.path(WIDGETS, "a"), widget("a", size=200), "one")
    assert answer.code == 422
    assert answer.causes()[0] == ("spec.size", "FieldValueInvalid")


async def test_a_dry_run_apply_stores_nothing(api: Api) -> None:
    path = api.path("configmaps", "a")
    answer = await apply(api, path, configmap("a", k="v"), "one", dryRun="All")
    assert answer.code == 201
    assert (await api.get(path)).code == 404
