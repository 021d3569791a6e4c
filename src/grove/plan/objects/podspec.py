"""Changes to a pod template that touch only what they must; the rest keeps the bytes that the user wrote."""

from collections.abc import Callable, Iterator
from typing import Any

import msgspec
from msgspec import Raw

Json = dict[str, Any]
_Object = dict[str, Raw]

CONTAINERS = ("containers", "initContainers")


class PodSpecEditor:
    """A core/v1 PodSpec, taken apart only as far as it is changed."""

    def __init__(self, pod_spec: Raw) -> None:
        self._given = pod_spec
        self._fields = _object.decode(pod_spec)
        self._changed = False

    def result(self) -> Raw:
        return Raw(msgspec.json.encode(self._fields)) if self._changed else self._given

    def get(self, field: str) -> Any:
        """A field, decoded; None when it is absent or null."""
        found = self._fields.get(field)
        return None if found is None else msgspec.json.decode(found)

    def set(self, field: str, value: Any) -> None:
        self._fields[field] = Raw(msgspec.json.encode(value))
        self._changed = True

    def remove(self, field: str) -> None:
        self._changed |= self._fields.pop(field, None) is not None

    def append(self, field: str, *items: Json) -> None:
        """Adds items to the end of a list."""
        self._fields[field] = Raw(msgspec.json.encode([*self._list(field), *items]))
        self._changed = True

    def prepend_env(self, variables: list[Json]) -> None:
        """Puts variables before those of every container and init container; ours win over namesakes."""
        ours = {v["name"] for v in variables}

        def edit(container: _Object) -> None:
            given = container.get("env", _EMPTY)
            theirs = zip(_names.decode(given) or [], _items.decode(given) or [], strict=True)
            kept = [raw for named, raw in theirs if named.name not in ours]
            container["env"] = Raw(msgspec.json.encode([*variables, *kept]))

        self.edit_containers(edit)

    def edit_containers(self, edit: Callable[[_Object], None]) -> None:
        for field in CONTAINERS:
            containers = [_object.decode(c) for c in self._list(field)]
            if containers:
                for container in containers:
                    edit(container)
                self._fields[field] = Raw(msgspec.json.encode(containers))
                self._changed = True

    def containers(self) -> Iterator[Json]:
        """Every container and init container, decoded."""
        for field in CONTAINERS:
            yield from self.get(field) or []

    def _list(self, field: str) -> list[Raw]:
        return _items.decode(self._fields.get(field, _EMPTY)) or []


class _NamedItem(msgspec.Struct):
    name: str = ""


_EMPTY = Raw(b"[]")

# Made once: msgspec works out anew what a type such as `list[Raw] | None` means, each time that it is given one.
_object = msgspec.json.Decoder(_Object)
_items = msgspec.json.Decoder(list[Raw] | None)
_names = msgspec.json.Decoder(list[_NamedItem] | None)
