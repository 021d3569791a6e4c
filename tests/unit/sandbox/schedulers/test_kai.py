"""KAI."""

from typing import Any

import pytest
from grove_sandbox.schedulers.kai.scheduler import KaiScheduler
from grove_sandbox.schedulers.objects import PolicyObject, SchedulerPod
from grove_sandbox.schedulers.policy import Round

from tests.unit.sandbox.schedulers.builders import (
    START,
    bound,
    look,
    node,
    pod,
    policy_object,
    priority_class,
    reasons,
    where,
)

OPEN = {
    "cpu": {"limit": -1, "quota": -1},
    "memory": {"limit": -1, "quota": -1},
    "gpu": {"limit": -1, "quota": -1},
}
QUEUE = policy_object("team", {"resources": OPEN}, namespace=None)
TOPOLOGY = policy_object(
    "t",
    {"levels": [{"nodeLabel": "topology.kubernetes.io/zone"}, {"nodeLabel": "example.com/rack"}]},
    namespace=None,
)
RACK = {"topology": "t", "requiredTopologyLevel": "example.com/rack"}
ZONE = {"topology": "t", "requiredTopologyLevel": "topology.kubernetes.io/zone"}


def member(name: str, subgroup: str = "", job: str = "g", **more: Any) -> SchedulerPod:
    labels = {"kai.scheduler/subgroup-name": subgroup} if subgroup else {}
    return pod(name, "kai-scheduler", annotations={"pod-group-name": job}, labels=labels, **more)


def job(name: str = "g", **spec: Any) -> PolicyObject:
    return policy_object(name, {"queue": "team", **spec})


def sub(name: str, minimum: int | None = None, **more: Any) -> dict[str, Any]:
    return {"name": name, **({} if minimum is None else {"minMember": minimum}), **more}


def kai(nodes: list[Any], pods: list[SchedulerPod], group: PolicyObject | None, **more: Any) -> Round:
    more = {"queues": [QUEUE], "topologies": [TOPOLOGY]} | more
    return look(KaiScheduler(), nodes, pods, podgroups=[group] if group else [], **more)


TWO = job(subGroups=[sub("a", 1), sub("b", 2)])
TWO_PODS = [member("a0", "a"), member("b0", "b"), member("b1", "b")]


def test_a_job_is_bound_when_every_subgroup_has_its_minimum() -> None:
    assert bound(kai([node("n")], TWO_PODS, TWO)) == ["a0", "b0", "b1"]


def test_a_job_that_does_not_fit_binds_nothing_and_says_why() -> None:
    result = kai([node("n", "2")], TWO_PODS, TWO)
    assert bound(result) == []
    assert set(reasons(result).values()) == {"Unschedulable"}
    (write,) = result.statuses
    condition = write.status["schedulingConditions"][0]
    assert condition["type"] == "UnschedulableOnNodePool"
    assert condition["reasons"][0]["reason"] == "PodSchedulingErrors"


@pytest.mark.parametrize(
    ("pods", "group"),
    [
        pytest.param([pod("p", "kai-scheduler")], TWO, id="no annotation"),
        pytest.param([member("p", job="other")], TWO, id="another PodGroup"),
        pytest.param([member("p", job="g")], None, id="no PodGroup"),
    ],
)
def test_a_pod_without_its_podgroup_is_not_noticed(
    pods: list[SchedulerPod], group: PolicyObject | None
) -> None:
    result = kai([node("n")], pods, group)
    assert (bound(result), reasons(result), result.statuses) == ([], {}, [])


def test_a_pod_of_an_unknown_subgroup_is_marked_and_left_out() -> None:
    result = kai([node("n")], [*TWO_PODS, member("x", "typo")], TWO)
    assert bound(result) == ["a0", "b0", "b1"]
    assert reasons(result) == {"x": "Unschedulable"}


def test_a_pod_without_a_subgroup_label_belongs_to_default_and_that_is_no_subgroup_here() -> None:
    assert bound(kai([node("n")], [member("x"), *TWO_PODS[1:]], TWO)) == []


