"""Every clique of a replica belongs to exactly one gang: the base gang, or the scaled gang of its copy."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grove.plan.gangs.membership import GangMembers, gang_members, gang_names
from grove.plan.layout.clique_position import gang_of, position_of
from tests.unit.api.sets import clique
from tests.unit.plan.samples import alone, layout, member

SET = layout(
    clique("router", replicas=1),
    clique("worker", replicas=4, minAvailable=3),
    clique("leader", replicas=1),
    clique("helper", replicas=2),
    podCliqueScalingGroups=[
        {"name": "g", "cliqueNames": ["leader", "worker"], "replicas": 3, "minAvailable": 2},
        {"name": "h", "cliqueNames": ["helper"], "replicas": 1, "minAvailable": 1},
    ],
)


def summary(gang: GangMembers) -> tuple[str, list[str], list[str], bool]:
    return gang.name, list(gang.cliques), [c.name for c in gang.copies], gang.is_base


BASE = (
    "train-1",
    [
        "train-1-router",
        "train-1-g-0-leader",
        "train-1-g-0-worker",
        "train-1-g-1-leader",
        "train-1-g-1-worker",
        "train-1-h-0-helper",
    ],
    ["train-1-g-0", "train-1-g-1", "train-1-h-0"],
    True,
)
G_2 = ("train-1-g-0", ["train-1-g-2-leader", "train-1-g-2-worker"], ["train-1-g-2"], False)
G_3 = ("train-1-g-1", ["train-1-g-3-leader", "train-1-g-3-worker"], ["train-1-g-3"], False)
H_1 = ("train-1-h-0", ["train-1-h-1-helper"], ["train-1-h-1"], False)


@pytest.mark.parametrize(
    ("copies", "expected"),
    [
        ({}, [BASE, G_2]),
        ({"g": 2}, [BASE]),
        ({"g": 0, "h": 0}, [BASE]),
        ({"g": 4}, [BASE, G_2, G_3]),
        ({"g": 3, "h": 2}, [BASE, G_2, H_1]),
    ],
    ids=["as in the template", "at the minimum", "scaled to zero", "one group scaled out", "both scaled out"],
)
def test_copies_below_the_minimum_form_the_base_gang_and_each_other_copy_a_scaled_gang(
    copies: dict[str, int], expected: list[tuple[str, list[str], list[str], bool]]
) -> None:
    gangs = gang_members(SET, 1, copies)
    assert [summary(g) for g in gangs] == expected
    assert gang_names(SET, 1, copies) == {name for name, *_ in expected}


def test_a_copy_names_its_group_and_its_cliques() -> None:
    base, scaled = gang_members(SET, 0, {})
    assert [c.group.name for c in base.copies] == ["g", "g", "h"]
    assert base.copies[1].clique_names == ("train-0-g-1-leader", "train-0-g-1-worker")
    (copy,) = scaled.copies
    assert (copy.group.name, copy.clique_names) == ("g", ("train-0-g-2-leader", "train-0-g-2-worker"))


def test_cliques_have_the_minimum_of_the_template_until_a_pod_clique_exists() -> None:
    base, scaled = gang_members(SET, 0, {})
    assert [c.spec.min_available for c in base.cliques.values()] == [1, 1, 3, 1, 3, 2]
    assert [c.spec.min_available for c in scaled.cliques.values()] == [1, 3]


def test_an_existing_pod_clique_keeps_its_minimum() -> None:
    minimums = {"train-0-g-0-worker": 4, "train-0-g-2-worker": 2, "train-0-router": 1, "train-1-router": 9}
    base, scaled = gang_members(SET, 0, {}, minimums)
    assert [c.spec.min_available for c in base.cliques.values()] == [1, 1, 4, 1, 3, 2]
    assert [c.spec.min_available for c in scaled.cliques.values()] == [1, 2]
    assert SET.cliques["worker"].spec.min_available == 3


@given(st.integers(0, 5), st.integers(0, 5), st.integers(0, 3))
def test_every_clique_is_in_exactly_the_gang_that_its_position_says(g: int, h: int, i: int) -> None:
    gangs = gang_members(SET, i, {"g": g, "h": h})
    where = {name: gang.name for gang in gangs for name in gang.cliques}
    assert max(Counter(name for gang in gangs for name in gang.cliques).values()) == 1
    built = [alone(SET, "router", i)]
    built += [member(SET, name, i, j) for name in ("leader", "worker") for j in range(g)]
    built += [member(SET, "helper", i, j) for j in range(h)]
    for found in built:
        assert where[found.metadata.name or ""] == gang_of(SET, position_of(SET, found))
