"""What a scheduler backend is.

A backend translates. It is pure: given a PodGang it says which objects its scheduler needs, and given a draft of a pod
it adds what ties the pod to those objects. The framework does the rest: it creates, updates and prunes the objects,
repairs them when somebody edits or deletes them, retries, and reports on the PodGang. So a new scheduler is one module.

The core is two methods. Everything else is an optional protocol below: implement the method and the framework uses it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, NamedTuple, Protocol, TypeVar, runtime_checkable

import msgspec

from grove.api.conditions import ConditionType, Reason
from grove.api.pod_view import Pod
from grove.api.podcliqueset import Clique, PodCliqueSet
from grove.api.podgang import PodGang, PodGangStatus, PodGroup
from grove.api.serialization.model import replace
from grove.api.topology import ClusterTopologyBinding
from grove.api.validation import Problem
from grove.plan.layout.set_layout import owner_reference
from grove.plan.objects.pod_draft import PodDraft
from grove.plan.status.conditions import find, put

Json = dict[str, Any]


class ObjectKind(NamedTuple):
    """A kind of object that a backend writes or reads. Much is looked up by it, and a tuple is hashed in C."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version


class SchedulerObject(NamedTuple):
    """An object that must exist. `body` has `metadata.name`, labels and annotations if any, and the spec.

    The framework adds apiVersion, kind, namespace and the owner reference. Fields that are not in the body belong to
    others and are left as they are, except inside `ours`: paths such as `spec.subGroups` in which the backend
    alone decides.

    `fixed` are paths that the server does not let anybody change. An object that differs there is deleted and made
    anew: at once, or if it is `held` by pods that use it, when the gang has none; until then it stays as it is.
    """

    kind: ObjectKind
    body: Json
    ours: tuple[str, ...] = ("spec",)
    fixed: tuple[str, ...] = ()
    held: bool = False

    @property
    def name(self) -> str:
        return str(self.body["metadata"]["name"])

    def owned_by(self, gang: PodGang) -> Json:
        """The whole object, as it is written for a gang."""
        metadata = dict(self.body["metadata"])
        if self.kind.namespaced:
            metadata["namespace"] = gang.metadata.namespace
        metadata["ownerReferences"] = [msgspec.to_builtins(owner_reference(gang))]
        head = {"apiVersion": self.kind.api_version, "kind": self.kind.kind}
        return head | self.body | {"metadata": metadata}


@dataclass(frozen=True, slots=True)
class Served:
    """What the cluster serves of the kinds that a backend asked about.

    `fields` are paths such as `spec.minMember`, per kind; a kind that is not in it is not served. `kept` are the names
    of the backend's probes whose field the server kept, `dropped` those whose field was gone from its answer. A probe
    that the server refused is in neither: it says nothing about the field. `objects` has the objects of the kinds that
    the backend reads, by name; a kind that is not served, or that Grove may not read, is not in it.
    """

    fields: Mapping[ObjectKind, frozenset[str]] = field(default_factory=dict)
    kept: frozenset[str] = frozenset()
    dropped: frozenset[str] = frozenset()
    objects: Mapping[ObjectKind, Mapping[str, Json]] = field(default_factory=dict)

    def __contains__(self, kind: ObjectKind) -> bool:
        return kind in self.fields

    def has(self, kind: ObjectKind, path: str) -> bool:
        return path in self.fields.get(kind, frozenset())


@dataclass(frozen=True, slots=True)
class Probe:
    """A question that only the server can answer: would it keep this field, or drop it in silence?

    `body` is created as a dry run in the namespace `default`; the probe is kept when the answer has at `path` what was
    sent there.
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

        Called whenever the gang's spec, labels or annotations change, when it is initialized, and for repair. The same
        gang gives the same objects; of its status only the conditions Initialized and SchedulerDialect may matter.
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
    """A gang that this scheduler cannot serve as asked: what is wrong, and what the user can do.

    `reason` is that of the gang's condition BackendSynced.
    """

    def __init__(self, message: str, remedy: str = "", reason: str = Reason.REFUSED_BY_BACKEND) -> None:
        super().__init__(f"{message}; {remedy}" if remedy else message)
        self.reason = reason


F = TypeVar("F")

_FACULTIES: dict[tuple[type, type], bool] = {}


def faculty(backend: Backend, kind: type[F]) -> F | None:
    """The backend as one of the optional protocols below; None if it is not.

    Python is asked once per class, since `isinstance` on a protocol is slow: what a backend can do must not depend on
    its settings.
    """
    asked = (type(backend), kind)
    found = _FACULTIES.get(asked)
    if found is None:
        found = _FACULTIES[asked] = isinstance(backend, kind)
    return backend if found else None  # type: ignore[return-value]


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
    topology_kind: ObjectKind | None
    """The kind of what `topology` returns, which is cluster-scoped; None if by its settings it writes none."""

    def topology(self, binding: ClusterTopologyBinding) -> SchedulerObject:
        """The scheduler's own object for a cluster topology, of the same name."""
        ...


@runtime_checkable
class Reads(Protocol):
    reads: Sequence[ObjectKind]
    """Kinds of the scheduler that `translate` looks up in `served.objects` by name, such as queues.

    They are cluster-scoped, or their names are unique in the cluster all the same.
    A gang is translated anew when one of them comes, goes or gets another spec; not when its status changes.
    """


