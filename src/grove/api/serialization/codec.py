"""Reads and writes models as JSON without losing anything that a user wrote.

`decode` is one pass of msgspec in the common case. An object with fields that the model does not know (from a newer
version of the API, or a typo that the server kept) is decoded a second time, level by level: unknown fields are kept as
raw bytes on their model, and `encode` writes them back. Raw JSON such as a `podSpec` is a slice of the input: nothing
in it is decoded, copied or reordered, and the slice keeps the whole input in memory.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, get_args, get_origin

import msgspec
from msgspec import Raw

from grove.api.scalars import decode_hook, encode_hook
from grove.api.serialization.model import FieldInfo, M, Model, fields, unwrap
from grove.schema.errors import Path, render_path


class DecodeError(ValueError):
    """JSON that does not fit its model. `path` is the field at fault."""

    def __init__(self, path: Path, message: str) -> None:
        super().__init__(f"{render_path(path)}: {message}" if path else message)
        self.path = path
        self.message = message


def decode(data: bytes | str | Raw, model: type[M]) -> M:
    """Reads one object. Null counts as absent. Raises DecodeError."""
    try:
        found: M = _decoder(model).decode(data)
        return found
    except msgspec.ValidationError:
        return _decode_carefully(Raw(data) if not isinstance(data, Raw) else data, model, ())
    except msgspec.DecodeError as e:
        raise DecodeError((), f"this is not JSON: {e}") from e


def decode_strictly(data: bytes | str, model: type[M]) -> M:
    """The same, but an unknown field is an error, as in a configuration file."""
    found = decode(data, model)
    for path, name in _unknown_fields(found, ()):
        raise DecodeError(path, f"there is no field {name!r} here")
    return found


def encode(value: Any) -> bytes:
    """Writes a model, or a list or dict of JSON values, with the unknown fields that the model was read with."""
    return _ENCODER.encode(_with_unknown(value) if _has_unknown(value) else value)


def to_builtins(value: Any) -> Any:
    """The same as dicts and lists."""
    return msgspec.json.decode(encode(value))


def raw(value: Mapping[str, Any] | Sequence[Any] | Model) -> Raw:
    """Makes raw JSON, for a field such as `podSpec`."""
    return Raw(encode(value))


_STEP = re.compile(r"\[(\d+)\]|\.(\w+)")
_ENCODER = msgspec.json.Encoder(enc_hook=encode_hook)


@cache
def _decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(kind, dec_hook=decode_hook)


def _decode_carefully(data: Raw, model: type[M], path: Path) -> M:
    """Reads one level at a time: keeps unknown fields, treats null as absent, and reports errors with their path."""
    given: dict[str, Raw] = _decode_value(data, dict[str, Raw], path)
    known: dict[str, Any] = {}
    for field in fields(model):
        found = given.pop(field.json_name, None)
        if found is not None and bytes(found) != b"null":
            known[field.name] = _decode_field(found, field.type, (*path, field.json_name))
        elif field.required:
            raise DecodeError((*path, field.json_name), "this field is required")
    result = model(**known)
    if given:
        result.unknown = {name: value.copy() for name, value in given.items()}
    return result


def _decode_field(data: Raw, kind: Any, path: Path) -> Any:
    nested = _model_in(kind)
    if nested is None:
        return _decode_value(data, kind, path)
    if get_origin(kind) is not list:
        return _decode_carefully(data, nested, path)
    items: list[Raw] = _decode_value(data, list[Raw], path)
    return [_decode_carefully(item, nested, (*path, i)) for i, item in enumerate(items)]


def _model_in(kind: Any) -> type[Model] | None:
    """The model that a field of this type holds, as its value or as the items of a list."""
    if get_origin(kind) is list:
        kind, _ = unwrap(get_args(kind)[0])
    return kind if isinstance(kind, type) and issubclass(kind, Model) else None


@cache
def _nested_fields(model: type[Model]) -> tuple[FieldInfo, ...]:
    return tuple(f for f in fields(model) if _model_in(f.type) is not None)


def _decode_value(data: Raw, kind: Any, path: Path) -> Any:
    try:
        return _decoder(kind).decode(data)
    except msgspec.ValidationError as e:
        message, _, where = str(e).partition(" - at `$")
        steps = [int(i) if i else name for i, name in _STEP.findall(where)]
        raise DecodeError((*path, *steps), message) from e


def _has_unknown(value: Any) -> bool:
    if isinstance(value, list):
        return any(map(_has_unknown, value))
    if not isinstance(value, Model):
        return False
    return bool(value.unknown) or any(
        _has_unknown(getattr(value, field.name)) for field in _nested_fields(type(value))
    )


def _unknown_fields(value: Any, path: Path) -> Iterator[tuple[Path, str]]:
    """Path and name of every unknown field."""
    if isinstance(value, list):
        for i, item in enumerate(value):
            yield from _unknown_fields(item, (*path, i))
    elif isinstance(value, Model):
        for name in value.unknown:
            yield (*path, name), name
        for field in _nested_fields(type(value)):
            yield from _unknown_fields(getattr(value, field.name), (*path, field.json_name))


def _with_unknown(value: Any) -> Any:
    """Converts models to dicts that contain their unknown fields."""
    if isinstance(value, list):
        return [_with_unknown(v) for v in value]
    if not isinstance(value, Model):
        return value
    known = {
        f.json_name: _with_unknown(v)
        for f in fields(type(value))
        if _is_written(f, v := getattr(value, f.name))
    }
    return {**known, **value.unknown}


def _is_written(field: FieldInfo, value: Any) -> bool:
    return field.required or field.api_default is not msgspec.NODEFAULT or value not in (None, [], {})
