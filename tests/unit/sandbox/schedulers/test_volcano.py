"""Volcano."""

from typing import Any

import pytest
from grove_sandbox.schedulers.objects import PolicyObject, SchedulerPod
from grove_sandbox.schedulers.policy import Round
from grove_sandbox.schedulers.volcano.scheduler import VolcanoScheduler

from tests.unit.sandbox.schedulers.builders import bound, look, node, pod, policy_object, reasons, where

OPEN = policy_object("default", {}, status={"state": "Open"}, namespace=None)


def member(name: str, role: str = "", **more: Any) -> SchedulerPod:
    annotations = {"scheduling.k8s.io/group-name": "g"} | more.pop("annotations", {})
    labels = {"role": role, "gang": "g"} if role else {}
    return pod(name, "volcano", annotations=annotations, labels=labels, **more)


def group(minimum: int, **spec: Any) -> PolicyObject:
    return policy_object("g", {"minMember": minimum, **spec}, status={"phase": "Inqueue"})


def volcano(nodes: list[Any], pods: list[SchedulerPod], *groups: PolicyObject, **more: Any) -> Round:
    return look(VolcanoScheduler(), nodes, pods, podgroups=list(groups), **({"queues": [OPEN]} | more))


def policy(role: str, size: int, **more: Any) -> dict[str, Any]:
    return {
        "name": role,
        "labelSelector": {"matchLabels": {"role": role}},
        "matchLabelKeys": ["gang"],
        "subGroupSize": size,
        "minSubGroups": 1,
        **more,
    }


def status(result: Round) -> dict[str, Any]:
    return next(w.status for w in result.statuses if w.resource.plural == "podgroups")


def test_a_group_is_bound_when_its_minimum_fits() -> None:
    result = volcano([node("n", "2")], [member(f"p{i}") for i in range(3)], group(2))
    assert bound(result) == ["p0", "p1"]
    assert status(result)["phase"] == "Running"
    assert status(result)["conditions"][0]["type"] == "Scheduled"


def test_a_group_that_does_not_fit_binds_nothing_and_says_why() -> None:
    result = volcano([node("n", "2")], [member(f"p{i}") for i in range(3)], group(3))
    assert bound(result) == []
    assert set(reasons(result).values()) == {"Schedulable"}
    condition = status(result)["conditions"][0]
    assert (condition["type"], condition["reason"]) == ("Unschedulable", "NotEnoughResources")
    assert condition["message"].startswith("3/3 tasks in gang unschedulable: pod group is not ready")


def test_only_the_annotation_of_kubernetes_links_a_pod() -> None:
    wrong = pod("p", "volcano", annotations={"scheduling.volcano.sh/group-name": "g"})
    result = volcano([node("n")], [wrong, pod("q", "volcano")], group(1))
    assert (bound(result), reasons(result)) == ([], {})


def test_a_missing_podgroup_is_not_noticed() -> None:
    assert bound(volcano([node("n")], [member("p")])) == []


@pytest.mark.parametrize(
    "queues",
    [
        [],
        [policy_object("default", {}, namespace=None)],
        [policy_object("default", {}, status={"state": "Closed"}, namespace=None)],
    ],
    ids=["missing", "not opened yet", "closed"],
)
def test_the_queue_must_be_there_and_open(queues: list[PolicyObject]) -> None:
    assert bound(volcano([node("n")], [member("p")], group(1), queues=queues)) == []


def test_a_new_queue_is_opened() -> None:
    result = volcano([node("n")], [], queues=[policy_object("q", {}, namespace=None)])
    assert [(w.key.name, w.status) for w in result.statuses] == [("q", {"state": "Open"})]


def test_gated_pods_exist_but_do_not_make_a_group_ready() -> None:
    pods = [member("p0"), member("p1", gated=True)]
    result = volcano([node("n")], pods, group(2))
    assert bound(result) == []
    assert status(result)["conditions"][0]["type"] == "Unschedulable"
    assert bound(volcano([node("n")], pods, group(1))) == ["p0"]


def test_a_minimum_above_what_exists_waits() -> None:
    assert bound(volcano([node("n")], [member("p0")], group(2))) == []


def test_pods_that_request_nothing_are_not_held_together() -> None:
    pods = [member("p0", cpu=""), member("p1", cpu="9")]
    result = volcano([node("n")], pods, group(2))
    assert bound(result) == ["p0"]


def test_subgroups_have_minimums_of_their_own() -> None:
    spec = {"subGroupPolicy": [policy("a", 1), policy("b", 2)]}
    pods = [member("a0", "a"), member("a1", "a"), member("b0", "b"), member("b1", "b")]
    assert bound(volcano([node("n", "3")], pods, group(3, **spec))) == ["a0", "b0", "b1"]
    assert bound(volcano([node("n", "2")], pods, group(2, **spec))) == []


