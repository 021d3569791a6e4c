"""The objects and events that were observed of a set, with indexes, and the cliques that should exist."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from grove.api import labels, names
from grove.api.conditions import ConditionType
from grove.api.event_view import Event
from grove.api.pod_view import Pod
from grove.api.podclique import PodClique
from grove.api.podcliqueset import PodCliqueSet
from grove.api.podgang import PodGang
from grove.api.scalinggroup import PodCliqueScalingGroup
from grove.plan.explain.findings import Quote
from grove.plan.status.conditions import is_true

Kind = Literal["PodCliqueSet", "PodGang", "PodCliqueScalingGroup", "PodClique", "Pod"]


@dataclass(frozen=True)
class Target:
    """The object that the question is about."""

    kind: Kind
    name: str

    def __str__(self) -> str:
        return f"{self.kind}/{self.name}"


@dataclass(frozen=True)
class ExpectedClique:
    """A PodClique that should exist; `clique` is None while it does not."""

    name: str
    gang: str
    wanted: int
    minimum: int
    clique: PodClique | None


@dataclass(frozen=True)
class Observed:
    """`pcs` is None if the set does not exist. `events` are the warnings of the namespace, in any order.

    `gates` has the gate of each backend, by the backend's name; every gate counts as that of a backend that is missing
    here. With `replica`, the question is about that replica of the set, and only its objects are needed.
    """

    target: Target
    pcs: PodCliqueSet | None = None
    groups: Sequence[PodCliqueScalingGroup] = ()
    gangs: Sequence[PodGang] = ()
    cliques: Sequence[PodClique] = ()
    pods: Sequence[Pod] = ()
    events: Sequence[Event] = ()
    gates: Mapping[str, str] = field(default_factory=dict)
    replica: int | None = None

    @cached_property
    def gang_of(self) -> dict[str, PodGang]:
        return {g.metadata.name or "": g for g in self.gangs}

    @cached_property
    def group_of(self) -> dict[str, PodCliqueScalingGroup]:
        return {g.metadata.name or "": g for g in self.groups}

    @cached_property
    def clique_of(self) -> dict[str, PodClique]:
        return {c.metadata.name or "": c for c in self.cliques}

    @cached_property
    def pods_of(self) -> dict[str, list[Pod]]:
        """By clique, sorted by name."""
        found: dict[str, list[Pod]] = defaultdict(list)
        for pod in sorted(self.pods, key=lambda p: p.metadata.name or ""):
            found[pod.metadata.labels.get(labels.POD_CLIQUE, "")].append(pod)
        return found

    @cached_property
    def expected(self) -> dict[str, ExpectedClique]:
        """By name: every clique that the set describes, and every other one that exists and is not being deleted."""
        wanted = {e.name: e for e in self._wanted()}
        for name, clique in self.clique_of.items():
            if name not in wanted and clique.metadata.deletion_timestamp is None:
                gang = clique.metadata.labels.get(labels.POD_GANG, "")
                wanted[name] = _expected(name, gang, clique, clique.spec.replicas, clique.spec.min_available)
        return wanted

    @property
    def expected_gangs(self) -> list[str]:
        return list(dict.fromkeys(e.gang for e in self.expected.values() if e.gang))

    def warnings_about(self, kind: str, name: str, *reasons: str) -> list[Quote]:
        """Warnings about an object, newest first; only those with one of `reasons`, if any are given."""
        found = [e for e in self._events_of.get((kind, name), ()) if not reasons or e.reason in reasons]
        return [Quote(e.reporter, e.note or "") for e in found]

    def scheduler_warnings_about(self, gang: str) -> list[Quote]:
        """Warnings about the scheduler's own objects for a gang, newest first."""
        return self._scheduler_warnings.get(gang, [])

    @cached_property
    def _scheduler_warnings(self) -> dict[str, list[Quote]]:
        """The names of a scheduler's objects contain the name or the uid of their gang."""
        found: dict[str, list[Quote]] = defaultdict(list)
        for (kind, name), events in self._events_of.items():
            if kind not in _NOT_OF_A_SCHEDULER:
                fitting = [g for g, gang in self.gang_of.items() if _is_named_after(name, g, gang)]
                if fitting:
                    found[max(fitting, key=len)] += [Quote(e.reporter, e.note or "") for e in events]
        return found

    @cached_property
    def _events_of(self) -> dict[tuple[str, str], list[Event]]:
        found: dict[tuple[str, str], list[Event]] = defaultdict(list)
        for event in sorted(self.events, key=lambda e: e.last_seen, reverse=True):
            if event.type == "Warning":
                found[event.regarding.kind, event.regarding.name].append(event)
        return found

    def _wanted(self) -> list[ExpectedClique]:
        """The cliques that the set describes. A scaling group that exists knows its current number of copies."""
        if self.pcs is None or is_invalid(self.pcs):
            return []
        pcs, template = self.pcs.metadata.name or "", self.pcs.spec.template
        grouped = {c for g in template.pod_clique_scaling_groups for c in g.clique_names}
        specs = {c.name: c.spec for c in template.cliques}
        found: list[ExpectedClique] = []
        for i in range(self.pcs.spec.replicas) if self.replica is None else (self.replica,):
            for clique in template.cliques:
                if clique.name not in grouped:
                    name, spec = names.clique(pcs, i, clique.name), clique.spec
                    known = self.clique_of.get(name)
                    gang = names.base_gang(pcs, i)
                    found.append(_expected(name, gang, known, spec.replicas, spec.min_available))
            for group in template.pod_clique_scaling_groups:
                full = names.scaling_group(pcs, i, group.name)
                scaled = self.group_of.get(full)
                for j in range(scaled.spec.replicas if scaled is not None else group.replicas):
                    gang = names.gang_of_group_replica(pcs, i, full, j, group.min_available)
                    for member in (c for c in group.clique_names if c in specs):
                        name, spec = names.clique_in_group(full, j, member), specs[member]
                        known = self.clique_of.get(name)
                        found.append(_expected(name, gang, known, spec.replicas, spec.min_available))
        return found


def is_invalid(pcs: PodCliqueSet) -> bool:
    """If so, its numbers and names cannot be trusted."""
    return pcs.status is not None and is_true(pcs.status.conditions, ConditionType.INVALID)


def _expected(
    name: str, gang: str, clique: PodClique | None, replicas: int, min_available: int | None
) -> ExpectedClique:
    """The sizes of an existing PodClique win over those of the template: it may have been scaled."""
    if clique is not None:
        replicas, min_available = clique.spec.replicas, clique.spec.min_available
    return ExpectedClique(name, gang, replicas, replicas if min_available is None else min_available, clique)


def _is_named_after(name: str, gang_name: str, gang: PodGang) -> bool:
    uid = gang.metadata.uid
    return name == gang_name or name.startswith(f"{gang_name}-") or bool(uid and uid in name)


_NOT_OF_A_SCHEDULER = (
    "Pod",
    "PodCliqueSet",
    "PodClique",
    "PodCliqueScalingGroup",
    "PodGang",
    "Service",
    "HorizontalPodAutoscaler",
    "ResourceClaim",
)
