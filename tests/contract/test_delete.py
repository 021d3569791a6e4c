"""Deletion: preconditions, finalizers, collections."""

from __future__ import annotations

import re

from tests.contract.api import Api, Json
from tests.contract.objects import WIDGETS, configmap, widget

FINALIZER = "contract.grove.test/wait"


def held(name: str) -> Json:
    return widget(name, metadata={"finalizers": [FINALIZER]})


async def test_a_deletion_that_expects_another_uid_is_a_conflict(api: Api) -> None:
    obj = await api.created(api.path("configmaps"), configmap("a"))
    answer = await api.delete(api.path("configmaps", "a"), {"preconditions": {"uid": "other"}})
    assert answer.body == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": 'Operation cannot be fulfilled on ConfigMap "a": the UID in the precondition (other) does '
        f"not match the UID in record ({obj['metadata']['uid']}). The object might have been deleted and then "
        "recreated",
        "reason": "Conflict",
        "details": {"name": "a", "kind": "ConfigMap"},
        "code": 409,
    }


async def test_a_deletion_that_expects_another_version_is_a_conflict(api: Api) -> None:
    old = await api.created(api.path("configmaps"), configmap("a"))
    new = await api.patch(api.path("configmaps", "a"), {"data": {"k": "v"}})
    condition = {"preconditions": {"resourceVersion": old["metadata"]["resourceVersion"]}}
    answer = await api.delete(api.path("configmaps", "a"), condition)
    assert (answer.code, answer.status()["reason"]) == (409, "Conflict")
    assert answer.status()["message"] == (
        'Operation cannot be fulfilled on ConfigMap "a": the ResourceVersion in the precondition '
        f"({old['metadata']['resourceVersion']}) does not match the ResourceVersion in record ({new.rv}). "
        "The object might have been modified"
    )


async def test_a_deletion_whose_expectations_hold_goes_through(api: Api) -> None:
    obj = await api.created(api.path("configmaps"), configmap("a"))
    meta = obj["metadata"]
    condition = {"preconditions": {"uid": meta["uid"], "resourceVersion": meta["resourceVersion"]}}
    assert (await api.delete(api.path("configmaps", "a"), condition)).code == 200
    assert (await api.get(api.path("configmaps", "a"))).code == 404


async def test_a_finalizer_defers_the_deletion(widgets: Api) -> None:
    created = await widgets.created(widgets.path(WIDGETS), held("a"))
    answer = await widgets.delete(widgets.path(WIDGETS, "a"))
    assert answer.code == 200
    meta = answer.body["metadata"]
    assert answer.body["kind"] == "Widget"
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", meta["deletionTimestamp"])
    assert meta["deletionGracePeriodSeconds"] == 0
    assert meta["generation"] == created["metadata"]["generation"] + 1
    assert meta["finalizers"] == [FINALIZER]
    assert (await widgets.get(widgets.path(WIDGETS, "a"))).body == answer.body


async def test_deleting_again_changes_nothing(widgets: Api) -> None:
    await widgets.created(widgets.path(WIDGETS), held("a"))
    first = await widgets.delete(widgets.path(WIDGETS, "a"))
    second = await widgets.delete(widgets.path(WIDGETS, "a"))
    assert (second.code, second.rv) == (200, first.rv)


async def test_removing_the_last_finalizer_finishes_the_deletion(widgets: Api) -> None:
    await widgets.created(widgets.path(WIDGETS), held("a"))
    marked = await widgets.delete(widgets.path(WIDGETS, "a"))
    path = widgets.path(WIDGETS)
    async with widgets.watch(path, resourceVersion=marked.rv) as watch:
        answer = await widgets.patch(widgets.path(WIDGETS, "a"), {"metadata": {"finalizers": None}})
        assert answer.code == 200
        assert (await widgets.get(widgets.path(WIDGETS, "a"))).code == 404
        assert await watch.take(1) == [("DELETED", "a")]


async def test_an_object_that_is_being_deleted_can_still_change(widgets: Api) -> None:
    await widgets.created(widgets.path(WIDGETS), held("a"))
    await widgets.delete(widgets.path(WIDGETS, "a"))
    answer = await widgets.patch(widgets.path(WIDGETS, "a"), {"spec": {"size": 2}})
    assert (answer.code, answer.body["spec"]["size"]) == (200, 2)


