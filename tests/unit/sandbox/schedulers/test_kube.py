"""kube-scheduler 1.36 and 1.37."""

from typing import Any

import pytest
from grove_sandbox.schedulers.kube.scheduler import V1_36, V1_37, V1_37_FLAT, KubeScheduler, Release
from grove_sandbox.schedulers.objects import PolicyObject, SchedulerPod

from tests.unit.sandbox.schedulers.builders import bound, look, node, pod, policy_object, reasons, where

ANY = pytest.mark.parametrize("release", [V1_36, V1_37_FLAT, V1_37], ids=["1.36", "1.37-flat", "1.37"])


def member(name: str, group: str = "g", **more: Any) -> SchedulerPod:
    return pod(name, "default-scheduler", schedulingGroup={"podGroupName": group}, **more)


def members(count: int, group: str = "g", **more: Any) -> list[SchedulerPod]:
    return [member(f"{group}-{i}", group, **more) for i in range(count)]


def group(name: str = "g", minimum: int = 2, *, key: str = "", parent: str = "", **more: Any) -> PolicyObject:
    spec: dict[str, Any] = {"schedulingPolicy": {"gang": {"minCount": minimum}}}
    if key:
        spec["schedulingConstraints"] = {"topology": [{"key": key}]}
    if parent:
        spec["parentCompositePodGroupName"] = parent
    return policy_object(name, spec | more.pop("spec", {}), **more)


def composite(name: str, children: int, *, key: str = "", parent: str = "") -> PolicyObject:
    spec: dict[str, Any] = {"schedulingPolicy": {"gang": {"minGroupCount": children}}}
    if key:
        spec["schedulingConstraints"] = {"topology": [{"key": key}]}
    if parent:
        spec["parentCompositePodGroupName"] = parent
    return policy_object(name, spec)


@ANY
def test_a_pod_without_a_group_is_scheduled_alone(release: Release) -> None:
    result = look(KubeScheduler(release), [node("n")], [pod("p", "default-scheduler"), pod("q", "other")])
    assert where(result) == {"p": "n"}


@ANY
def test_a_gang_that_fits_is_bound(release: Release) -> None:
    result = look(KubeScheduler(release), [node("n")], members(2), podgroups=[group()])
    assert bound(result) == ["g-0", "g-1"]
    (write,) = result.statuses
    condition = write.status["conditions"][0]
    assert (condition["type"], condition["status"], condition["reason"]) == (
        release.condition,
        "True",
        "Scheduled",
    )


@ANY
def test_a_gang_that_does_not_fit_binds_no_pod_and_says_why(release: Release) -> None:
    result = look(KubeScheduler(release), [node("n", "2")], members(3), podgroups=[group(minimum=3)])
    assert bound(result) == []
    assert reasons(result) == {"g-0": "Unschedulable", "g-1": "Unschedulable", "g-2": "Unschedulable"}
    condition = result.statuses[0].status["conditions"][0]
    assert (condition["status"], condition["reason"]) == ("False", "Unschedulable")
    assert "minCount (3) cannot be satisfied: 2 scheduled" in condition["message"]


@ANY
def test_a_pod_whose_group_does_not_exist_waits_without_a_word(release: Release) -> None:
    result = look(KubeScheduler(release), [node("n")], members(2), podgroups=[group("g.pg")])
    assert (bound(result), reasons(result), result.statuses) == ([], {}, [])


@ANY
def test_a_group_in_another_namespace_is_another_group(release: Release) -> None:
    elsewhere = group(namespace="other")
    assert bound(look(KubeScheduler(release), [node("n")], members(2), podgroups=[elsewhere])) == []


@ANY
def test_a_group_with_too_few_pods_waits_without_a_condition(release: Release) -> None:
    result = look(KubeScheduler(release), [node("n")], members(2), podgroups=[group(minimum=3)])
    assert (bound(result), reasons(result)) == ([], {})


@ANY
def test_pods_above_the_minimum_are_bound_as_far_as_they_fit(release: Release) -> None:
    result = look(KubeScheduler(release), [node("n", "2")], members(3), podgroups=[group()])
    assert bound(result) == ["g-0", "g-1"]
    assert reasons(result) == {"g-2": "Unschedulable"}


def test_one_gated_pod_holds_back_a_group_in_1_37_only() -> None:
    pods = [*members(2), member("late", gated=True)]
    assert bound(look(KubeScheduler(V1_36), [node("n")], pods, podgroups=[group()])) == ["g-0", "g-1"]
    result = look(KubeScheduler(V1_37), [node("n")], pods, podgroups=[group()])
    assert (bound(result), reasons(result)) == ([], {})


@ANY
def test_bound_members_count(release: Release) -> None:
    pods = [member("old", on="n"), member("new")]
    assert bound(look(KubeScheduler(release), [node("n")], pods, podgroups=[group()])) == ["new"]


@ANY
def test_a_required_topology_keeps_a_group_in_one_domain(release: Release) -> None:
    nodes = [node("a", "1", rack="r1"), node("b", "1", rack="r2"), node("c", "2", rack="r3"), node("d", "9")]
    ranked = group(minimum=2, key="example.com/rack")
    assert set(where(look(KubeScheduler(release), nodes, members(2), podgroups=[ranked])).values()) == {"c"}
    result = look(KubeScheduler(release), nodes[:2], members(2), podgroups=[ranked])
    assert bound(result) == []
    assert "0/2 placements are available" in result.statuses[0].status["conditions"][0]["message"]


