"""A clique has the right number of pods, each with its own index; scale-in deletes the least valuable pods first."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grove.api import labels
from grove.api.pod_view import Pod
from grove.api.scalars import Time
from grove.plan.clique_scaling import PodPlan, plan_pods
from grove.plan.pod_state import is_present, is_ready, pod_index
from tests.unit.plan.observed import NOW, pod, pods


def plan(replicas: int, found: list[Pod]) -> PodPlan:
    return plan_pods(replicas, found, template_hash="new")


def applied(found: list[Pod], done: PodPlan, round_: int = 0) -> list[Pod]:
    """The pods after the plan was applied and deleted pods are gone. Later rounds create newer pods."""
    gone = {p.metadata.name for p in done.delete}
    left = [p for p in found if p.metadata.name not in gone]
    return left + [pod(i, "gated", age=-10 - round_, name=f"made-{round_}-{i}") for i in done.create]


def names(found: list[Pod]) -> list[str | None]:
    return [p.metadata.name for p in found]


def test_a_new_clique_gets_its_pods_from_zero_on() -> None:
    assert plan(3, []) == PodPlan(create=[0, 1, 2], delete=[], replaced=[])


def test_a_complete_clique_needs_no_change() -> None:
    assert plan(2, [pod(0), pod(1, "gated")]) == PodPlan(create=[], delete=[], replaced=[])


def test_holes_are_filled_before_new_indices_are_used() -> None:
    assert plan(5, [pod(1), pod(4)]).create == [0, 2, 3]


def test_indices_beyond_the_count_stay() -> None:
    assert plan(2, [pod(0), pod(7)]) == PodPlan(create=[], delete=[], replaced=[])


@pytest.mark.parametrize("state", ["failed", "succeeded"])
def test_a_dead_pod_is_deleted_and_its_index_used_again(state: str) -> None:
    dead = pod(1, state)
    assert plan(3, [pod(0), dead, pod(2)]) == PodPlan(create=[1], delete=[dead], replaced=[dead])


def test_a_dead_pod_that_nobody_needs_is_deleted_and_not_replaced() -> None:
    dead = pod(1, "failed")
    assert plan(1, [pod(0), dead]) == PodPlan(create=[], delete=[dead], replaced=[])


def test_while_a_dead_pod_waits_for_its_replacement_other_holes_are_filled_and_its_own_is_not() -> None:
    found = [pod(1), pod(2, "failed")]
    assert plan(3, found).create == [0, 2]
    assert plan(3, found).without_replacements() == PodPlan(create=[0], delete=[], replaced=[])
    assert plan(5, found).without_replacements().create == [0, 3, 4]
    assert plan(2, [pod(0), pod(7, "failed")]).without_replacements().create == []


def test_a_finished_pod_is_not_replaced() -> None:
    assert plan(2, [pod(0, "finished"), pod(1)]) == PodPlan(create=[], delete=[], replaced=[])


def test_a_replacement_does_not_wait_until_the_old_pod_is_gone() -> None:
    assert plan(2, [pod(0), pod(1, terminating=True)]) == PodPlan(create=[1], delete=[], replaced=[])


def test_a_terminating_pod_is_not_deleted_again() -> None:
    assert plan(0, [pod(0, terminating=True), pod(1, "failed", terminating=True)]).delete == []


def test_of_two_pods_with_the_same_index_the_newer_is_deleted() -> None:
    old, young = pod(0, age=9), pod(0, age=1)
    assert plan(2, [young, old]) == PodPlan(create=[1], delete=[young], replaced=[])
    assert plan(1, [old, young]).delete == [young]


def test_an_index_is_read_from_the_hostname_and_then_from_the_label() -> None:
    found = pod(3)
    assert pod_index(found) == 3
    found.spec.hostname = "elsewhere"
    assert pod_index(found) == 3
    del found.metadata.labels[labels.POD_INDEX]
    assert pod_index(found) is None
    assert plan(2, [found, pod(0)]) == PodPlan(create=[], delete=[], replaced=[])


def test_scale_in_deletes_pods_in_the_documented_order() -> None:
    unknown = pod(2, "unready")
    unknown.status.phase = "Unknown"
    order = [
        pod(9, "gated"),
        pod(8, "starting"),
        unknown,
        pod(7, "unready"),
        pod(6, template="old", age=5),
        pod(5, age=1),
        pod(4, age=2),
        pod(3, age=3),
    ]
    for left in range(len(order)):
        assert plan(left, order[::-1]).delete == order[: len(order) - left]


def test_among_equal_pods_the_highest_index_is_deleted() -> None:
    found = [pod(i, name=f"random-{(i * 7) % 5}") for i in range(5)]
    assert plan(3, found).delete == [found[4], found[3]]


def test_a_pod_without_a_creation_time_counts_as_the_newest() -> None:
    unborn = pod(0)
    unborn.metadata.creation_timestamp = None
    assert plan(1, [pod(1), unborn]).delete == [unborn]


@given(pods(), st.integers(0, 8))
def test_the_right_number_of_pods_with_distinct_indices_is_left(found: list[Pod], replicas: int) -> None:
    left = [p for p in applied(found, plan(replicas, found)) if is_present(p)]
    assert len(left) == replicas
    assert len({pod_index(p) for p in left}) == replicas


@given(pods(), st.integers(0, 8))
def test_a_second_pass_finds_nothing_to_do(found: list[Pod], replicas: int) -> None:
    after = applied(found, plan(replicas, found))
    assert plan(replicas, after) == PodPlan(create=[], delete=[], replaced=[])


@given(pods(), st.integers(0, 8))
def test_the_plan_is_the_same_whether_deleted_pods_are_gone_or_not(found: list[Pod], replicas: int) -> None:
    first = plan(replicas, found)
    after = applied(found, first)
    for going in first.delete:
        going.metadata.deletion_timestamp = Time.at(NOW)
    assert plan(replicas, after + first.delete) == PodPlan(create=[], delete=[], replaced=[])


@given(pods(), st.integers(0, 8))
def test_no_present_pod_is_deleted_unless_there_are_too_many_or_duplicates(
    found: list[Pod], replicas: int
) -> None:
    present = [p for p in found if is_present(p)]
    surplus = max(0, len({pod_index(p) for p in present}) - replicas)
    twins = len(present) - len({pod_index(p) for p in present})
    assert sum(is_present(p) for p in plan(replicas, found).delete) == surplus + twins


@given(pods(), st.integers(0, 8))
def test_no_ready_pod_is_deleted_while_an_unready_one_could_be(found: list[Pod], replicas: int) -> None:
    present = [p for p in found if is_present(p)]
    ready_places = {pod_index(p) for p in present if is_ready(p)}
    left = [p for p in applied(found, plan(replicas, found)) if is_present(p)]
    assert sum(map(is_ready, left)) == min(replicas, len(ready_places))


@given(pods(), st.randoms(use_true_random=False), st.integers(0, 8))
def test_the_order_of_the_observed_pods_makes_no_difference(
    found: list[Pod], chance: random.Random, replicas: int
) -> None:
    other = list(found)
    chance.shuffle(other)
    one, two = plan(replicas, found), plan(replicas, other)
    assert one.create == two.create
    assert set(names(one.delete)) == set(names(two.delete))


@given(pods(), st.integers(0, 6), st.integers(1, 4))
def test_scaling_out_and_in_again_returns_to_the_start(found: list[Pod], replicas: int, more: int) -> None:
    for p in found:  # outdated pods would rightly go before new ones
        p.metadata.labels[labels.POD_TEMPLATE_HASH] = "new"
    start = applied(found, plan(replicas, found))
    out = applied(start, plan(replicas + more, start), round_=1)
    back = applied(out, plan(replicas, out), round_=2)
    assert names(back) == names(start)
