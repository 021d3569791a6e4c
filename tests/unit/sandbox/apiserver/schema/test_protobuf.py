"""Protobuf bodies decode to what JSON bodies would."""

import pytest
from grove_sandbox.apiserver.errors import StatusError
from grove_sandbox.apiserver.schema import protobuf


def field(number: int, data: bytes) -> bytes:
    return bytes([number << 3 | 2, len(data)]) + data


def envelope(api_version: bytes, kind: bytes, raw: bytes) -> bytes:
    return b"k8s\0" + field(1, field(1, api_version) + field(2, kind)) + field(2, raw)


def test_protobuf_decodes_to_the_same_object_as_json() -> None:
    metadata = field(1, b"c") + field(2, b"") + field(11, field(1, b"app") + field(2, b"x"))
    raw = field(1, metadata) + field(2, field(1, b"key") + field(2, b"value"))
    assert protobuf.decode(envelope(b"v1", b"ConfigMap", raw)) == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "c", "labels": {"app": "x"}},
        "data": {"key": "value"},
    }


def test_protobuf_keeps_an_explicit_zero() -> None:
    options = protobuf.decode(envelope(b"meta.k8s.io/v1", b"DeleteOptions", bytes([1 << 3, 0])))
    assert options["gracePeriodSeconds"] == 0


def test_protobuf_of_an_unknown_kind_asks_for_json() -> None:
    with pytest.raises(StatusError, match="send JSON"):
        protobuf.decode(envelope(b"example.com/v1", b"Thing", b""))