async def test_an_object_that_is_being_deleted_accepts_no_new_finalizers(widgets: Api) -> None:
    await widgets.created(widgets.path(WIDGETS), held("a"))
    await widgets.delete(widgets.path(WIDGETS, "a"))
    more = {"metadata": {"finalizers": [FINALIZER, "contract.grove.test/more"]}}
    answer = await widgets.patch(widgets.path(WIDGETS, "a"), more)
    assert answer.code == 422
    assert set(answer.causes()) == {("metadata.finalizers", "FieldValueForbidden")}
    assert "no new finalizers can be added if the object is being deleted" in answer.status()["message"]


async def test_a_deletion_cannot_be_undone(widgets: Api) -> None:
    await widgets.created(widgets.path(WIDGETS), held("a"))
    marked = await widgets.delete(widgets.path(WIDGETS, "a"))
    answer = await widgets.patch(widgets.path(WIDGETS, "a"), {"metadata": {"deletionTimestamp": None}})
    stored = await widgets.get(widgets.path(WIDGETS, "a"))
    assert answer.code == 200
    assert stored.body["metadata"]["deletionTimestamp"] == marked.body["metadata"]["deletionTimestamp"]


async def test_a_name_is_taken_until_the_deletion_is_finished(widgets: Api) -> None:
    await widgets.created(widgets.path(WIDGETS), held("a"))
    await widgets.delete(widgets.path(WIDGETS, "a"))
    answer = await widgets.create(widgets.path(WIDGETS), widget("a"))
    status = answer.status()
    assert (status["code"], status["reason"]) == (409, "AlreadyExists")
    assert status["message"] == ('object is being deleted: widgets.contract.grove.test "a" already exists')


async def test_an_invalid_finalizer_name_is_refused(widgets: Api) -> None:
    answer = await widgets.create(widgets.path(WIDGETS), widget("a", metadata={"finalizers": ["no good"]}))
    assert answer.code == 422
    assert answer.causes()[0][0].startswith("metadata.finalizers")


async def test_deleting_a_collection_takes_what_matches(api: Api) -> None:
    for name, labels in {"a": {"x": "1"}, "b": {"x": "1"}, "c": {"x": "2"}}.items():
        await api.created(api.path("configmaps"), configmap(name, labels=labels))
    answer = await api.delete(api.path("configmaps"), labelSelector="x=1")
    assert answer.code == 200
    assert answer.body["kind"] == "ConfigMapList"
    assert [item["metadata"]["name"] for item in answer.body["items"]] == ["a", "b"]
    left = (await api.get(api.path("configmaps"), labelSelector="x")).body["items"]
    assert [item["metadata"]["name"] for item in left] == ["c"]


async def test_deleting_a_collection_of_custom_objects(widgets: Api) -> None:
    await widgets.created(widgets.path(WIDGETS), widget("a"))
    await widgets.created(widgets.path(WIDGETS), held("b"))
    answer = await widgets.delete(widgets.path(WIDGETS))
    assert (answer.code, answer.body["kind"]) == (200, "WidgetList")
    (left,) = (await widgets.get(widgets.path(WIDGETS))).body["items"]
    assert left["metadata"]["name"] == "b"
    assert left["metadata"]["deletionTimestamp"]


async def test_an_unknown_deletion_policy_is_refused(api: Api) -> None:
    await api.created(api.path("configmaps"), configmap("a"))
    answer = await api.delete(api.path("configmaps", "a"), {"propagationPolicy": "Sideways"})
    assert answer.code == 422
    assert answer.status()["details"]["kind"] == "DeleteOptions"
    assert (await api.get(api.path("configmaps", "a"))).code == 200


async def test_options_can_be_given_in_the_query(widgets: Api) -> None:
    await widgets.created(widgets.path(WIDGETS), widget("a"))
    answer = await widgets.delete(widgets.path(WIDGETS, "a"), propagationPolicy="Orphan")
    assert answer.code == 200
    finalizers = answer.body.get("metadata", {}).get("finalizers", [])
    assert finalizers == ["orphan"]
