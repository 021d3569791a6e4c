"""Two cliques or claims of a set never get the same name, whatever their indices."""

from typing import Any

import pytest

from grove.api.validation import validate
from tests.unit.api.sets import clique, pcs

DEVICE = {"spec": {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu"}}]}}}


def share(name: str, scope: str) -> dict[str, Any]:
    return {"name": name, "scope": scope}


def templates(*names: str) -> list[dict[str, Any]]:
    return [{"name": n, "templateSpec": DEVICE} for n in names]


def complaints(*cliques: dict[str, Any], **template: Any) -> list[str]:
    return [str(p) for p in validate(pcs(*cliques, **template)) if "the names can be equal" in str(p)]


@pytest.mark.parametrize(
    ("alone", "group", "member"),
    [("decode-0-worker", "decode", "worker"), ("a-b-12-c", "a-b", "c"), ("g-3-0", "g", "0")],
)
def test_a_clique_that_looks_like_a_member_of_a_group_is_refused(alone: str, group: str, member: str) -> None:
    found = complaints(
        clique(alone), clique(member), podCliqueScalingGroups=[{"name": group, "cliqueNames": [member]}]
    )
    assert len(found) == 1
    assert found[0].startswith("spec.template.cliques[1].name")


def test_members_of_two_groups_can_collide() -> None:
    groups = [{"name": "a", "cliqueNames": ["0-b"]}, {"name": "a-1", "cliqueNames": ["b"]}]
    assert len(complaints(clique("0-b"), clique("b"), podCliqueScalingGroups=groups)) == 1


@pytest.mark.parametrize(
    ("alone", "group", "member"),
    [
        ("decode-x-worker", "decode", "worker"),
        ("decode-00-worker", "decode", "worker"),
        ("decode-worker", "decode", "worker"),
        ("worker-0-decode", "decode", "worker"),
    ],
)
def test_names_that_only_look_alike_are_fine(alone: str, group: str, member: str) -> None:
    groups = [{"name": group, "cliqueNames": [member]}]
    assert complaints(clique(alone), clique(member), podCliqueScalingGroups=groups) == []


def test_a_duplicate_name_is_reported_once() -> None:
    assert complaints(clique("a"), clique("a", roleName="b")) == []


def test_claims_of_different_owners_can_collide() -> None:
    found = complaints(
        clique("w", resourceSharing=[share("t", "AllReplicas")]),
        resourceClaimTemplates=templates("t", "w-all-t"),
        resourceSharing=[share("w-all-t", "PerReplica")],
    )
    assert len(found) == 1
    assert "spec.template.cliques[0].resourceSharing[0].name" in found[0]


def test_one_template_can_be_shared_at_every_level() -> None:
    every = [share("t", "PerReplica")]
    assert (
        complaints(
            clique("w", resourceSharing=every),
            podCliqueScalingGroups=[{"name": "g", "cliqueNames": ["w"], "resourceSharing": every}],
            resourceClaimTemplates=templates("t"),
            resourceSharing=every,
        )
        == []
    )