def test_gated_pods_keep_a_job_from_being_ready() -> None:
    pods = [TWO_PODS[0], TWO_PODS[1], member("b1", "b", gated=True)]
    result = kai([node("n")], pods, TWO)
    assert (bound(result), reasons(result)) == ([], {})
    assert [event.reason for event in result.events] == ["NotReady"]


def test_a_minimum_that_is_too_high_never_becomes_ready() -> None:
    assert bound(kai([node("n")], TWO_PODS, job(subGroups=[sub("a", 1), sub("b", 3)]))) == []


def test_the_minimum_of_the_whole_is_ignored_when_there_are_subgroups() -> None:
    assert len(bound(kai([node("n")], TWO_PODS, job(minMember=9, subGroups=[sub("a", 1), sub("b", 2)])))) == 3


def test_without_subgroups_the_minimum_counts() -> None:
    pods = [member("p0"), member("p1")]
    assert bound(kai([node("n")], pods, job(minMember=2))) == ["p0", "p1"]
    assert bound(kai([node("n")], pods, job(minMember=3))) == []


def test_pods_above_the_minimum_come_after_it() -> None:
    group = job(subGroups=[sub("a", 1), sub("b", 1)])
    pods = [member(f"a{i}", "a") for i in range(3)] + [member("b0", "b")]
    result = kai([node("n", "3")], pods, group)
    assert bound(result) == ["a0", "a1", "b0"]
    assert reasons(result) == {"a2": "Unschedulable"}


@pytest.mark.parametrize(
    ("queue", "reason"),
    [
        (policy_object("other", {"resources": OPEN}, namespace=None), "QueueDoesNotExist"),
        (
            policy_object("team", {"resources": OPEN, "parentQueue": "gone"}, namespace=None),
            "QueueDoesNotExist",
        ),
        (policy_object("team", {"resources": {}}, namespace=None), "OverLimit"),
        (policy_object("team", {"resources": OPEN | {"cpu": {"limit": 2999}}}, namespace=None), "OverLimit"),
    ],
    ids=["missing", "orphan", "no limits given", "limit too small"],
)
def test_the_queue_must_exist_and_have_room(queue: PolicyObject, reason: str) -> None:
    result = kai([node("n")], TWO_PODS, TWO, queues=[queue])
    assert bound(result) == []
    assert result.statuses[0].status["schedulingConditions"][0]["reasons"][0]["reason"] == reason


def test_a_queue_with_children_takes_no_jobs() -> None:
    child = policy_object("child", {"resources": OPEN, "parentQueue": "team"}, namespace=None)
    assert bound(kai([node("n")], TWO_PODS, TWO, queues=[QUEUE, child])) == []


def test_a_high_priority_makes_a_job_bound_to_its_quota_unless_it_says_otherwise() -> None:
    poor = policy_object("team", {"resources": OPEN | {"cpu": {"limit": -1, "quota": 0}}}, namespace=None)
    classes = [priority_class("serving", 1000)]
    high = job(priorityClassName="serving", subGroups=[sub("a", 1), sub("b", 2)])
    result = kai([node("n")], TWO_PODS, high, queues=[poor], classes=classes)
    assert (
        result.statuses[0].status["schedulingConditions"][0]["reasons"][0]["reason"]
        == "NonPreemptibleOverQuota"
    )
    high.spec["preemptibility"] = "preemptible"
    assert len(bound(kai([node("n")], TWO_PODS, high, queues=[poor], classes=classes))) == 3


def racks() -> list[Any]:
    return [
        node("a", "2", zone="z1", rack="r1"),
        node("b", "2", zone="z1", rack="r2"),
        node("c", "3", zone="z2", rack="r3"),
        node("d", "2", zone="z2", rack="r4"),
        node("e", "9", zone="z2"),
    ]


