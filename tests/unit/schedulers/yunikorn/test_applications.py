"""Which application the pods of a gang join, and when they need a new one."""

import re

import pytest

from grove.api.pod_view import Pod
from grove.schedulers.recorded_dialect import with_dialect
from grove.schedulers.types import Served
from grove.schedulers.yunikorn.applications import APPLICATION_ID
from grove.schedulers.yunikorn.backend import YuniKorn
from tests.unit.schedulers.gangs import gang, group
from tests.unit.schedulers.yunikorn.gangs import (
    GANG,
    PLAIN,
    draft_of,
    placeholder,
    pod,
    yunikorn,
)


@pytest.mark.parametrize(
    ("namespace", "name"),
    [("team-a", "demo-0"), ("team.a", "d.e"), ("n" * 63, "g" * 63), ("n", "g" * 47 + "-x")],
)
def test_an_application_id_is_valid_in_labels_and_names_of_pods(namespace: str, name: str) -> None:
    found = gang(group("a", 1), name=name, annotations=PLAIN)
    found.metadata.namespace = namespace
    assert re.fullmatch(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", draft_of(found).labels[APPLICATION_ID])


def test_gangs_of_the_same_name_and_attempts_of_one_gang_have_different_applications() -> None:
    found = gang(group("a", 1), annotations=PLAIN)
    other = gang(group("a", 1), annotations=PLAIN)
    other.metadata.uid = "another"
    ids = [draft_of(g).labels[APPLICATION_ID] for g in (found, other, with_dialect(found, "Application2"))]
    assert len(set(ids)) == 3
    assert draft_of(with_dialect(found, "Application1")).labels[APPLICATION_ID] == ids[0]


TIMED_OUT = pod(GANG, phase="Failed", reason="ResourceReservationTimeout")


REJECTED = pod(GANG, phase="Failed", reason="ApplicationRejected")


EVICTED = pod(GANG, phase="Failed", reason="Evicted")


WAITING, RUNNING, TERMINATING = pod(GANG), pod(GANG, phase="Running", node="n"), pod(GANG, going=True)


PLACEHOLDER = placeholder(GANG, "n")


@pytest.mark.parametrize(
    ("recorded", "pods", "word"),
    [
        ("", [], "Application1"),
        ("Application1", [WAITING, WAITING], "Application1"),
        ("Application1", [WAITING, TIMED_OUT], "Application2"),
        ("Application1", [RUNNING, TIMED_OUT], "Application2"),
        ("Application1", [WAITING, REJECTED], "Application2"),
        ("Application1", [EVICTED, TERMINATING], "Application2"),
        ("Application1", [RUNNING, WAITING], "Application1Placed"),
        ("Application1Placed", [RUNNING, EVICTED], "Application1Placed"),
        ("Application1Placed", [RUNNING, TERMINATING], "Application1Placed"),
        ("Application1Placed", [WAITING, TERMINATING], "Application2"),
        ("Application1Placed", [WAITING, WAITING], "Application2"),
        ("Application1", [WAITING, PLACEHOLDER, PLACEHOLDER], "Application1"),
        ("Application1", [pod(GANG, uid="another"), PLACEHOLDER], "Application2"),
    ],
)
def test_a_new_application_follows_one_that_is_over(recorded: str, pods: list[Pod], word: str) -> None:
    assert yunikorn.dialect(with_dialect(GANG, recorded), pods, Served()) == word
    if word == "Application2":
        following = with_dialect(GANG, word)
        assert yunikorn.dialect(following, pods, Served()) == word, "those pods are no reason for a third one"


def test_there_is_a_pause_before_the_release_of_a_gang_but_not_for_pods_of_a_placed_one() -> None:
    assert [
        yunikorn.release_pause_seconds(with_dialect(GANG, d)) for d in ("Application1", "Application2Placed")
    ] == [1.0, 0]
    assert YuniKorn({"secondsBetweenGangs": 0}).release_pause_seconds(GANG) == 0


def test_a_gang_has_begun_with_its_first_placeholder_or_when_it_is_rejected() -> None:
    assert not yunikorn.has_begun(GANG, [WAITING])
    assert yunikorn.has_begun(GANG, [WAITING, PLACEHOLDER])
    assert yunikorn.has_begun(GANG, [REJECTED])
    assert not yunikorn.has_begun(with_dialect(GANG, "Application2"), [PLACEHOLDER, REJECTED])


def test_pods_of_a_given_up_application_are_outdated_once_the_gang_has_a_new_one() -> None:
    assert yunikorn.needs_new_dialect(GANG, TIMED_OUT)
    assert not yunikorn.needs_new_dialect(GANG, EVICTED)
    following = with_dialect(GANG, "Application2")
    assert not yunikorn.needs_new_dialect(following, TIMED_OUT)
    assert [yunikorn.is_outdated(following, p) for p in (WAITING, RUNNING)] == [True, True], (
        "a part runs alone"
    )
    assert not yunikorn.is_outdated(GANG, WAITING)
    part = GANG.spec.pod_groups[0]
    assert yunikorn.broken_link(GANG, part, WAITING) == ""
    assert "without the gang" in yunikorn.broken_link(following, part, WAITING)


def test_running_pods_of_a_recreated_or_placed_gang_are_not_outdated() -> None:
    again = gang(group("a", 1), annotations=PLAIN)
    again.metadata.uid = "another"
    assert [yunikorn.is_outdated(again, p) for p in (WAITING, RUNNING)] == [True, False]
    assert not yunikorn.is_outdated(with_dialect(GANG, "Application2Placed"), RUNNING)
