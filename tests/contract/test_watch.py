"""Watches: events and their order, how a watch starts and ends."""

from __future__ import annotations

import pytest

from tests.contract.api import Api
from tests.contract.objects import WIDGETS, configmap, widget


async def now(api: Api, path: str) -> str:
    return (await api.get(path)).rv


async def test_changes_arrive_in_the_order_they_were_made(api: Api) -> None:
    path = api.path("configmaps")
    async with api.watch(path, resourceVersion=await now(api, path), labelSelector="suite=contract") as watch:
        await api.created(path, configmap("a", labels={"suite": "contract"}))
        await api.created(path, configmap("b", labels={"suite": "contract"}))
        await api.patch(api.path("configmaps", "a"), {"data": {"k": "v"}})
        await api.delete(api.path("configmaps", "a"))
        await api.patch(api.path("configmaps", "b"), {"data": {"k": "v"}})
        events = [await watch.next() for _ in range(5)]
    assert [(event["type"], event["object"]["metadata"]["name"]) for event in events] == [
        ("ADDED", "a"),
        ("ADDED", "b"),
        ("MODIFIED", "a"),
        ("DELETED", "a"),
        ("MODIFIED", "b"),
    ]
    versions = [int(event["object"]["metadata"]["resourceVersion"]) for event in events]
    assert versions == sorted(set(versions))


async def test_an_event_carries_the_object_as_a_read_would(widgets: Api) -> None:
    path = widgets.path(WIDGETS)
    async with widgets.watch(path, resourceVersion=await now(widgets, path)) as watch:
        obj = await widgets.created(path, widget("a"))
        assert await watch.next() == {"type": "ADDED", "object": obj}


async def test_a_built_in_object_in_an_event_names_its_kind(api: Api) -> None:
    path = api.path("configmaps")
    async with api.watch(path, fieldSelector="metadata.name=a") as watch:
        await api.created(path, configmap("a"))
        event = await watch.next()
    assert (event["object"]["apiVersion"], event["object"]["kind"]) == ("v1", "ConfigMap")


async def test_a_deleted_object_shows_its_last_state_at_the_version_of_its_end(widgets: Api) -> None:
    path = widgets.path(WIDGETS)
    obj = await widgets.created(path, widget("a", size=5))
    version = obj["metadata"]["resourceVersion"]
    async with widgets.watch(path, resourceVersion=version) as watch:
        await widgets.delete(widgets.path(WIDGETS, "a"))
        event = await watch.next()
    assert event["type"] == "DELETED"
    assert event["object"]["spec"]["size"] == 5
    assert int(event["object"]["metadata"]["resourceVersion"]) > int(version)


async def test_a_watch_from_a_version_starts_after_it(widgets: Api) -> None:
    path = widgets.path(WIDGETS)
    first = await widgets.created(path, widget("a"))
    await widgets.created(path, widget("b"))
    await widgets.patch(widgets.path(WIDGETS, "a"), {"spec": {"size": 2}})
    async with widgets.watch(path, resourceVersion=first["metadata"]["resourceVersion"]) as watch:
        assert await watch.take(2) == [("ADDED", "b"), ("MODIFIED", "a")]


@pytest.mark.parametrize("version", [{}, {"resourceVersion": "0"}], ids=["no version", "version 0"])
async def test_a_watch_without_a_version_starts_with_the_existing_objects(
    widgets: Api, version: dict[str, str]
) -> None:
    path = widgets.path(WIDGETS)
    await widgets.created(path, widget("a"))
    await widgets.created(path, widget("b"))
    # The list waits until the watch cache has both objects; a watch from version 0 alone might start earlier.
    await widgets.get(path)
    async with widgets.watch(path, **version) as watch:
        assert sorted(await watch.take(2)) == [("ADDED", "a"), ("ADDED", "b")]
        await widgets.created(path, widget("c"))
        assert await watch.take(1) == [("ADDED", "c")]


async def test_a_watch_can_be_of_one_object(widgets: Api) -> None:
    path = widgets.path(WIDGETS)
    async with widgets.watch(path, fieldSelector="metadata.name=b") as watch:
        await widgets.created(path, widget("a"))
        await widgets.created(path, widget("b"))
        assert await watch.take(1) == [("ADDED", "b")]


