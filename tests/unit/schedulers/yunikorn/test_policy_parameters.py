"""The placeholder time-out and the gang scheduling style."""

import pytest

from grove.schedulers.recorded_dialect import with_dialect
from grove.schedulers.types import Refusal, Served
from grove.schedulers.yunikorn.backend import YuniKorn
from grove.schedulers.yunikorn.policy_parameters import PARAMETERS
from tests.unit.api.sets import clique, pcs
from tests.unit.schedulers.gangs import Json, gang, group
from tests.unit.schedulers.yunikorn.gangs import (
    GANG,
    PLAIN,
    containers,
    draft_of,
    gang_of,
    yunikorn,
)


def test_gangs_that_gave_up_together_get_different_time_outs() -> None:
    def timeouts(dialect: str) -> list[int]:
        found = []
        for uid in "abcdefgh":
            one = gang_of(pcs(clique("worker", **containers({"cpu": "1"}))))
            one.metadata.uid = uid
            parameters = draft_of(with_dialect(one, dialect)).annotations[PARAMETERS]
            found.append(int(parameters.split()[0].removeprefix("placeholderTimeoutInSeconds=")))
        return found

    assert set(timeouts("Application1")) == {900}
    again = timeouts("Application2")
    assert len(set(again)) > 4
    assert all(900 <= t < 1800 for t in again)
    assert timeouts("Application3") != again == timeouts("Application2")


@pytest.mark.parametrize(
    ("settings", "own", "written"),
    [
        ({}, "", "placeholderTimeoutInSeconds=900 gangSchedulingStyle=Hard"),
        (
            {"gangSchedulingStyle": "Soft", "placeholderTimeoutInSeconds": 60},
            "",
            "placeholderTimeoutInSeconds=60 gangSchedulingStyle=Soft",
        ),
        ({}, "gangSchedulingStyle=Soft", "placeholderTimeoutInSeconds=900 gangSchedulingStyle=Soft"),
        (
            {},
            "gangSchedulingStyle=Soft  placeholderTimeoutInSeconds=9",
            "placeholderTimeoutInSeconds=9 gangSchedulingStyle=Soft",
        ),
    ],
)
def test_style_and_time_out_come_from_the_set_or_from_the_profile(
    settings: Json, own: str, written: str
) -> None:
    backend = YuniKorn(settings)
    found = gang(group("a", 1), annotations=PLAIN | {PARAMETERS: own})
    assert draft_of(found, backend).annotations[PARAMETERS] == written
    assert ("no gang any more" in backend.shortfall(found, Served())) == ("Soft" in written)


def test_time_behind_the_gate_is_added_to_the_time_out_when_the_gate_is_removed() -> None:
    assert yunikorn.release_annotations(GANG, 99.5) == {
        PARAMETERS: "placeholderTimeoutInSeconds=1000 gangSchedulingStyle=Hard"
    }


@pytest.mark.parametrize(
    "text", ["gangSchedulingStyle=Medium", "placeholderTimeoutInSeconds=0", "timeout=9", "Hard"]
)
def test_parameters_that_yunikorn_would_ignore_are_invalid(text: str) -> None:
    found = pcs(clique())
    found.metadata.annotations[PARAMETERS] = text
    (problem,) = yunikorn.validate(found)
    assert problem.path == ("metadata", "annotations", PARAMETERS)
    with pytest.raises(Refusal, match=PARAMETERS):
        draft_of(gang(group("a", 1), annotations=PLAIN | {PARAMETERS: text}))
