"""Checks that an API server accepts a schema for a custom resource: the rules of structural schemas.

Covers the usual mistakes: a missing type, a type or default inside allOf and the like, a validation of something that
is not declared, list types whose keys do not fit, invalid defaults. Does not estimate the cost of CEL rules.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from grove.schema.correlation import same
from grove.schema.errors import FieldError, FieldErrorReason, Key, Path
from grove.schema.node import ABSENT, Node, SchemaError, parse
from grove.schema.regex import matcher
from grove.schema.rules import Ruled, compile_rules
from grove.schema.shape import prune
from grove.schema.values import check_value

Json = Mapping[str, Any]
_TYPES = ("array", "boolean", "integer", "number", "object", "string")
_SCALARS = ("boolean", "integer", "number", "string")
_INT_OR_STRING = [{"type": "integer"}, {"type": "string"}]
_EMPTY_TYPE = {
    "root": "must not be empty at the root",
    "item": "must not be empty for specified array items",
    "field": "must not be empty for specified object fields",
}
_NESTED_FORBIDDEN = {
    "type": "must be empty to be structural",
    "additionalProperties": "must be undefined to be structural",
    "default": "must be undefined to be structural",
    "title": "must be empty to be structural",
    "description": "must be empty to be structural",
    "nullable": "must be false to be structural",
    "x-kubernetes-preserve-unknown-fields": "must be false to be structural",
    "x-kubernetes-embedded-resource": "must be false to be structural",
    "x-kubernetes-int-or-string": "must be false to be structural",
    "x-kubernetes-list-map-keys": "must be empty to be structural",
    "x-kubernetes-list-type": "must be undefined to be structural",
    "x-kubernetes-map-type": "must be undefined to be structural",
    "x-kubernetes-validations": "must be empty to be structural",
}
_KEY_NEEDS_VALUE = (
    "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property"
)
_NOT_SUPPORTED = ("id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref")


def check_schema(schema: Json, path: Path = ("openAPIV3Schema",)) -> list[FieldError]:
    """All errors. If there are none, `Schema` accepts it."""
    errors = [*_check(schema, path, "root")]
    if errors:
        return errors
    try:
        node = parse(schema)
        ruled = compile_rules(node, is_root=True)
    except SchemaError as error:
        return [FieldError(FieldErrorReason.INVALID, path, "", str(error))]
    return [*_check_defaults(node, path), *(_check_correlation(ruled, path) if ruled else ())]


def _check(schema: Json, path: Path, level: str) -> Iterator[FieldError]:
    yield from _check_keywords(schema, path)
    yield from _check_type(schema, path, level)
    yield from _check_list_type(schema, path)
    properties = schema.get("properties") or {}
    if schema.get("type") == "array" and schema.get("items") is None:
        yield FieldError(FieldErrorReason.REQUIRED, (*path, "items"), detail="must be specified")
    if isinstance(schema.get("items"), Mapping):
        yield from _check(schema["items"], (*path, "items"), "item")
    for name, sub in properties.items():
        if level == "root" and name == "metadata":
            yield from _check_metadata(sub, (*path, "properties", Key(name)))
        else:
            yield from _check(sub, (*path, "properties", Key(name)), "field")
    additional = schema.get("additionalProperties")
    if additional is not None:
        if level == "root":
            yield _forbidden((*path, "additionalProperties"), "must not be used at the root")
        if properties:
            detail = "additionalProperties and properties are mutual exclusive"
            yield _forbidden((*path, "additionalProperties"), detail)
        if isinstance(additional, Mapping):
            yield from _check(additional, (*path, "additionalProperties"), "field")
            if "default" in additional:
                yield _forbidden((*path, "additionalProperties", "default"), "must not be set")
    for nested, where in _junctors(schema, path):
        yield from _check_nested(nested, where)
        if level == "root":
            yield from _check_completeness(nested, schema, where, path)


def _check_keywords(schema: Json, path: Path) -> Iterator[FieldError]:
    for word in _NOT_SUPPORTED:
        if word in schema:
            yield _forbidden((*path, word), f"{word} is not supported")
    if schema.get("uniqueItems"):
        detail = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        yield _forbidden((*path, "uniqueItems"), detail)
    if isinstance(schema.get("items"), list):
        yield _forbidden((*path, "items"), "items must be a schema object and not an array")
    if schema.get("x-kubernetes-preserve-unknown-fields") is False:
        field = (*path, "x-kubernetes-preserve-unknown-fields")
        yield FieldError(FieldErrorReason.INVALID, field, False, "must be true or undefined")
    pattern = schema.get("pattern")
    if pattern:
        try:
            matcher(pattern)
        except ValueError as error:
            detail = f"must be a valid regular expression, but isn't: {error}"
            yield FieldError(FieldErrorReason.INVALID, (*path, "pattern"), pattern, detail)


def _check_type(schema: Json, path: Path, level: str) -> Iterator[FieldError]:
    kind = schema.get("type") or ""
    embedded = bool(schema.get("x-kubernetes-embedded-resource"))
    int_or_string = bool(schema.get("x-kubernetes-int-or-string"))
    preserve = bool(schema.get("x-kubernetes-preserve-unknown-fields"))
    if kind and kind not in _TYPES:
        names = ", ".join(f'"{name}"' for name in _TYPES)
        yield FieldError(FieldErrorReason.NOT_SUPPORTED, (*path, "type"), kind, f"supported values: {names}")
    if embedded and kind != "object":
        detail = "must be object if x-kubernetes-embedded-resource is true"
        if kind:
            yield FieldError(FieldErrorReason.INVALID, (*path, "type"), kind, detail)
        else:
            yield FieldError(FieldErrorReason.REQUIRED, (*path, "type"), detail=detail)
    elif not kind and not int_or_string and not preserve:
        yield FieldError(FieldErrorReason.REQUIRED, (*path, "type"), detail=_EMPTY_TYPE[level])
    if embedded and not preserve and not schema.get("properties"):
        detail = (
            "must not be empty if x-kubernetes-embedded-resource is true without "
            "x-kubernetes-preserve-unknown-fields"
        )
        yield FieldError(FieldErrorReason.REQUIRED, (*path, "properties"), detail=detail)
    if level == "root" and kind and kind != "object":
        yield FieldError(FieldErrorReason.INVALID, (*path, "type"), kind, "must be object at the root")
    if level == "root" and schema.get("nullable"):
        yield _forbidden((*path, "nullable"), "nullable cannot be true at the root")
    if int_or_string:
        for word, on in (
            ("x-kubernetes-preserve-unknown-fields", preserve),
            ("x-kubernetes-embedded-resource", embedded),
        ):
            if on:
                detail = "must be false if x-kubernetes-int-or-string is true"
                yield FieldError(FieldErrorReason.INVALID, (*path, word), True, detail)


def _check_metadata(schema: Json, path: Path) -> Iterator[FieldError]:
    """The server knows metadata; a schema may only restrict the name."""
    if schema.get("type") != "object":
        yield FieldError(
            FieldErrorReason.INVALID, (*path, "type"), schema.get("type") or "", "must be object"
        )
    names = set(schema.get("properties") or {})
    allowed = {"type", "properties", "description"}
    if not names <= {"name", "generateName"} or not schema.keys() <= allowed:
        detail = (
            "must not specify anything other than name and generateName, but metadata is implicitly specified"
        )
        yield _forbidden(path, detail)


def _check_list_type(schema: Json, path: Path) -> Iterator[FieldError]:
    list_type = schema.get("x-kubernetes-list-type")
    keys = schema.get("x-kubernetes-list-map-keys") or []
    type_path, keys_path = (*path, "x-kubernetes-list-type"), (*path, "x-kubernetes-list-map-keys")
    if list_type is None:
        if keys:
            detail = "must be map if x-kubernetes-list-map-keys is non-empty"
            yield FieldError(FieldErrorReason.REQUIRED, type_path, detail=detail)
        return
    if list_type not in ("atomic", "set", "map"):
        detail = 'supported values: "atomic", "map", "set"'
        yield FieldError(FieldErrorReason.NOT_SUPPORTED, type_path, list_type, detail)
    if schema.get("type") != "array":
        detail = "must be array if x-kubernetes-list-type is specified"
        yield FieldError(FieldErrorReason.INVALID, (*path, "type"), schema.get("type") or "", detail)
    if list_type != "map":
        if keys:
            detail = "must be map if x-kubernetes-list-map-keys is non-empty"
            yield FieldError(FieldErrorReason.INVALID, type_path, list_type, detail)
        return
    if not keys:
        detail = "must not be empty if x-kubernetes-list-type is map"
        yield FieldError(FieldErrorReason.REQUIRED, keys_path, detail=detail)
    items = schema.get("items")
    if not isinstance(items, Mapping):
        return
    if items.get("type") != "object":
        detail = "must be object if parent array's x-kubernetes-list-type is map"
        yield FieldError(FieldErrorReason.INVALID, (*path, "items", "type"), items.get("type") or "", detail)
    yield from _check_list_keys(items, list(keys), path)


def _check_list_keys(items: Json, keys: list[str], path: Path) -> Iterator[FieldError]:
    keys_path = (*path, "x-kubernetes-list-map-keys")
    properties = items.get("properties") or {}
    if len(set(keys)) != len(keys):
        yield FieldError(FieldErrorReason.INVALID, keys_path, keys, "must not contain duplicate entries")
    for key in keys:
        field = (*path, "items", "properties", Key(key))
        sub = properties.get(key)
        if sub is None:
            yield FieldError(
                FieldErrorReason.INVALID, keys_path, keys, "entries must all be names of item properties"
            )
            continue
        if sub.get("type") not in _SCALARS:
            detail = "must be a scalar type if parent array's x-kubernetes-list-type is map"
            yield FieldError(FieldErrorReason.INVALID, (*field, "type"), sub.get("type") or "", detail)
        if key not in (items.get("required") or ()) and "default" not in sub:
            detail = _KEY_NEEDS_VALUE
            yield FieldError(FieldErrorReason.REQUIRED, (*field, "default"), detail=detail)
        if sub.get("nullable"):
            detail = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable"
            yield _forbidden((*field, "nullable"), detail)


def _junctors(schema: Json, path: Path) -> Iterator[tuple[Json, Path]]:
    """The schemas under allOf, anyOf, oneOf and not, except the two forms of int-or-string."""
    is_int_or_string = bool(schema.get("x-kubernetes-int-or-string"))
    for word in ("allOf", "anyOf", "oneOf"):
        subs = schema.get(word) or []
        if is_int_or_string and word == "anyOf" and subs == _INT_OR_STRING:
            continue
        for i, sub in enumerate(subs):
            if is_int_or_string and word == "allOf" and i == 0 and sub.get("anyOf") == _INT_OR_STRING:
                continue
            yield sub, (*path, word, i)
    if schema.get("not") is not None:
        yield schema["not"], (*path, "not")


def _check_nested(nested: Json, path: Path) -> Iterator[FieldError]:
    """Value validations must not declare structure."""
    for word, detail in _NESTED_FORBIDDEN.items():
        if nested.get(word) not in (None, "", False, [], ()):
            yield _forbidden((*path, word), detail)
    if isinstance(nested.get("items"), Mapping):
        yield from _check_nested(nested["items"], (*path, "items"))
    for name, sub in (nested.get("properties") or {}).items():
        if name == "metadata":
            yield _forbidden((*path, "properties", Key(name)), "must not be specified in a nested context")
        yield from _check_nested(sub, (*path, "properties", Key(name)))
    for sub, where in _junctors(nested, path):
        yield from _check_nested(sub, where)


def _check_completeness(
    nested: Json, declared: Json | None, path: Path, declared_path: Path
) -> Iterator[FieldError]:
    """Fields in value validations must be declared. Like an API server, it checks only those of the root."""
    if declared is None:
        place = FieldError(FieldErrorReason.REQUIRED, path).field
        yield FieldError(FieldErrorReason.REQUIRED, declared_path, detail=f"because it is defined in {place}")
        return
    if isinstance(nested.get("items"), Mapping):
        items = declared.get("items")
        yield from _check_completeness(nested["items"], items, (*path, "items"), (*declared_path, "items"))
    for name, sub in (nested.get("properties") or {}).items():
        step: Path = ("properties", Key(name))
        found = (declared.get("properties") or {}).get(name)
        yield from _check_completeness(sub, found, (*path, *step), (*declared_path, *step))
    for sub, where in _junctors(nested, path):
        yield from _check_completeness(sub, declared, where, declared_path)


def _check_correlation(ruled: Ruled, path: Path, within: Path | None = None) -> Iterator[FieldError]:
    """A rule with oldSelf needs an old value, and items of a list have one only if the list is of type map."""
    for i, rule in enumerate(ruled.rules):
        field = (*path, "x-kubernetes-validations", i)
        if rule.uses_old and within is not None and not rule.optional_old:
            place = FieldError(FieldErrorReason.INVALID, within).field
            detail = f"oldSelf cannot be used on the uncorrelatable portion of the schema within {place}"
            yield FieldError(FieldErrorReason.INVALID, (*field, "rule"), rule.text, detail)
        if rule.optional_old and not rule.uses_old:
            detail = "may not be set if oldSelf is not used in rule"
            yield FieldError(FieldErrorReason.INVALID, (*field, "optionalOldSelf"), True, detail)
    for name, child in ruled.properties.items():
        yield from _check_correlation(child, (*path, "properties", Key(name)), within)
    if ruled.additional is not None:
        yield from _check_correlation(ruled.additional, (*path, "additionalProperties"), within)
    if ruled.items is not None:
        lost = within or (None if ruled.node.list_type == "map" else path)
        yield from _check_correlation(ruled.items, (*path, "items"), lost)


def _check_defaults(node: Node, path: Path) -> Iterator[FieldError]:
    if node.default is not ABSENT:
        unknown: list[Path] = []
        if not same(prune(node, node.default, unknown), node.default):
            yield FieldError(
                FieldErrorReason.INVALID, (*path, "default"), node.default, "must not have unknown fields"
            )
        for error in check_value(node, node.default):
            yield replace(error, path=(*path, "default", *error.path))
    for name, child in node.properties.items():
        yield from _check_defaults(child, (*path, "properties", Key(name)))
    if node.items is not None:
        yield from _check_defaults(node.items, (*path, "items"))


def _forbidden(path: Path, detail: str) -> FieldError:
    return FieldError(FieldErrorReason.FORBIDDEN, path, detail=detail)
