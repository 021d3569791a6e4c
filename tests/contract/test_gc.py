"""Garbage collection by owner references. On a real cluster kube-controller-manager does it.

Only built-in kinds: a real collector needs up to half a minute to notice a new custom kind.
"""

from __future__ import annotations

from tests.contract.api import Api, Json
from tests.contract.objects import configmap, owner


async def child(api: Api, name: str, *owners: Json) -> Json:
    body = configmap(name)
    body["metadata"]["ownerReferences"] = list(owners)
    return await api.created(api.path("configmaps"), body)


async def test_in_background_deletion_the_owner_is_deleted_first(api: Api) -> None:
    parent = await api.created(api.path("configmaps"), configmap("parent"))
    await child(api, "child", owner(parent, controller=True, block=True))
    answer = await api.delete(api.path("configmaps", "parent"), {"propagationPolicy": "Background"})
    assert answer.body["status"] == "Success"
    assert (await api.get(api.path("configmaps", "parent"))).code == 404
    await api.gone(api.path("configmaps", "child"))


async def test_background_is_the_default(api: Api) -> None:
    parent = await api.created(api.path("configmaps"), configmap("parent"))
    await child(api, "child", owner(parent))
    await api.delete(api.path("configmaps", "parent"))
    await api.gone(api.path("configmaps", "child"))


async def test_deletion_reaches_dependents_of_dependents(api: Api) -> None:
    top = await api.created(api.path("configmaps"), configmap("top"))
    middle = await child(api, "middle", owner(top))
    await child(api, "bottom", owner(middle))
    await api.delete(api.path("configmaps", "top"))
    await api.gone(api.path("configmaps", "bottom"))


async def test_in_foreground_deletion_the_owner_waits_for_blocking_dependents(api: Api) -> None:
    parent = await api.created(api.path("configmaps"), configmap("parent"))
    await child(api, "child", owner(parent, block=True))
    hold = {"metadata": {"finalizers": ["contract.grove.test/wait"]}}
    await api.patch(api.path("configmaps", "child"), hold)
    answer = await api.delete(api.path("configmaps", "parent"), {"propagationPolicy": "Foreground"})
    assert answer.body["metadata"]["finalizers"] == ["foregroundDeletion"]
    assert answer.body["metadata"]["deletionTimestamp"]
    await api.eventually(
        api.path("configmaps", "child"), lambda answer: "deletionTimestamp" in answer.body["metadata"]
    )
    assert (await api.get(api.path("configmaps", "parent"))).code == 200
    await api.patch(api.path("configmaps", "child"), {"metadata": {"finalizers": None}})
    await api.gone(api.path("configmaps", "parent"))


async def test_in_foreground_deletion_the_owner_does_not_wait_for_other_dependents(api: Api) -> None:
    parent = await api.created(api.path("configmaps"), configmap("parent"))
    await child(api, "child", owner(parent, block=False))
    hold = {"metadata": {"finalizers": ["contract.grove.test/wait"]}}
    await api.patch(api.path("configmaps", "child"), hold)
    await api.delete(api.path("configmaps", "parent"), {"propagationPolicy": "Foreground"})
    await api.gone(api.path("configmaps", "parent"))
    await api.eventually(
        api.path("configmaps", "child"), lambda answer: "deletionTimestamp" in answer.body["metadata"]
    )


async def test_orphans_lose_their_owner_reference_and_stay(api: Api) -> None:
    parent = await api.created(api.path("configmaps"), configmap("parent"))
    await child(api, "child", owner(parent))
    answer = await api.delete(api.path("configmaps", "parent"), {"propagationPolicy": "Orphan"})
    assert answer.body["metadata"]["finalizers"] == ["orphan"]
    await api.gone(api.path("configmaps", "parent"))
    orphan = await api.get(api.path("configmaps", "child"))
    assert orphan.code == 200
    assert "ownerReferences" not in orphan.body["metadata"]


async def test_an_object_lives_while_one_owner_does(api: Api) -> None:
    one = await api.created(api.path("configmaps"), configmap("one"))
    two = await api.created(api.path("configmaps"), configmap("two"))
    await child(api, "child", owner(one), owner(two))
    await api.delete(api.path("configmaps", "one"))
    left = await api.eventually(
        api.path("configmaps", "child"), lambda answer: len(answer.body["metadata"]["ownerReferences"]) == 1
    )
    assert left.body["metadata"]["ownerReferences"][0]["name"] == "two"
    await api.delete(api.path("configmaps", "two"))
    await api.gone(api.path("configmaps", "child"))


async def test_an_object_whose_owner_never_was_is_collected(api: Api) -> None:
    parent = await api.created(api.path("configmaps"), configmap("parent"))
    stranger = owner(parent) | {"name": "stranger", "uid": "00000000-0000-0000-0000-000000000000"}
    await child(api, "child", stranger)
    await api.gone(api.path("configmaps", "child"))


async def test_a_new_object_of_the_same_name_is_not_the_owner(api: Api) -> None:
    parent = await api.created(api.path("configmaps"), configmap("parent"))
    await api.delete(api.path("configmaps", "parent"))
    await api.created(api.path("configmaps"), configmap("parent"))
    await child(api, "child", owner(parent))
    await api.gone(api.path("configmaps", "child"))
    assert (await api.get(api.path("configmaps", "parent"))).code == 200


async def test_pods_are_collected_gracefully(api: Api) -> None:
    parent = await api.created(api.path("configmaps"), configmap("parent"))
    body = {
        "metadata": {"name": "child", "ownerReferences": [owner(parent)]},
        "spec": {"containers": [{"name": "main", "image": "app"}], "nodeName": "node-of-no-one"},
    }
    await api.created(api.path("pods"), body)
    await api.delete(api.path("configmaps", "parent"))
    ending = await api.eventually(
        api.path("pods", "child"), lambda answer: "deletionTimestamp" in answer.body["metadata"]
    )
    assert ending.body["metadata"]["deletionGracePeriodSeconds"] == 30
