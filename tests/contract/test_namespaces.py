"""Creation and deletion of namespaces. On a real cluster kube-controller-manager empties them."""

from __future__ import annotations

import secrets

from tests.contract.api import Api
from tests.contract.objects import WIDGETS, configmap, pod, widget


async def test_a_new_namespace_is_active_and_knows_its_name(api: Api) -> None:
    obj = (await api.get(f"/api/v1/namespaces/{api.namespace}")).body
    assert obj["status"]["phase"] == "Active"
    assert obj["spec"] == {"finalizers": ["kubernetes"]}
    assert obj["metadata"]["labels"] == {"kubernetes.io/metadata.name": api.namespace}


async def test_the_standard_namespaces_exist(api: Api) -> None:
    for name in ("default", "kube-system", "kube-public", "kube-node-lease"):
        assert (await api.get(f"/api/v1/namespaces/{name}")).code == 200


async def test_deleting_a_namespace_empties_and_ends_it(widgets: Api) -> None:
    await widgets.created(widgets.path("configmaps"), configmap("a"))
    await widgets.created(widgets.path(WIDGETS), widget("a"))
    await widgets.created(widgets.path("pods"), pod("a"))
    answer = await widgets.delete(f"/api/v1/namespaces/{widgets.namespace}")
    assert answer.code == 200
    assert answer.body["status"]["phase"] == "Terminating"
    await widgets.gone(f"/api/v1/namespaces/{widgets.namespace}")
    for resource in ("configmaps", WIDGETS, "pods"):
        assert (await widgets.get(widgets.path(resource))).body["items"] == []


async def test_a_finalizer_inside_holds_the_namespace(widgets: Api) -> None:
    held = widget("a", metadata={"finalizers": ["contract.grove.test/wait"]})
    await widgets.created(widgets.path(WIDGETS), held)
    await widgets.delete(f"/api/v1/namespaces/{widgets.namespace}")
    await widgets.eventually(
        widgets.path(WIDGETS, "a"), lambda answer: "deletionTimestamp" in answer.body["metadata"]
    )
    namespace = await widgets.get(f"/api/v1/namespaces/{widgets.namespace}")
    assert namespace.body["status"]["phase"] == "Terminating"
    await widgets.patch(widgets.path(WIDGETS, "a"), {"metadata": {"finalizers": None}})
    await widgets.gone(f"/api/v1/namespaces/{widgets.namespace}")


async def test_nothing_is_created_in_a_terminating_namespace(widgets: Api) -> None:
    held = widget("a", metadata={"finalizers": ["contract.grove.test/wait"]})
    await widgets.created(widgets.path(WIDGETS), held)
    await widgets.delete(f"/api/v1/namespaces/{widgets.namespace}")
    answer = await widgets.create(widgets.path("configmaps"), configmap("late"))
    name = widgets.namespace
    assert answer.body == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": f'configmaps "late" is forbidden: unable to create new content in namespace {name} '
        "because it is being terminated",
        "reason": "Forbidden",
        "details": {
            "name": "late",
            "kind": "configmaps",
            "causes": [
                {
                    "reason": "NamespaceTerminating",
                    "message": f"namespace {name} is being terminated",
                    "field": "metadata.namespace",
                }
            ],
        },
        "code": 403,
    }
    await widgets.patch(widgets.path(WIDGETS, "a"), {"metadata": {"finalizers": None}})


async def test_a_namespace_name_is_a_label(api: Api) -> None:
    answer = await api.create("/api/v1/namespaces", {"metadata": {"name": f"a.{secrets.token_hex(4)}"}})
    assert answer.code == 422
    assert answer.causes() == [("metadata.name", "FieldValueInvalid")]


async def test_the_default_namespace_cannot_be_deleted(api: Api) -> None:
    answer = await api.delete("/api/v1/namespaces/default")
    status = answer.status()
    assert (status["code"], status["reason"]) == (403, "Forbidden")
    assert status["message"] == 'namespaces "default" is forbidden: this namespace may not be deleted'
