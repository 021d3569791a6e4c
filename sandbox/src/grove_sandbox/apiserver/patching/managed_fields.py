"""`metadata.managedFields`: which manager owns which field.

A real server tracks every object from its creation. Here tracking starts with the first server-side apply; all earlier
fields then belong to the manager `before-first-apply`, as for an object that an old client created.
"""

from dataclasses import dataclass, replace
from typing import Any

from grove_sandbox.apiserver.patching import field_sets
from grove_sandbox.apiserver.patching.field_sets import Fields, Typed
from grove_sandbox.apiserver.schema.definitions import name_of
from grove_sandbox.apiserver.state import ApiCall
from grove_sandbox.apiserver.storage import Object

BEFORE_FIRST_APPLY = "before-first-apply"


@dataclass(frozen=True)
class FieldManager:
    manager: str
    operation: str  # Apply or Update
    api_version: str
    time: str
    fields: Fields
    subresource: str = ""

    @property
    def key(self) -> tuple[str, str, str]:
        return self.manager, self.operation, self.subresource


def read(obj: Object) -> list[FieldManager]:
    return [
        FieldManager(
            entry.get("manager", ""),
            entry.get("operation", ""),
            entry.get("apiVersion", ""),
            entry.get("time", ""),
            field_sets.decode(entry.get("fieldsV1") or {}),
            entry.get("subresource", ""),
        )
        for entry in obj["metadata"].get("managedFields") or ()
    ]


def write(owners: list[FieldManager]) -> list[dict[str, Any]]:
    entries = []
    for owner in owners:
        if not owner.fields and owner.operation == "Update":
            continue
        entry = {
            "manager": owner.manager,
            "operation": owner.operation,
            "apiVersion": owner.api_version,
            "time": owner.time,
            "fieldsType": "FieldsV1",
            "fieldsV1": field_sets.encode(owner.fields),
        }
        if owner.subresource:
            entry["subresource"] = owner.subresource
        entries.append(entry)
    return entries


def author_of(call: ApiCall) -> FieldManager:
    """The manager of a plain write: the query parameter `fieldManager`, or else the program in the User-Agent."""
    agent = call.headers.get("user-agent", "").partition("/")[0]
    manager = call.query.get("fieldManager") or agent or "unknown"
    now = call.state.timestamp()
    return FieldManager(manager, "Update", call.type.api_version, now, frozenset(), call.subresource)


def typed_of(call: ApiCall) -> Typed:
    definitions = call.state.definitions
    name = name_of(call.state.dialect, call.type.group, call.type.version, call.type.kind)
    schema = definitions[name] if name else call.type.strategy.openapi(definitions)
    return Typed(definitions, schema)


def track_update(new: Object, old: Object, typed: Typed, author: FieldManager) -> None:
    """Records a plain write: its author owns the changed fields, and nobody owns the removed ones."""
    owners = read(old)
    if not owners:
        return
    before, now = typed.fields(old), typed.fields(new)
    changed = frozenset(path for path, value in now.items() if path not in before or before[path] != value)
    removed = frozenset(before.keys() - now.keys())
    if not changed and not removed:
        return
    kept = [
        replace(owner, fields=owner.fields - changed - removed) for owner in owners if owner.key != author.key
    ]
    mine = next((owner.fields for owner in owners if owner.key == author.key), frozenset())
    new["metadata"]["managedFields"] = write([*kept, replace(author, fields=(mine - removed) | changed)])
