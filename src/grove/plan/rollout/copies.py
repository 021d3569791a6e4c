"""The copies of a scaling group as units of an update: a copy is replaced as a whole, by recreating its PodCliques.

    outdated    a PodClique of the copy, or a pod of it, has another template than the set. It is enough if one clique
                changed: the pods of a copy work together
    healthy     every PodClique of the copy exists and has its minimum of ready pods
    complete    every PodClique of the copy exists and has all its pods, ready

PodCliques that are being deleted count as missing. Health comes from the pods and not from the status of the
PodCliques, which lags behind.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from grove.api import labels
from grove.api.pod_view import Pod
from grove.api.podclique import PodClique
from grove.plan.pod_state import is_present
from grove.plan.rollout.budget import Budget, Unit, UnitPlan, plan_units
from grove.plan.rollout.pods import all_updated, is_healthy, is_outdated


@dataclass(frozen=True)
class ObservedMember:
    """A PodClique of a copy, and the pods that it controls."""

    clique: PodClique
    pods: Sequence[Pod]

    @property
    def healthy(self) -> bool:
        minimum = self.clique.spec.min_available
        needed = self.clique.spec.replicas if minimum is None else minimum
        return sum(is_present(p) and is_healthy(p) for p in self.pods) >= needed

    def outdated(self, template_hash: str) -> bool:
        return self.clique.metadata.labels.get(labels.POD_TEMPLATE_HASH) != template_hash or any(
            is_present(p) and is_outdated(p, template_hash) for p in self.pods
        )


@dataclass(frozen=True)
class ObservedCopy:
    """`members` are the PodCliques of copy j that exist and stay, `hashes` the wanted template hashes; both by the name
    of the clique in the set's template."""

    j: int
    members: Mapping[str, ObservedMember]
    hashes: Mapping[str, str]

    @property
    def outdated(self) -> bool:
        return any(m.outdated(self.hashes[name]) for name, m in self.members.items())

    @property
    def healthy(self) -> bool:
        return len(self.members) == len(self.hashes) and all(m.healthy for m in self.members.values())

    @property
    def complete(self) -> bool:
        return len(self.members) == len(self.hashes) and all(
            m.clique.metadata.labels.get(labels.POD_TEMPLATE_HASH) == self.hashes[name]
            and all_updated(m.pods, self.hashes[name], m.clique.spec.replicas)
            for name, m in self.members.items()
        )

    @property
    def deletion_order(self) -> list[list[PodClique]]:
        """The PodCliques to delete, in two steps: those that have the wanted template first. Until the last step is
        done the copy stays outdated, so an operator that takes over in between finishes it."""
        outdated = {n: m.outdated(self.hashes[n]) for n, m in self.members.items()}
        return [
            [m.clique for n, m in self.members.items() if not outdated[n]],
            [m.clique for n, m in self.members.items() if outdated[n]],
        ]


def plan_copy_updates(
    copies: Sequence[ObservedCopy], budget: Budget, *, may_take_healthy: bool
) -> UnitPlan[ObservedCopy]:
    """`copies` are those below the group's replicas. The lowest index goes first."""
    units = [Unit(c, c.outdated, c.healthy) for c in sorted(copies, key=lambda c: c.j)]
    return plan_units(units, budget, may_take_healthy=may_take_healthy)
