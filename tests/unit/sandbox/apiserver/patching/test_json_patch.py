"""JSON patch and merge patch."""

import pytest
from grove_sandbox.apiserver.errors import StatusError
from grove_sandbox.apiserver.patching.json_patch import apply_json_patch, apply_merge_patch


def test_a_json_patch_shares_unchanged_parts() -> None:
    document = {"spec": {"gates": ["a", "b"], "containers": [{"name": "c"}]}, "status": {}}
    patched = apply_json_patch(document, [{"op": "remove", "path": "/spec/gates/0"}])
    assert patched["spec"]["gates"] == ["b"]
    assert document["spec"]["gates"] == ["a", "b"]
    assert patched["spec"]["containers"] is document["spec"]["containers"]
    assert patched["status"] is document["status"]


def test_a_json_patch_is_all_or_nothing() -> None:
    document = {"a": [1]}
    with pytest.raises(StatusError):
        apply_json_patch(
            document, [{"op": "add", "path": "/a/-", "value": 2}, {"op": "test", "path": "/a/0", "value": 9}]
        )
    assert document == {"a": [1]}


def test_a_json_patch_moves_and_copies() -> None:
    steps = [{"op": "move", "from": "/a", "path": "/b"}, {"op": "copy", "from": "/b", "path": "/c"}]
    assert apply_json_patch({"a": 1}, steps) == {"b": 1, "c": 1}


def test_a_merge_patch_removes_by_null_and_creates_missing_objects() -> None:
    assert apply_merge_patch({"a": 1, "b": {"c": 2}}, {"a": None, "d": {"e": {"f": 3}}}) == {
        "b": {"c": 2},
        "d": {"e": {"f": 3}},
    }
