"""The subresources status and scale, each of which changes only its own part of the object."""

from __future__ import annotations

from tests.contract.api import JSON_PATCH, Api, Json
from tests.contract.objects import WIDGETS, widget


async def status_of(api: Api, name: str = "a") -> Json:
    body: Json = (await api.get(api.path(WIDGETS, name))).body
    return dict(body.get("status", {}))


async def test_status_sent_on_create_is_dropped(widgets: Api) -> None:
    obj = await widgets.created(widgets.path(WIDGETS), widget("a") | {"status": {"phase": "Good"}})
    assert "status" not in obj


async def test_status_sent_to_the_object_is_dropped(widgets: Api) -> None:
    obj = await widgets.created(widgets.path(WIDGETS), widget("a"))
    answer = await widgets.update(widgets.path(WIDGETS, "a"), obj | {"status": {"phase": "Good"}})
    assert answer.code == 200
    assert "status" not in answer.body
    assert answer.rv == obj["metadata"]["resourceVersion"]
    patched = await widgets.patch(widgets.path(WIDGETS, "a"), {"status": {"phase": "Good"}})
    assert "status" not in patched.body


async def test_the_status_subresource_changes_only_the_status(widgets: Api) -> None:
    obj = await widgets.created(widgets.path(WIDGETS), widget("a"))
    body = obj | {"status": {"phase": "Good"}, "spec": {"title": "other"}}
    body["metadata"] = obj["metadata"] | {"labels": {"new": "label"}}
    answer = await widgets.update(widgets.path(WIDGETS, "a", "status"), body)
    assert answer.code == 200
    assert answer.body["status"] == {"phase": "Good"}
    assert answer.body["spec"] == obj["spec"]
    assert "labels" not in answer.body["metadata"]


async def test_a_status_write_raises_the_version_but_not_the_generation(widgets: Api) -> None:
    obj = await widgets.created(widgets.path(WIDGETS), widget("a"))
    answer = await widgets.patch(widgets.path(WIDGETS, "a", "status"), {"status": {"phase": "Good"}})
    assert answer.body["metadata"]["generation"] == 1
    assert int(answer.rv) > int(obj["metadata"]["resourceVersion"])


async def test_a_spec_write_keeps_the_status(widgets: Api) -> None:
    await widgets.created(widgets.path(WIDGETS), widget("a"))
    await widgets.patch(widgets.path(WIDGETS, "a", "status"), {"status": {"phase": "Good"}})
    answer = await widgets.patch(widgets.path(WIDGETS, "a"), {"spec": {"size": 2}})
    assert answer.body["status"] == {"phase": "Good"}
    stored = answer.body
    del stored["status"]
    replaced = await widgets.update(widgets.path(WIDGETS, "a"), stored)
    assert replaced.body["status"] == {"phase": "Good"}


async def test_the_status_subresource_returns_the_whole_object(widgets: Api) -> None:
    obj = await widgets.created(widgets.path(WIDGETS), widget("a"))
    assert (await widgets.get(widgets.path(WIDGETS, "a", "status"))).body == obj


async def test_a_status_must_fit_the_schema(widgets: Api) -> None:
    await widgets.created(widgets.path(WIDGETS), widget("a"))
    answer = await widgets.patch(widgets.path(WIDGETS, "a", "status"), {"status": {"phase": "Odd"}})
    assert answer.code == 422
    assert answer.causes()[0] == ("status.phase", "FieldValueNotSupported")


async def test_an_old_version_is_a_conflict_at_the_status_subresource_too(widgets: Api) -> None:
    obj = await widgets.created(widgets.path(WIDGETS), widget("a"))
    await widgets.patch(widgets.path(WIDGETS, "a"), {"spec": {"size": 2}})
    body = obj | {"status": {"phase": "Good"}}
    answer = await widgets.update(widgets.path(WIDGETS, "a", "status"), body)
    assert (answer.code, answer.status()["reason"]) == (409, "Conflict")


