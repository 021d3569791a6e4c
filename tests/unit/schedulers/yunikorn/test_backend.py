"""How gangs are translated into labels and annotations of pods for YuniKorn."""

import msgspec
import pytest

from grove.api import labels
from grove.api.podgang import PodGang
from grove.schedulers.types import Refusal, Served
from grove.schedulers.yunikorn.backend import QUEUE, TASK_GROUP, TASK_GROUPS, YuniKorn
from grove.schedulers.yunikorn.policy_parameters import PARAMETERS
from tests.unit.api.sets import clique, pcs
from tests.unit.schedulers.gangs import Json, check_golden, gang, group, packed, together, translated
from tests.unit.schedulers.yunikorn.gangs import PLAIN, SETS, draft_of, gang_of, yunikorn


@pytest.mark.parametrize("name", SETS)
def test_the_pods_of_a_gang_form_an_application(name: str) -> None:
    check_golden(f"yunikorn/{name}", translated(yunikorn, gang_of(SETS[name]), Served()))


def test_all_pods_describe_the_application_alike() -> None:
    found = gang_of(SETS["groups"])
    one, other = draft_of(found), draft_of(found, index=1)
    assert one.annotations[TASK_GROUPS] == other.annotations[TASK_GROUPS]
    assert one.annotations[PARAMETERS] == other.annotations[PARAMETERS]
    assert one.labels == other.labels
    assert one.annotations[TASK_GROUP] != other.annotations[TASK_GROUP]


@pytest.mark.parametrize(
    ("queue", "good"),
    [
        ("team-a", True),
        ("root.team-a", True),
        ("root.research.nlp_2", True),
        ("research.nlp", False),
        ("root.", False),
        ("root..a", False),
        ("a b", False),
    ],
)
def test_a_queue_is_one_name_or_a_path_from_the_root(queue: str, good: bool) -> None:
    found = pcs(clique(annotations={QUEUE: queue}))
    assert ([*yunikorn.validate(found)] == []) is good
    assert gang_of(found).metadata.annotations[labels.QUEUE] == queue


def test_the_profile_names_the_queue_of_sets_that_name_none() -> None:
    house = YuniKorn({"queue": "root.house"})
    found = gang_of(pcs(clique()), house)
    assert draft_of(found, house).labels[QUEUE] == "root.house"
    assert QUEUE not in draft_of(gang_of(pcs(clique()))).labels


@pytest.mark.parametrize(
    "found",
    [
        gang(group("a", 1), annotations=PLAIN, topologyConstraint=packed(required="rack")),
        gang(group("a", 1, {"required": "rack"}), annotations=PLAIN),
        gang(
            group("a", 1),
            annotations=PLAIN,
            topologyConstraintGroupConfigs=[together("u", "a", pack={"required": "rack"})],
        ),
    ],
)
def test_a_required_topology_is_refused(found: PodGang) -> None:
    with pytest.raises(Refusal, match="does not support topology"):
        yunikorn.translate(found, Served())


def test_a_preferred_topology_is_dropped_and_reported() -> None:
    found = gang(group("a", 1), annotations=PLAIN, topologyConstraint=packed(preferred="rack"))
    assert yunikorn.translate(found, Served()) == ()
    assert "is dropped" in yunikorn.shortfall(found, Served())


@pytest.mark.parametrize(("pack", "is_warning"), [("required", False), ("preferred", True)])
def test_topology_in_a_set_is_an_error_if_required_and_a_warning_if_preferred(
    pack: str, is_warning: bool
) -> None:
    found = pcs(clique(), topologyConstraint={"topologyName": "floor", "pack": {pack: "rack"}})
    (problem,) = yunikorn.validate(found)
    assert problem.warning is is_warning


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"queu": "a"}, "queu"),
        ({"gangSchedulingStyle": "Medium"}, "gangSchedulingStyle"),
        ({"placeholderTimeoutInSeconds": 0}, "placeholderTimeoutInSeconds"),
    ],
)
def test_an_error_names_the_wrong_setting(settings: Json, expected: str) -> None:
    with pytest.raises(msgspec.ValidationError, match=expected):
        YuniKorn(settings)
