"""Edits a pod template. Everything that an edit does not touch keeps the bytes that the user wrote."""

from collections.abc import Callable, Iterator
from typing import Any

import msgspec
from msgspec import Raw

Json = dict[str, Any]
RawObject = dict[str, Raw]
"""A JSON object whose values are not decoded."""

CONTAINERS = ("containers", "initContainers")


class PodSpecEditor:
    """A core/v1 PodSpec, decoded only as far as it is changed."""

    def __init__(self, pod_spec: Raw) -> None:
        self._given = pod_spec
        self._fields = msgspec.json.decode(pod_spec, type=RawObject)
        self._changed = False

    def result(self) -> Raw:
        return _encode(self._fields) if self._changed else self._given

    def get(self, field: str) -> Any:
        """A decoded field; None if it is absent or null."""
        found = self._fields.get(field)
        return None if found is None else msgspec.json.decode(found)

    def set(self, field: str, value: Any) -> None:
        self._fields[field] = _encode(value)
        self._changed = True

    def remove(self, field: str) -> None:
        self._changed |= self._fields.pop(field, None) is not None

    def append(self, field: str, *items: Json) -> None:
        """Appends items to a list, which may be absent."""
        self.set(field, [*_list(self._fields, field), *items])

    def prepend_env(self, variables: list[Json]) -> None:
        """Puts variables in front of those of every container and init container; they replace the user's namesakes."""
        ours = {v["name"] for v in variables}

        def edit(container: RawObject) -> None:
            theirs = [item for item in _list(container, "env") if _name(item) not in ours]
            container["env"] = _encode([*variables, *theirs])

        self.edit_containers(edit)

    def edit_containers(self, edit: Callable[[RawObject], None]) -> None:
        """Calls `edit` with every container and init container; `edit` changes it in place."""
        for field in CONTAINERS:
            containers = [msgspec.json.decode(c, type=RawObject) for c in _list(self._fields, field)]
            if containers:
                for container in containers:
                    edit(container)
                self.set(field, containers)

    def containers(self) -> Iterator[Json]:
        """Every container and init container, decoded."""
        for field in CONTAINERS:
            yield from self.get(field) or []


class _EnvVariable(msgspec.Struct):
    name: str = ""


def _name(item: Raw) -> str:
    return msgspec.json.decode(item, type=_EnvVariable).name


def _list(fields: RawObject, field: str) -> list[Raw]:
    """Empty if the field is absent or null."""
    found = fields.get(field)
    return [] if found is None else msgspec.json.decode(found, type=list[Raw] | None) or []


def _encode(value: Any) -> Raw:
    return Raw(msgspec.json.encode(value))
