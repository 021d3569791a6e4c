"""Places a gang: a tree of pods that are placed together or not at all, if required within one topology domain.

Each simulated scheduler translates its own objects into such trees. Placing a tree is the same for all.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from grove_sandbox.schedulers.objects import SchedulerPod
from grove_sandbox.schedulers.snapshot import Snapshot

Domain = frozenset[str]
Placement = list[tuple[SchedulerPod, str]]


@dataclass
class Gang:
    """A leaf has `pods` to place, in this order, and `present` members that have a node. Other gangs have `children`.

    `minimum` counts the pods of a leaf, or the children. `domains` are sets of nodes, best first, one of which must
    hold the gang; None means any node. `refuse` may reject a placement as a whole: it returns the reason, or an empty
    text.
    """

    name: str
    minimum: int
    pods: Sequence[SchedulerPod] = ()
    present: int = 0
    children: Sequence["Gang"] = ()
    domains: Sequence[Domain] | None = None
    refuse: Callable[[Placement], str] | None = None


@dataclass
class PlacementOutcome:
    """The nodes of the pods, or the reason of the failure. `parts` are the outcomes of the children by name."""

    placement: Placement = field(default_factory=list)
    failure: str = ""
    parts: dict[str, "PlacementOutcome"] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        return not self.failure


def place(snapshot: Snapshot, gang: Gang, allowed: Domain | None = None) -> PlacementOutcome:
    """Assumes the pods of the gang on nodes of the snapshot. If the gang does not fit, the snapshot is unchanged."""
    if gang.domains is None:
        return _place_within(snapshot, gang, allowed)
    best: PlacementOutcome | None = None
    chosen: Domain | None = None
    first_failure = ""
    tried = 0
    for domain in gang.domains:
        within = domain if allowed is None else domain & allowed
        if not within:
            continue
        tried += 1
        mark = snapshot.mark()
        outcome = _place_within(snapshot, gang, within)
        snapshot.rollback(mark)
        if not outcome.ok:
            first_failure = first_failure or outcome.failure
        elif best is None or len(outcome.placement) > len(best.placement):
            best, chosen = outcome, within
            if len(best.placement) == _size(gang):
                break
    if best is None:
        why = f", first placement status: {first_failure}" if first_failure else ""
        return PlacementOutcome(failure=f"0/{tried} placements are available{why}")
    return _place_within(snapshot, gang, chosen)


def _place_within(snapshot: Snapshot, gang: Gang, allowed: Domain | None) -> PlacementOutcome:
    mark = snapshot.mark()
    outcome = (
        _place_children(snapshot, gang, allowed) if gang.children else _place_pods(snapshot, gang, allowed)
    )
    if outcome.ok and gang.refuse is not None:
        outcome.failure = gang.refuse(outcome.placement)
    if not outcome.ok:
        snapshot.rollback(mark)
        outcome.placement = []
    return outcome


def _place_pods(snapshot: Snapshot, gang: Gang, allowed: Domain | None) -> PlacementOutcome:
    outcome = PlacementOutcome()
    for pod in gang.pods:
        node_name = snapshot.find(pod, allowed)
        if node_name is not None:
            snapshot.assume(pod, node_name)
            outcome.placement.append((pod, node_name))
    scheduled = gang.present + len(outcome.placement)
    if scheduled < gang.minimum:
        missing = next((pod for pod in gang.pods if all(pod is not p for p, _ in outcome.placement)), None)
        why = f": {snapshot.explain(missing, allowed)}" if missing else ""
        outcome.failure = (
            f"minCount ({gang.minimum}) cannot be satisfied: {scheduled} scheduled, 0 remaining{why}"
        )
    return outcome


def _place_children(snapshot: Snapshot, gang: Gang, allowed: Domain | None) -> PlacementOutcome:
    outcome = PlacementOutcome()
    for child in gang.children:
        part = place(snapshot, child, allowed)
        outcome.parts[child.name] = part
        outcome.placement += part.placement
    satisfied = sum(part.ok for part in outcome.parts.values())
    if satisfied < gang.minimum:
        first = next(part.failure for part in outcome.parts.values() if not part.ok)
        outcome.failure = first
    return outcome


def _size(gang: Gang) -> int:
    return len(gang.pods) + sum(map(_size, gang.children))