async def test_an_object_that_no_longer_matches_is_reported_deleted(api: Api) -> None:
    path = api.path("configmaps")
    version = await now(api, path)
    async with api.watch(path, resourceVersion=version, labelSelector="seen=yes") as watch:
        await api.created(path, configmap("a", labels={"seen": "yes"}))
        await api.patch(api.path("configmaps", "a"), {"metadata": {"labels": {"seen": "no"}}})
        await api.patch(api.path("configmaps", "a"), {"data": {"not": "seen"}})
        await api.patch(api.path("configmaps", "a"), {"metadata": {"labels": {"seen": "yes"}}})
        await api.patch(api.path("configmaps", "a"), {"data": {"k": "v"}})
        assert await watch.take(4) == [("ADDED", "a"), ("DELETED", "a"), ("ADDED", "a"), ("MODIFIED", "a")]


async def test_a_watch_of_a_namespace_sees_nothing_of_others(widgets: Api) -> None:
    path = widgets.path(WIDGETS)
    other = f"{widgets.namespace}-other"
    await widgets.created("/api/v1/namespaces", {"metadata": {"name": other}})
    async with widgets.watch(path, resourceVersion=await now(widgets, path)) as watch:
        await widgets.created(widgets.path(WIDGETS, namespace=other), widget("hidden"))
        await widgets.created(path, widget("seen"))
        assert await watch.take(1) == [("ADDED", "seen")]


async def test_a_watch_of_everything_sees_all_namespaces(widgets: Api) -> None:
    everywhere = f"/apis/{WIDGETS}"
    async with widgets.watch(everywhere, resourceVersion=await now(widgets, everywhere)) as watch:
        await widgets.created(widgets.path(WIDGETS), widget("a"))
        event = await watch.next()
    assert event["object"]["metadata"]["namespace"] == widgets.namespace


async def test_status_writes_are_modifications(widgets: Api) -> None:
    path = widgets.path(WIDGETS)
    obj = await widgets.created(path, widget("a"))
    async with widgets.watch(path, resourceVersion=obj["metadata"]["resourceVersion"]) as watch:
        await widgets.patch(widgets.path(WIDGETS, "a", "status"), {"status": {"phase": "Good"}})
        event = await watch.next()
    assert (event["type"], event["object"]["status"]) == ("MODIFIED", {"phase": "Good"})


async def test_a_write_without_a_change_sends_no_watch_event(widgets: Api) -> None:
    path = widgets.path(WIDGETS)
    obj = await widgets.created(path, widget("a"))
    async with widgets.watch(path, resourceVersion=obj["metadata"]["resourceVersion"]) as watch:
        await widgets.patch(widgets.path(WIDGETS, "a"), {"spec": {"size": 1}})
        await widgets.patch(widgets.path(WIDGETS, "a"), {"spec": {"size": 2}})
        assert (await watch.next())["object"]["spec"]["size"] == 2


async def test_a_dry_run_sends_no_watch_event(widgets: Api) -> None:
    path = widgets.path(WIDGETS)
    async with widgets.watch(path, resourceVersion=await now(widgets, path)) as watch:
        await widgets.create(path, widget("a"), dryRun="All")
        await widgets.created(path, widget("b"))
        assert await watch.take(1) == [("ADDED", "b")]


async def test_a_watch_ends_when_its_time_is_up(widgets: Api) -> None:
    async with widgets.watch(widgets.path(WIDGETS), timeoutSeconds=1) as watch:
        assert watch.code == 200
        assert await watch.rest() == []


async def test_bookmarks_carry_a_watch_past_events_that_it_does_not_get(widgets: Api) -> None:
    """A real server sends a bookmark in the last two seconds of a watch, if the version has advanced."""
    path = widgets.path(WIDGETS)
    other = f"{widgets.namespace}-other"
    await widgets.created("/api/v1/namespaces", {"metadata": {"name": other}})
    async with widgets.watch(
        path, resourceVersion=await now(widgets, path), allowWatchBookmarks="true", timeoutSeconds=5
    ) as watch:
        unseen = await widgets.created(widgets.path(WIDGETS, namespace=other), widget("unseen"))
        events = await watch.rest()
    assert {event["type"] for event in events} == {"BOOKMARK"}
    last = events[-1]["object"]
    assert (last["apiVersion"], last["kind"]) == ("contract.grove.test/v1", "Widget")
    assert set(last["metadata"]) <= {"resourceVersion", "creationTimestamp"}
    assert int(last["metadata"]["resourceVersion"]) >= int(unseen["metadata"]["resourceVersion"])
    assert "spec" not in last


