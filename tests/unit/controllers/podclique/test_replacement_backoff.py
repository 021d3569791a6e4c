"""The first failed pod of a clique is replaced immediately, each further one later."""

import pytest

from grove.controllers.podclique.replacement_backoff import (
    MAX_BACKOFF_SECONDS,
    RESET_AFTER_SECONDS,
    ReplacementBackoff,
)


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_the_backoff_doubles_up_to_its_maximum() -> None:
    clock = Clock()
    backoff = ReplacementBackoff(clock)
    waits: list[float] = []
    for _ in range(8):
        waits.append(backoff.remaining("a"))
        clock.now += waits[-1]
        assert backoff.remaining("a") == 0.0
        backoff.record("a")
    assert waits == [0.0, 10.0, 20.0, 40.0, 80.0, 160.0, MAX_BACKOFF_SECONDS, MAX_BACKOFF_SECONDS]


def test_what_has_passed_of_the_backoff_counts() -> None:
    clock = Clock()
    backoff = ReplacementBackoff(clock)
    backoff.record("a")
    clock.now += 4.0
    assert backoff.remaining("a") == pytest.approx(6.0)


def test_it_starts_over_after_a_while_without_failures() -> None:
    clock = Clock()
    backoff = ReplacementBackoff(clock)
    for _ in range(5):
        backoff.record("a")
    clock.now += RESET_AFTER_SECONDS
    assert backoff.remaining("a") == 0.0
    backoff.record("a")
    assert backoff.remaining("a") == 10.0


def test_cliques_do_not_share_a_backoff_and_a_deleted_clique_is_forgotten() -> None:
    backoff = ReplacementBackoff(Clock())
    backoff.record("a")
    assert (backoff.remaining("a"), backoff.remaining("b")) == (10.0, 0.0)
    backoff.forget("a")
    assert backoff.remaining("a") == 0.0
