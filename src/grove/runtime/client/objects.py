"""What the runtime needs to know of an object: where it lives and which version of it this is.

Callers decode objects into classes of their own; any class with a `metadata` that has these four fields fits.
For callers without one, `ObjectMeta` and `PartialObject` read the metadata alone.
"""

from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeVar

import msgspec


class Metadata(Protocol):
    @property
    def name(self) -> str | None: ...

    @property
    def namespace(self) -> str | None: ...

    @property
    def uid(self) -> str | None: ...

    @property
    def resource_version(self) -> str | None: ...


class KubeObject(Protocol):
    @property
    def metadata(self) -> Metadata: ...


Obj = TypeVar("Obj", bound=KubeObject)


class ResourceType(Protocol):
    """Where a kind lives in the API. The core group is the empty string."""

    @property
    def group(self) -> str: ...

    @property
    def version(self) -> str: ...

    @property
    def plural(self) -> str: ...

    @property
    def kind(self) -> str: ...

    @property
    def namespaced(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class Resource:
    """A `ResourceType` for callers who have none of their own."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True


class ObjectKey(NamedTuple):
    """The name of an object; `namespace` is empty for a cluster-scoped one."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class OwnerReference(msgspec.Struct, rename="camel", omit_defaults=True, frozen=True, gc=False):
    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class ObjectMeta(msgspec.Struct, rename="camel", omit_defaults=True, kw_only=True, gc=False):
    name: str | None = None
    generate_name: str | None = None
    namespace: str | None = None
    uid: str | None = None
    resource_version: str | None = None
    generation: int | None = None
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    finalizers: list[str] = []
    owner_references: list[OwnerReference] = []


class PartialObject(msgspec.Struct, rename="camel", omit_defaults=True, kw_only=True, gc=False):
    """Any object, of which only the metadata is read."""

    api_version: str | None = None
    kind: str | None = None
    metadata: ObjectMeta


def key_of(obj: KubeObject) -> ObjectKey:
    meta = obj.metadata
    return _new(ObjectKey, (meta.namespace or "", meta.name or ""))


# What `ObjectKey(...)` comes down to, without the step in between: keys are made all the time.
_new = tuple.__new__


def uid_of(obj: KubeObject) -> str:
    """The UID, which no two objects ever share: a re-created object is another object."""
    if uid := obj.metadata.uid:
        return uid
    raise ValueError(f"object {key_of(obj)} has no metadata.uid: it was not read from an API server")


def version_of(obj: KubeObject) -> int:
    return parse_version(obj.metadata.resource_version)


def parse_version(resource_version: str | None) -> int:
    """The one place that reads a resourceVersion: a number that grows with every write to a resource.

    Kubernetes documents it so since 1.35; every API server on etcd has always behaved so.
    """
    try:
        return int(resource_version or 0)
    except ValueError as e:
        raise ValueError(
            f"resourceVersion {resource_version!r} is not a number: cannot tell old from new"
        ) from e
