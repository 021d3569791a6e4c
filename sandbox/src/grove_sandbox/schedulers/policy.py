"""The contract of a simulated scheduler: `Policy.round` turns a `View` of the cluster into a `Round` of writes.

A policy does no I/O and reads no clock, so a table of views tests it. `simulator` calls it and carries out its rounds.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from grove.runtime.client.objects import ObjectKey, ResourceType

from grove_sandbox.schedulers.gangs import Domain, PlacementOutcome
from grove_sandbox.schedulers.objects import Json, PolicyObject, PriorityClass, SchedulerNode, SchedulerPod
from grove_sandbox.schedulers.snapshot import Snapshot
from grove_sandbox.timestamps import rfc3339


@dataclass
class View:
    """The cluster at the start of a round.

    `assumed` maps pod uids to nodes of bindings that the watch has not shown yet.
    """

    now: datetime
    nodes: Sequence[SchedulerNode] = ()
    pods: Sequence[SchedulerPod] = ()
    objects: Mapping[str, Sequence[PolicyObject]] = field(default_factory=dict)
    priority_classes: Sequence[PriorityClass] = ()
    assumed: Mapping[str, str] = field(default_factory=dict)

    @property
    def now_text(self) -> str:
        return rfc3339(self.now)

    def node_of(self, pod: SchedulerPod) -> str:
        return pod.spec.node_name or self.assumed.get(pod.uid, "")

    def of(self, plural: str) -> dict[ObjectKey, PolicyObject]:
        return {obj.key: obj for obj in self.objects.get(plural, ())}

    def snapshot(self, hidden: Collection[str] = ()) -> Snapshot:
        """The nodes, without those in `hidden`, with all pods that occupy them."""
        placed = [(pod, self.node_of(pod)) for pod in self.pods if not pod.finished]
        return Snapshot((n for n in self.nodes if n.name not in hidden), placed)

    def live(self, scheduler_name: str) -> list[SchedulerPod]:
        """The unfinished pods of one scheduler, oldest first."""
        mine = [p for p in self.pods if p.spec.scheduler_name == scheduler_name and not p.finished]
        return sorted(mine, key=lambda p: (p.metadata.creation_timestamp or "", p.key))

    def waiting(self, pods: Sequence[SchedulerPod]) -> list[SchedulerPod]:
        """The pods that could be placed now: without node, gate and deletionTimestamp."""
        return [pod for pod in pods if not self.node_of(pod) and not pod.gated and not pod.deleting]


@dataclass(frozen=True)
class UnscheduledCondition:
    """The condition PodScheduled=False of a pod."""

    reason: str
    message: str


@dataclass(frozen=True)
class PolicyStatusWrite:
    """Status fields that an object should have. The simulator writes them only if they differ.

    `subresource` is empty for kinds without a status subresource.
    """

    resource: ResourceType
    key: ObjectKey
    status: Json
    subresource: str = "status"


@dataclass(frozen=True)
class SchedulerEvent:
    """An event about an object. The simulator records it again only if its message changes."""

    resource: ResourceType
    key: ObjectKey
    reason: str
    message: str
    warning: bool = False


@dataclass
class Round:
    """The decisions of one scheduling round, to be written by the simulator."""

    bindings: list[tuple[SchedulerPod, str]] = field(default_factory=list)
    conditions: dict[str, tuple[SchedulerPod, UnscheduledCondition]] = field(default_factory=dict)
    nominations: list[tuple[SchedulerPod, str]] = field(default_factory=list)
    failed: list[tuple[SchedulerPod, str, str]] = field(default_factory=list)
    evictions: list[SchedulerPod] = field(default_factory=list)
    annotations: list[tuple[ResourceType, PolicyObject, dict[str, str | None]]] = field(default_factory=list)
    statuses: list[PolicyStatusWrite] = field(default_factory=list)
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
        """Requests another round after so many seconds, even if nothing changes."""
        self.again_in = seconds if self.again_in is None else min(self.again_in, seconds)


class Policy(Protocol):
    """`reads` are the resources whose objects `View.objects` contains. `bootstrap` are objects to create at the start.

    The simulator calls `round` on the event loop, one call at a time. It may keep state between calls, as a real
    scheduler does, but it must not block, do I/O or read a clock.
    """

    scheduler_name: str
    reads: Sequence[ResourceType]
    bootstrap: Sequence[tuple[ResourceType, Json]]

    def round(self, view: View) -> Round: ...


def by_priority(pods: Sequence[SchedulerPod]) -> list[SchedulerPod]:
    """Higher priority first, then older first."""
    return sorted(pods, key=lambda p: (-p.spec.priority, p.metadata.creation_timestamp or "", p.key))


def place_alone(snapshot: Snapshot, pod: SchedulerPod, round_: Round, allowed: Domain | None = None) -> bool:
    """Places a single pod: one without a gang, or one above the minimum of its gang."""
    node_name = snapshot.find(pod, allowed)
    if node_name is None:
        round_.unschedulable([pod], snapshot.explain(pod, allowed))
        return False
    snapshot.assume(pod, node_name)
    round_.bindings.append((pod, node_name))
    return True
