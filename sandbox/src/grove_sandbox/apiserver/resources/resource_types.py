"""Served resources, and the registry that finds them by path or by kind."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from grove_sandbox.apiserver.errors import GroupResource

if TYPE_CHECKING:
    from grove_sandbox.apiserver.resources.strategy import Strategy
    from grove_sandbox.apiserver.responses.kubectl_table import TableColumn

ALL_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


@dataclass(frozen=True)
class ScalePaths:
    """Where the scale subresource reads and writes, as paths such as `.spec.replicas`."""

    spec_replicas: str
    status_replicas: str
    selector: str = ""


@dataclass(frozen=True)
class Conversion:
    """Converts between a served version and the stored one, if more than `apiVersion` differs."""

    to_stored: Callable[[dict[str, Any]], dict[str, Any]]
    to_served: Callable[[dict[str, Any]], dict[str, Any]]


@dataclass(frozen=True, eq=False)
class ServedResource:
    """One resource in one served version."""

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool
    strategy: "Strategy"
    singular: str = ""
    list_kind: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    status: bool = False  # has a status subresource
    scale: ScalePaths | None = None
    columns: "tuple[TableColumn, ...]" = ()
    custom: bool = False
    conversion: Conversion | None = None
    stored_as: GroupResource | None = None
    fields: Mapping[str, Callable[[dict[str, Any]], str]] = field(default_factory=dict)  # field selectors
    verbs: tuple[str, ...] = ALL_VERBS

    @cached_property
    def resource(self) -> GroupResource:
        return GroupResource(self.group, self.plural)

    @cached_property
    def storage(self) -> GroupResource:
        return self.stored_as or GroupResource(self.group, self.plural)

    @cached_property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @cached_property
    def prefix(self) -> bytes:
        """The beginning of the JSON of every object, which `Stored.tail` completes."""
        return f'{{"kind":"{self.kind}","apiVersion":"{self.api_version}",'.encode()

    @property
    def kind_of_list(self) -> str:
        return self.list_kind or f"{self.kind}List"


class ResourceRegistry:
    """All resources that are served at present. CRDs add and remove custom resources."""

    def __init__(self) -> None:
        self._types: dict[tuple[str, str, str], ServedResource] = {}
        self._kinds: dict[tuple[str, str], ServedResource] = {}
        self._stored: dict[GroupResource, ServedResource] = {}
        self.revision = 0  # incremented whenever discovery changes

    def add(self, resource_type: ServedResource) -> None:
        self._types[resource_type.group, resource_type.version, resource_type.plural] = resource_type
        self._index()

    def remove(self, group: str, plural: str) -> None:
        for key in [key for key in self._types if key[0] == group and key[2] == plural]:
            del self._types[key]
        self._index()

    def get(self, group: str, version: str, plural: str) -> ServedResource | None:
        return self._types.get((group, version, plural))

    def __iter__(self) -> Iterator[ServedResource]:
        return iter(self._types.values())

    def by_kind(self, api_version: str, kind: str) -> ServedResource | None:
        return self._kinds.get((api_version, kind))

    def served(self, storage: GroupResource) -> ServedResource | None:
        """One served version of a stored resource."""
        return self._stored.get(storage)

    def _index(self) -> None:
        self.revision += 1
        self._kinds = {(t.api_version, t.kind): t for t in self}
        self._stored = {t.storage: t for t in reversed(list(self))}

    def versions(self) -> dict[str, list[str]]:
        """Groups and their versions, the preferred version first."""
        groups: dict[str, list[str]] = {}
        for t in self:
            versions = groups.setdefault(t.group, [])
            if t.version not in versions:
                versions.append(t.version)
        for versions in groups.values():
            versions.sort(key=version_priority)
        return groups


def version_priority(version: str) -> tuple[int, int, int, str]:
    """Sort key of Kubernetes: GA before beta before alpha, higher numbers first, then by name."""
    rest = version[1:]
    for stage, word in ((1, "beta"), (2, "alpha")):
        major, found, minor = rest.partition(word)
        if found and major.isdigit() and minor.isdigit():
            return (stage, -int(major), -int(minor), version)
    if version.startswith("v") and rest.isdigit():
        return (0, -int(rest), 0, version)
    return (3, 0, 0, version)
