"""Metadata: names, uids, resource versions, generations, owners."""

from __future__ import annotations

import re

from tests.contract.api import Api
from tests.contract.objects import WIDGETS, configmap, owner, widget


async def test_the_server_fills_in_identity(api: Api) -> None:
    meta = (await api.created(api.path("configmaps"), configmap("a", k="v")))["metadata"]
    assert meta["namespace"] == api.namespace
    assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", meta["uid"])
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", meta["creationTimestamp"])
    assert meta["resourceVersion"].isdigit()
    assert "generation" not in meta  # kinds without a spec have no generation


async def test_identity_sent_by_the_client_is_replaced(api: Api) -> None:
    body = configmap("a")
    body["metadata"] |= {"uid": "mine", "creationTimestamp": "2001-01-01T00:00:00Z"}
    meta = (await api.created(api.path("configmaps"), body))["metadata"]
    assert meta["uid"] != "mine"
    assert not meta["creationTimestamp"].startswith("2001")


async def test_a_new_object_must_not_bring_a_resource_version(api: Api) -> None:
    body = configmap("a")
    body["metadata"]["resourceVersion"] = "5"
    answer = await api.create(api.path("configmaps"), body)
    assert answer.code == 500
    assert answer.status()["message"] == "resourceVersion should not be set on objects to be created"


async def test_generate_name_adds_five_characters(api: Api) -> None:
    body = {"metadata": {"generateName": "gen-"}}
    names = [(await api.created(api.path("configmaps"), body))["metadata"]["name"] for _ in range(3)]
    assert len(set(names)) == 3
    for name in names:
        assert re.fullmatch(r"gen-[bcdfghjklmnpqrstvwxz2456789]{5}", name)


async def test_generate_name_cuts_a_long_base_to_63_characters(api: Api) -> None:
    body = {"metadata": {"generateName": "x" * 80 + "-"}}
    name = (await api.created(api.path("configmaps"), body))["metadata"]["name"]
    assert name[:58] == "x" * 58
    assert len(name) == 63


async def test_a_name_wins_over_generate_name(api: Api) -> None:
    body = {"metadata": {"name": "a", "generateName": "gen-"}}
    assert (await api.created(api.path("configmaps"), body))["metadata"]["name"] == "a"


async def test_every_write_raises_the_resource_version(api: Api) -> None:
    first = await api.created(api.path("configmaps"), configmap("a"))
    second = await api.created(api.path("configmaps"), configmap("b"))
    third = await api.patch(api.path("configmaps", "a"), {"data": {"k": "v"}})
    versions = [int(obj["metadata"]["resourceVersion"]) for obj in (first, second, third.body)]
    assert versions == sorted(set(versions))
    listed = await api.get(api.path("configmaps"))
    assert int(listed.rv) >= versions[-1]


async def test_a_write_without_a_change_keeps_the_resource_version(api: Api) -> None:
    await api.created(api.path("configmaps"), configmap("a", k="v"))
    before = await api.get(api.path("configmaps", "a"))
    assert (await api.update(api.path("configmaps", "a"), before.body)).rv == before.rv
    assert (await api.patch(api.path("configmaps", "a"), {"data": {"k": "v"}})).rv == before.rv


async def test_built_in_kinds_take_an_update_without_a_version(api: Api) -> None:
    await api.created(api.path("configmaps"), configmap("a"))
    answer = await api.update(api.path("configmaps", "a"), configmap("a", k="new"))
    assert answer.code == 200
    assert answer.body["data"] == {"k": "new"}


async def test_custom_kinds_refuse_an_update_without_a_version(widgets: Api) -> None:
    await widgets.created(widgets.path(WIDGETS), widget("a"))
    answer = await widgets.update(widgets.path(WIDGETS, "a"), widget("a", size=3))
    assert answer.code == 422
    assert answer.causes() == [("metadata.resourceVersion", "FieldValueInvalid")]
    assert answer.status()["message"].endswith("must be specified for an update")


async def test_updating_a_missing_object_does_not_create_it(api: Api) -> None:
    answer = await api.update(api.path("configmaps", "a"), configmap("a"))
    assert answer.code == 404
    assert (await api.get(api.path("configmaps", "a"))).code == 404


