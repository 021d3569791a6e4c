"""What a scheduler backend is.

A backend translates. It is pure: given a PodGang it says which objects its scheduler needs, and given a draft of a pod
it adds what ties the pod to those objects. The framework does the rest: it creates, updates and prunes the objects,
repairs them when somebody edits or deletes them, retries, and reports on the PodGang. So a new scheduler is one module.

The core is two methods. Everything else is an optional protocol below: implement the method and the framework uses it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from grove.api.podcliqueset import PodCliqueSet
from grove.api.podgang import PodGang, PodGroup
from grove.api.topology import ClusterTopologyBinding
from grove.api.validation import Problem
from grove.plan.draft import PodDraft

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class SchedulerObject:
    """An object that must exist. `body` has `metadata.name`, labels and annotations if any, and the spec.

    The framework adds apiVersion, kind, namespace and the owner reference. Fields that are not in the body belong to
    others and are left as they are, except inside `ours`: paths such as `spec.subGroups` in which the backend
    alone decides.
    """

    kind: ObjectKind
    body: Json
    ours: tuple[str, ...] = ("spec",)

    @property
    def name(self) -> str:
        return str(self.body["metadata"]["name"])


@dataclass(frozen=True, slots=True)
class Served:
    """What the cluster serves of the kinds that a backend asked about.

    `fields` are paths such as `spec.minMember`, per kind; a kind that is not in it is not served. `kept` are the names
    of the backend's probes whose field the server kept.
    """

    fields: Mapping[ObjectKind, frozenset[str]] = field(default_factory=dict)
    kept: frozenset[str] = frozenset()

    def __contains__(self, kind: ObjectKind) -> bool:
        return kind in self.fields

    def has(self, kind: ObjectKind, path: str) -> bool:
        return path in self.fields.get(kind, frozenset())


@dataclass(frozen=True, slots=True)
class Probe:
    """A question that only the server can answer: would it keep this field, or drop it in silence?

    `body` is created as a dry run in the namespace `default`; the probe is kept when the answer has a value at `path`.
    """

    name: str
    kind: ObjectKind
    body: Json
    path: str


class Backend(Protocol):
    """The core. An instance serves one profile of the operator's configuration."""

    name: str
    """What the label `grove.io/scheduler-backend` says."""

    scheduler_name: str
    """What pods that leave it open get as `spec.schedulerName`."""

    gate: str
    """The scheduling gate that holds the pods of this backend."""

    kinds: Sequence[ObjectKind]
    """The kinds that `translate` may return, in the order in which they are created; deleted in reverse.

    A cluster need not serve them all: `translate` sees which it does. One that is returned and not served is reported.
    """

    def translate(self, gang: PodGang, served: Served) -> Sequence[SchedulerObject]:
        """The objects that this gang needs, which may be none.

        Called whenever the gang's spec, labels or annotations change, and for repair. The same gang gives the same
        objects.
        Raise Refusal for a gang that this scheduler cannot serve; anything else that is raised counts as a defect
        of the backend, and both are reported on the gang and disturb no other.
        """
        ...

    def prepare_pod(self, gang: PodGang, group: PodGroup, pod: PodDraft) -> None:
        """Adds what ties the pods of a group to the gang: labels, annotations, fields of the spec.

        Called while the pods are built, once for all pods of a group. May raise Refusal.
        """
        ...


class Refusal(Exception):  # noqa: N818
    """A gang that this scheduler cannot serve as asked: what is wrong, and what the user can do."""

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(f"{message}; {remedy}" if remedy else message)


@runtime_checkable
class Matches(Protocol):
    def matches(self, scheduler_name: str) -> bool:
        """Whether pods with this schedulerName are for this backend. Without this method: only its own name."""
        ...


@runtime_checkable
class Probes(Protocol):
    @property
    def probes(self) -> Sequence[Probe]:
        """Asked when the operator starts, when a kind becomes served, and now and then: clusters are upgraded."""
        ...


@runtime_checkable
class Validates(Protocol):
    def validate(self, pcs: PodCliqueSet) -> Iterable[Problem]:
        """What is wrong with a set for this scheduler, or will not have the effect that it seems to have (warnings)."""
        ...


@runtime_checkable
class Observes(Protocol):
    def observe(self, gang: PodGang, objects: Sequence[Json]) -> "Observation":
        """What the scheduler says in its own objects about a gang."""
        ...


@dataclass(frozen=True, slots=True)
class Observation:
    """The scheduler's word: why a gang is not placed, in its own words; how well it is placed, if it says so."""

    reason: str = ""
    message: str = ""
    placement_score: float | None = None


@runtime_checkable
class Topologies(Protocol):
    def topology(self, binding: ClusterTopologyBinding) -> SchedulerObject:
        """The scheduler's own object for a cluster topology."""
        ...


@runtime_checkable
class Promises(Protocol):
    def shortfall(self, gang: PodGang, served: Served) -> str:
        """What the gang asks for and this cluster cannot promise; empty when all is promised."""
        ...