async def test_a_json_patch_can_write_a_status(widgets: Api) -> None:
    await widgets.created(widgets.path(WIDGETS), widget("a"))
    patch = [{"op": "add", "path": "/status", "value": {"replicas": 3}}]
    answer = await widgets.patch(widgets.path(WIDGETS, "a", "status"), patch, JSON_PATCH)
    assert answer.body["status"] == {"replicas": 3}


async def test_the_status_subresource_neither_creates_nor_deletes_objects(widgets: Api) -> None:
    await widgets.created(widgets.path(WIDGETS), widget("a"))
    path = widgets.path(WIDGETS, "a", "status")
    assert (await widgets.create(path, widget("a"))).code == 405
    assert (await widgets.delete(path)).code == 405


async def test_scale_shows_replicas_and_selector(widgets: Api) -> None:
    obj = await widgets.created(widgets.path(WIDGETS), widget("a", replicas=3))
    status = {"replicas": 2, "selector": "app=a"}
    written = await widgets.patch(widgets.path(WIDGETS, "a", "status"), {"status": status})
    scale = (await widgets.get(widgets.path(WIDGETS, "a", "scale"))).body
    assert (scale["apiVersion"], scale["kind"]) == ("autoscaling/v1", "Scale")
    assert scale["metadata"] == {
        "name": "a",
        "namespace": widgets.namespace,
        "uid": obj["metadata"]["uid"],
        "resourceVersion": written.rv,
        "creationTimestamp": obj["metadata"]["creationTimestamp"],
    }
    assert scale["spec"] == {"replicas": 3}
    assert scale["status"] == {"replicas": 2, "selector": "app=a"}


async def test_scaling_changes_the_spec_and_nothing_else(widgets: Api) -> None:
    await widgets.created(widgets.path(WIDGETS), widget("a", replicas=3, size=7))
    path = widgets.path(WIDGETS, "a", "scale")
    scale = (await widgets.get(path)).body
    scale["spec"]["replicas"] = 5
    scale["status"]["replicas"] = 9
    answer = await widgets.update(path, scale)
    assert answer.code == 200
    assert answer.body["spec"] == {"replicas": 5}
    obj = (await widgets.get(widgets.path(WIDGETS, "a"))).body
    assert (obj["spec"]["replicas"], obj["spec"]["size"]) == (5, 7)
    assert obj["metadata"]["generation"] == 2
    assert await status_of(widgets) == {}


async def test_scale_can_be_patched(widgets: Api) -> None:
    await widgets.created(widgets.path(WIDGETS), widget("a", replicas=3))
    answer = await widgets.patch(widgets.path(WIDGETS, "a", "scale"), {"spec": {"replicas": 0}})
    assert answer.body["kind"] == "Scale"
    assert answer.body["spec"].get("replicas", 0) == 0
    assert (await widgets.get(widgets.path(WIDGETS, "a"))).body["spec"]["replicas"] == 0


async def test_scaling_an_old_version_is_a_conflict(widgets: Api) -> None:
    await widgets.created(widgets.path(WIDGETS), widget("a", replicas=3))
    path = widgets.path(WIDGETS, "a", "scale")
    scale = (await widgets.get(path)).body
    await widgets.patch(widgets.path(WIDGETS, "a"), {"spec": {"size": 2}})
    scale["spec"]["replicas"] = 5
    answer = await widgets.update(path, scale)
    assert (answer.code, answer.status()["reason"]) == (409, "Conflict")


async def test_scale_refuses_negative_replicas(widgets: Api) -> None:
    await widgets.created(widgets.path(WIDGETS), widget("a", replicas=3))
    answer = await widgets.patch(widgets.path(WIDGETS, "a", "scale"), {"spec": {"replicas": -1}})
    assert answer.code == 422
    assert answer.causes()[0][0] == "spec.replicas"


async def test_scale_of_a_missing_object_is_404(widgets: Api) -> None:
    answer = await widgets.get(widgets.path(WIDGETS, "a", "scale"))
    assert (answer.code, answer.status()["details"]["name"]) == (404, "a")