async def test_the_generation_counts_changes_of_the_spec_only(widgets: Api) -> None:
    path = widgets.path(WIDGETS, "a")
    obj = await widgets.created(widgets.path(WIDGETS), widget("a"))
    assert obj["metadata"]["generation"] == 1
    labelled = await widgets.patch(path, {"metadata": {"labels": {"a": "b"}}})
    assert labelled.body["metadata"]["generation"] == 1
    resized = await widgets.patch(path, {"spec": {"size": 2}})
    assert resized.body["metadata"]["generation"] == 2
    same = await widgets.patch(path, {"spec": {"size": 2}})
    assert same.body["metadata"]["generation"] == 2


async def test_a_client_cannot_set_the_generation(widgets: Api) -> None:
    obj = await widgets.created(widgets.path(WIDGETS), widget("a"))
    obj["metadata"]["generation"] = 40
    answer = await widgets.update(widgets.path(WIDGETS, "a"), obj)
    assert answer.body["metadata"]["generation"] == 1


async def test_a_uid_never_changes(widgets: Api) -> None:
    await widgets.created(widgets.path(WIDGETS), widget("a"))
    answer = await widgets.patch(widgets.path(WIDGETS, "a"), {"metadata": {"uid": "other"}})
    assert answer.code in (409, 422), answer


async def test_a_creation_time_never_changes(widgets: Api) -> None:
    obj = await widgets.created(widgets.path(WIDGETS), widget("a"))
    stamp = {"metadata": {"creationTimestamp": "2001-01-01T00:00:00Z"}}
    answer = await widgets.patch(widgets.path(WIDGETS, "a"), stamp)
    assert answer.code == 200
    assert answer.body["metadata"]["creationTimestamp"] == obj["metadata"]["creationTimestamp"]


async def test_a_client_cannot_start_a_deletion_by_writing_a_timestamp(widgets: Api) -> None:
    await widgets.created(widgets.path(WIDGETS), widget("a"))
    stamp = {"metadata": {"deletionTimestamp": "2001-01-01T00:00:00Z"}}
    answer = await widgets.patch(widgets.path(WIDGETS, "a"), stamp)
    assert answer.code == 422
    assert (await widgets.get(widgets.path(WIDGETS, "a"))).body["metadata"].get("deletionTimestamp") is None


async def test_a_recreated_object_is_another_object(api: Api) -> None:
    first = await api.created(api.path("configmaps"), configmap("a"))
    await api.delete(api.path("configmaps", "a"))
    second = await api.created(api.path("configmaps"), configmap("a"))
    assert first["metadata"]["uid"] != second["metadata"]["uid"]
    assert int(second["metadata"]["resourceVersion"]) > int(first["metadata"]["resourceVersion"]) + 1


async def test_an_owner_reference_needs_all_its_parts(api: Api) -> None:
    body = configmap("a")
    body["metadata"]["ownerReferences"] = [{"apiVersion": "v1", "kind": "ConfigMap", "name": "", "uid": ""}]
    answer = await api.create(api.path("configmaps"), body)
    assert answer.code == 422
    if api.k8s in ("1.35", "1.36"):
        where, why = "metadata.ownerReferences", "FieldValueInvalid"
    else:
        where, why = "metadata.ownerReferences[0]", "FieldValueRequired"
    assert answer.causes() == [(f"{where}.name", why), (f"{where}.uid", why)]


async def test_an_object_has_at_most_one_controller(api: Api) -> None:
    one = await api.created(api.path("configmaps"), configmap("one"))
    two = await api.created(api.path("configmaps"), configmap("two"))
    body = configmap("a")
    body["metadata"]["ownerReferences"] = [owner(one, controller=True), owner(two, controller=True)]
    answer = await api.create(api.path("configmaps"), body)
    assert answer.code == 422
    assert answer.causes() == [("metadata.ownerReferences", "FieldValueInvalid")]
    assert "Only one reference can have Controller set to true" in answer.status()["message"]


async def test_config_map_data_must_be_strings(api: Api) -> None:
    body = configmap("a")
    body["data"] = {"k": 5}
    status = (await api.create(api.path("configmaps"), body)).status()
    assert (status["code"], status["reason"]) == (400, "BadRequest")


async def test_an_immutable_config_map_stays_as_it_is(api: Api) -> None:
    await api.created(api.path("configmaps"), configmap("a", k="v") | {"immutable": True})
    answer = await api.patch(api.path("configmaps", "a"), {"data": {"k": "w"}})
    assert answer.code == 422
    assert ("data", "FieldValueForbidden") in answer.causes()
