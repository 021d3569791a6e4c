"""When the scheduling gate of a pod may be removed. Never earlier: not one pod, not once.

All of these must hold:

    the gang names the pod        so all pods of its group existed when the gang was last changed
    the gang is Initialized       so all pods of the gang existed at that time
    BackendSynced is True         for the gang's current generation: the scheduler's object exists and is up to date
    the base gang is Scheduled    if the gang is a scaled one
    the gang is Scheduled         if the pod is a surplus pod and the backend keeps those apart from the gang

Nobody can put a removed gate back, so a pod waits whenever something is unknown.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from grove.api.conditions import ConditionType
from grove.api.pod_view import Pod
from grove.api.podgang import PodGang
from grove.plan.pod_state import has_gate, is_surplus, is_terminating
from grove.plan.status.conditions import find, gang_conditions, gang_is


@dataclass(frozen=True)
class GatePlan:
    open: list[Pod]
    """The pods whose gate may be removed now."""
    waiting_for: str = ""
    """What the other gated pods wait for, to complete the sentence "they wait for"; empty if none waits."""


def plan_gates(
    clique: str,
    pods: Sequence[Pod],
    gate: str,
    gang: PodGang | None,
    base: PodGang | None,
    *,
    surplus_from: int | None = None,
) -> GatePlan:
    """`pods` are those of the PodClique with the name `clique`, and `gate` is the gate of its backend.

    `base` is the base gang of a scaled gang, and the gang itself otherwise. None means that a gang does not exist.
    `surplus_from` is the lowest index of a surplus pod, if the backend keeps surplus pods apart from the gang.
    """
    gated = [p for p in pods if has_gate(p, gate) and not is_terminating(p)]
    if not gated:
        return GatePlan([])
    if gang is None:
        return GatePlan([], "its PodGang to be created")
    if blocker := _blocker(gang, base):
        return GatePlan([], blocker)
    named = {r.name for g in gang.spec.pod_groups if g.name == clique for r in g.pod_references}
    ready = [p for p in gated if p.metadata.name in named]
    if surplus_from is not None and not gang_is(gang, ConditionType.SCHEDULED):
        required = [p for p in ready if not is_surplus(p, surplus_from)]
        if len(required) < len(ready):
            reason = f"PodGang {gang.metadata.name} to be scheduled, before pods beyond its minimum"
            return GatePlan(required, reason)
    unnamed = len(gated) - len(ready)
    return GatePlan(ready, f"PodGang {gang.metadata.name} to name {unnamed} new pods" if unnamed else "")


def _blocker(gang: PodGang, base: PodGang | None) -> str:
    """What every pod of the gang must wait for; empty if nothing."""
    name = gang.metadata.name
    if gang.metadata.deletion_timestamp is not None:
        return f"PodGang {name} to be created again"
    if not gang_is(gang, ConditionType.INITIALIZED):
        return f"PodGang {name} to be initialized, when all its pods exist"
    synced = find(gang_conditions(gang), ConditionType.BACKEND_SYNCED)
    if synced is None:
        return f"the scheduler backend to accept PodGang {name}"
    if synced.status != "True":
        return f"the scheduler backend to accept PodGang {name}: {synced.message}"
    if (synced.observed_generation or 0) < (gang.metadata.generation or 0):
        return f"the scheduler backend to follow the latest change of PodGang {name}"
    if base is None:
        return f"the base gang of {name} to be created"
    if base.metadata.name != name and not gang_is(base, ConditionType.SCHEDULED):
        return f"the base gang {base.metadata.name} to be scheduled"
    return ""
