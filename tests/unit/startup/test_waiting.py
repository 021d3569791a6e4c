"""A pod waits until enough pods of every parent are ready at the same moment."""

from __future__ import annotations

from typing import Any

import pytest

from grove.api import labels
from grove.startup.waiting import POD_CLIQUE, POD_GANG, BadRequirementError, Pod, Wait, parse_arguments


def body(clique: str, owner: str, *, ready: bool = True, **meta: Any) -> dict[str, Any]:
    return {
        "metadata": {
            "name": f"{clique}-x",
            "labels": {POD_CLIQUE: clique},
            "ownerReferences": [{"kind": "PodClique", "name": owner, "controller": True}],
            **meta,
        },
        "status": {"conditions": [{"type": "Ready", "status": str(ready)}]},
    }


def test_the_labels_are_those_of_the_operator() -> None:
    assert (POD_CLIQUE, POD_GANG) == (labels.POD_CLIQUE, labels.POD_GANG)


@pytest.mark.parametrize(
    "arguments",
    [["--podcliques=a:1", "--podcliques=b:2"], ["--podcliques=a:1,b:2"], ["--podcliques", "a:1,b:2"]],
)
def test_arguments_as_either_operator_writes_them(arguments: list[str]) -> None:
    assert parse_arguments(arguments) == {"a": 1, "b": 2}


@pytest.mark.parametrize(
    "argument", ["--podcliques=a", "--podcliques=a:0", "--podcliques=:1", "--podcliques", "--x=1"]
)
def test_arguments_that_make_no_sense_are_refused(argument: str) -> None:
    with pytest.raises(BadRequirementError):
        parse_arguments([argument])


def test_the_wait_is_over_when_every_parent_is_ready_at_once() -> None:
    wait = Wait({"a": 1, "b": 2})
    assert not wait.is_over
    wait.replace([Pod("a-0", "a", True), Pod("b-0", "b", True)])
    assert str(wait) == "a 1 of 1 ready, b 1 of 2 ready"
    wait.update(Pod("a-0", "a", False))
    wait.update(Pod("b-1", "b", True))
    assert not wait.is_over
    wait.update(Pod("a-0", "a", True))
    assert wait.is_over
    wait.remove("b-1")
    assert not wait.is_over


def test_nothing_is_over_before_the_first_list() -> None:
    assert not Wait({}).is_over


def test_only_ready_pods_that_their_clique_controls_and_that_stay_count() -> None:
    assert Pod.of(body("ab", "ab")).ready
    assert Pod.of(body("ab", "a")).clique == ""
    assert not Pod.of(body("ab", "ab", ready=False)).ready
    assert not Pod.of(body("ab", "ab", deletionTimestamp="2026-01-01T00:00:00Z")).ready