@ANY
def test_replacements_go_to_the_domain_of_those_that_are_there(release: Release) -> None:
    nodes = [node("a", "9", rack="r1"), node("b", "2", rack="r2")]
    pods = [member("old", on="b"), member("new")]
    ranked = group(minimum=2, key="example.com/rack")
    assert where(look(KubeScheduler(release), nodes, pods, podgroups=[ranked])) == {"new": "b"}


def test_a_condition_that_is_true_stays_true() -> None:
    done = {"conditions": [{"type": V1_37.condition, "status": "True", "reason": "Scheduled"}]}
    result = look(KubeScheduler(V1_37), [node("n", "1")], members(2), podgroups=[group(status=done)])
    assert bound(result) == []
    assert result.statuses == []


def tree(router_parent: str = "root") -> dict[str, Any]:
    return {
        "compositepodgroups": [
            composite("root", 2, key="topology.kubernetes.io/zone"),
            composite("workers", 2, key="example.com/rack", parent="root"),
        ],
        "podgroups": [
            group("router", 1, parent=router_parent),
            group("leader", 1, parent="workers"),
            group("worker", 2, parent="workers"),
        ],
    }


TREE_PODS = [member("router-0", "router"), member("leader-0", "leader"), *members(2, "worker")]


def test_a_tree_is_bound_as_a_whole_within_its_domains() -> None:
    nodes = [
        node("a", "2", zone="z1", rack="r1"),
        node("b", "2", zone="z1", rack="r2"),
        node("c", "3", zone="z2", rack="r3"),
        node("d", "1", zone="z2", rack="r4"),
    ]
    placed = where(look(KubeScheduler(V1_37), nodes, TREE_PODS, **tree()))
    assert placed == {"router-0": "d", "leader-0": "c", "worker-0": "c", "worker-1": "c"}


def test_a_tree_that_fits_only_in_part_binds_nothing() -> None:
    nodes = [node("c", "2", zone="z2", rack="r3"), node("d", "9", zone="z1", rack="r4")]
    result = look(KubeScheduler(V1_37), [nodes[0]], TREE_PODS, **tree())
    assert bound(result) == []
    conditions = {w.key.name: w.status["conditions"][0]["status"] for w in result.statuses}
    assert conditions == {"router": "False", "leader": "False", "worker": "False"}


@pytest.mark.parametrize("missing", ["root", "workers"])
def test_a_missing_ancestor_holds_back_the_pods_below_it(missing: str) -> None:
    objects = tree()
    objects["compositepodgroups"] = [c for c in objects["compositepodgroups"] if c.name != missing]
    result = look(KubeScheduler(V1_37), [node("n", "9", zone="z", rack="r")], TREE_PODS, **objects)
    assert not {"leader-0", "worker-0", "worker-1"} & set(bound(result))


def test_a_child_that_points_to_the_wrong_parent_leaves_the_root_short() -> None:
    result = look(KubeScheduler(V1_37), [node("n", "9", zone="z", rack="r")], TREE_PODS, **tree("wrong"))
    assert bound(result) == []


def test_gangs_that_only_look_like_a_tree_are_not_one_without_composites() -> None:
    objects = tree()
    result = look(KubeScheduler(V1_37_FLAT), [node("n", "9")], TREE_PODS, podgroups=objects["podgroups"])
    assert bound(result) == []


def test_parents_in_a_circle_never_schedule() -> None:
    loop = [composite("x", 1, parent="y"), composite("y", 1, parent="x")]
    groups = [group("g", 2, parent="x")]
    result = look(KubeScheduler(V1_37), [node("n")], members(2), compositepodgroups=loop, podgroups=groups)
    assert bound(result) == []


def test_in_1_37_each_pod_must_have_the_priority_of_the_root() -> None:
    pods = members(2, priority=10)
    result = look(KubeScheduler(V1_37), [node("n")], pods, podgroups=[group()])
    assert reasons(result) == {"g-0": "SchedulerError", "g-1": "SchedulerError"}
    assert result.statuses[0].status["conditions"][0]["reason"] == "SchedulerError"
    fitting = group(spec={"priority": 10})
    assert bound(look(KubeScheduler(V1_37), [node("n")], pods, podgroups=[fitting])) == ["g-0", "g-1"]
    assert bound(look(KubeScheduler(V1_36), [node("n")], pods, podgroups=[group()])) == ["g-0", "g-1"]


@ANY
def test_members_of_two_schedulers_are_an_error(release: Release) -> None:
    pods = [member("a"), pod("b", "other", schedulingGroup={"podGroupName": "g"})]
    result = look(KubeScheduler(release), [node("n")], pods, podgroups=[group()])
    assert bound(result) == []


@ANY
def test_higher_priority_goes_first_then_age(release: Release) -> None:
    root_has_priority = {"priority": 5} if release is not V1_36 else {}
    groups = [group("low", 1), group("old", 1), group("high", 1, spec=root_has_priority)]
    pods = [member("l", "low"), member("o", "old", age=60), member("h", "high", priority=5)]
    assert bound(look(KubeScheduler(release), [node("n", "2")], pods, podgroups=groups)) == ["h", "o"]
