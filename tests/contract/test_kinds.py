"""Rules of other built-in kinds that the operator reads or writes."""

from __future__ import annotations

import base64
import secrets

from tests.contract.api import STRATEGIC, Api, Json
from tests.contract.objects import node

LEASES = "coordination.k8s.io/v1/leases"
AUTOSCALERS = "autoscaling/v2/horizontalpodautoscalers"
EVENTS = "events.k8s.io/v1/events"


async def test_a_lease_keeps_microseconds(api: Api) -> None:
    spec = {
        "holderIdentity": "me",
        "leaseDurationSeconds": 15,
        "acquireTime": "2026-01-02T03:04:05.678901Z",
        "renewTime": "2026-01-02T03:04:05.678901Z",
        "leaseTransitions": 0,
    }
    body = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "a"}, "spec": spec}
    assert (await api.created(api.path(LEASES), body))["spec"] == spec


async def test_a_lease_is_taken_by_one(api: Api) -> None:
    body = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "a"},
        "spec": {"holderIdentity": "old"},
    }
    lease = await api.created(api.path(LEASES), body)
    codes = []
    for candidate in ("one", "two"):
        attempt = lease | {"spec": {"holderIdentity": candidate}}
        codes.append((await api.update(api.path(LEASES, "a"), attempt)).code)
    assert codes == [200, 409]


async def test_a_lease_lasts_at_least_a_second(api: Api) -> None:
    body = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "a"},
        "spec": {"leaseDurationSeconds": 0},
    }
    answer = await api.create(api.path(LEASES), body)
    assert answer.code == 422
    assert answer.causes() == [("spec.leaseDurationSeconds", "FieldValueInvalid")]


async def test_a_secret_takes_plain_text(api: Api) -> None:
    body = {"metadata": {"name": "a"}, "stringData": {"k": "plain"}}
    obj = await api.created(api.path("secrets"), body)
    assert obj["data"] == {"k": base64.b64encode(b"plain").decode()}
    assert obj["type"] == "Opaque"
    assert "stringData" not in obj


async def test_the_type_of_a_secret_never_changes(api: Api) -> None:
    await api.created(api.path("secrets"), {"metadata": {"name": "a"}})
    answer = await api.patch(api.path("secrets", "a"), {"type": "example.com/other"})
    assert answer.code == 422
    assert answer.causes() == [("type", "FieldValueInvalid")]


def headless(name: str) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name},
        "spec": {"clusterIP": "None", "selector": {"a": "b"}, "publishNotReadyAddresses": True},
    }


async def test_a_headless_service(api: Api) -> None:
    spec = (await api.created(api.path("services"), headless("a")))["spec"]
    assert spec["clusterIP"] == "None"
    assert spec["clusterIPs"] == ["None"]
    assert spec["publishNotReadyAddresses"] is True
    assert (spec["type"], spec["sessionAffinity"]) == ("ClusterIP", "None")


async def test_the_address_of_a_service_never_changes(api: Api) -> None:
    await api.created(api.path("services"), headless("a"))
    answer = await api.patch(api.path("services", "a"), {"spec": {"clusterIP": "10.0.0.77"}})
    assert answer.code == 422
    assert answer.causes()[0][0].startswith("spec.clusterIP")


async def test_service_ports_get_their_defaults(api: Api) -> None:
    body = headless("a")
    body["spec"]["ports"] = [{"port": 80}]
    spec = (await api.created(api.path("services"), body))["spec"]
    assert spec["ports"] == [{"protocol": "TCP", "port": 80, "targetPort": 80}]


async def test_a_service_name_is_a_dns_label(api: Api) -> None:
    answer = await api.create(api.path("services"), headless("1.bad"))
    assert answer.code == 422
    assert answer.causes()[0] == ("metadata.name", "FieldValueInvalid")


def autoscaler(**spec: object) -> Json:
    target = {"apiVersion": "contract.grove.test/v1", "kind": "Widget", "name": "a"}
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "a"},
        "spec": {"scaleTargetRef": target, "maxReplicas": 5, **spec},
    }


async def test_an_autoscaler_gets_its_defaults(api: Api) -> None:
    spec = (await api.created(api.path(AUTOSCALERS), autoscaler()))["spec"]
    assert (spec["minReplicas"], spec["maxReplicas"]) == (1, 5)
    assert spec["metrics"] == [
        {
            "type": "Resource",
            "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}},
        }
    ]


async def test_an_autoscaler_cannot_go_below_its_minimum(api: Api) -> None:
    answer = await api.create(api.path(AUTOSCALERS), autoscaler(minReplicas=9))
    assert answer.code == 422
    assert answer.causes()[0] == ("spec.maxReplicas", "FieldValueInvalid")


async def test_an_event_is_seen_through_both_groups(api: Api) -> None:
    body = {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": "a.17f3", "namespace": api.namespace},
        "eventTime": "2026-01-02T03:04:05.678901Z",
        "reportingController": "grove.io/operator",
        "reportingInstance": "operator-0",
        "action": "Scheduling",
        "reason": "GangReady",
        "type": "Normal",
        "note": "all pods exist",
        "regarding": {"kind": "Pod", "namespace": api.namespace, "name": "a"},
    }
    event = await api.created(api.path(EVENTS), body)
    old = (await api.get(api.path("events", event["metadata"]["name"]))).body
    assert (old["message"], old["reason"]) == ("all pods exist", "GangReady")
    assert old["involvedObject"]["name"] == "a"
    assert old["reportingComponent"] == "grove.io/operator"
    found = await api.get(api.path("events"), fieldSelector="involvedObject.name=a,reason=GangReady")
    assert len(found.body["items"]) == 1


async def test_an_event_of_the_new_kind_must_be_complete(api: Api) -> None:
    body = {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": "a"},
        "regarding": {"namespace": api.namespace},
    }
    timeless = await api.create(api.path(EVENTS), body)
    assert timeless.causes()[0] == ("eventTime", "FieldValueRequired")
    answer = await api.create(api.path(EVENTS), body | {"eventTime": "2026-01-02T03:04:05.678901Z"})
    assert answer.code == 422
    assert {cause[0] for cause in answer.causes()} == {
        "reportingController",
        "reportingInstance",
        "action",
        "reason",
        "type",
    }


async def test_a_node_keeps_the_status_it_registers_with(api: Api) -> None:
    name = f"node-{secrets.token_hex(4)}"
    obj = await api.created("/api/v1/nodes", node(name))
    assert obj["status"]["allocatable"] == {"cpu": "8", "memory": "32Gi", "pods": "110"}


async def test_a_node_can_be_cordoned(api: Api) -> None:
    name = f"node-{secrets.token_hex(4)}"
    await api.created("/api/v1/nodes", node(name))
    answer = await api.patch(f"/api/v1/nodes/{name}", {"spec": {"unschedulable": True}}, STRATEGIC)
    assert answer.body["spec"]["unschedulable"] is True
    found = await api.get("/api/v1/nodes", fieldSelector=f"spec.unschedulable=true,metadata.name={name}")
    assert len(found.body["items"]) == 1


async def test_a_priority_class_keeps_its_value(api: Api) -> None:
    name = f"class-{secrets.token_hex(4)}"
    path = "/apis/scheduling.k8s.io/v1/priorityclasses"
    body = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": 5,
    }
    obj = await api.created(path, body)
    assert obj["preemptionPolicy"] == "PreemptLowerPriority"
    answer = await api.patch(f"{path}/{name}", {"value": 6})
    assert answer.code == 422
    assert answer.causes() == [("value", "FieldValueForbidden")]
