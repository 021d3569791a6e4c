"""Gangs in a line."""

from grove.controllers.turns import KEPT_FOR, Turns


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_the_first_goes_at_once_and_each_other_a_pause_after_the_one_before() -> None:
    turns = Turns(Clock())
    assert [turns.wait(who, 1.5) for who in ("a", "b", "c")] == [0.0, 1.5, 3.0]


def test_a_turn_is_kept_however_often_one_asks() -> None:
    clock = Clock()
    turns = Turns(clock)
    turns.wait("a", 1.5)
    turns.wait("b", 1.5)
    clock.now += 1.0
    assert turns.wait("b", 1.5) == turns.left("b") == 0.5
    clock.now += 0.5
    assert turns.wait("b", 1.5) == 0.0
    assert turns.wait("c", 1.5) == 1.5


def test_who_has_asked_for_no_turn_waits_for_none() -> None:
    turns = Turns(Clock())
    assert turns.left("a") == 0.0


def test_turns_long_past_are_forgotten() -> None:
    clock = Clock()
    turns = Turns(clock)
    for who in ("a", "b"):
        turns.wait(who, 1.5)
    clock.now += KEPT_FOR + 2.0
    assert turns.wait("c", 1.5) == 0.0
    assert turns.wait("a", 1.5) == 1.5
