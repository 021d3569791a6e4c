"""What failed, as a status lists it."""

from datetime import timedelta

from grove.api import Time
from grove.controllers.shared.failures import MAX_LAST_ERRORS, Failure, describe, last_errors, raise_failures
from tests.unit.plan.observed import NOW


def test_a_lasting_error_keeps_its_time() -> None:
    failure = Failure("ERR_A", ValueError("no"))
    first = last_errors([], [failure], NOW)
    later = last_errors(first, [failure, Failure("ERR_B", ValueError("no"))], NOW + timedelta(hours=1))
    assert [(e.code, e.observed_at) for e in later] == [
        ("ERR_A", Time.at(NOW)),
        ("ERR_B", Time.at(NOW + timedelta(hours=1))),
    ]


def test_the_same_failure_of_many_pods_is_listed_once_and_the_list_is_bounded() -> None:
    same = [Failure("ERR_A", ValueError("no"))] * 3
    assert len(last_errors([], same, NOW)) == 1
    many = [Failure("ERR_A", ValueError(str(n))) for n in range(2 * MAX_LAST_ERRORS)]
    assert len(last_errors([], many, NOW)) == MAX_LAST_ERRORS


def test_an_error_is_described_by_its_own_words_or_else_by_its_kind() -> None:
    assert describe(ValueError("no")) == "no"
    assert describe(ValueError()) == "ValueError"
    assert describe(ExceptionGroup("all", [ValueError("a"), ValueError("b"), ValueError("a")])) == "a; b"


def test_without_failures_nothing_is_raised() -> None:
    raise_failures("nothing", [])
