"""Which dependents are deleted with their owner, and when."""

import asyncio
from typing import Any

import pytest
from grove_sandbox.apiserver import ApiServer

from tests.unit.sandbox.apiserver.calls import CONFIG_MAPS, PODS, Calls, config_map, pod


@pytest.fixture
def api() -> Calls:
    return Calls(ApiServer())


def owned_by(owner: dict[str, Any], *, blocks: bool = True, name: str = "child") -> dict[str, Any]:
    child = config_map(name)
    child["metadata"]["ownerReferences"] = [
        {
            "apiVersion": owner["apiVersion"],
            "kind": owner["kind"],
            "name": owner["metadata"]["name"],
            "uid": owner["metadata"]["uid"],
            "blockOwnerDeletion": blocks,
        }
    ]
    return child


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def test_background_deletion_deletes_the_owner_first(api: Calls) -> None:
    owner = await api.create(CONFIG_MAPS, config_map("owner"))
    await api.create(CONFIG_MAPS, owned_by(owner))
    await api.delete(f"{CONFIG_MAPS}/owner", propagationPolicy="Background")
    assert not await api.exists(f"{CONFIG_MAPS}/owner")
    assert await api.exists(f"{CONFIG_MAPS}/child")
    await settle()
    assert not await api.exists(f"{CONFIG_MAPS}/child")


async def test_foreground_deletion_waits_for_a_slow_dependent(api: Calls) -> None:
    owner = await api.create(CONFIG_MAPS, config_map("owner"))
    child = owned_by(owner)
    child["metadata"]["finalizers"] = ["example.com/slow"]
    await api.create(CONFIG_MAPS, child)
    await api.delete(f"{CONFIG_MAPS}/owner", propagationPolicy="Foreground")
    await settle()
    assert (await api.get(f"{CONFIG_MAPS}/owner"))["metadata"]["finalizers"] == ["foregroundDeletion"]
    await api.patch(f"{CONFIG_MAPS}/child", {"metadata": {"finalizers": None}})
    await settle()
    assert not await api.exists(f"{CONFIG_MAPS}/owner")


async def test_foreground_deletion_does_not_wait_for_a_dependent_that_does_not_block(api: Calls) -> None:
    owner = await api.create(CONFIG_MAPS, config_map("owner"))
    child = owned_by(owner, blocks=False)
    child["metadata"]["finalizers"] = ["example.com/slow"]
    await api.create(CONFIG_MAPS, child)
    await api.delete(f"{CONFIG_MAPS}/owner", propagationPolicy="Foreground")
    await settle()
    assert not await api.exists(f"{CONFIG_MAPS}/owner")
    assert (await api.get(f"{CONFIG_MAPS}/child"))["metadata"]["deletionTimestamp"]


async def test_orphans_stay_without_an_owner_reference(api: Calls) -> None:
    owner = await api.create(CONFIG_MAPS, config_map("owner"))
    await api.create(CONFIG_MAPS, owned_by(owner))
    await api.delete(f"{CONFIG_MAPS}/owner", propagationPolicy="Orphan")
    await settle()
    assert not await api.exists(f"{CONFIG_MAPS}/owner")
    assert "ownerReferences" not in (await api.get(f"{CONFIG_MAPS}/child"))["metadata"]


async def test_a_dependent_of_two_owners_stays_while_one_exists(api: Calls) -> None:
    first = await api.create(CONFIG_MAPS, config_map("first"))
    second = await api.create(CONFIG_MAPS, config_map("second"))
    child = owned_by(first)
    child["metadata"]["ownerReferences"] += owned_by(second)["metadata"]["ownerReferences"]
    await api.create(CONFIG_MAPS, child)
    await api.delete(f"{CONFIG_MAPS}/first")
    await settle()
    (left,) = (await api.get(f"{CONFIG_MAPS}/child"))["metadata"]["ownerReferences"]
    assert left["name"] == "second"
    await api.delete(f"{CONFIG_MAPS}/second")
    await settle()
    assert not await api.exists(f"{CONFIG_MAPS}/child")


async def test_a_dependent_of_an_earlier_owner_with_the_same_name_is_deleted(api: Calls) -> None:
    owner = await api.create(CONFIG_MAPS, config_map("owner"))
    child = owned_by(owner)
    child["metadata"]["ownerReferences"][0]["uid"] = "another"
    await api.create(CONFIG_MAPS, child)
    await settle()
    assert not await api.exists(f"{CONFIG_MAPS}/child")
    assert await api.exists(f"{CONFIG_MAPS}/owner")


async def test_a_chain_of_owners_is_deleted_link_by_link(api: Calls) -> None:
    owner = await api.create(CONFIG_MAPS, config_map("0"))
    for number in range(1, 6):
        owner = await api.create(CONFIG_MAPS, owned_by(owner, name=str(number)))
    await api.delete(f"{CONFIG_MAPS}/0", propagationPolicy="Foreground")
    await settle()
    assert (await api.get(CONFIG_MAPS))["items"] == []


async def test_a_bound_pod_is_collected_gracefully(api: Calls) -> None:
    owner = await api.create(CONFIG_MAPS, config_map("owner"))
    child = pod("p", nodeName="n")
    child["metadata"]["ownerReferences"] = owned_by(owner)["metadata"]["ownerReferences"]
    await api.create(PODS, child)
    await api.delete(f"{CONFIG_MAPS}/owner")
    await settle()
    assert (await api.get(f"{PODS}/p"))["metadata"]["deletionGracePeriodSeconds"] == 30
