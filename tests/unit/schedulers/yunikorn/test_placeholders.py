"""The placeholders of a gang."""

import json

import pytest

from grove.api import labels
from grove.schedulers.types import Refusal, Served
from grove.schedulers.yunikorn.backend import TASK_GROUP, TASK_GROUPS
from grove.schedulers.yunikorn.placeholders import PLACEHOLDERS
from tests.unit.api.sets import clique, pcs
from tests.unit.schedulers.gangs import gang, group
from tests.unit.schedulers.yunikorn.gangs import (
    GANG,
    containers,
    draft_of,
    yunikorn,
)


def test_a_group_with_a_minimum_of_zero_has_no_placeholders() -> None:
    shapes = '[{"minResource":{"cpu":"1"}},{"minResource":{}}]'
    found = gang(group("a", 1), group("b", 0), annotations={PLACEHOLDERS: shapes})
    draft = draft_of(found, index=1)
    assert TASK_GROUP not in draft.annotations
    assert [g["name"] for g in json.loads(draft.annotations[TASK_GROUPS])] == ["a"]


def test_a_label_of_placeholders_names_their_gang() -> None:
    (task_group,) = json.loads(draft_of(GANG).annotations[TASK_GROUPS])
    assert task_group["labels"] == {labels.STAND_IN_FOR: "demo-0"}


def test_affinity_to_labels_that_placeholders_lack_gives_a_warning() -> None:
    spread = [
        {
            "maxSkew": 1,
            "topologyKey": "zone",
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {labels.POD_CLIQUE: "x"}},
        }
    ]
    (problem,) = yunikorn.validate(pcs(clique(**containers({}, topologySpreadConstraints=spread))))
    assert problem.warning


def test_requests_that_cannot_be_read_make_a_set_invalid() -> None:
    (problem,) = yunikorn.validate(pcs(clique(**containers({"cpu": "much"}))))
    assert not problem.warning


def test_a_gang_without_the_shapes_of_its_placeholders_is_refused() -> None:
    with pytest.raises(Refusal, match=PLACEHOLDERS):
        yunikorn.translate(gang(group("a", 1)), Served())
