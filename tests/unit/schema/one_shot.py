"""The operations of a schema, for schemas that a test uses once."""

from collections.abc import Mapping
from typing import Any

from grove.schema import FieldError, Schema
from grove.schema.node import ABSENT


def prune(schema: Mapping[str, Any], obj: Any) -> Any:
    return Schema(schema).prune(obj)


def unknown_fields(schema: Mapping[str, Any], obj: Any) -> list[str]:
    return Schema(schema).unknown_fields(obj)


def default(schema: Mapping[str, Any], obj: Any) -> Any:
    return Schema(schema).default(obj)


def validate(schema: Mapping[str, Any], obj: Any, old: Any = ABSENT) -> list[FieldError]:
    return Schema(schema).validate(obj, old)
