"""Pods: defaults, mutable fields, gates, binding, graceful deletion, eviction."""

from __future__ import annotations

import secrets
from typing import Any

import pytest

from tests.contract.api import JSON_PATCH, STRATEGIC, Api, Json
from tests.contract.objects import binding, node, pod


def condition(obj: Json, kind: str) -> Json:
    (found,) = [c for c in obj["status"].get("conditions", []) if c["type"] == kind]
    return dict(found)


async def some_node(api: Api) -> str:
    name = f"node-{secrets.token_hex(4)}"
    await api.created("/api/v1/nodes", node(name))
    return name


async def bound(api: Api, name: str = "a", **options: Any) -> str:
    """Creates a pod and binds it. Returns the name of the node."""
    await api.created(api.path("pods"), pod(name, **options))
    where = await some_node(api)
    answer = await api.create(api.path("pods", name, "binding"), binding(name, where))
    assert answer.code == 201, answer
    return where


async def test_defaults(api: Api) -> None:
    obj = await api.created(api.path("pods"), pod("a"))
    spec = obj["spec"]
    assert {key: spec[key] for key in spec if key not in ("containers", "tolerations")} == {
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "ClusterFirst",
        "securityContext": {},
        "schedulerName": "default-scheduler",
        "enableServiceLinks": True,
        "priority": 0,
        "preemptionPolicy": "PreemptLowerPriority",
    }
    assert spec["containers"] == [
        {
            "name": "main",
            "image": "app:1",
            "resources": {},
            "terminationMessagePath": "/dev/termination-log",
            "terminationMessagePolicy": "File",
            "imagePullPolicy": "IfNotPresent",
        }
    ]
    assert obj["status"]["phase"] == "Pending"
    assert obj["status"]["qosClass"] == "BestEffort"


async def test_every_pod_tolerates_a_node_that_is_briefly_away(api: Api) -> None:
    obj = await api.created(api.path("pods"), pod("a"))
    assert [(t["key"], t["effect"], t["tolerationSeconds"]) for t in obj["spec"]["tolerations"]] == [
        ("node.kubernetes.io/not-ready", "NoExecute", 300),
        ("node.kubernetes.io/unreachable", "NoExecute", 300),
    ]


async def test_limits_become_requests_and_decide_the_quality_of_service(api: Api) -> None:
    resources = {"limits": {"cpu": "1", "memory": "1Gi"}}
    containers = [{"name": "main", "image": "app", "resources": resources}]
    obj = await api.created(api.path("pods"), pod("a", containers=containers))
    container = obj["spec"]["containers"][0]
    assert container["resources"]["requests"] == {"cpu": "1", "memory": "1Gi"}
    assert container["imagePullPolicy"] == "Always"  # no tag means latest
    assert obj["status"]["qosClass"] == "Guaranteed"


async def test_the_generation_counts_changes_of_the_spec(api: Api) -> None:
    obj = await api.created(api.path("pods"), pod("a", gates=("x",)))
    assert obj["metadata"]["generation"] == 1
    ungated = await api.patch(api.path("pods", "a"), {"spec": {"schedulingGates": None}})
    assert ungated.body["metadata"]["generation"] == 2


async def test_a_pod_needs_a_container_with_a_name(api: Api) -> None:
    empty = await api.create(api.path("pods"), pod("a", containers=[]))
    assert empty.code == 422
    assert empty.causes() == [("spec.containers", "FieldValueRequired")]
    nameless = await api.create(api.path("pods"), pod("a", containers=[{"image": "app"}]))
    assert nameless.causes() == [("spec.containers[0].name", "FieldValueRequired")]


async def test_a_pod_of_an_unknown_priority_class_is_forbidden(api: Api) -> None:
    answer = await api.create(api.path("pods"), pod("a", priorityClassName="no-such-class"))
    status = answer.status()
    assert (status["code"], status["reason"]) == (403, "Forbidden")
    assert status["message"] == ('pods "a" is forbidden: no PriorityClass with name no-such-class was found')
    assert status["details"] == {"name": "a", "kind": "pods"}


