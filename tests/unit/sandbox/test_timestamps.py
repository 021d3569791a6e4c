"""Ages as kubectl prints them."""

import pytest
from grove_sandbox.timestamps import age, parse


@pytest.mark.parametrize(
    ("then", "shown"),
    [
        ("2030-01-01T00:00:00Z", "0s"),
        ("2029-12-31T23:58:30Z", "90s"),
        ("2029-12-31T23:55:55Z", "4m5s"),
        ("2029-12-31T23:00:00Z", "60m"),
        ("2029-12-31T18:30:00Z", "5h30m"),
        ("2029-12-20T00:00:00Z", "12d"),
    ],
)
def test_ages_are_shown_as_kubectl_shows_them(then: str, shown: str) -> None:
    assert age(then, parse("2030-01-01T00:00:00Z")) == shown
