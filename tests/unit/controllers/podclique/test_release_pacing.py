"""Gangs in a line."""

from itertools import pairwise

import pytest

from grove.controllers.podclique.release_pacing import (
    MAX_BEGIN_SECONDS,
    RELEASE_RECORD_TTL_SECONDS,
    ReleasePacing,
)


class Line(ReleasePacing[str]):
    """Those in `begins` begin as soon as it is their turn."""

    def __init__(self, begins: str = "abcdefgh") -> None:
        self.now = 100.0
        self.begins = begins
        super().__init__(lambda: self.now, lambda who: who in self.begins)

    def until_their_turn(self, *waiting: str, pause: float = 1.0) -> dict[str, float]:
        """When each gang is released, if all ask again when they should."""
        start, gone = self.now, dict[str, float]()
        due = dict.fromkeys(waiting, self.now)
        while due:
            who = min(due, key=lambda w: due[w])
            self.now = max(self.now, due.pop(who))
            if wait := self.request(who, pause):
                assert self.ask_again_in(who) == pytest.approx(wait)
                due[who] = self.now + wait
            else:
                gone[who] = self.now - start
        return gone


def test_the_first_goes_at_once_and_each_other_a_pause_after_the_one_before() -> None:
    gone = Line().until_their_turn(*"abcde")
    assert gone["a"] == 0.0
    times = list(gone.values())
    assert len(times) == 5
    assert all(0.99 < after - before < 2.5 for before, after in pairwise(times))


def test_the_pause_begins_when_the_one_before_has_begun() -> None:
    line = Line(begins="")
    assert line.request("a", 1.0) == 0.0
    line.now += 5.0
    assert line.request("b", 1.0)
    line.begins = "a"
    assert line.request("b", 1.0)
    line.now += 1.0
    assert line.request("b", 1.0) == 0.0


def test_who_does_not_begin_holds_up_the_others_for_a_while_only() -> None:
    gone = Line(begins="bc").until_their_turn("a", "b", "c")
    assert MAX_BEGIN_SECONDS <= min(gone["b"], gone["c"]) < MAX_BEGIN_SECONDS + 1
    assert max(gone["b"], gone["c"]) < MAX_BEGIN_SECONDS + 4


def test_a_turn_is_kept_however_often_one_asks() -> None:
    line = Line(begins="")
    assert [line.request("a", 1.0) for _ in range(3)] == [0.0] * 3
    assert line.ask_again_in("a") == 0.0


def test_who_waits_and_never_asks_again_holds_up_nobody() -> None:
    line = Line()
    line.request("a", 1.0)
    line.request("gone", 1.0)
    assert line.until_their_turn("b", "c")["c"] < 5.0


def test_who_has_asked_for_no_turn_waits_for_none() -> None:
    assert Line().ask_again_in("a") == 0.0


def test_turns_long_past_are_forgotten() -> None:
    line = Line()
    assert line.request("a", 1.0) == 0.0
    line.now += RELEASE_RECORD_TTL_SECONDS + 2.0
    line.until_their_turn("b")
    assert line.request("a", 1.0) > 0.0