async def test_a_priority_class_gives_its_pods_their_priority(api: Api) -> None:
    name = f"class-{secrets.token_hex(4)}"
    await api.created(
        "/apis/scheduling.k8s.io/v1/priorityclasses",
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": name},
            "value": 77,
        },
    )
    obj = await api.created(api.path("pods"), pod("a", priorityClassName=name))
    assert obj["spec"]["priority"] == 77


async def test_a_gated_pod_has_the_condition_scheduling_gated(api: Api) -> None:
    obj = await api.created(api.path("pods"), pod("a", gates=("x",)))
    gated = condition(obj, "PodScheduled")
    assert (gated["status"], gated["reason"]) == ("False", "SchedulingGated")
    assert gated["message"] == "Scheduling is blocked due to non-empty scheduling gates"


async def test_gates_can_be_removed_one_by_one(api: Api) -> None:
    await api.created(api.path("pods"), pod("a", gates=("x", "y")))
    steps = [
        {"op": "test", "path": "/spec/schedulingGates/0/name", "value": "x"},
        {"op": "remove", "path": "/spec/schedulingGates/0"},
    ]
    answer = await api.patch(api.path("pods", "a"), steps, JSON_PATCH)
    assert answer.code == 200
    assert answer.body["spec"]["schedulingGates"] == [{"name": "y"}]
    last = await api.patch(api.path("pods", "a"), {"spec": {"schedulingGates": []}})
    assert "schedulingGates" not in last.body["spec"]


async def test_gates_cannot_be_added(api: Api) -> None:
    await api.created(api.path("pods"), pod("a", gates=("x",)))
    more = {"spec": {"schedulingGates": [{"name": "x"}, {"name": "y"}]}}
    answer = await api.patch(api.path("pods", "a"), more)
    status = answer.status()
    assert (status["code"], status["reason"]) == (422, "Invalid")
    assert status["message"] == (
        'Pod "a" is invalid: spec.schedulingGates[1].name: Forbidden: '
        "only deletion is allowed, but found new scheduling gate 'y'"
    )


async def test_an_ungated_pod_cannot_be_gated(api: Api) -> None:
    await api.created(api.path("pods"), pod("a"))
    answer = await api.patch(api.path("pods", "a"), {"spec": {"schedulingGates": [{"name": "x"}]}})
    assert answer.code == 422
    assert answer.causes()[0] == ("spec.schedulingGates[0].name", "FieldValueForbidden")


async def test_gate_names_are_unique(api: Api) -> None:
    answer = await api.create(api.path("pods"), pod("a", gates=("x", "x")))
    assert answer.code == 422
    assert answer.causes() == [("spec.schedulingGates[1]", "FieldValueDuplicate")]


async def test_a_gated_pod_has_no_node(api: Api) -> None:
    answer = await api.create(api.path("pods"), pod("a", gates=("x",), nodeName="n"))
    assert answer.code == 422
    assert answer.causes() == [("spec.nodeName", "FieldValueForbidden")]
    assert "cannot be set until all schedulingGates have been cleared" in answer.status()["message"]


async def test_a_gated_pod_can_still_be_steered(api: Api) -> None:
    await api.created(api.path("pods"), pod("a", gates=("x",)))
    path = api.path("pods", "a")
    answer = await api.patch(path, {"spec": {"nodeSelector": {"zone": "one"}}})
    assert (answer.code, answer.body["spec"]["nodeSelector"]) == (200, {"zone": "one"})
    loosened = await api.patch(path, {"spec": {"nodeSelector": None}})
    assert loosened.code == 422
    assert loosened.causes()[0][0] == "spec.nodeSelector"


