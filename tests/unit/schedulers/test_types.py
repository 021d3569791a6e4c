"""What the framework adds to an object that a backend returns."""

import pytest

from grove.api import labels
from grove.schedulers.types import ObjectKind, SchedulerObject
from tests.unit.schedulers.gangs import Json, gang, group

GANG = gang(group("demo-0-worker", 2), tags={labels.MANAGED_BY: labels.MANAGER, "team": "a"})
NAMES = {labels.MANAGED_BY: labels.MANAGER, labels.PART_OF: "demo", labels.POD_GANG: "demo-0"}


def flock(*, namespaced: bool = True, **metadata: Json) -> SchedulerObject:
    kind = ObjectKind("example.com", "v1", "flocks", "Flock", namespaced)
    return SchedulerObject(kind, {"metadata": {"name": "f", **metadata}, "spec": {"size": 2}})


@pytest.mark.parametrize("namespaced", [True, False])
def test_every_object_names_its_gang_and_its_set_by_label(namespaced: bool) -> None:
    assert flock(namespaced=namespaced).owned_by(GANG)["metadata"]["labels"] == NAMES


def test_labels_of_the_backend_stay_and_cannot_name_another_gang_or_set() -> None:
    lies = {labels.POD_GANG: "x", labels.PART_OF: "x"}
    made = flock(labels={"example.com/queue": "q", **lies})
    assert made.owned_by(GANG)["metadata"]["labels"] == {"example.com/queue": "q", **NAMES}
    assert made.body["metadata"]["labels"] == {"example.com/queue": "q", **lies}, "the body is not changed"


def test_a_gang_without_a_set_names_only_itself() -> None:
    lonely = gang(group("demo-0-worker", 2))
    lonely.metadata.labels.clear()
    assert flock().owned_by(lonely)["metadata"]["labels"] == {labels.POD_GANG: "demo-0"}
