"""What the runtime needs to know about an object: its resource, its key, its uid and its version.

Callers decode objects into classes of their own. Any class fits whose `metadata` has the four fields of `Metadata`.
Callers without a class of their own use `PartialObject`, which decodes the metadata alone.
"""

from dataclasses import dataclass
from enum import Enum
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
    """The group, version and plural under which the API server serves a kind. The core group is the empty string."""

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
class APIResource:
    """A `ResourceType` for callers that have no class of their own."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True


class Origin(Enum):
    """How this process learned of a state of an object."""

    WATCH = "watch"
    """From a list, a watch or a read: anybody may have made the change."""
    OWN_WRITE = "own write"
    """From the answer to a write of this process. The answer may also contain what others wrote just before."""
    EXPECTED_WRITE = "expected write"
    """From the answer to a write of this process that contains nothing but that write: the object was created, or
    changed on exactly the version that the writer had read."""


class ObjectKey(NamedTuple):
    """Namespace and name of an object. The namespace of a cluster-scoped object is empty."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class PartialOwnerReference(msgspec.Struct, rename="camel", omit_defaults=True, frozen=True, gc=False):
    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class PartialMetadata(msgspec.Struct, rename="camel", omit_defaults=True, kw_only=True, gc=False):
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
    owner_references: list[PartialOwnerReference] = []


class PartialObject(msgspec.Struct, rename="camel", omit_defaults=True, kw_only=True, gc=False):
    """An object of any kind, decoded as far as its metadata."""

    api_version: str | None = None
    kind: str | None = None
    metadata: PartialMetadata


def key_of(obj: KubeObject) -> ObjectKey:
    return ObjectKey(obj.metadata.namespace or "", obj.metadata.name or "")


def uid_of(obj: KubeObject) -> str:
    """The UID. No two objects ever share one: a recreated object is another object."""
    if uid := obj.metadata.uid:
        return uid
    raise ValueError(f"object {key_of(obj)} has no metadata.uid: it was not read from an API server")


def version_of(obj: KubeObject) -> int:
    return parse_version(obj.metadata.resource_version)


def parse_version(resource_version: str | None) -> int:
    """The only function that interprets a resourceVersion: a number that grows with every write to a resource.

    Kubernetes documents this order since 1.35. Every API server on etcd has always behaved so.
    """
    try:
        return int(resource_version or 0)
    except ValueError as e:
        raise ValueError(
            f"resourceVersion {resource_version!r} is not a number: cannot tell old from new"
        ) from e
