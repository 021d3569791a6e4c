"""Reads YAML as kubectl does, with the line of every value; and writes it.

kubectl converts YAML to JSON first, so a manifest means what that JSON means: dates and `12:30` are strings, keys are
strings, a duplicate key is an error. PyYAML's own loader differs in each of these.
"""

import re
from dataclasses import dataclass
from typing import Any

import yaml

from grove.schema.errors import Path


class YamlError(ValueError):
    """Text that is not YAML, or that has no equivalent in JSON."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(f"line {line}: {message}")
        self.message = message
        self.line = line


@dataclass(frozen=True, slots=True)
class Document:
    """One YAML document: its JSON value, and the line of each part of it, counted from 1."""

    value: Any
    lines: dict[Path, int]

    def line_of(self, path: Path) -> int:
        """The line of the value, or of the nearest enclosing value that the text contains."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)


def load_all(text: str) -> list[Document]:
    """All documents of a text that are not empty. Raises YamlError."""
    try:
        nodes = list(yaml.compose_all(text, Loader=_Loader))
    except yaml.MarkedYAMLError as e:
        mark = e.problem_mark or e.context_mark
        raise YamlError(e.problem or str(e), mark.line + 1 if mark else 1) from e
    except yaml.reader.ReaderError as e:
        raise YamlError(f"{e.reason} at character {e.position}", text.count("\n", 0, e.position) + 1) from e
    return [d for d in map(_document, nodes) if d.value is not None]


def load_one(text: str) -> Document:
    """The document of a text that has exactly one. Raises YamlError."""
    found = load_all(text)
    if len(found) != 1:
        raise YamlError(f"expected one YAML document, found {len(found)}", 1)
    return found[0]


def dump(value: Any) -> str:
    """Writes a JSON value as YAML. Keeps the order of keys."""
    return yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120)


def dump_all(values: list[Any]) -> str:
    return "---\n".join(dump(v) for v in values)


class _Loader(yaml.CSafeLoader):
    """Resolves plain scalars by the patterns below, and by no others."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, Any]]] = {}


class _Dumper(yaml.CSafeDumper):
    """Quotes every string that kubectl would read as another type. Writes no anchors and aliases."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


_SCALARS = (
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    (
        "bool",
        r"[yY]|yes|Yes|YES|[nN]|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF",
        [*"yYnNtTfFoO"],
    ),
    ("int", r"[-+]?(?:0b[01_]+|0o?[0-7_]+|0x[0-9a-fA-F_]+|0|[1-9][0-9_]*)", [*"-+0123456789"]),
    ("float", r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", [*"-+0123456789."]),
    ("merge", r"<<", ["<"]),
)
for _tag, _pattern, _first in _SCALARS:
    for _class in (_Loader, _Dumper):
        _class.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(rf"^(?:{_pattern})$"), _first)

_Dumper.add_representer(
    str,
    lambda dumper, text: dumper.represent_scalar(
        "tag:yaml.org,2002:str", text, style="|" if "\n" in text else None
    ),
)

# Far more than any manifest needs. A few nested aliases could otherwise expand to billions of values.
_MAX_VALUES = 1_000_000
_MAX_DEPTH = 200


def _document(node: yaml.Node) -> Document:
    lines: dict[Path, int] = {}
    return Document(_value(node, (), lines), lines)


def _value(node: yaml.Node, path: Path, lines: dict[Path, int]) -> Any:
    lines.setdefault(path, node.start_mark.line + 1)
    if len(lines) > _MAX_VALUES or len(path) > _MAX_DEPTH:
        raise _error(node, "this document is too large or nested too deeply, or refers to itself")
    if isinstance(node, yaml.MappingNode):
        return _mapping(node, path, lines)
    if isinstance(node, yaml.SequenceNode):
        return [_value(item, (*path, i), lines) for i, item in enumerate(node.value)]
    return _scalar(node)


def _mapping(node: yaml.MappingNode, path: Path, lines: dict[Path, int]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    merged: list[yaml.Node] = []
    for key_node, value_node in node.value:
        if key_node.tag.endswith(":merge"):
            merged += value_node.value if isinstance(value_node, yaml.SequenceNode) else [value_node]
            continue
        key = _key(key_node)
        if key in result:
            raise _error(key_node, f"the key {key!r} appears twice in one object")
        lines[*path, key] = key_node.start_mark.line + 1
        result[key] = _value(value_node, (*path, key), lines)
    for source in merged:
        values = _value(source, path, lines)
        if not isinstance(values, dict):
            raise _error(source, "<< merges objects, and this is not one")
        result |= {k: v for k, v in values.items() if k not in result}
    return result


def _key(node: yaml.Node) -> str:
    if not isinstance(node, yaml.ScalarNode):
        raise _error(node, "a key must be a string")
    value = _scalar(node)
    if isinstance(value, str):
        return value
    return {True: "true", False: "false", None: "null"}[value] if value in (True, False, None) else str(value)


def _scalar(node: yaml.Node) -> Any:
    text: str = node.value
    match node.tag.removeprefix("tag:yaml.org,2002:"):
        case "null":
            return None
        case "bool":
            return text.lower() in ("y", "yes", "true", "on")
        case "int":
            return _integer(text.replace("_", ""))
        case "float":
            number = float(text)
            return int(number) if number.is_integer() and abs(number) < 2**53 else number
        case _:
            return text


def _integer(text: str) -> int:
    """`010` and `0o10` are both octal."""
    sign, digits = (-1, text[1:]) if text[0] == "-" else (1, text.removeprefix("+"))
    if len(digits) > 1 and digits[0] == "0" and digits[1].isdigit():
        return sign * int(digits, 8)
    return sign * int(digits, 0)


def _error(node: yaml.Node, message: str) -> YamlError:
    return YamlError(message, node.start_mark.line + 1)
