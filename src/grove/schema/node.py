"""The parsed form of a schema: one `Node` per schema object.

Kubernetes splits a structural schema into the structure (properties, items, additionalProperties and the x-kubernetes
extensions), which decides pruning and defaults, and value validations, which may also be nested under allOf, anyOf,
oneOf and not. A Node has both.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from grove.schema.formats import FORMATS, normal_format
from grove.schema.regex import matcher

Schema = Mapping[str, Any]
Test = Callable[[str], bool]


class SchemaError(ValueError):
    """A schema that is not valid or not supported. The message says where, and what to change."""


class Absent:
    """The value of a missing field; None means null."""


ABSENT = Absent()


@dataclass(slots=True)
class Node:
    types: tuple[str, ...] = ()
    format: str = ""
    format_name: str = ""
    nullable: bool = False
    default: Any = ABSENT

    properties: dict[str, "Node"] = field(default_factory=dict)
    additional: "Node | bool | None" = None
    items: "Node | None" = None
    preserve_unknown: bool = False
    embedded_resource: bool = False
    list_type: str = "atomic"
    list_map_keys: tuple[str, ...] = ()

    required: tuple[str, ...] = ()
    enum: tuple[Any, ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    exclusive_minimum: bool = False
    exclusive_maximum: bool = False
    multiple_of: float | None = None
    min_length: int | None = None
    max_length: int | None = None
    pattern: str = ""
    pattern_test: Test | None = None
    format_test: Test | None = None
    min_items: int | None = None
    max_items: int | None = None
    unique_items: bool = False
    min_properties: int | None = None
    max_properties: int | None = None

    all_of: tuple["Node", ...] = ()
    any_of: tuple["Node", ...] = ()
    one_of: tuple["Node", ...] = ()
    not_: "Node | None" = None

    rules: tuple[Mapping[str, Any], ...] = ()

    def child(self, name: str) -> "Node | None":
        """The schema of a field: from properties, else from additionalProperties, else None."""
        found = self.properties.get(name)
        if found is None and isinstance(self.additional, Node):
            return self.additional
        return found


_UNSUPPORTED = ("$ref", "definitions", "dependencies", "patternProperties", "additionalItems", "id")


def parse(schema: Schema, where: str = "openAPIV3Schema") -> Node:
    """Raises SchemaError for anything that a CRD must not contain or that this engine does not support."""
    if not isinstance(schema, Mapping):
        raise SchemaError(f"{where}: a schema must be an object, not {schema!r}")
    for keyword in _UNSUPPORTED:
        if keyword in schema:
            raise SchemaError(f"{where}: {keyword} is not supported in a structural schema; write it out")
    int_or_string = bool(schema.get("x-kubernetes-int-or-string"))
    types: tuple[str, ...] = (schema["type"],) if schema.get("type") else ()
    if int_or_string:
        types = ("integer", "string")
    format_ = normal_format(schema.get("format", ""), types)
    node = Node(
        types=types,
        format=format_,
        format_name=schema.get("format", ""),
        nullable=bool(schema.get("nullable")),
        default=schema.get("default", ABSENT),
        properties={
            name: parse(sub, f"{where}.properties[{name}]")
            for name, sub in (schema.get("properties") or {}).items()
        },
        additional=_additional(schema.get("additionalProperties"), where),
        items=parse(schema["items"], f"{where}.items") if schema.get("items") is not None else None,
        preserve_unknown=bool(schema.get("x-kubernetes-preserve-unknown-fields")),
        embedded_resource=bool(schema.get("x-kubernetes-embedded-resource")),
        list_type=schema.get("x-kubernetes-list-type") or "atomic",
        list_map_keys=tuple(schema.get("x-kubernetes-list-map-keys") or ()),
        required=tuple(schema.get("required") or ()),
        enum=tuple(schema.get("enum") or ()),
        minimum=schema.get("minimum"),
        maximum=schema.get("maximum"),
        exclusive_minimum=bool(schema.get("exclusiveMinimum")),
        exclusive_maximum=bool(schema.get("exclusiveMaximum")),
        multiple_of=schema.get("multipleOf"),
        min_length=schema.get("minLength"),
        max_length=schema.get("maxLength"),
        pattern=schema.get("pattern") or "",
        pattern_test=_pattern(schema.get("pattern"), where),
        format_test=FORMATS.get(format_) if types in ((), ("string",)) else None,
        min_items=schema.get("minItems"),
        max_items=schema.get("maxItems"),
        unique_items=bool(schema.get("uniqueItems")),
        min_properties=schema.get("minProperties"),
        max_properties=schema.get("maxProperties"),
        rules=tuple(schema.get("x-kubernetes-validations") or ()),
    )
    node.all_of, node.any_of, node.one_of = (
        tuple(parse(sub, f"{where}.{word}[{i}]") for i, sub in enumerate(schema.get(word) or ()))
        for word in ("allOf", "anyOf", "oneOf")
    )
    node.not_ = parse(schema["not"], f"{where}.not") if schema.get("not") is not None else None
    return node


def _additional(value: Any, where: str) -> Node | bool | None:
    if value is None or isinstance(value, bool):
        return value
    return parse(value, f"{where}.additionalProperties")


def _pattern(pattern: str | None, where: str) -> Test | None:
    if not pattern:
        return None
    try:
        return matcher(pattern)
    except ValueError as error:
        raise SchemaError(f"{where}.pattern: {error}") from error
