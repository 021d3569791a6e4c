"""What is seen of a set and its parts, and how to find one's way in it."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, NamedTuple

from grove.api import labels, names
from grove.api.conditions import ConditionType
from grove.api.event_view import Event
from grove.api.pod_view import Pod
from grove.api.podclique import PodClique
from grove.api.podcliqueset import PodCliqueSet
from grove.api.podgang import PodGang
from grove.api.scalinggroup import PodCliqueScalingGroup
from grove.plan.explain.findings import Said
from grove.plan.status.conditions import is_true

Kind = Literal["PodCliqueSet", "PodGang", "PodCliqueScalingGroup", "PodClique", "Pod"]


class Target(NamedTuple):
    """What is asked about."""

    kind: Kind
    name: str

    def __str__(self) -> str:
        return f"{self.kind}/{self.name}"


class Expected(NamedTuple):
    """A PodClique that the set asks for; `clique` is None while it does not exist."""

    name: str
    gang: str
    wanted: int
    minimum: int
    clique: PodClique | None


@dataclass(frozen=True)
class Observed:
    """`pcs` is None when the set is gone. `events` are the warnings of the namespace, in any order.

    `gates` are the gates of the backends by name; a backend that is not among them counts every gate as its own.
    With `replica`, a set is looked at in that replica alone, and only the objects of that one need be there.
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
        """By clique, in order of their names."""
        found: dict[str, list[Pod]] = defaultdict(list)
        for pod in sorted(self.pods, key=lambda p: p.metadata.name or ""):
            found[pod.metadata.labels.get(labels.POD_CLIQUE, "")].append(pod)
        return found

    @cached_property
    def expected(self) -> dict[str, Expected]:
        """Every clique that should be there, and every other one that is and does not go away."""
        wanted = {e.name: e for e in self._wanted()}
        for name, clique in self.clique_of.items():
            if name not in wanted and clique.metadata.deletion_timestamp is None:
                gang = clique.metadata.labels.get(labels.POD_GANG, "")
                wanted[name] = _expected(name, gang, clique, clique.spec.replicas, clique.spec.min_available)
        return wanted

    @property
    def expected_gangs(self) -> list[str]:
        return list(dict.fromkeys(e.gang for e in self.expected.values() if e.gang))

    def said_about(self, kind: str, name: str, *reasons: str) -> list[Said]:
        """Warnings about an object, newest first; of these reasons only, if any are given."""
        found = [e for e in self._events_of.get((kind, name), ()) if not reasons or e.reason in reasons]
        return [Said(e.reporter, e.note or "") for e in found]

    def said_about_gang(self, gang: str) -> list[Said]:
        """Warnings about the scheduler's own objects for a gang, newest first."""
        return self._said_of_gangs.get(gang, [])

    @cached_property
    def _said_of_gangs(self) -> dict[str, list[Said]]:
        """The scheduler's objects have the name or the uid of their gang in their own name."""
        found: dict[str, list[Said]] = defaultdict(list)
        for (kind, name), events in self._events_of.items():
            if kind not in _NOT_THE_SCHEDULERS:
                fitting = [g for g, gang in self.gang_of.items() if _is_named_after(name, g, gang)]
                if fitting:
                    found[max(fitting, key=len)] += [Said(e.reporter, e.note or "") for e in events]
        return found

    @cached_property
    def _events_of(self) -> dict[tuple[str, str], list[Event]]:
        found: dict[tuple[str, str], list[Event]] = defaultdict(list)
        for event in sorted(self.events, key=lambda e: e.last_seen, reverse=True):
            if event.type == "Warning":
                found[event.regarding.kind, event.regarding.name].append(event)
        return found

    def _wanted(self) -> list[Expected]:
        """As the names in `grove.api.names` say; a scaling group that exists says itself how many copies there are."""
        if self.pcs is None or is_invalid(self.pcs):
            return []
        pcs, template = self.pcs.metadata.name or "", self.pcs.spec.template
        grouped = {c for g in template.pod_clique_scaling_groups for c in g.clique_names}
        specs = {c.name: c.spec for c in template.cliques}
        found: list[Expected] = []
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
    """Then its numbers and names mean nothing."""
    return pcs.status is not None and is_true(pcs.status.conditions, ConditionType.INVALID)


def _expected(
    name: str, gang: str, clique: PodClique | None, replicas: int, min_available: int | None
) -> Expected:
    """What the object says counts, once there is one: it may have been scaled."""
    if clique is not None:
        replicas, min_available = clique.spec.replicas, clique.spec.min_available
    return Expected(name, gang, replicas, replicas if min_available is None else min_available, clique)


def _is_named_after(name: str, gang_name: str, gang: PodGang) -> bool:
    uid = gang.metadata.uid
    return name == gang_name or name.startswith(f"{gang_name}-") or bool(uid and uid in name)


_NOT_THE_SCHEDULERS = (
    "Pod",
    "PodCliqueSet",
    "PodClique",
    "PodCliqueScalingGroup",
    "PodGang",
    "Service",
    "HorizontalPodAutoscaler",
    "ResourceClaim",
)