def test_a_policy_without_label_keys_matches_no_pod() -> None:
    spec = {"subGroupPolicy": [policy("a", 1, matchLabelKeys=[])]}
    assert bound(volcano([node("n")], [member("a0", "a")], group(1, **spec))) == []


def test_a_selector_that_matches_no_pod_leaves_the_group_short() -> None:
    spec = {"subGroupPolicy": [policy("typo", 1)]}
    assert bound(volcano([node("n")], [member("a0", "a")], group(1, **spec))) == []


def test_minimums_per_task_hold_if_they_are_within_the_whole() -> None:
    task = {"volcano.sh/task-spec": "a"}
    pods = [member("a0", annotations=task), member("x0"), member("x1")]
    assert len(bound(volcano([node("n")], pods, group(2, minTaskMember={"a": 1})))) == 3
    assert bound(volcano([node("n")], pods, group(2, minTaskMember={"a": 2}))) == []
    assert len(bound(volcano([node("n")], pods, group(2, minTaskMember={"a": 3})))) == 3


def hyper(name: str, tier: int, *members: dict[str, Any], tier_name: str = "") -> PolicyObject:
    return policy_object(
        name, {"tier": tier, "tierName": tier_name, "members": list(members)}, namespace=None
    )


def labelled(value: str) -> dict[str, Any]:
    return {"type": "Node", "selector": {"labelMatch": {"matchLabels": {"example.com/rack": value}}}}


def below(name: str) -> dict[str, Any]:
    return {"type": "HyperNode", "selector": {"exactMatch": {"name": name}}}


HYPER_NODES = [
    hyper("r1", 1, labelled("r1"), tier_name="rack"),
    hyper("r2", 1, labelled("r2"), tier_name="rack"),
    hyper("zone", 2, below("r1"), below("r2"), tier_name="zone"),
]
RACKS = [node("a", "2", rack="r1"), node("b", "2", rack="r2"), node("c", "2", rack="r2"), node("z", "9")]


def test_hard_topology_keeps_a_group_below_a_tier() -> None:
    pods = [member(f"p{i}") for i in range(3)]
    hard = {"networkTopology": {"mode": "hard", "highestTierAllowed": 1}}
    placed = where(volcano(RACKS, pods, group(3, **hard), hypernodes=HYPER_NODES))
    assert set(placed.values()) == {"b", "c"}
    assert bound(volcano(RACKS[:2], pods, group(3, **hard), hypernodes=HYPER_NODES)) == []
    wider = {"networkTopology": {"mode": "hard", "highestTierName": "zone"}}
    assert len(bound(volcano(RACKS[:2], pods, group(3, **wider), hypernodes=HYPER_NODES))) == 3


def test_an_unknown_tier_name_is_silently_not_enforced() -> None:
    pods = [member(f"p{i}") for i in range(5)]
    typo = {"networkTopology": {"mode": "hard", "highestTierName": "rakc"}}
    assert len(bound(volcano(RACKS, pods, group(5, **typo), hypernodes=HYPER_NODES))) == 5


def test_a_broken_tree_holds_back_groups_with_a_topology_only() -> None:
    broken = [*HYPER_NODES, hyper("again", 2, below("r1"))]
    hard = {"networkTopology": {"mode": "hard", "highestTierAllowed": 2}}
    assert bound(volcano(RACKS, [member("p")], group(1, **hard), hypernodes=broken)) == []
    assert bound(volcano(RACKS, [member("p")], group(1), hypernodes=broken)) == ["p"]


def test_a_first_domain_must_hold_the_surplus_too() -> None:
    rack = {"networkTopology": {"mode": "hard", "highestTierAllowed": 1}}
    pods = [member(f"a{i}", "a") for i in range(3)]
    spec = {"subGroupPolicy": [policy("a", 2, **rack)]}
    nodes = [node("a", "2", rack="r1"), node("b", "2", rack="r2")]
    assert bound(volcano(nodes, pods, group(2, **spec), hypernodes=HYPER_NODES)) == []
    assert len(bound(volcano(nodes, pods[:2], group(2, **spec), hypernodes=HYPER_NODES))) == 2


def test_a_group_that_asks_for_more_than_is_free_is_not_admitted() -> None:
    waiting = policy_object("g", {"minMember": 1, "minResources": {"cpu": "99"}})
    result = volcano([node("n")], [member("p")], waiting)
    assert bound(result) == []
    assert status(result)["phase"] == "Pending"


def test_a_group_without_pods_is_admitted() -> None:
    assert status(volcano([node("n")], [], policy_object("g", {"minMember": 1})))["phase"] == "Inqueue"
