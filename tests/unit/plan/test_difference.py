"""A patch contains only what differs, and only fields that Grove owns."""

from typing import Any

import pytest

from grove.plan.difference import difference, left_behind

Json = dict[str, Any]


@pytest.mark.parametrize(
    ("observed", "desired", "ours", "patch"),
    [
        ({"spec": {"a": 1}}, {"spec": {"a": 1}}, (), None),
        ({"spec": {"a": 1, "theirs": 2}}, {"spec": {"a": 1}}, (), None),
        ({"spec": {"a": 1}}, {"spec": {"a": 2}}, (), {"spec": {"a": 2}}),
        ({}, {"spec": {"a": 1}}, (), {"spec": {"a": 1}}),
        (
            {"spec": {"p": {"a": 1, "old": 2}}},
            {"spec": {"p": {"a": 1}}},
            ("spec.p",),
            {"spec": {"p": {"old": None}}},
        ),
        ({"spec": {"l": [{"a": 1, "filled": 2}]}}, {"spec": {"l": [{"a": 1}]}}, (), None),
        ({"spec": {"l": [1, 2]}}, {"spec": {"l": [1]}}, (), {"spec": {"l": [1]}}),
        ({"spec": {"l": [{"v": "100"}]}}, {"spec": {"l": [{"v": 100}]}}, (), None),
        ({"spec": {"l": [{"v": "1500m"}]}}, {"spec": {"l": [{"v": "1.5"}]}}, (), None),
        ({"spec": {"v": "a"}}, {"spec": {"v": "b"}}, (), {"spec": {"v": "b"}}),
        (
            {"metadata": {"labels": {"i": "1000m"}}},
            {"metadata": {"labels": {"i": "1"}}},
            (),
            {"metadata": {"labels": {"i": "1"}}},
        ),
        ({"spec": {}}, {"spec": {"flag": False}}, (), None),
        ({"spec": {}}, {"spec": {"flag": True}}, (), {"spec": {"flag": True}}),
        ({"metadata": {"labels": {"theirs": "x"}}}, {"metadata": {"labels": {}}}, (), None),
    ],
)
def test_a_difference(observed: Json, desired: Json, ours: tuple[str, ...], patch: Json | None) -> None:
    assert difference(observed, desired, ours) == patch


def test_finalizers_and_owners_of_others_are_kept() -> None:
    observed = {"metadata": {"finalizers": ["theirs"], "ownerReferences": [{"uid": "t", "name": "t"}]}}
    desired = {
        "metadata": {
            "finalizers": ["ours"],
            "ownerReferences": [{"uid": "o", "name": "o", "controller": True}],
        }
    }
    assert difference(observed, desired) == {
        "metadata": {
            "finalizers": ["theirs", "ours"],
            "ownerReferences": [{"uid": "t", "name": "t"}, {"uid": "o", "name": "o", "controller": True}],
        }
    }


def managed(manager: str, *keys: str) -> Json:
    return {
        "manager": manager,
        "fieldsV1": {"f:metadata": {"f:labels": {".": {}, **{f"f:{k}": {} for k in keys}}}},
    }


def test_a_label_that_we_wrote_and_no_longer_want_is_removed_and_one_of_others_is_not() -> None:
    observed = {
        "metadata": {
            "labels": {"kept": "1", "example.com/dropped": "1", "theirs": "1", "taken-over": "1"},
            "managedFields": [
                managed("grove-operator", "kept", "example.com/dropped", "taken-over"),
                managed("kubectl-edit", "theirs", "taken-over"),
            ],
        }
    }
    desired = {"metadata": {"labels": {"kept": "1"}}}
    assert left_behind(observed, desired, "grove-operator") == {
        "metadata": {"labels": {"example.com/dropped": None}}
    }
    assert left_behind(observed, observed, "grove-operator") is None
