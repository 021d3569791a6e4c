"""What a simulated scheduler is: a function from what it sees to what it does.

A `Policy` names the objects it reads and, in each round, turns a `View` of them into a `Round` of writes. It does no
I/O and reads no clock of its own, so it can be tested as a table. `simulator.py` feeds it and carries out its rounds.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from grove.runtime.client.objects import ObjectKey, ResourceType

from grove_sandbox.schedulers.gangs import Domain, PlacementOutcome
from grove_sandbox.schedulers.objects import Json, PolicyObject, PriorityClass, SchedulerNode, SchedulerPod
from grove_sandbox.schedulers.snapshot import Snapshot


@dataclass
class View:
    """Everything there is, as of now. `assumed` are bindings that were sent but are not yet seen on the pods."""

    now: datetime
    nodes: Sequence[SchedulerNode] = ()
    pods: Sequence[SchedulerPod] = ()
    objects: Mapping[str, Sequence[PolicyObject]] = field(default_factory=dict)
    priority_classes: Sequence[PriorityClass] = ()
    assumed: Mapping[str, str] = field(default_factory=dict)

    @property
    def now_text(self) -> str:
        return self.now.strftime("%Y-%m-%dT%H:%M:%SZ")

    def node_of(self, pod: SchedulerPod) -> str:
        return pod.spec.node_name or self.assumed.get(pod.uid, "")

    def of(self, plural: str) -> dict[ObjectKey, PolicyObject]:
        return {obj.key: obj for obj in self.objects.get(plural, ())}

    def snapshot(self, hidden: Collection[str] = ()) -> Snapshot:
        """The nodes but for `hidden` ones, with every pod that holds something."""
        placed = [(pod, self.node_of(pod)) for pod in self.pods if not pod.finished]
        return Snapshot((n for n in self.nodes if n.name not in hidden), placed)

    def live(self, scheduler_name: str) -> list[SchedulerPod]:
        """The pods of one scheduler that have not come to their end, oldest first."""
        mine = [p for p in self.pods if p.spec.scheduler_name == scheduler_name and not p.finished]
        return sorted(mine, key=lambda p: (p.metadata.creation_timestamp or "", p.key))

    def waiting(self, pods: Sequence[SchedulerPod]) -> list[SchedulerPod]:
        """Those that could be placed now."""
        return [pod for pod in pods if not self.node_of(pod) and not pod.gated and not pod.deleting]


@dataclass(frozen=True)
class UnscheduledCondition:
    """PodScheduled=False on a pod, with a reason."""

    reason: str
    message: str


@dataclass(frozen=True)
class StatusWrite:
    """The wanted status fields of an object; nothing is written if it has them already.

    `subresource` is empty for kinds whose status is written with the object. `annotations` may change with it.
    """

    resource: ResourceType
    key: ObjectKey
    status: Json
    subresource: str = "status"


@dataclass(frozen=True)
class SchedulerEvent:
    """An event about an object; repeated only when its text changes."""

    resource: ResourceType
    key: ObjectKey
    reason: str
    message: str
    warning: bool = False


@dataclass
class Round:
    """What a scheduler does with what it saw."""

    bindings: list[tuple[SchedulerPod, str]] = field(default_factory=list)
    conditions: dict[str, tuple[SchedulerPod, UnscheduledCondition]] = field(default_factory=dict)
    nominations: list[tuple[SchedulerPod, str]] = field(default_factory=list)
    failed: list[tuple[SchedulerPod, str, str]] = field(default_factory=list)
    evictions: list[SchedulerPod] = field(default_factory=list)
    annotations: list[tuple[ResourceType, PolicyObject, dict[str, str | None]]] = field(default_factory=list)
    statuses: list[StatusWrite] = field(default_factory=list)
    events: list[SchedulerEvent] = field(default_factory=list)
    again_in: float | None = None

    def bind(self, outcome: PlacementOutcome) -> None:
        self.bindings += outcome.placement

    def unschedulable(
        self, pods: Sequence[SchedulerPod], message: str, reason: str = "Unschedulable"
    ) -> None:
        for pod in pods:
            self.conditions[pod.uid] = (pod, UnscheduledCondition(reason, message))

    def wake(self, seconds: float) -> None:
        """Another round is due in so many seconds, even if nothing changes."""
        self.again_in = seconds if self.again_in is None else min(self.again_in, seconds)


class Policy(Protocol):
    scheduler_name: str
    reads: Sequence[ResourceType]
    bootstrap: Sequence[tuple[ResourceType, Json]]

    def round(self, view: View) -> Round: ...


def by_priority(pods: Sequence[SchedulerPod]) -> list[SchedulerPod]:
    """Higher priority first, then first come first served."""
    return sorted(pods, key=lambda p: (-p.spec.priority, p.metadata.creation_timestamp or "", p.key))


def place_alone(snapshot: Snapshot, pod: SchedulerPod, round_: Round, allowed: Domain | None = None) -> bool:
    """A pod that is no part of a gang, or comes on top of one."""
    node_name = snapshot.find(pod, allowed)
    if node_name is None:
        round_.unschedulable([pod], snapshot.explain(pod, allowed))
        return False
    snapshot.assume(pod, node_name)
    round_.bindings.append((pod, node_name))
    return True