def test_nested_subgroups_with_topology() -> None:
    group = job(
        topologyConstraint=ZONE,
        subGroups=[
            sub("pipeline", minSubGroup=2, topologyConstraint=RACK),
            sub("a", 1, parent="pipeline"),
            sub("b", 2, parent="pipeline"),
            sub("router", 2),
        ],
    )
    pods = [*TWO_PODS, member("r0", "router"), member("r1", "router")]
    placed = where(kai(racks(), pods, group))
    assert {placed[name] for name in ("a0", "b0", "b1")} == {"c"}
    assert {placed["r0"], placed["r1"]} <= {"c", "d"}


@pytest.mark.parametrize(
    "constraint",
    [
        {"topology": "gone", "requiredTopologyLevel": "example.com/rack"},
        {"topology": "t", "requiredTopologyLevel": "no-such-level"},
        {"topology": "t"},
    ],
)
def test_a_constraint_that_names_nothing_real_is_never_met(constraint: dict[str, str]) -> None:
    group = job(subGroups=[sub("a", 1), sub("b", 2)], topologyConstraint=constraint)
    assert bound(kai(racks(), TWO_PODS, group)) == []


def test_a_preferred_level_falls_back_to_a_coarser_one() -> None:
    constraint = {"topology": "t", "preferredTopologyLevel": "example.com/rack"}
    pods = [member(f"p{i}") for i in range(5)]
    result = kai(racks()[:4], pods, job(minMember=5, topologyConstraint=constraint))
    assert len(bound(result)) == 5


def test_extra_pods_stay_in_the_required_domain() -> None:
    pods = [member("p0", on="a"), member("p1"), member("p2")]
    result = kai(racks(), pods, job(minMember=1, topologyConstraint=RACK))
    assert where(result) == {"p1": "a"}
    assert reasons(result) == {"p2": "Unschedulable"}


def test_two_podgroups_of_one_name_are_one_to_kai() -> None:
    mine = policy_object("g", {"queue": "team", "minMember": 1}, namespace="demo", age=10)
    theirs = policy_object("g", {"queue": "team", "minMember": 5}, namespace="other", age=0)
    result = look(KaiScheduler(), [node("n")], [member("p")], podgroups=[mine, theirs], queues=[QUEUE])
    assert bound(result) == []


def test_a_podgroup_of_another_node_pool_is_not_seen() -> None:
    pooled = policy_object("g", {"queue": "team"}, labels={"kai.scheduler/node-pool": "x"})
    assert bound(kai([node("n")], [member("p")], pooled)) == []


def test_a_gang_short_of_members_is_evicted_after_its_grace() -> None:
    pods = [member("a0", "a", on="n"), member("b0", "b", on="n")]
    first = kai([node("n")], pods, TWO)
    assert first.evictions == []
    assert first.again_in == 60
    ((_, _, change),) = first.annotations
    stamped = policy_object("g", TWO.spec, annotations={k: v for k, v in change.items() if v})
    assert kai([node("n")], pods, stamped, after=59).evictions == []
    assert [p.metadata.name for p in kai([node("n")], pods, stamped, after=60).evictions] == ["a0", "b0"]


def test_a_negative_grace_never_evicts() -> None:
    group = job(subGroups=[sub("a", 1), sub("b", 2)], stalenessGracePeriod="-1s")
    result = kai([node("n")], [member("a0", "a", on="n")], group, after=1e6)
    assert (result.evictions, result.annotations) == ([], [])


def test_a_gang_that_is_complete_again_is_not_stale() -> None:
    stale = {"kai.scheduler/stale-podgroup-timestamp": START.isoformat()}
    pods = [member("a0", "a", on="n"), member("b0", "b", on="n"), member("b1", "b")]
    result = kai([node("n")], pods, policy_object("g", TWO.spec, annotations=stale), after=120)
    assert bound(result) == ["b1"]
    assert result.evictions == []
    assert result.annotations[0][2] == {"kai.scheduler/stale-podgroup-timestamp": None}
