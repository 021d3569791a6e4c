"""A PodClique has the position that its name and its labels agree on, or none."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grove.api import PodClique, labels
from grove.api.serialization.model import replace
from grove.plan.layout.clique_position import CliquePosition, find_position, gang_of, position_of
from grove.plan.layout.set_layout import SetLayout
from tests.unit.api.sets import clique
from tests.unit.plan.samples import alone, layout, member

GROUPS = [
    {"name": "g", "cliqueNames": ["worker", "decode-worker"], "replicas": 4, "minAvailable": 2},
    {"name": "decode", "cliqueNames": ["helper"], "replicas": 2, "minAvailable": 1},
]
SET = layout(
    clique("router"),
    clique("side-router"),
    clique("worker"),
    clique("decode-worker"),
    clique("helper"),
    podCliqueScalingGroups=GROUPS,
)
ROUTER = alone(SET, "router", i=1)
WORKER = member(SET, "worker", i=1, j=2)


def changed(found: PodClique, name: str | None = None, **own: str | None) -> PodClique:
    """With another name, or other labels; None removes a label."""
    keys = {
        "replica": labels.REPLICA_INDEX,
        "group": labels.SCALING_GROUP,
        "copy": labels.SCALING_GROUP_REPLICA_INDEX,
        "gang": labels.POD_GANG,
    }
    after = found.metadata.labels | {keys[k]: v for k, v in own.items() if v is not None}
    for key, value in own.items():
        if value is None:
            after.pop(keys[key])
    metadata = replace(found.metadata, labels=after, name=name or found.metadata.name)
    return replace(found, metadata=metadata)


def test_a_standalone_clique_has_a_replica_and_no_group() -> None:
    assert find_position(SET, ROUTER) == CliquePosition(1, SET.cliques["router"], None, None)


def test_a_member_of_a_group_has_a_replica_a_group_and_a_copy() -> None:
    assert find_position(SET, WORKER) == CliquePosition(1, SET.cliques["worker"], SET.groups[0], 2)


@pytest.mark.parametrize(
    ("found", "gang"),
    [
        (alone(SET, "router", i=0), "train-0"),
        (alone(SET, "side-router", i=3), "train-3"),
        (member(SET, "worker", i=0, j=0), "train-0"),
        (member(SET, "worker", i=0, j=1), "train-0"),
        (member(SET, "worker", i=0, j=2), "train-0-g-0"),
        (member(SET, "decode-worker", i=2, j=3), "train-2-g-1"),
        (member(SET, "helper", i=0, j=0), "train-0"),
        (member(SET, "helper", i=0, j=1), "train-0-decode-0"),
    ],
)
def test_copies_below_the_minimum_belong_to_the_base_gang_and_the_others_to_their_own(
    found: PodClique, gang: str
) -> None:
    assert gang_of(SET, position_of(SET, found)) == gang


@pytest.mark.parametrize(
    "found",
    [
        changed(ROUTER, name="train-1-gone"),
        changed(ROUTER, name="train-2-router"),
        changed(ROUTER, name="other-1-router"),
        changed(ROUTER, replica="2"),
        changed(ROUTER, replica=None),
        changed(ROUTER, replica=None, name="train-None-router", gang="train-None"),
        changed(ROUTER, replica="one"),
        changed(ROUTER, replica="-1"),
        changed(ROUTER, replica="\u0661"),
        changed(ROUTER, group="train-1-g"),
        changed(ROUTER, group="train-1-g", copy="0"),
        changed(ROUTER, gang="train-0"),
        changed(ROUTER, gang=None),
        changed(WORKER, name="train-1-g-2-gone"),
        changed(WORKER, name="train-1-g-3-worker"),
        changed(WORKER, name="train-1-decode-2-worker"),
        changed(WORKER, replica="0"),
        changed(WORKER, group="train-1-gone"),
        changed(WORKER, group="train-1-decode"),
        changed(WORKER, group="train-1-decode", name="train-1-decode-2-worker"),
        changed(WORKER, group="train-0-g"),
        changed(WORKER, group=None),
        changed(WORKER, copy="1"),
        changed(WORKER, copy=None),
        changed(WORKER, copy=None, name="train-1-g-None-worker", gang="train-1"),
        changed(WORKER, copy="two"),
        changed(WORKER, copy="\u0662"),
        changed(WORKER, gang="train-1"),
        changed(WORKER, gang="train-1-g-1"),
        changed(WORKER, gang=None),
    ],
    ids=lambda c: f"{c.metadata.name} {sorted(c.metadata.labels.items())}",
)
def test_a_clique_whose_name_and_labels_disagree_has_no_position(found: PodClique) -> None:
    assert find_position(SET, found) is None
    message = f"PodCliqueSet train describes no clique that PodClique {found.metadata.name} belongs to"
    with pytest.raises(LookupError, match=message):
        position_of(SET, found)


def test_a_clique_that_moved_out_of_its_group_has_no_position_in_the_new_set() -> None:
    flat = layout(clique("router"), clique("worker"))
    assert find_position(flat, WORKER) is None
    assert find_position(SET, alone(flat, "worker")) is None


NAMES = st.sampled_from(["a", "b", "a-0", "a-0-b", "0-a", "b-a", "0", "1-b"])


@st.composite
def layouts(draw: st.DrawFn) -> SetLayout:
    """Sets whose names look alike; whether validation would accept all of them does not matter here."""
    cliques = draw(st.lists(NAMES, min_size=2, max_size=5, unique=True))
    grouped = draw(st.integers(0, len(cliques) - 1))
    groups: list[dict[str, Any]] = []
    if grouped:
        minimum = draw(st.integers(1, 3))
        groups = [
            {"name": draw(NAMES), "cliqueNames": cliques[:grouped], "replicas": 3, "minAvailable": minimum}
        ]
    return layout(*(clique(n) for n in cliques), podCliqueScalingGroups=groups)


@given(layouts(), st.integers(0, 12), st.integers(0, 12))
def test_every_clique_that_the_plan_builds_is_found_again(found: SetLayout, i: int, j: int) -> None:
    for template in found.standalone:
        assert find_position(found, alone(found, template.name, i)) == CliquePosition(i, template)
    for group in found.groups:
        for template in group.cliques:
            position = find_position(found, member(found, template.name, i, j))
            assert position == CliquePosition(i, template, group, j)
