"""Koordinator."""

import json
from typing import Any

import pytest
from grove_sandbox.schedulers.koordinator.scheduler import KoordinatorScheduler
from grove_sandbox.schedulers.objects import PolicyObject, SchedulerPod
from grove_sandbox.schedulers.policy import Round

from tests.unit.sandbox.schedulers.builders import bound, look, node, pod, policy_object, reasons, where

PREFIX = "gang.scheduling.koordinator.sh/"


def member(name: str, gang: str = "a", **more: Any) -> SchedulerPod:
    return pod(name, "koord-scheduler", labels={"pod-group.scheduling.sigs.k8s.io": gang}, **more)


def group(
    name: str, minimum: int, *tied: str, policy: str = "waiting-and-running", **annotations: str
) -> PolicyObject:
    annotations = {f"{PREFIX}match-policy": policy} | {
        f"{PREFIX}{k.replace('_', '-')}": v for k, v in annotations.items()
    }
    if tied:
        annotations[f"{PREFIX}groups"] = json.dumps([f"demo/{other}" for other in (name, *tied)])
    return policy_object(name, {"minMember": minimum}, annotations=annotations)


def koordinator(nodes: list[Any], pods: list[SchedulerPod], *groups: PolicyObject, **more: Any) -> Round:
    return look(KoordinatorScheduler(), nodes, pods, podgroups=list(groups), **more)


def test_a_gang_is_bound_when_it_fits_and_not_at_all_when_not() -> None:
    pods = [member(f"p{i}") for i in range(3)]
    assert bound(koordinator([node("n")], pods, group("a", 3))) == ["p0", "p1", "p2"]
    result = koordinator([node("n", "2")], pods, group("a", 3))
    assert bound(result) == []
    assert set(reasons(result).values()) == {"Unschedulable"}


def test_a_pod_without_the_label_is_an_ordinary_pod() -> None:
    assert bound(koordinator([node("n")], [pod("p", "koord-scheduler")])) == ["p"]


def test_the_label_of_the_upstream_project_is_not_read() -> None:
    upstream = pod("p", "koord-scheduler", labels={"scheduling.x-k8s.io/pod-group": "a"})
    assert bound(koordinator([node("n")], [upstream], group("a", 3))) == ["p"]


@pytest.mark.parametrize(
    "groups",
    [
        pytest.param([], id="no PodGroup"),
        pytest.param([group("other", 1)], id="PodGroup of another name"),
        pytest.param([group("a", 2)], id="minimum above the pods that exist"),
        pytest.param([group("a", 1, "gone")], id="tied to a gang that does not exist"),
    ],
)
def test_an_incomplete_gang_waits_without_a_condition(groups: list[PolicyObject]) -> None:
    result = koordinator([node("n")], [member("p")], *groups)
    assert (bound(result), reasons(result)) == ([], {})


def test_gangs_that_are_tied_bind_together_or_not_at_all() -> None:
    pods = [member("a0", "a"), member("b0", "b"), member("b1", "b")]
    tied = [group("a", 1, "b"), group("b", 2, "a")]
    assert bound(koordinator([node("n")], pods, *tied)) == ["a0", "b0", "b1"]
    assert bound(koordinator([node("n", "2")], pods, *tied)) == []
    loose = [group("a", 1), group("b", 2)]
    assert bound(koordinator([node("n", "2")], pods, *loose)) == ["a0"]


def test_once_one_pod_is_ungated_gated_pods_are_placed_too() -> None:
    pods = [member("p0"), member("p1", gated=True)]
    assert bound(koordinator([node("n")], pods, group("a", 2))) == ["p0", "p1"]
    all_gated = [member("p0", gated=True), member("p1", gated=True)]
    assert bound(koordinator([node("n")], all_gated, group("a", 2))) == []


def test_a_surplus_pod_that_does_not_fit_fails_a_tied_group() -> None:
    pods = [member("a0", "a"), member("a1", "a", cpu="9"), member("b0", "b")]
    assert bound(koordinator([node("n")], pods, group("a", 1, "b"), group("b", 1, "a"))) == []
    assert bound(koordinator([node("n")], pods, group("a", 1), group("b", 1))) == ["a0", "b0"]


def test_match_policies_differ_in_what_counts_for_a_replacement() -> None:
    pods = [member("old", on="n"), member("new")]
    assert bound(koordinator([node("n")], pods, group("a", 2))) == ["new"]
    assert bound(koordinator([node("n")], pods, group("a", 2, policy="once-satisfied"))) == ["new"]
    assert bound(koordinator([node("n")], pods, group("a", 2, policy="only-waiting"))) == []


def test_a_restarted_gang_is_all_or_nothing_again_only_with_waiting_and_running() -> None:
    for policy, expected in (("waiting-and-running", []), ("once-satisfied", ["q0"])):
        scheduler = KoordinatorScheduler()
        gang = group("a", 2, policy=policy)
        look(scheduler, [node("n")], [member("p0"), member("p1")], podgroups=[gang])
        again = look(scheduler, [node("n", "1")], [member("q0"), member("q1")], podgroups=[gang])
        assert bound(again) == expected


def test_the_phase_follows_the_pods() -> None:
    result = koordinator([node("n")], [member("p")], group("a", 1))
    (write,) = result.statuses
    assert (write.subresource, write.status["phase"], write.status["scheduled"]) == ("", "Pending", 1)
    known = policy_object("a", {"minMember": 1}, status={"phase": "PreScheduling"})
    assert koordinator([node("n")], [member("p", on="n")], known).statuses[0].status["phase"] == "Running"


MUST = json.dumps({"gatherStrategy": [{"layer": "rack", "strategy": "MustGather"}]})
TREE = policy_object(
    "default",
    {
        "networkTopologySpec": [
            {"topologyLayer": "rack", "labelKey": ["example.com/rack"]},
            {"topologyLayer": "NodeTopologyLayer", "parentTopologyLayer": "rack"},
        ]
    },
    namespace=None,
)
RACKS = [node("a", "2", rack="r1"), node("b", "2", rack="r2"), node("c", "2", rack="r2")]


def test_topology_needs_the_switch_and_the_tree() -> None:
    pods = [member(f"p{i}") for i in range(3)]
    gang = group("a", 3, network_topology_spec=MUST)
    assert bound(koordinator(RACKS, pods, gang)) == []
    on = KoordinatorScheduler(network_topology=True)
    assert bound(look(on, RACKS, pods, podgroups=[gang])) == []
    placed = where(look(on, RACKS, pods, podgroups=[gang], clusternetworktopologies=[TREE]))
    assert set(placed.values()) == {"b", "c"}


def test_an_unknown_layer_never_schedules() -> None:
    typo = json.dumps({"gatherStrategy": [{"layer": "rakc", "strategy": "MustGather"}]})
    on = KoordinatorScheduler(network_topology=True)
    gang = group("a", 1, network_topology_spec=typo)
    assert bound(look(on, RACKS, [member("p")], podgroups=[gang], clusternetworktopologies=[TREE])) == []
