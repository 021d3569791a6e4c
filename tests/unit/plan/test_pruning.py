"""Which objects of a replica are deleted because the set no longer describes them."""

import pytest

from grove.api import PodClique, PodCliqueScalingGroup
from grove.api.serialization.model import replace
from grove.plan.pruning import is_unwanted, is_unwanted_part
from tests.unit.api.sets import clique
from tests.unit.plan.samples import alone, group, layout, member

LAYOUT = layout(
    clique("alone"),
    clique("a"),
    podCliqueScalingGroups=[{"name": "g", "cliqueNames": ["a"], "replicas": 2, "minAvailable": 1}],
)
WANTED = {"train-0-alone", "train-0-g"}


@pytest.mark.parametrize(
    ("name", "unwanted"),
    [
        ("train-0", True),
        ("train-0-old", True),
        ("train-0-alone", False),
        ("train-1-old", False),
        ("train-01-old", False),
        ("trainer-0-old", False),
    ],
)
def test_an_object_is_unwanted_if_its_name_is_of_the_replica_and_not_wanted(
    name: str, unwanted: bool
) -> None:
    assert is_unwanted(name, WANTED, "train", 0) is unwanted


def orphan(found: PodClique) -> PodClique:
    return replace(found, metadata=replace(found.metadata, owner_references=[]))


@pytest.mark.parametrize(
    ("part", "wanted", "copies", "unwanted"),
    [
        (alone(LAYOUT, "alone"), WANTED, {}, False),
        (alone(LAYOUT, "alone"), set(), {}, True),
        (group(LAYOUT, "g"), set(), {}, True),
        (group(LAYOUT, "g"), WANTED, {}, False),
        (member(LAYOUT, "a"), WANTED, {"train-0-g": 2}, False),
        (orphan(member(LAYOUT, "a")), WANTED, {"train-0-g": 2}, False),
        (orphan(member(LAYOUT, "a")), WANTED, {"train-0-g": None}, False),
        (orphan(member(LAYOUT, "a", j=2)), WANTED, {"train-0-g": 2}, True),
        (orphan(member(LAYOUT, "a")), set(), {}, True),
    ],
    ids=[
        "wanted clique",
        "clique of a replica that is removed",
        "group of a replica that is removed",
        "wanted group",
        "a member is deleted with its group",
        "an orphaned member is adopted by its group",
        "an orphaned member waits for its group",
        "an orphaned member of a copy that is gone",
        "an orphaned member of a replica that is removed",
    ],
)
def test_parts(
    part: PodClique | PodCliqueScalingGroup, wanted: set[str], copies: dict[str, int | None], unwanted: bool
) -> None:
    assert is_unwanted_part(part, wanted, LAYOUT, 0, copies) is unwanted
