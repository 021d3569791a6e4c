"""How many pods a set may ask for."""

import pytest

from grove.api import PodCliqueSet
from grove.api.config import OperatorConfiguration
from grove.api.serialization import codec
from grove.api.validation import ValidationContext, check_configuration, validate
from tests.unit.api.sets import clique, pcs, pcs_json


def sized(replicas: int, workers: int, copies: int | None = None) -> PodCliqueSet:
    template = (
        {}
        if copies is None
        else {"podCliqueScalingGroups": [{"name": "unit", "cliqueNames": ["worker"], "replicas": copies}]}
    )
    document = pcs_json(clique(replicas=workers), **template)
    document["spec"]["replicas"] = replicas
    return codec.decode(codec.encode(document), PodCliqueSet)


def refusals(given: PodCliqueSet, max_pods_per_set: int = 20_000) -> list[str]:
    context = ValidationContext(OperatorConfiguration(max_pods_per_set=max_pods_per_set))
    return [str(p) for p in validate(given, None, context) if not p.warning]


@pytest.mark.parametrize("given", [sized(10_000, 2), sized(1, 2, 10_000), sized(100, 2, 100)])
def test_a_set_may_ask_for_as_many_pods_as_the_default_allows(given: PodCliqueSet) -> None:
    context = ValidationContext()
    assert [p for p in validate(given, None, context) if not p.warning] == []


@pytest.mark.parametrize(
    "given", [sized(10_001, 2), sized(2**31 - 1, 2), sized(1, 1, 1_000_000), sized(101, 2, 100)]
)
def test_a_set_that_asks_for_more_is_refused_with_the_numbers(given: PodCliqueSet) -> None:
    (message,) = refusals(given)
    assert "the operator allows 20000 in a set" in message


def test_the_bound_is_configurable() -> None:
    assert refusals(sized(3, 2), max_pods_per_set=6) == []
    assert refusals(sized(4, 2), max_pods_per_set=6) != []


def test_a_gang_whose_pods_fit_into_no_podgang_is_refused() -> None:
    assert refusals(pcs(clique(replicas=10_000))) == []
    (message,) = refusals(pcs(clique(replicas=15_000)))
    assert "fits into no PodGang" in message


@pytest.mark.parametrize(
    ("value", "accepted"), [(0, False), (1, True), (1_000_000, True), (1_000_001, False)]
)
def test_the_configured_bound_has_bounds_itself(value: int, accepted: bool) -> None:
    assert (check_configuration(OperatorConfiguration(max_pods_per_set=value)) == []) is accepted
