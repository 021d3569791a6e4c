"""Pods and copies as units of an update: which are outdated, which are healthy, what is replaced first."""

from grove.api import labels
from grove.plan.rollout.budget import Budget
from grove.plan.rollout.copies import ObservedCopy, ObservedMember, plan_copy_updates
from grove.plan.rollout.pods import all_updated, plan_pod_updates
from tests.unit.api.sets import clique
from tests.unit.plan import samples
from tests.unit.plan.observed import pod


def test_the_oldest_outdated_pod_goes_first() -> None:
    found = [pod(0, template="old", age=1), pod(1, template="old", age=9), pod(2)]
    plan = plan_pod_updates(found, "new", Budget(3, 2), may_take_healthy=True)
    assert plan.replaced == [found[1]]


def test_pods_that_are_terminating_dead_or_finished_are_not_replaced_by_an_update() -> None:
    found = [
        pod(0, template="old", terminating=True),
        pod(1, "failed", template="old"),
        pod(2, "finished", template="old"),
    ]
    assert plan_pod_updates(found, "new", Budget(3, 1, 3), may_take_healthy=True).replaced == []


def test_an_update_is_over_when_every_wanted_pod_follows_the_template_and_is_ready() -> None:
    assert all_updated([pod(0), pod(1)], "new", 2)
    assert not all_updated([pod(0)], "new", 2)
    assert not all_updated([pod(0), pod(1, "starting")], "new", 2)
    assert not all_updated([pod(0), pod(1, template="old")], "new", 2)


LAYOUT = samples.layout(
    clique("leader", replicas=1),
    clique("worker", replicas=2, minAvailable=1),
    podCliqueScalingGroups=[
        {"name": "g", "cliqueNames": ["leader", "worker"], "replicas": 3, "minAvailable": 1}
    ],
)


def copy(j: int, *, leader: str = "new", workers: tuple[str, ...] = ("ready", "ready")) -> ObservedCopy:
    """`leader` is the template of its leader. The workers have the new template and these states."""
    hashes = {"leader": "new", "worker": "new"}
    made = {name: samples.member(LAYOUT, name, 0, j) for name in hashes}
    made["leader"].metadata.labels[labels.POD_TEMPLATE_HASH] = leader
    made["worker"].metadata.labels[labels.POD_TEMPLATE_HASH] = "new"
    pods = {"leader": [pod(0, template=leader)], "worker": [pod(k, s) for k, s in enumerate(workers)]}
    return ObservedCopy(j, {n: ObservedMember(made[n], pods[n]) for n in hashes}, hashes)


def test_one_outdated_clique_makes_the_whole_copy_outdated() -> None:
    assert copy(0, leader="old").outdated
    assert not copy(0).outdated


def test_a_copy_needs_the_minimum_of_each_clique_and_is_complete_with_all_pods() -> None:
    assert copy(0, workers=("ready", "starting")).healthy
    assert not copy(0, workers=("ready", "starting")).complete
    assert not copy(0, workers=("starting", "starting")).healthy
    assert copy(0).complete


def test_a_copy_without_one_of_its_cliques_is_neither_healthy_nor_complete() -> None:
    found = copy(0)
    found = ObservedCopy(0, {"leader": found.members["leader"]}, found.hashes)
    assert not found.healthy
    assert not found.complete


def test_the_outdated_clique_is_deleted_last() -> None:
    first, last = copy(1, leader="old").deletion_order
    assert [c.metadata.name for c in first] == ["train-0-g-1-worker"]
    assert [c.metadata.name for c in last] == ["train-0-g-1-leader"]


def test_broken_copies_go_at_once_and_healthy_ones_from_the_lowest_index() -> None:
    copies = [copy(2, leader="old"), copy(0, leader="old"), copy(1, leader="old", workers=("starting",))]
    plan = plan_copy_updates(copies, Budget(3, 1, 2), may_take_healthy=True)
    assert ([c.j for c in plan.broken], [c.j for c in plan.chosen]) == ([1], [0])
