"""The native gang kinds, by release."""

import asyncio
from typing import Any

import pytest
from grove_sandbox.apiserver import ApiServer
from grove_sandbox.apiserver.schema.definitions import Dialect

from tests.unit.sandbox.apiserver.calls import PODS, Calls, pod

BETA = "/apis/scheduling.k8s.io/v1beta1/namespaces/default"
ALPHA = "/apis/scheduling.k8s.io/v1alpha3/namespaces/default"
GANG: dict[str, Any] = {"gang": {"minCount": 2}}


def api(dialect: Dialect) -> Calls:
    return Calls(ApiServer(dialect=dialect))


def group(name: str, **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"schedulingPolicy": GANG, **spec}}


@pytest.mark.parametrize(
    ("dialect", "served"),
    [
        ("1.34", set()),
        ("1.35", {"v1alpha1/workloads"}),
        ("1.36", {"v1alpha2/workloads", "v1alpha2/podgroups"}),
        (
            "1.37",
            {
                "v1beta1/workloads",
                "v1beta1/podgroups",
                "v1alpha3/workloads",
                "v1alpha3/podgroups",
                "v1alpha3/compositepodgroups",
            },
        ),
    ],
)
async def test_each_release_serves_its_own_kinds(dialect: Dialect, served: set[str]) -> None:
    registry = api(dialect).server.state.registry
    found = {f"{t.version}/{t.plural}" for t in registry if t.group == "scheduling.k8s.io"}
    assert found - {"v1/priorityclasses"} == served


@pytest.mark.parametrize(
    ("dialect", "kept"),
    [
        ("1.34", set()),
        ("1.35", {"workloadRef"}),
        ("1.36", {"schedulingGroup"}),
        ("1.37", {"schedulingGroup"}),
    ],
)
async def test_a_pods_link_of_another_release_is_dropped(dialect: Dialect, kept: set[str]) -> None:
    links = {"workloadRef": {"name": "w", "podGroup": "g"}, "schedulingGroup": {"podGroupName": "g"}}
    spec = (await api(dialect).create(PODS, pod("p", **links)))["spec"]
    assert spec.keys() & links.keys() == kept


async def test_a_podgroup_is_seen_in_both_versions() -> None:
    calls = api("1.37")
    await calls.create(f"{BETA}/podgroups", group("g"))
    seen = await calls.get(f"{ALPHA}/podgroups/g")
    assert seen["apiVersion"] == "scheduling.k8s.io/v1alpha3"
    assert seen["spec"]["disruptionMode"] == {"single": {}}
    assert "generation" not in seen["metadata"]


async def test_the_minimum_of_a_podgroup_may_change_and_nothing_else() -> None:
    calls = api("1.37")
    await calls.create(f"{BETA}/podgroups", group("g"))
    changed = await calls.patch(
        f"{BETA}/podgroups/g", {"spec": {"schedulingPolicy": {"gang": {"minCount": 3}}}}
    )
    assert changed["spec"]["schedulingPolicy"] == {"gang": {"minCount": 3}}
    topology = {"spec": {"schedulingConstraints": {"topology": [{"key": "zone"}]}}}
    status, answer = await calls.call(
        "PATCH", f"{BETA}/podgroups/g", topology, "application/merge-patch+json"
    )
    assert (status, answer["details"]["causes"][0]["field"]) == (422, "spec.schedulingConstraints")


async def test_a_policy_is_exactly_one_of_two() -> None:
    both = {"schedulingPolicy": {"gang": {"minCount": 1}, "basic": {}}}
    status, answer = await api("1.37").call("POST", f"{BETA}/podgroups", group("g", **both))
    assert status == 422
    assert "exactly one of" in answer["message"]


async def test_a_podgroup_in_use_outlives_its_deletion() -> None:
    calls = api("1.37")
    await calls.create(f"{BETA}/podgroups", group("g"))
    await calls.create(PODS, pod("p", schedulingGroup={"podGroupName": "g"}))
    await calls.delete(f"{BETA}/podgroups/g")
    await asyncio.sleep(0)
    assert (await calls.get(f"{BETA}/podgroups/g"))["metadata"]["deletionTimestamp"]
    await calls.delete(f"{PODS}/p")
    await asyncio.sleep(0)
    assert not await calls.exists(f"{BETA}/podgroups/g")


async def test_a_gang_takes_its_priority_from_its_class() -> None:
    calls = api("1.37")
    classes = "/apis/scheduling.k8s.io/v1/priorityclasses"
    await calls.create(classes, {"metadata": {"name": "high"}, "value": 100})
    created = await calls.create(f"{BETA}/podgroups", group("g", priorityClassName="high"))
    assert created["spec"]["priority"] == 100
    status, answer = await calls.call("POST", f"{BETA}/podgroups", group("h", priorityClassName="none"))
    assert (status, answer["reason"]) == (403, "Forbidden")


async def test_templates_of_a_workload_have_names_of_their_own() -> None:
    leaf = {"name": "same", "schedulingPolicy": GANG}
    tree = {
        "name": "same",
        "schedulingPolicy": {"gang": {"minGroupCount": 1}},
        "podGroupTemplates": [leaf],
    }
    body = {"metadata": {"name": "w"}, "spec": {"compositePodGroupTemplates": [tree]}}
    status, answer = await api("1.37").call("POST", f"{ALPHA}/workloads", body)
    assert status == 422
    assert "Duplicate value" in answer["message"]


async def test_in_1_36_a_podgroup_needs_the_template_it_names() -> None:
    calls = api("1.36")
    path = "/apis/scheduling.k8s.io/v1alpha2/namespaces/default"
    ref = {"podGroupTemplateRef": {"workload": {"workloadName": "w", "podGroupTemplateName": "t"}}}
    status, _ = await calls.call("POST", f"{path}/podgroups", group("g", **ref))
    assert status == 403
    template = {"name": "t", "schedulingPolicy": GANG}
    await calls.create(
        f"{path}/workloads", {"metadata": {"name": "w"}, "spec": {"podGroupTemplates": [template]}}
    )
    created = await calls.create(f"{path}/podgroups", group("g", **ref))
    assert created["spec"]["disruptionMode"] == "Pod"
