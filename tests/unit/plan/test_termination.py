"""A replica, or a copy of a scaling group, that stays below its minimum is ended once, when its delay is over."""

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from grove.api.meta import Condition, ConditionStatus
from grove.api.podclique import PodClique, PodCliqueStatus
from grove.api.scalars import Time
from grove.api.serialization.model import replace
from grove.plan.status.clique_status import clique_status
from grove.plan.status.conditions import find
from grove.plan.termination import GroupCopies, TerminationPlan, plan_termination
from tests.unit.api.sets import clique
from tests.unit.plan.observed import LATER, NOW, layout, pod, worker

SHAPE = layout(clique(replicas=1, minAvailable=1))
DELAY = timedelta(minutes=10)
NOTHING = TerminationPlan(False, {}, None)
WHOLE = TerminationPlan(True, {}, None)


def made(scheduled: ConditionStatus, reason: str, breached: ConditionStatus, ago: float = 0) -> PodClique:
    """In its state for `ago` minutes."""
    at = Time.at(NOW - timedelta(minutes=ago))
    conditions = [
        Condition(type=kind, status=status, reason=why, message="", last_transition_time=at)
        for kind, status, why in (
            ("PodCliqueScheduled", scheduled, reason),
            ("MinAvailableBreached", breached, "R"),
        )
    ]
    return replace(worker(SHAPE), status=PodCliqueStatus(conditions=conditions))


def healthy() -> PodClique:
    return made("True", "SufficientScheduledPods", "False")


def lost(ago: float) -> PodClique:
    return made("False", "ScheduledPodsLost", "True", ago)


def failing(ago: float) -> PodClique:
    return made("True", "SufficientScheduledPods", "True", ago)


def new(ago: float = 60) -> PodClique:
    return made("False", "InsufficientScheduledPods", "True", ago)


def group(minimum: int, *copies: PodClique | None) -> GroupCopies:
    """Each copy has one clique."""
    return GroupCopies("g", minimum, [[c] for c in copies])


def due_in(minutes: float) -> TerminationPlan:
    return TerminationPlan(False, {}, NOW + timedelta(minutes=minutes))


def plan(*standalone: PodClique, of: GroupCopies | None = None) -> TerminationPlan:
    return plan_termination(standalone, [of] if of else [], DELAY, NOW)


def test_a_replica_is_ended_when_a_standalone_clique_was_short_for_the_whole_delay() -> None:
    assert plan(healthy(), lost(9)) == due_in(1)
    assert plan(healthy(), lost(10)) == WHOLE
    assert plan(failing(10)) == WHOLE
    assert plan(lost(4), failing(7)) == due_in(3)


def test_a_clique_that_is_healthy_or_was_never_scheduled_or_is_updated_ends_nothing() -> None:
    assert plan(healthy(), new()) == NOTHING
    assert plan(made("False", "ScheduledPodsLost", "Unknown", 60)) == NOTHING
    assert plan(worker(SHAPE)) == NOTHING


def test_a_copy_that_its_group_can_spare_is_ended_alone() -> None:
    assert plan(healthy(), of=group(1, lost(11), healthy())) == TerminationPlan(False, {"g": [0]}, None)
    assert plan(of=group(1, healthy(), lost(8))) == due_in(2)
    assert plan(of=group(1, lost(11), lost(6), healthy())) == TerminationPlan(
        False, {"g": [0]}, NOW + timedelta(minutes=4)
    )


def test_a_group_is_in_breach_since_the_copy_that_it_could_not_spare() -> None:
    assert plan(of=group(2, lost(11), healthy())) == WHOLE
    assert plan(of=group(1, lost(30), lost(6))) == due_in(4)
    assert plan(of=group(1, lost(30), lost(10))) == WHOLE


def test_a_copy_that_waits_for_its_first_placement_cannot_be_spared() -> None:
    assert plan(of=group(1, new(), lost(6))) == due_in(4)
    assert plan(of=group(1, None, lost(10))) == WHOLE
    assert plan(of=group(2, new(), lost(10))) == TerminationPlan(False, {"g": [1]}, None)


def test_a_copy_is_in_breach_since_its_first_clique() -> None:
    pair = GroupCopies("g", 1, [[healthy(), lost(3), lost(10)], [healthy(), healthy(), healthy()]])
    assert plan(of=pair) == TerminationPlan(False, {"g": [0]}, None)


def test_what_came_back_is_not_ended_for_the_old_breach() -> None:
    assert plan(new(), of=group(1, new(), new())) == NOTHING


def test_the_status_records_whether_the_pods_ever_had_nodes() -> None:
    def reason(found: PodCliqueStatus) -> str:
        condition = find(found.conditions, "PodCliqueScheduled")
        assert condition is not None
        return condition.reason

    first = clique_status(worker(SHAPE), [pod(0, "pending")], SHAPE, NOW)
    placed = clique_status(replace(worker(SHAPE), status=first), [pod(0, "ready")], SHAPE, NOW)
    gone = clique_status(replace(worker(SHAPE), status=placed), [], SHAPE, LATER)
    still = clique_status(replace(worker(SHAPE), status=gone), [pod(0, "pending")], SHAPE, LATER)
    assert [reason(s) for s in (first, placed, gone, still)] == [
        "InsufficientScheduledPods",
        "SufficientScheduledPods",
        "ScheduledPodsLost",
        "ScheduledPodsLost",
    ]


cliques = st.one_of(
    st.just(healthy()), st.just(new()), st.integers(0, 20).map(lost), st.integers(0, 20).map(failing)
)


@given(st.lists(cliques, max_size=3), st.lists(cliques, max_size=4), st.integers(1, 4))
def test_whatever_is_not_ended_now_is_ended_at_its_due_time_and_not_before(
    alone: list[PodClique], copies: list[PodClique], minimum: int
) -> None:
    of = [group(minimum, *copies)]
    found = plan_termination(alone, of, DELAY, NOW)
    if found.next_due is not None:
        assert found.next_due > NOW
        before = plan_termination(alone, of, DELAY, found.next_due - timedelta(seconds=1))
        assert before == found
        assert plan_termination(alone, of, DELAY, found.next_due) != found


@given(st.lists(cliques, max_size=3), st.lists(cliques, max_size=4), st.integers(1, 4))
def test_only_a_unit_that_was_short_for_the_whole_delay_is_ended(
    alone: list[PodClique], copies: list[PodClique], minimum: int
) -> None:
    found = plan_termination(alone, [group(minimum, *copies)], timedelta(minutes=21), NOW)
    assert not found.end_replica
    assert not found.end_copies
