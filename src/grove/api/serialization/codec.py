"""Reading and writing models without losing anything that a user wrote.

`decode` is one pass of msgspec in the common case. An object with fields that the model does not know (a newer
version of the API, a typo that the server kept) is read a second time, level by level, and those fields are kept
as raw bytes on the model that they belong to; `encode` writes them back. Raw JSON such as a `podSpec` is a slice of the
bytes that were read: nothing in it is decoded, copied or reordered, and the buffer lives as long as the slice.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, get_args, get_origin

import msgspec
from msgspec import Raw

from grove.api.scalars import decode_hook, encode_hook
from grove.api.serialization.model import HAD_UNKNOWN, FieldInfo, M, Model, fields, unwrap
from grove.schema.errors import Path, render_path


class DecodeError(ValueError):
    """JSON that does not have the shape of its model: where, and what is wrong there."""

    def __init__(self, path: Path, message: str) -> None:
        super().__init__(f"{render_path(path)}: {message}" if path else message)
        self.path = path
        self.message = message


def decode(data: bytes | str | Raw, model: type[M]) -> M:
    """Reads one object. Raises DecodeError."""
    try:
        found: M = _decoder(model).decode(data)
        return found
    except msgspec.ValidationError:
        return _decode_carefully(Raw(data) if not isinstance(data, Raw) else data, model, ())
    except msgspec.DecodeError as e:
        raise DecodeError((), f"this is not JSON: {e}") from e


def decode_strictly(data: bytes | str, model: type[M]) -> M:
    """Reads one object in which an unknown field is an error, as in a configuration file."""
    found = decode(data, model)
    for path, name in _unknown_fields(found, ()):
        raise DecodeError(path, f"there is no field {name!r} here")
    return found


def encode(value: Any) -> bytes:
    """Writes a model (or anything that holds models) as JSON, with the unknown fields that it was read with."""
    has_unknown = _may_have_unknown(value) and next(_unknown_fields(value, ()), None) is not None
    return _ENCODER.encode(_with_unknown(value) if has_unknown else value)


def to_builtins(value: Any) -> Any:
    """The same as `encode`, as dicts and lists."""
    return msgspec.json.decode(encode(value))


def raw(value: Mapping[str, Any] | Sequence[Any] | Model) -> Raw:
    """Raw JSON for a field such as `podSpec`, from dicts and lists."""
    return Raw(encode(value))


_STEP = re.compile(r"\[(\d+)\]|\.(\w+)")
_ENCODER = msgspec.json.Encoder(enc_hook=encode_hook)


@cache
def _decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(kind, dec_hook=decode_hook)


def _decode_carefully(data: Raw, model: type[M], path: Path) -> M:
    """Reads one level at a time: keeps what is unknown, takes null for absent, knows where it is when it fails."""
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
        result._unknown = {name: value.copy() for name, value in given.items()}  # noqa: SLF001
        HAD_UNKNOWN.add(model)
    return result


def _may_have_unknown(value: Any) -> bool:
    """What holds none of the models that were read with unknown fields need not be searched."""
    if not HAD_UNKNOWN:
        return False
    return not isinstance(value, Model) or not HAD_UNKNOWN.isdisjoint(_reachable(type(value)))


@cache
def _reachable(model: type[Model]) -> frozenset[type[Model]]:
    """The model and all models that it can hold, at any depth."""
    found = {model}
    for field in fields(model):
        kind = unwrap(get_args(field.type)[0])[0] if get_origin(field.type) is list else field.type
        if isinstance(kind, type) and issubclass(kind, Model):
            found |= _reachable(kind)
    return frozenset(found)


def _decode_field(data: Raw, kind: Any, path: Path) -> Any:
    if isinstance(kind, type) and issubclass(kind, Model):
        return _decode_carefully(data, kind, path)
    if get_origin(kind) is list and _holds_models(kind):
        items: list[Raw] = _decode_value(data, list[Raw], path)
        item, _ = unwrap(get_args(kind)[0])
        return [_decode_field(d, item, (*path, i)) for i, d in enumerate(items)]
    return _decode_value(data, kind, path)


def _holds_models(kind: Any) -> bool:
    item, _ = unwrap(get_args(kind)[0])
    return isinstance(item, type) and issubclass(item, Model)


def _decode_value(data: Raw, kind: Any, path: Path) -> Any:
    try:
        return _decoder(kind).decode(data)
    except msgspec.ValidationError as e:
        message, _, where = str(e).partition(" - at `$")
        steps = [int(i) if i else name for i, name in _STEP.findall(where)]
        raise DecodeError((*path, *steps), message) from e


def _unknown_fields(value: Any, path: Path) -> Iterator[tuple[Path, str]]:
    """Where fields were found that no model knows: (path of the field, its name)."""
    if isinstance(value, list):
        for i, item in enumerate(value):
            yield from _unknown_fields(item, (*path, i))
    elif isinstance(value, Model):
        for name in value.unknown:
            yield (*path, name), name
        for field in fields(type(value)):
            yield from _unknown_fields(getattr(value, field.name), (*path, field.json_name))


def _with_unknown(value: Any) -> Any:
    """Models as dicts, so that the unknown fields can stand among the known ones."""
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
