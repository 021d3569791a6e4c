"""Field errors in the words of a Kubernetes API server, and paths of fields."""

import json
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

type_names = {bool: "boolean", str: "string", int: "integer", float: "number", list: "array", dict: "object"}


class Key(str):
    """A path element that is the key of a map, printed as in `labels[app]`. A plain `str` is the name of a field."""


Path = tuple[str | int, ...]


class FieldErrorReason(StrEnum):
    """The machine-readable part of a field error: the `reason` of a cause in a Status."""

    REQUIRED = "FieldValueRequired"
    INVALID = "FieldValueInvalid"
    NOT_SUPPORTED = "FieldValueNotSupported"
    DUPLICATE = "FieldValueDuplicate"
    FORBIDDEN = "FieldValueForbidden"
    TYPE_INVALID = "FieldValueTypeInvalid"
    TOO_LONG = "FieldValueTooLong"
    TOO_MANY = "FieldValueTooMany"


_TITLES = {
    FieldErrorReason.REQUIRED: "Required value",
    FieldErrorReason.INVALID: "Invalid value",
    FieldErrorReason.NOT_SUPPORTED: "Unsupported value",
    FieldErrorReason.DUPLICATE: "Duplicate value",
    FieldErrorReason.FORBIDDEN: "Forbidden",
    FieldErrorReason.TYPE_INVALID: "Invalid value",
    FieldErrorReason.TOO_LONG: "Too long",
    FieldErrorReason.TOO_MANY: "Too many",
}


class Omitted:
    """Marks a value that the message does not contain."""


OMITTED = Omitted()


@dataclass(frozen=True, slots=True)
class FieldError:
    """What is wrong with `value` at `path`. `str()` gives the line that an API server prints."""

    reason: FieldErrorReason
    path: Path
    value: Any = OMITTED
    detail: str = ""

    @property
    def field(self) -> str:
        return render_path(self.path) or "<nil>"

    @property
    def message(self) -> str:
        """The message of a cause in a Status: everything except the field."""
        text = _TITLES[self.reason]
        if not isinstance(self.value, Omitted):
            text += f": {render_value(self.value)}"
        return f"{text}: {self.detail}" if self.detail else text

    def __str__(self) -> str:
        return f"{self.field}: {self.message}"


def render_path(path: Path) -> str:
    text = ""
    for step in path:
        if isinstance(step, int | Key):
            text += f"[{step}]"
        else:
            text += f".{step}" if text else step
    return text


def render_value(value: Any) -> str:
    """A value as an API server prints it: quoted strings, plain scalars, JSON for the rest."""
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, float):
        return render_number(value)
    return json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=False)


def render_number(value: float) -> str:
    """A number as Go's %v prints it: no trailing zero, an exponent from 1e21 on."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e21:
        return str(int(value))
    return repr(value)


_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"} | {
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\v": "\\v",
}


def quote(text: str) -> str:
    """A string as Go's %q quotes it."""
    return '"' + "".join(_quote_char(c) for c in text) + '"'


def _quote_char(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    if char.isprintable():
        return char
    code = ord(char)
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
