"""Resource versions, history, and watches over it."""

import asyncio

import orjson
import pytest
from grove_sandbox.apiserver import ApiServer

from tests.unit.sandbox.apiserver.calls import CONFIG_MAPS, Calls, config_map, lines


@pytest.fixture
def api() -> Calls:
    return Calls(ApiServer())


async def test_one_counter_numbers_the_writes_of_all_kinds(api: Calls) -> None:
    first = await api.create(CONFIG_MAPS, config_map("a"))
    second = await api.create("/api/v1/namespaces", {"metadata": {"name": "other"}})
    assert int(second["metadata"]["resourceVersion"]) == int(first["metadata"]["resourceVersion"]) + 1


async def test_a_watch_resumes_after_the_version_it_names(api: Calls) -> None:
    await api.create(CONFIG_MAPS, config_map("a"))
    version = (await api.get(CONFIG_MAPS))["metadata"]["resourceVersion"]
    await api.create(CONFIG_MAPS, config_map("b"))
    await api.delete(f"{CONFIG_MAPS}/a")
    stream = await api.watch(CONFIG_MAPS, resourceVersion=version)
    assert await lines(stream, 2) == [("ADDED", "b"), ("DELETED", "a")]


async def test_a_watch_that_falls_behind_the_history_gets_410() -> None:
    api = Calls(ApiServer(history=5))
    await api.create(CONFIG_MAPS, config_map("a"))
    stream = await api.watch(
        CONFIG_MAPS, resourceVersion=(await api.get(CONFIG_MAPS))["metadata"]["resourceVersion"]
    )
    for value in range(20):
        await api.patch(f"{CONFIG_MAPS}/a", {"data": {"v": str(value)}})
    assert (await lines(stream, 1))[-1] == ("ERROR", "Expired")


async def test_a_compacted_server_refuses_old_versions_in_the_stream(api: Calls) -> None:
    version = (await api.create(CONFIG_MAPS, config_map("a")))["metadata"]["resourceVersion"]
    await api.create(CONFIG_MAPS, config_map("b"))
    api.server.compact()
    assert await lines(await api.watch(CONFIG_MAPS, resourceVersion=version), 1) == [("ERROR", "Expired")]


async def test_the_same_seed_gives_the_same_names_and_uids() -> None:
    names_and_uids = []
    for _ in range(2):
        api = Calls(ApiServer(seed=5))
        obj = await api.create(CONFIG_MAPS, {"metadata": {"generateName": "a-"}})
        names_and_uids.append((obj["metadata"]["name"], obj["metadata"]["uid"]))
    assert names_and_uids[0] == names_and_uids[1]


async def test_an_object_is_encoded_once_for_all_readers(api: Calls) -> None:
    await api.create(CONFIG_MAPS, config_map("a"))
    table = next(t for r, t in api.server.state.store.tables.items() if r.resource == "configmaps")
    stored = table.objects["default", "a"]
    assert stored.tail is stored.tail


@pytest.mark.looptime
async def test_an_idle_watch_gets_a_bookmark_a_minute_and_ends_on_time(api: Calls) -> None:
    stream = await api.watch(CONFIG_MAPS, allowWatchBookmarks="true", timeoutSeconds="150")
    types = [chunk.split(b'"')[3] async for chunk in stream.chunks()]
    assert types == [b"BOOKMARK"] * 3


@pytest.mark.looptime
@pytest.mark.parametrize("moment", [60, 150])  # when a bookmark is due, and when the watch ends
async def test_no_bookmark_overtakes_a_change_of_the_same_moment(api: Calls, moment: int) -> None:
    async def write() -> None:
        await asyncio.sleep(moment)
        await api.create(CONFIG_MAPS, config_map("a"))

    position, events = "0", []
    writing = asyncio.create_task(write())
    for _ in range(2):  # the second resumes after the first
        stream = await api.watch(
            CONFIG_MAPS, allowWatchBookmarks="true", timeoutSeconds="150", resourceVersion=position
        )
        async for chunk in stream.chunks():
            for line in map(orjson.loads, chunk.splitlines()):
                version = line["object"]["metadata"]["resourceVersion"]
                assert int(version) >= int(position)
                position = version
                events += [line["type"]] if line["type"] != "BOOKMARK" else []
    await writing
    assert events == ["ADDED"]