@runtime_checkable
class Annotates(Protocol):
    def annotate(self, pcs: PodCliqueSet, members: Sequence[Clique]) -> Mapping[str, str]:
        """Annotations for a gang of a set: what the backend needs of the set and a gang does not say.

        `members` are the cliques of the gang's groups, in their order. Always give the same keys: a key that is
        left out later stays on the gang as it was.
        """
        ...


@runtime_checkable
class TagsClaims(Protocol):
    def claim_labels(self, pcs: PodCliqueSet) -> Mapping[str, str]:
        """Labels without which this scheduler does not let the pods of a set use the claims that they share."""
        ...


@runtime_checkable
class Promises(Protocol):
    def shortfall(self, gang: PodGang, served: Served) -> str:
        """What the gang asks for and this cluster cannot promise; empty when all is promised."""
        ...


@runtime_checkable
class Strict(Protocol):
    strict: bool
    """Whether gangs with a shortfall are refused; a set may say otherwise (`grove.io/gang-guarantee`)."""


@runtime_checkable
class Prioritizes(Protocol):
    def priority_class(self, members: Sequence[Clique]) -> str | None:
        """The priority class of a gang whose set names none. `members` are the cliques of its groups, in their order.

        For a scheduler with which the pods of a gang cannot keep priorities of their own.
        """
        ...


@runtime_checkable
class PinsPriority(Protocol):
    pins_priority: bool
    """Whether a gang keeps its priority class as long as it exists, since neither its pods nor its objects can change
    theirs."""


@runtime_checkable
class HeedsGates(Protocol):
    heeds_gates: bool
    """Whether what a gang is translated into depends on which of its pods have lost their gates."""


@runtime_checkable
class Dialects(Protocol):
    def dialect(self, gang: PodGang, pods: Sequence[Pod], served: Served) -> str:
        """In which of its scheduler's APIs a gang is to be written, as one CamelCase word.

        For a scheduler whose API differs between clusters. The answer is a condition of the gang, where `translate`
        and `prepare_pod` find it with `dialect_of`, so that they agree in whichever process they run. A pod is made
        once it is known, and released once it is there. Called whenever the gang is looked at, also when it has a
        dialect: its pods, here those that exist, are tied to that, so it is kept as long as it serves. May raise
        Refusal.
        """
        ...


def dialect_of(gang: PodGang) -> str:
    """The recorded dialect; empty while there is none."""
    found = find(gang.status.conditions, ConditionType.DIALECT) if gang.status else None
    return (found.reason or "") if found is not None else ""


def with_dialect(gang: PodGang, dialect: str) -> PodGang:
    """The gang as its backend is to see it, before the dialect is written; when that was is not for it to know."""
    if dialect_of(gang) == dialect:
        return gang
    status = gang.status or PodGangStatus(phase="Pending")
    said = put(status.conditions, ConditionType.DIALECT, "True", dialect, "", _NO_TIME)
    return replace(gang, status=replace(status, conditions=said))


_NO_TIME = datetime.min.replace(tzinfo=UTC)


@runtime_checkable
class Splits(Protocol):
    def splits(self, gang: PodGang, group: PodGroup) -> bool:
        """Whether the pods of a group beyond its minimum, those with the higher indices, are kept apart from the gang.

        They are then drafted by `prepare_surplus`, and released only when the gang is scheduled: they take no room
        from it. When the group shrinks they go first.
        """
        ...

    def prepare_surplus(self, gang: PodGang, group: PodGroup, pod: PodDraft) -> None:
        """As `prepare_pod`, for the pods beyond the minimum."""
        ...


@runtime_checkable
class Links(Protocol):
    def broken_link(self, gang: PodGang, group: PodGroup, pod: Pod) -> str:
        """Why the scheduler would not see this pod as part of its gang, and what to do; empty when it would.

        Servers drop fields of features that are switched off, in silence. Such a pod keeps its gate.
        """
        ...


@runtime_checkable
class Attempts(Protocol):
    """For a scheduler that gives up: pods that follow need another dialect than those that it gave up."""

    def given_up(self, gang: PodGang, pod: Pod) -> bool:
        """Whether the gang has to take this pod in before it is deleted: its end calls for a new dialect.

        Pods of its clique are neither made nor deleted until the gang has one.
        """
        ...

    def outdated(self, gang: PodGang, pod: Pod) -> bool:
        """Whether a pod belongs to an earlier dialect and will never be placed. It is deleted and made anew."""
        ...


@runtime_checkable
class Releases(Protocol):
    def release(self, gang: PodGang, waited: float) -> Mapping[str, str]:
        """Annotations that a pod gets in the write that removes its gate, `waited` seconds after it was made."""
        ...


@runtime_checkable
class StandIns(Protocol):
    stand_ins: bool
    """Whether its scheduler makes pods that keep a place for those of a gang, and labels them
    `grove.io/stand-in-for`. They are among the pods that `dialect` gets, and what the scheduler says of them is said
    of the gang."""


@runtime_checkable
class Paces(Protocol):
    def pause(self, gang: PodGang) -> float:
        """How many seconds after the gang before it has begun the pods of this one are released; 0 for at once.

        For a scheduler that mixes up gangs that it meets in the same moment. Asked as long as pods have gates.
        """
        ...

    def begun(self, gang: PodGang, pods: Sequence[Pod]) -> bool:
        """Whether the scheduler has taken up a gang whose pods were released, so that the pause begins.

        `pods` are those of the gang and those that stand in for them. A gang that does not begin holds up the others
        for a while only.
        """
        ...
