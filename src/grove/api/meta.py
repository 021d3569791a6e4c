"""What all kinds share: metadata, owner references, conditions, recorded errors, and the base class `Resource`."""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, Self

from msgspec import Raw

from grove.api.scalars import Time
from grove.api.serialization import codec, yaml
from grove.api.serialization.model import About, Int64, Model
from grove.schema.name_syntax import CONDITION_REASON, DNS_SUBDOMAIN, QUALIFIED_NAME


class OwnerReference(Model):
    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class ObjectMeta(Model):
    name: str | None = None
    generate_name: str | None = None
    namespace: str | None = None
    uid: str | None = None
    resource_version: str | None = None
    generation: int | None = None
    creation_timestamp: Time | None = None
    deletion_timestamp: Time | None = None
    deletion_grace_period_seconds: int | None = None
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    finalizers: list[str] = []
    owner_references: list[OwnerReference] = []
    managed_fields: list[Raw] = []
    self_link: str | None = None


@dataclass(frozen=True, slots=True)
class Column:
    """A column of `kubectl get`; `wide` columns appear only with `-o wide`."""

    name: str
    type: str
    path: str
    wide: bool = False


AGE = Column("Age", "date", ".metadata.creationTimestamp")


@dataclass(frozen=True, slots=True)
class Scale:
    """The fields behind the scale subresource, as JSON paths."""

    selector_path: str
    spec_replicas_path: str = ".spec.replicas"
    status_replicas_path: str = ".status.replicas"


@dataclass(frozen=True, slots=True)
class ResourceDefinition:
    """The API group, version and names of a kind, its subresources, and its columns in kubectl."""

    group: str
    version: str
    kind: str
    plural: str
    short_names: tuple[str, ...] = ()
    namespaced: bool = True
    scale: Scale | None = None
    columns: tuple[Column, ...] = ()

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}"

    @property
    def crd_name(self) -> str:
        return f"{self.plural}.{self.group}"

    @property
    def spellings(self) -> set[str]:
        """The names that users may give for the kind, in lower case."""
        return {self.kind.lower(), self.plural, self.crd_name, *self.short_names}


class Resource(Model):
    """Base class of the kinds. Subclasses narrow `apiVersion` and `kind`, and add `spec` and `status`."""

    resource: ClassVar[ResourceDefinition]
    api_version: str
    kind: str
    metadata: ObjectMeta

    @classmethod
    def from_json(cls, data: bytes | str) -> Self:
        return codec.decode(data, cls)

    def to_json(self) -> bytes:
        return codec.encode(self)

    @classmethod
    def from_yaml(cls, text: str) -> Self:
        """Reads one YAML document. Raises DecodeError, or YamlError for text that is not YAML."""
        return codec.decode(codec.encode(yaml.load_one(text).value), cls)

    def to_yaml(self) -> str:
        return yaml.dump(codec.to_builtins(self))

    def to_dict(self) -> dict[str, Any]:
        found: dict[str, Any] = codec.to_builtins(self)
        return found


ConditionStatus = Literal["True", "False", "Unknown"]


class Condition(Model):
    type: Annotated[
        str,
        About(
            "The type of the condition.",
            max_length=316,
            pattern=f"^({DNS_SUBDOMAIN}/)?({QUALIFIED_NAME})$",
        ),
    ]
    status: Annotated[ConditionStatus, About("Whether the condition holds.")]
    reason: Annotated[
        str,
        About(
            "Why the condition has this status, in one word for scripts.",
            min_length=1,
            max_length=1024,
            pattern=f"^{CONDITION_REASON}$",
        ),
    ]
    message: Annotated[str, About("Why the condition has this status, for people.", max_length=32768)]
    last_transition_time: Annotated[Time, About("When the status last changed.")]
    observed_generation: Annotated[
        Int64 | None,
        About("The generation of the object that this condition was computed from.", schema={"minimum": 0}),
    ] = None


class LastError(Model):
    code: Annotated[str, About("The kind of error, for scripts.")]
    description: Annotated[str, About("What failed, and for which object.")]
    observed_at: Annotated[Time, About("When the error last occurred.")]
