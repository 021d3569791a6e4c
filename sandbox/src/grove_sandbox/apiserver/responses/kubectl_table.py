"""The `Table` form of a response, which `kubectl get` asks for."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from grove_sandbox.timestamps import age

Cell = str | int | float | bool | None


@dataclass(frozen=True)
class TableColumn:
    name: str
    value: Callable[[dict[str, Any], datetime], Any]
    type: str = "string"
    format: str = ""
    description: str = ""
    priority: int = 0

    def definition(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "type": self.type,
            "format": self.format,
            "description": self.description,
            "priority": self.priority,
        }


def _name(obj: dict[str, Any], now: datetime) -> Any:
    return obj["metadata"]["name"]


def _created(obj: dict[str, Any], now: datetime) -> Any:
    return obj["metadata"].get("creationTimestamp")


def _age(obj: dict[str, Any], now: datetime) -> Any:
    return age(obj["metadata"].get("creationTimestamp", ""), now)


NAME = TableColumn("Name", _name, format="name", description="Name must be unique within a namespace.")
AGE = TableColumn("Age", _age, description="Time since the object was created.")
CREATED_AT = TableColumn("Created At", _created, type="date", description="When the object was created.")


def table(
    columns: tuple[TableColumn, ...],
    objects: Iterable[dict[str, Any]],
    now: datetime,
    *,
    metadata: dict[str, Any],
    include: str,
    headers: bool = True,
) -> dict[str, Any]:
    """`include` is the query parameter `includeObject`: rows contain Metadata, the whole Object, or None."""
    shown = columns or (CREATED_AT,)
    if not any(column.name == NAME.name for column in shown):
        shown = (NAME, *shown)
    return {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": metadata,
        "columnDefinitions": [column.definition() for column in shown] if headers else None,
        "rows": [_row(shown, obj, now, include) for obj in objects],
    }


def _row(
    columns: tuple[TableColumn, ...], obj: dict[str, Any], now: datetime, include: str
) -> dict[str, Any]:
    row: dict[str, Any] = {"cells": [column.value(obj, now) for column in columns]}
    if include == "Object":
        row["object"] = obj
    elif include != "None":
        row["object"] = partial(obj)
    return row


def partial(obj: dict[str, Any]) -> dict[str, Any]:
    return {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": obj["metadata"]}