async def test_no_bookmarks_without_allow_watch_bookmarks(widgets: Api) -> None:
    path = widgets.path(WIDGETS)
    async with widgets.watch(path, resourceVersion=await now(widgets, path), timeoutSeconds=4) as watch:
        assert await watch.rest() == []


async def test_a_watch_list_ends_its_first_part_with_a_bookmark(widgets: Api) -> None:
    path = widgets.path(WIDGETS)
    for name in ("a", "b"):
        await widgets.created(path, widget(name))
    version = await now(widgets, path)
    async with widgets.watch(
        path,
        sendInitialEvents="true",
        allowWatchBookmarks="true",
        resourceVersionMatch="NotOlderThan",
    ) as watch:
        assert sorted(await watch.take(2)) == [("ADDED", "a"), ("ADDED", "b")]
        bookmark = await watch.next()
        assert bookmark["type"] == "BOOKMARK"
        metadata = bookmark["object"]["metadata"]
        assert metadata["annotations"] == {"k8s.io/initial-events-end": "true"}
        assert int(metadata["resourceVersion"]) >= int(version)
        await widgets.created(path, widget("c"))
        assert await watch.take(1) == [("ADDED", "c")]


async def test_a_watch_list_of_nothing_is_just_the_bookmark(widgets: Api) -> None:
    async with widgets.watch(
        widgets.path(WIDGETS),
        sendInitialEvents="true",
        allowWatchBookmarks="true",
        resourceVersionMatch="NotOlderThan",
        labelSelector="no=such",
    ) as watch:
        assert (await watch.next())["type"] == "BOOKMARK"


async def test_a_watch_list_honours_its_selector(widgets: Api) -> None:
    path = widgets.path(WIDGETS)
    await widgets.created(path, widget("a", metadata={"labels": {"x": "1"}}))
    await widgets.created(path, widget("b"))
    async with widgets.watch(
        path,
        sendInitialEvents="true",
        allowWatchBookmarks="true",
        resourceVersionMatch="NotOlderThan",
        labelSelector="x=1",
    ) as watch:
        assert await watch.take(1) == [("ADDED", "a")]
        assert (await watch.next())["type"] == "BOOKMARK"


async def test_a_watch_list_must_say_which_version_it_wants(widgets: Api) -> None:
    answer = await widgets.get(
        widgets.path(WIDGETS), watch="true", sendInitialEvents="true", allowWatchBookmarks="true"
    )
    assert answer.code == 422
    assert answer.causes() == [("resourceVersionMatch", "FieldValueForbidden")]
    assert answer.status()["details"]["causes"][0]["message"] == (
        "Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
    )


async def test_initial_events_belong_to_watches(widgets: Api) -> None:
    answer = await widgets.get(
        widgets.path(WIDGETS), sendInitialEvents="true", resourceVersionMatch="NotOlderThan"
    )
    assert answer.code == 422
    assert ("sendInitialEvents", "FieldValueForbidden") in answer.causes()


async def test_a_watch_from_a_compacted_version_gets_410_in_the_stream(widgets: Api) -> None:
    """The kind was created after version 1, so no server has its history since then."""
    async with widgets.watch(widgets.path(WIDGETS), resourceVersion="1") as watch:
        assert watch.code == 200
        event = await watch.next()
        assert event["type"] == "ERROR"
        status = event["object"]
        assert (status["kind"], status["code"], status["reason"]) == ("Status", 410, "Expired")
        assert status["message"].startswith("too old resource version: 1 (")
        assert await watch.rest() == []


async def test_a_watch_from_a_malformed_version_is_refused(widgets: Api) -> None:
    answer = await widgets.get(widgets.path(WIDGETS), watch="true", resourceVersion="x")
    assert answer.code == 500
    assert 'Invalid value: "x"' in answer.status()["message"]