@pytest.mark.parametrize(
    "change",
    [
        {"nodeSelector": {"zone": "one"}},
        {"schedulerName": "other"},
        {"restartPolicy": "Never"},
        {"nodeName": "n"},
        {"priorityClassName": "system-node-critical"},
    ],
    ids=lambda change: next(iter(change)),
)
async def test_the_rest_of_a_spec_never_changes(api: Api, change: Json) -> None:
    await api.created(api.path("pods"), pod("a"))
    answer = await api.patch(api.path("pods", "a"), {"spec": change})
    status = answer.status()
    assert (status["code"], status["reason"]) == (422, "Invalid")
    assert ("spec", "FieldValueForbidden") in answer.causes()
    assert "Forbidden: pod updates may not change fields other than " in status["message"]


async def test_images_and_tolerations_may_change(api: Api) -> None:
    obj = await api.created(api.path("pods"), pod("a"))
    image = {"spec": {"containers": [{"name": "main", "image": "app:2"}]}}
    answer = await api.patch(api.path("pods", "a"), image, STRATEGIC)
    assert (answer.code, answer.body["spec"]["containers"][0]["image"]) == (200, "app:2")
    more = [*obj["spec"]["tolerations"], {"key": "k", "operator": "Exists"}]
    answer = await api.patch(api.path("pods", "a"), {"spec": {"tolerations": more}})
    assert answer.code == 200


async def test_binding_puts_a_pod_on_a_node(api: Api) -> None:
    await api.created(api.path("pods"), pod("a"))
    where = await some_node(api)
    answer = await api.create(api.path("pods", "a", "binding"), binding("a", where))
    assert answer.code == 201
    assert answer.body == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "code": 201,
    }
    obj = (await api.get(api.path("pods", "a"))).body
    assert obj["spec"]["nodeName"] == where
    assert condition(obj, "PodScheduled")["status"] == "True"


async def test_binding_a_gated_pod_is_refused(api: Api) -> None:
    await api.created(api.path("pods"), pod("a", gates=("x",)))
    answer = await api.create(api.path("pods", "a", "binding"), binding("a", await some_node(api)))
    status = answer.status()
    assert (status["code"], status["reason"]) == (409, "Conflict")
    assert "has non-empty .spec.schedulingGates" in status["message"]
    assert "nodeName" not in (await api.get(api.path("pods", "a"))).body["spec"]


async def test_a_pod_is_bound_once(api: Api) -> None:
    where = await bound(api)
    answer = await api.create(api.path("pods", "a", "binding"), binding("a", await some_node(api)))
    status = answer.status()
    assert (status["code"], status["reason"]) == (409, "Conflict")
    assert f'pod a is already assigned to node "{where}"' in status["message"]


async def test_binding_a_missing_pod_is_404(api: Api) -> None:
    answer = await api.create(api.path("pods", "a", "binding"), binding("a", "n"))
    assert (answer.code, answer.status()["reason"]) == (404, "NotFound")


async def test_binding_for_another_uid_is_a_conflict(api: Api) -> None:
    await api.created(api.path("pods"), pod("a"))
    body = binding("a", await some_node(api))
    body["metadata"]["uid"] = "other"
    answer = await api.create(api.path("pods", "a", "binding"), body)
    assert (answer.code, answer.status()["reason"]) == (409, "Conflict")


async def test_a_pod_that_never_ran_is_deleted_at_once(api: Api) -> None:
    await api.created(api.path("pods"), pod("a"))
    answer = await api.delete(api.path("pods", "a"))
    assert answer.code == 200
    assert answer.body["kind"] == "Pod"
    assert (await api.get(api.path("pods", "a"))).code == 404


async def test_a_bound_pod_is_deleted_with_its_grace_period(api: Api) -> None:
    await bound(api)
    answer = await api.delete(api.path("pods", "a"))
    assert answer.code == 200
    meta = answer.body["metadata"]
    assert meta["deletionGracePeriodSeconds"] == 30
    assert meta["deletionTimestamp"] > meta["creationTimestamp"]
    stored = await api.get(api.path("pods", "a"))
    assert stored.body["metadata"]["deletionTimestamp"] == meta["deletionTimestamp"]


async def test_the_grace_period_is_the_pods_own(api: Api) -> None:
    await bound(api, terminationGracePeriodSeconds=7)
    answer = await api.delete(api.path("pods", "a"))
    assert answer.body["metadata"]["deletionGracePeriodSeconds"] == 7


