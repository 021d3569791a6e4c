"""kube-scheduler 1.35: reservations in Permit."""

from typing import Any

from grove_sandbox.schedulers.kube.scheduler_135 import KubeScheduler135
from grove_sandbox.schedulers.objects import PolicyObject, SchedulerPod

from tests.unit.sandbox.schedulers.builders import bound, look, node, pod, policy_object, reasons


def member(name: str, group: str = "gang", workload: str = "w", **more: Any) -> SchedulerPod:
    return pod(name, "default-scheduler", workloadRef={"name": workload, "podGroup": group}, **more)


def workload(minimum: int, name: str = "w") -> PolicyObject:
    groups = [
        {"name": "gang", "policy": {"gang": {"minCount": minimum}}},
        {"name": "surplus", "policy": {"basic": {}}},
    ]
    return policy_object(name, {"podGroups": groups})


def test_a_gang_is_bound_when_enough_of_it_has_a_place() -> None:
    pods = [member("a"), member("b"), member("s", "surplus")]
    assert bound(look(KubeScheduler135(), [node("n")], pods, workloads=[workload(2)])) == ["a", "b", "s"]


def test_a_missing_workload_or_group_or_pod_leaves_pods_pending_in_silence() -> None:
    pods = [member("a"), member("b")]
    for workloads in ([], [workload(2, "other")], [workload(3)]):
        result = look(KubeScheduler135(), [node("n")], pods, workloads=workloads)
        assert (bound(result), reasons(result)) == ([], {})
    stranger = [member("a", "nogroup"), member("b", "nogroup")]
    assert bound(look(KubeScheduler135(), [node("n")], stranger, workloads=[workload(2)])) == []


def test_half_a_gang_keeps_its_reservations_for_five_minutes_and_then_gives_up() -> None:
    policy = KubeScheduler135()
    pods, nodes, objects = [member("a"), member("b"), member("c")], [node("n", "2")], [workload(3)]
    first = look(policy, nodes, pods, workloads=objects)
    assert bound(first) == []
    assert [name for _, name in first.nominations] == ["n", "n", ""]
    assert reasons(first) == {"c": "Unschedulable"}
    assert first.again_in == 300
    other = pod("other", "default-scheduler")
    assert bound(look(policy, nodes, [*pods, other], after=299, workloads=objects)) == []
    last = look(policy, nodes, [*pods, other], after=300, workloads=objects)
    assert bound(last) == ["other"]
    assert [name for _, name in last.nominations] == ["", "", ""]


def test_the_gang_is_bound_as_soon_as_there_is_room() -> None:
    policy = KubeScheduler135()
    pods = [member("a"), member("b"), member("c")]
    look(policy, [node("n", "2")], pods, workloads=[workload(3)])
    result = look(policy, [node("n", "2"), node("m", "2")], pods, after=10, workloads=[workload(3)])
    assert bound(result) == ["a", "b", "c"]


def test_gated_members_exist_but_are_not_placed() -> None:
    pods = [member("a"), member("b", gated=True)]
    result = look(KubeScheduler135(), [node("n")], pods, workloads=[workload(2)])
    assert bound(result) == []
    assert [p.metadata.name for p, _ in result.nominations] == ["a"]


def test_replica_keys_make_different_gangs_of_one_group() -> None:
    keyed = [
        pod(
            f"{key}{i}",
            "default-scheduler",
            workloadRef={"name": "w", "podGroup": "gang", "podGroupReplicaKey": key},
        )
        for key in "xy"
        for i in range(2)
    ]
    result = look(KubeScheduler135(), [node("n", "3")], keyed, workloads=[workload(2)])
    assert bound(result) == ["x0", "x1"]


def test_pods_above_the_minimum_pass_once_it_is_reached() -> None:
    pods = [member(f"p{i}") for i in range(4)]
    assert bound(look(KubeScheduler135(), [node("n", "3")], pods, workloads=[workload(2)])) == [
        "p0",
        "p1",
        "p2",
    ]
