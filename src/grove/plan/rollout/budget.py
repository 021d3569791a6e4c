"""Which units of a clique or scaling group an update replaces next.

A unit is a pod of a standalone clique, or a copy of a scaling group as a whole. A unit is outdated if it was made from
another template. A pod is healthy if it is ready, a copy if every clique of it has its minimum of ready pods.

    floor     max(desired - maxUnavailable, minAvailable)   if minAvailable < desired
              max(desired - maxUnavailable, 0)              otherwise: every unit is needed, so any replacement goes
                                                            below the minimum, and the budget alone decides
    broken    outdated and not healthy: all replaced immediately. They serve nobody, so they cost nothing
    chosen    outdated and healthy: as many as healthy units exceed the floor, in the order in which they are given

So healthy units never drop below the floor because of an update; if fewer are healthy anyway, an update takes no
healthy one. An update always ends if its new units become healthy: the floor is below `desired`, so a next unit can
always be chosen.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")

DEFAULT_MAX_UNAVAILABLE = 1


@dataclass(frozen=True)
class Unit(Generic[T]):
    item: T
    outdated: bool
    healthy: bool


@dataclass(frozen=True)
class Budget:
    desired: int
    """How many units there should be."""
    minimum: int
    max_unavailable: int = DEFAULT_MAX_UNAVAILABLE

    @property
    def floor(self) -> int:
        """How many units must stay healthy."""
        left = max(self.desired - self.max_unavailable, 0)
        return max(left, self.minimum) if self.minimum < self.desired else left


@dataclass(frozen=True)
class UnitPlan(Generic[T]):
    broken: Sequence[T] = ()
    chosen: Sequence[T] = ()

    @property
    def replaced(self) -> list[T]:
        return [*self.broken, *self.chosen]


def plan_units(units: Sequence[Unit[T]], budget: Budget, *, may_take_healthy: bool) -> UnitPlan[T]:
    """`units` are all units that stay, the one to replace first at the front.

    `may_take_healthy` is False outside the replica that is being updated: there only broken units are replaced.
    """
    broken = [u.item for u in units if u.outdated and not u.healthy]
    spare = sum(u.healthy for u in units) - budget.floor
    if not may_take_healthy or spare <= 0:
        return UnitPlan(broken)
    return UnitPlan(broken, [u.item for u in units if u.outdated and u.healthy][:spare])
