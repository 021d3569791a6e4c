"""The values that a backend and the framework exchange. The contract that uses them is `grove.schedulers.backend`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from grove.api import labels
from grove.api.conditions import Reason
from grove.api.podgang import PodGang
from grove.plan.layout.set_layout import owner_reference

Json = dict[str, Any]


@dataclass(frozen=True)
class ObjectKind:
    """A kind of object that a backend writes or reads."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version


@dataclass(frozen=True)
class SchedulerObject:
    """An object that must exist for a gang, as `Backend.translate` returns it.

    `body` has `metadata.name`, labels and annotations if any, and the spec. The framework adds apiVersion, kind,
    namespace, the owner reference, and labels that name the gang and its set.

    `owned_fields` are paths, such as `spec.subGroups`, in which the backend alone decides: whatever anybody adds there
    is removed. Elsewhere the framework only sets the fields of the body and leaves all others as they are.

    `immutable_fields` are paths that the API server does not let anybody change. An object that differs there is
    deleted and recreated: at once, or if `in_use_by_pods` is set, only when the gang has no pods. Until then it stays
    as it is, and the gang reports so.
    """

    kind: ObjectKind
    body: Json
    owned_fields: tuple[str, ...] = ("spec",)
    immutable_fields: tuple[str, ...] = ()
    in_use_by_pods: bool = False

    @property
    def name(self) -> str:
        return str(self.body["metadata"]["name"])

    def owned_by(self, gang: PodGang) -> Json:
        """The complete object as the framework applies it, with the gang as its controller."""
        metadata = dict(self.body["metadata"])
        if self.kind.namespaced:
            metadata["namespace"] = gang.metadata.namespace
        of_set = {k: v for k, v in gang.metadata.labels.items() if k in (labels.MANAGED_BY, labels.PART_OF)}
        metadata["labels"] = metadata.get("labels", {}) | of_set | {labels.POD_GANG: gang.metadata.name or ""}
        metadata["ownerReferences"] = [msgspec.to_builtins(owner_reference(gang))]
        head = {"apiVersion": self.kind.api_version, "kind": self.kind.kind}
        return head | self.body | {"metadata": metadata}


@dataclass(frozen=True)
class Probe:
    """A question to the API server: does it keep this field, or drop it silently because a feature gate is off?

    The framework creates `body` as a dry run in the namespace `default`. The server keeps the field if its response has
    the same value at `path` as the request.
    """

    name: str
    kind: ObjectKind
    body: Json
    path: str


@dataclass(frozen=True)
class Served:
    """What the cluster serves of the kinds that a backend writes and reads.

    `fields` are the paths in the schema of each served kind, such as `spec.minMember`; a kind that is missing there is
    not served. `kept` are the names of the backend's probes whose field the server kept, `dropped` of those whose field
    was missing from the response. A probe that the server rejected is in neither: it proves nothing about the field.
    `objects` are the objects of the kinds in `Backend.reads`, by name. A kind that is not served, or that Grove has no
    permission to read, is missing there.
    """

    fields: Mapping[ObjectKind, frozenset[str]] = field(default_factory=dict)
    kept: frozenset[str] = frozenset()
    dropped: frozenset[str] = frozenset()
    objects: Mapping[ObjectKind, Mapping[str, Json]] = field(default_factory=dict)

    def __contains__(self, kind: ObjectKind) -> bool:
        return kind in self.fields

    def has(self, kind: ObjectKind, path: str) -> bool:
        """Whether the schema of the kind has this field; False for a kind that is not served."""
        return path in self.fields.get(kind, frozenset())


@dataclass(frozen=True)
class Observation:
    """What the scheduler reports about a gang in the status of its own objects.

    `reason` and `message` say why it does not place the gang, both empty if it reports no reason. `placement_score`
    says how good the placement is, for a scheduler that computes one.
    """

    reason: str = ""
    message: str = ""
    placement_score: float | None = None


class Refusal(Exception):  # noqa: N818
    """The scheduler cannot serve this gang as its set asks.

    `message` says what is wrong, `remedy` what the user can do. Both become the message of the gang's condition
    BackendSynced and `reason` its reason.
    """

    def __init__(self, message: str, remedy: str = "", reason: str = Reason.REFUSED_BY_BACKEND) -> None:
        super().__init__(f"{message}; {remedy}" if remedy else message)
        self.reason = reason
