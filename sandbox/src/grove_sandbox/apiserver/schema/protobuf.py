"""Decodes Kubernetes' protobuf, which some kubectl commands send. Responses are always JSON.

`refresh_definitions` generates the field numbers in `messages.json`.
"""

import base64
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import orjson

from grove_sandbox import timestamps
from grove_sandbox.apiserver.errors import bad_request, unsupported_media_type

MEDIA_TYPE = "application/vnd.kubernetes.protobuf"
MAGIC = b"k8s\0"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_META = "io.k8s.apimachinery.pkg.apis.meta.v1."


def decode(body: bytes) -> dict[str, Any]:
    """The object in a protobuf envelope, as if it had been sent as JSON."""
    if not body.startswith(MAGIC):
        raise bad_request("couldn't get version/kind; provided data does not appear to be a protobuf message")
    envelope = dict(_records(body[len(MAGIC) :]))
    type_meta = dict(_records(envelope.get(1, b"")))
    api_version, kind = type_meta.get(1, b"").decode(), type_meta.get(2, b"").decode()
    name = _message_of(api_version, kind)
    return {"apiVersion": api_version, "kind": kind, **_message(name, envelope.get(2, b""))}


def plain_scalars(name: str) -> frozenset[str]:
    """Fields that are not pointers in Go, so that zero equals absent."""
    fields = _messages().get(name, {}).values()
    return frozenset(field for field, kind, label in fields if label == "one" and kind in _SCALARS)


def _message_of(api_version: str, kind: str) -> str:
    group, _, version = api_version.rpartition("/")
    package = group.partition(".")[0] or "core"
    for name in (f"io.k8s.api.{package}.{version}.{kind}", _META + kind):
        if name in _messages():
            return name
    raise unsupported_media_type(f"protobuf of {kind} in {api_version} is not understood here; send JSON")


def _message(name: str, data: bytes) -> dict[str, Any]:
    fields, result = _messages()[name], dict[str, Any]()
    for number, raw in _records(data):
        if number not in fields:
            continue
        field, kind, label = fields[number]
        if label == "map":
            entry = dict(_records(raw))
            result.setdefault(field, {})[entry.get(1, b"").decode()] = _value(kind, entry.get(2, b""))
            continue
        value = _value(kind, raw)
        if not field:
            result.update(value)
        elif label == "many":
            result.setdefault(field, []).append(value)
        elif label == "pointer" or value not in ("", 0, None, {}):
            result[field] = value
    return result


def _value(kind: str, raw: Any) -> Any:
    if kind in _SCALARS:
        return _SCALARS[kind](raw)
    special = _SPECIAL.get(kind.rpartition(".")[2])
    return special(dict(_records(raw))) if special else _message(kind, raw)


def _records(data: bytes) -> Iterator[tuple[int, Any]]:
    """Pairs of field number and raw value: an int for varints, bytes for everything else."""
    position = 0
    while position < len(data):
        tag, position = _varint(data, position)
        number, wire = tag >> 3, tag & 7
        if wire == 0:
            value, position = _varint(data, position)
            yield number, value
            continue
        if wire == 2:
            length, position = _varint(data, position)
        elif wire in (1, 5):
            length = 8 if wire == 1 else 4
        else:
            raise bad_request(f"protobuf wire type {wire} is not understood")
        yield number, data[position : position + length]
        position += length


def _varint(data: bytes, position: int) -> tuple[int, int]:
    result = shift = 0
    while True:
        if position >= len(data):
            raise bad_request("protobuf ends in the middle of a number")
        byte = data[position]
        position += 1
        result |= (byte & 0x7F) << shift
        if not byte & 0x80:
            return result, position
        shift += 7


def _signed(value: int) -> int:
    return value - (1 << 64) if value >= 1 << 63 else value


def _text(value: bytes) -> str:
    return value.decode()


def _double(value: bytes) -> float:
    import struct

    number: float = struct.unpack("<d", value)[0]
    return number


def _time(fields: dict[int, Any]) -> str | None:
    if not fields.get(1) and not fields.get(2):
        return None
    moment = _EPOCH + timedelta(seconds=_signed(fields.get(1, 0)), microseconds=fields.get(2, 0) // 1000)
    return timestamps.rfc3339_micro(moment) if moment.microsecond else timestamps.rfc3339(moment)


def _int_or_string(fields: dict[int, Any]) -> int | str:
    if fields.get(1):
        return _text(fields.get(3, b""))
    return _signed(fields.get(2, 0))


def _json(fields: dict[int, Any]) -> Any:
    return orjson.loads(fields[1]) if fields.get(1) else None


_SCALARS: dict[str, Callable[[Any], Any]] = {
    "string": _text,
    "bool": bool,
    "int32": _signed,
    "int64": _signed,
    "double": _double,
    "bytes": lambda value: base64.b64encode(value).decode(),
}
_SPECIAL: dict[str, Callable[[dict[int, Any]], Any]] = {
    "Time": _time,
    "MicroTime": _time,
    "Quantity": lambda fields: _text(fields.get(1, b"0")),
    "IntOrString": _int_or_string,
    "RawExtension": _json,
    "FieldsV1": _json,
}


@cache
def _messages() -> dict[str, dict[int, tuple[str, str, str]]]:
    content = orjson.loads(Path(__file__).with_name("messages.json").read_bytes())
    return {
        name: {int(number): tuple(field) for number, field in fields.items()}
        for name, fields in content.items()
    }