async def test_the_grace_period_can_be_shortened_but_not_lengthened(api: Api) -> None:
    await bound(api)
    path = api.path("pods", "a")
    first = await api.delete(path)
    longer = await api.delete(path, {"gracePeriodSeconds": 60})
    assert longer.body["metadata"]["deletionGracePeriodSeconds"] == 30
    shorter = await api.delete(path, {"gracePeriodSeconds": 5})
    assert shorter.body["metadata"]["deletionGracePeriodSeconds"] == 5
    assert shorter.body["metadata"]["deletionTimestamp"] < first.body["metadata"]["deletionTimestamp"]


async def test_a_grace_period_of_zero_deletes_a_pod_at_once(api: Api) -> None:
    await bound(api)
    assert (await api.delete(api.path("pods", "a"), {"gracePeriodSeconds": 0})).code == 200
    assert (await api.get(api.path("pods", "a"))).code == 404


async def test_a_watch_sees_a_graceful_deletion_in_two_steps(api: Api) -> None:
    await bound(api)
    path = api.path("pods")
    version = (await api.get(path)).rv
    async with api.watch(path, resourceVersion=version) as watch:
        await api.delete(api.path("pods", "a"))
        marked = await watch.next()
        assert marked["type"] == "MODIFIED"
        assert marked["object"]["metadata"]["deletionTimestamp"]
        await api.delete(api.path("pods", "a"), {"gracePeriodSeconds": 0})
        event = await watch.next()
        while event["type"] == "MODIFIED":
            event = await watch.next()
        assert event["type"] == "DELETED"


async def test_a_finished_pod_is_deleted_at_once(api: Api) -> None:
    await bound(api)
    await api.patch(api.path("pods", "a", "status"), {"status": {"phase": "Succeeded"}})
    await api.delete(api.path("pods", "a"))
    assert (await api.get(api.path("pods", "a"))).code == 404


async def test_a_finalizer_holds_a_pod_beyond_its_grace(api: Api) -> None:
    await bound(api, metadata={"finalizers": ["contract.grove.test/wait"]})
    await api.delete(api.path("pods", "a"), {"gracePeriodSeconds": 0})
    held = await api.get(api.path("pods", "a"))
    assert held.body["metadata"]["deletionTimestamp"]
    await api.patch(api.path("pods", "a"), {"metadata": {"finalizers": None}})
    await api.gone(api.path("pods", "a"))


async def test_pod_status_is_written_through_its_subresource(api: Api) -> None:
    await api.created(api.path("pods"), pod("a"))
    ignored = await api.patch(api.path("pods", "a"), {"status": {"phase": "Running"}})
    assert ignored.body["status"]["phase"] == "Pending"
    written = await api.patch(api.path("pods", "a", "status"), {"status": {"phase": "Running"}})
    assert written.body["status"]["phase"] == "Running"


async def test_pod_conditions_merge_by_type(api: Api) -> None:
    await api.created(api.path("pods"), pod("a"))
    path = api.path("pods", "a", "status")
    for kind in ("Ready", "Initialized"):
        patch = {"status": {"conditions": [{"type": kind, "status": "True"}]}}
        answer = await api.patch(path, patch, STRATEGIC)
        assert answer.code == 200
    kinds = {c["type"] for c in answer.body["status"]["conditions"]}
    assert {"Ready", "Initialized"} <= kinds


async def test_eviction_deletes_gracefully(api: Api) -> None:
    await bound(api)
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "a"}}
    answer = await api.create(api.path("pods", "a", "eviction"), eviction)
    assert answer.code == 201
    assert answer.body["status"] == "Success"
    meta = (await api.get(api.path("pods", "a"))).body["metadata"]
    assert meta["deletionGracePeriodSeconds"] == 30


async def test_evicting_a_missing_pod_is_404(api: Api) -> None:
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "a"}}
    answer = await api.create(api.path("pods", "a", "eviction"), eviction)
    assert (answer.code, answer.status()["reason"]) == (404, "NotFound")
