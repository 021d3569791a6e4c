"""Names are those of the reference, and never collide within a set."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grove.api import labels, names


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (names.clique("llm", 1, "router"), "llm-1-router"),
        (names.scaling_group("llm", 1, "prefill"), "llm-1-prefill"),
        (names.clique_in_group("llm-1-prefill", 2, "worker"), "llm-1-prefill-2-worker"),
        (names.base_gang("llm", 1), "llm-1"),
        (names.scaled_gang("llm-1-prefill", 3, 2), "llm-1-prefill-1"),
        (names.scaling_group_replica("llm-1-prefill", 3), "llm-1-prefill-3"),
        (names.headless_service("llm", 1), "llm-1"),
        (names.service_address("llm", 1, "prod"), "llm-1.prod.svc.cluster.local"),
        (names.hostname("llm-1-router", 4), "llm-1-router-4"),
        (names.pod_generate_name("llm-1-router"), "llm-1-router-"),
        (names.service_account("llm"), "llm"),
        (names.role("llm"), "grove.io:pcs:llm"),
        (names.role_label("llm"), "grove.io-pcs-llm"),
        (names.token_secret("llm"), "llm-ic-sat"),
        (names.shared_claim("llm", "gpu"), "llm-all-gpu"),
        (names.replica_claim("llm", 1, "gpu"), "llm-1-gpu"),
        (names.compute_domain("llm", 1, "g"), "llm-1-g"),
        (names.kai_pod_group("llm-1", "u"), "pg-llm-1-u"),
    ],
)
def test_names_are_those_of_the_reference(name: str, expected: str) -> None:
    assert name == expected


@given(st.integers(0, 30), st.integers(1, 10))
def test_copies_below_the_minimum_are_in_the_base_gang_and_others_in_their_own(j: int, minimum: int) -> None:
    gang = names.gang_of_group_replica("s", 0, "s-0-g", j, minimum)
    assert (gang == "s-0") == (j < minimum)


@given(st.integers(1, 5), st.sets(st.integers(5, 40), min_size=2))
def test_scaled_gangs_have_names_of_their_own(minimum: int, copies: set[int]) -> None:
    assert len({names.scaled_gang("s-0-g", j, minimum) for j in copies}) == len(copies)


def test_a_copy_of_the_base_gang_has_no_scaled_gang() -> None:
    with pytest.raises(ValueError, match="belongs to the base gang"):
        names.scaled_gang("s-0-g", 1, 2)


def test_selectors_are_ordered() -> None:
    assert labels.selector({"b": "2", "a": "1"} | labels.of_set("llm")) == (
        "a=1,app.kubernetes.io/managed-by=grove-operator,app.kubernetes.io/part-of=llm,b=2"
    )
