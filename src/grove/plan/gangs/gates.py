"""When the gate of a pod may be removed. Never earlier: not one pod, not once.

its gang names the pod            so all pods of the gang existed, or of its group when it was renewed
and the gang is Initialized
and the backend is in sync        with this very generation of the gang: the scheduler's object exists and knows it
and, in a scaled gang,            the base gang is scheduled
and, beyond the minimum,          where the backend keeps such pods apart: the gang is scheduled
"""

from collections.abc import Sequence
from typing import NamedTuple

from grove.api.conditions import ConditionType
from grove.api.pod_view import Pod
from grove.api.podgang import PodGang
from grove.plan.pod_state import has_gate, is_surplus
from grove.plan.status.conditions import find, gang_conditions, gang_is


class Gates(NamedTuple):
    """Which pods may go, and why the others may not: a sentence for people, empty when none waits."""

    open: list[Pod]
    waiting_for: str = ""


def plan_gates(
    clique: str,
    pods: Sequence[Pod],
    gate: str,
    gang: PodGang | None,
    base: PodGang | None,
    *,
    surplus_from: int | None = None,
) -> Gates:
    """`base` is the base gang of a scaled gang, and the gang itself otherwise.

    `surplus_from` is the first index of the pods that are kept apart from the gang, if any are.
    """
    gated = [p for p in pods if p.metadata.deletion_timestamp is None and has_gate(p, gate)]
    if not gated:
        return Gates([])
    reason = _closed(gang, base)
    if reason or gang is None:
        return Gates([], reason)
    named = {r.name for g in gang.spec.pod_groups if g.name == clique for r in g.pod_references}
    ready = [p for p in gated if p.metadata.name in named]
    left = len(gated) - len(ready)
    if surplus_from is not None and not gang_is(gang, ConditionType.SCHEDULED):
        required = [p for p in ready if not is_surplus(p, surplus_from)]
        if len(required) < len(ready):
            return Gates(
                required, f"PodGang {gang.metadata.name} to be scheduled, before pods beyond its minimum"
            )
    return Gates(ready, f"PodGang {gang.metadata.name} to name {left} new pods" if left else "")


def _closed(gang: PodGang | None, base: PodGang | None) -> str:
    """Why no pod of the gang may go yet; empty when nothing is in the way."""
    if gang is None:
        return "its PodGang to be created"
    name = gang.metadata.name
    if gang.metadata.deletion_timestamp is not None:
        return f"PodGang {name} to be created again"
    if not gang_is(gang, ConditionType.INITIALIZED):
        return f"PodGang {name} to be initialized, when all its pods exist"
    synced = find(gang_conditions(gang), ConditionType.BACKEND_SYNCED)
    if synced is None or synced.status != "True":
        return f"the scheduler backend to accept PodGang {name}" + (f": {synced.message}" if synced else "")
    if (synced.observed_generation or 0) < (gang.metadata.generation or 0):
        return f"the scheduler backend to follow the latest change of PodGang {name}"
    if base is None:
        return f"the base gang of {name} to be created"
    if base.metadata.name != name and not gang_is(base, ConditionType.SCHEDULED):
        return f"the base gang {base.metadata.name} to be scheduled"
    return ""
