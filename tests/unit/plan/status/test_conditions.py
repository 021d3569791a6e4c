"""A condition is rewritten only if its content differs."""

from grove.api.meta import Condition
from grove.api.scalars import Time
from grove.plan.status.conditions import find, is_true, put, without
from tests.unit.plan.observed import LATER, NOW, condition

OTHERS = [condition("A"), condition("B", "False")]


def test_a_new_condition_comes_last_and_is_dated() -> None:
    *before, new = put(OTHERS, "C", "True", "R", "m", NOW)
    assert before == OTHERS
    assert new == Condition(
        type="C", status="True", reason="R", message="m", last_transition_time=Time.at(NOW)
    )


def test_the_same_again_changes_nothing() -> None:
    once = put(OTHERS, "C", "True", "R", "m", NOW, observed_generation=3)
    assert put(once, "C", "True", "R", "m", LATER, observed_generation=3) == once


def test_another_message_keeps_the_time_of_the_transition() -> None:
    found = find(put(OTHERS, "A", "True", "Other", "other", LATER), "A")
    assert found is not None
    assert (found.reason, found.message, found.last_transition_time) == ("Other", "other", Time.at(NOW))


def test_another_status_moves_the_time_of_the_transition() -> None:
    changed = put(OTHERS, "A", "False", "Because", "", LATER)
    assert [c.type for c in changed] == ["A", "B"]
    assert [c.last_transition_time for c in changed] == [Time.at(LATER), Time.at(NOW)]


def test_the_given_list_is_not_changed() -> None:
    given = [condition("A")]
    put(given, "A", "False", "R", "m", LATER)
    assert given == [condition("A")]


def test_a_condition_is_found_and_removed_by_its_type() -> None:
    assert find(OTHERS, "C") is None
    assert (is_true(OTHERS, "A"), is_true(OTHERS, "B"), is_true(OTHERS, "C")) == (True, False, False)
    assert without(OTHERS, "A") == OTHERS[1:]
    assert without(OTHERS, "C") == OTHERS
