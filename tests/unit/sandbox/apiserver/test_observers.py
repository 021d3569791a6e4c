"""Observers of writes, by which tests check every single write."""

from contextlib import suppress

import pytest
from grove_sandbox.apiserver import ApiServer, Write
from grove_sandbox.cluster import EmbeddedCluster

from tests.unit.sandbox.apiserver.calls import CONFIG_MAPS, PODS, Calls, config_map, pod


async def test_an_observer_gets_each_write_with_the_object_before_it() -> None:
    api = Calls(ApiServer())
    seen: list[Write] = []
    api.server.on_write(seen.append)
    await api.create(CONFIG_MAPS, config_map("a", k="1"))
    await api.patch(f"{CONFIG_MAPS}/a", {"data": {"k": "2"}})
    await api.delete(f"{CONFIG_MAPS}/a")
    assert [(w.type, w.now["kind"], w.key) for w in seen] == [
        ("ADDED", "ConfigMap", ("default", "a")),
        ("MODIFIED", "ConfigMap", ("default", "a")),
        ("DELETED", "ConfigMap", ("default", "a")),
    ]
    assert seen[1].before is not None
    assert (seen[1].before["data"], seen[1].now["data"]) == ({"k": "1"}, {"k": "2"})


async def test_a_write_without_a_change_is_not_stored() -> None:
    api = Calls(ApiServer())
    await api.create(CONFIG_MAPS, config_map("a", k="1"))
    seen: list[Write] = []
    api.server.on_write(seen.append)
    await api.patch(f"{CONFIG_MAPS}/a", {"data": {"k": "1"}})
    assert seen == []


async def test_an_exception_of_an_observer_is_raised_to_the_writer_after_the_write() -> None:
    api = Calls(ApiServer())

    def object_to(write: Write) -> None:
        raise AssertionError("not this one")

    api.server.on_write(object_to)
    with pytest.raises(AssertionError, match="not this one"):
        await api.create(CONFIG_MAPS, config_map("a"))
    assert await api.exists(f"{CONFIG_MAPS}/a")


@pytest.mark.looptime
async def test_a_cluster_raises_an_observers_assertion_that_a_client_has_swallowed() -> None:
    def no_gate_may_go(write: Write) -> None:
        if write.now["kind"] == "Pod" and write.before and write.before["spec"].get("schedulingGates"):
            assert write.now["spec"].get("schedulingGates"), "a gate was removed"

    async def swallow() -> None:
        async with EmbeddedCluster(nodes=1) as cluster:
            cluster.on_write(no_gate_may_go)
            api = Calls(cluster.server)
            await api.create(PODS, pod("p", schedulingGates=[{"name": "x/y"}]))
            with suppress(AssertionError):
                await api.patch(f"{PODS}/p", {"spec": {"schedulingGates": None}})

    with pytest.raises(AssertionError, match="a gate was removed"):
        await swallow()
