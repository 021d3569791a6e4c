"""Quantities, JSONPath, patches and protobuf: the small languages of the API."""

from typing import Any

import pytest
from grove_sandbox.apiserver.custom.jsonpath import compile_path
from grove_sandbox.apiserver.errors import StatusError
from grove_sandbox.apiserver.patching.json_patch import apply_json_patch, apply_merge_patch
from grove_sandbox.apiserver.patching.strategic_merge import StrategicMerge
from grove_sandbox.apiserver.schema import protobuf
from grove_sandbox.apiserver.schema.definitions import load
from grove_sandbox.apiserver.schema.quantities import canonical
from grove_sandbox.timestamps import age, parse


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        ("0.5", "500m"),
        ("1000m", "1"),
        ("1024Ki", "1Mi"),
        ("1.5Gi", "1536Mi"),
        (1, "1"),
        ("2000", "2k"),
        ("1e3", "1e3"),
        ("0", "0"),
    ],
)
def test_quantities_are_stored_in_their_shortest_form(given: str | int, stored: str) -> None:
    assert canonical(given) == stored


def test_what_is_no_quantity_is_refused() -> None:
    with pytest.raises(StatusError, match="quantities must match"):
        canonical("lots")


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (".spec.replicas", [3]),
        ("{.spec.replicas}", [3]),
        ('.status.conditions[?(@.type=="Ready")].status', ["True"]),
        (".status.conditions[0].type", ["Other"]),
        (".status.conditions[*].type", ["Other", "Ready"]),
        (r".metadata.labels.app\.io/name", ["x"]),
        (".spec.missing.deeper", []),
    ],
)
def test_a_printer_column_finds_its_value(path: str, found: list[Any]) -> None:
    conditions = [{"type": "Other", "status": "False"}, {"type": "Ready", "status": "True"}]
    obj = {
        "metadata": {"labels": {"app.io/name": "x"}},
        "spec": {"replicas": 3},
        "status": {"conditions": conditions},
    }
    assert compile_path(path)(obj) == found


def test_a_path_that_is_not_understood_is_named() -> None:
    with pytest.raises(ValueError, match="unsupported JSONPath"):
        compile_path(".a[?(@.b < 3)]")


def test_a_json_patch_shares_what_it_does_not_touch() -> None:
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


def test_a_merge_patch_removes_by_null_and_makes_what_is_missing() -> None:
    assert apply_merge_patch({"a": 1, "b": {"c": 2}}, {"a": None, "d": {"e": {"f": 3}}}) == {
        "b": {"c": 2},
        "d": {"e": {"f": 3}},
    }


def test_a_strategic_patch_keeps_order_deletes_and_replaces() -> None:
    merge = StrategicMerge(load("1.37"))
    old = {
        "spec": {
            "containers": [{"name": "a", "image": "1"}, {"name": "b", "image": "1"}],
            "nodeSelector": {"x": "y"},
        }
    }
    patch = {
        "spec": {
            "$setElementOrder/containers": [{"name": "b"}, {"name": "c"}],
            "containers": [
                {"name": "c", "image": "1"},
                {"name": "a", "$patch": "delete"},
                {"name": "b", "image": "2"},
            ],
            "nodeSelector": {"$patch": "replace", "z": "1"},
        }
    }
    spec = merge.apply("io.k8s.api.core.v1.Pod", old, patch)["spec"]
    assert spec["containers"] == [{"name": "b", "image": "2"}, {"name": "c", "image": "1"}]
    assert spec["nodeSelector"] == {"z": "1"}


def field(number: int, data: bytes) -> bytes:
    return bytes([number << 3 | 2, len(data)]) + data


def envelope(api_version: bytes, kind: bytes, raw: bytes) -> bytes:
    return b"k8s\0" + field(1, field(1, api_version) + field(2, kind)) + field(2, raw)


def test_protobuf_gives_what_json_would_have_given() -> None:
    metadata = field(1, b"c") + field(2, b"") + field(11, field(1, b"app") + field(2, b"x"))
    raw = field(1, metadata) + field(2, field(1, b"key") + field(2, b"value"))
    assert protobuf.decode(envelope(b"v1", b"ConfigMap", raw)) == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "c", "labels": {"app": "x"}},
        "data": {"key": "value"},
    }


def test_protobuf_keeps_a_zero_that_was_said() -> None:
    options = protobuf.decode(envelope(b"meta.k8s.io/v1", b"DeleteOptions", bytes([1 << 3, 0])))
    assert options["gracePeriodSeconds"] == 0


def test_protobuf_of_an_unknown_kind_asks_for_json() -> None:
    with pytest.raises(StatusError, match="send JSON"):
        protobuf.decode(envelope(b"example.com/v1", b"Thing", b""))


@pytest.mark.parametrize(
    ("then", "shown"),
    [
        ("2030-01-01T00:00:00Z", "0s"),
        ("2029-12-31T23:58:30Z", "90s"),
        ("2029-12-31T23:55:55Z", "4m5s"),
        ("2029-12-31T23:00:00Z", "60m"),
        ("2029-12-31T18:30:00Z", "5h30m"),
        ("2029-12-20T00:00:00Z", "12d"),
    ],
)
def test_ages_are_shown_as_kubectl_shows_them(then: str, shown: str) -> None:
    assert age(then, parse("2030-01-01T00:00:00Z")) == shown
