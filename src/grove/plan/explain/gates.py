"""Why pods of a clique are still behind their gates. `grove.plan.gangs.gates` has the rule that opens them."""

from collections.abc import Sequence

from grove.api import labels
from grove.api.conditions import ConditionType
from grove.api.pod_view import Pod
from grove.api.podgang import PodGang
from grove.api.reasons import RunReason
from grove.plan.explain.findings import Finding, counted, listed
from grove.plan.explain.observed import ExpectedClique, Observed
from grove.plan.pod_state import is_present, is_surplus
from grove.plan.status.conditions import gang_is


def gate_findings(expected: ExpectedClique, gated: Sequence[Pod], seen: Observed) -> list[Finding]:
    """`gated` are the pods of the clique that have a gate. Empty if a finding about the set or the gang explains it."""
    about = f"PodClique/{expected.name}"
    gang = seen.gang_of.get(expected.gang)
    if not gated or gang is None:
        return []
    misdirected = _for_another_scheduler(gated, gang)
    if misdirected:
        return [Finding(RunReason.WRONG_SCHEDULER, about, _wrong_scheduler(misdirected, gang))]
    own = seen.gates.get(gang.metadata.labels.get(labels.SCHEDULER_BACKEND, ""))
    ours = [p for p in gated if own is None or any(g.name == own for g in p.spec.scheduling_gates)]
    others = [g.name for p in gated for g in p.spec.scheduling_gates if own is not None and g.name != own]
    found = _behind_our_gate(expected, ours, gang, seen) if ours else []
    if others:
        message = f"{counted(len(gated))} behind the gate {listed(list(dict.fromkeys(others)))}"
        found.append(Finding(RunReason.HELD_BY_OTHER_GATE, about, message))
    return found


def _behind_our_gate(
    expected: ExpectedClique, pods: Sequence[Pod], gang: PodGang, seen: Observed
) -> list[Finding]:
    about, name = f"PodClique/{expected.name}", gang.metadata.name
    if not gang_is(gang, ConditionType.INITIALIZED):
        message = _missing_pods(gang, seen) or "all pods exist, but the gang does not name them yet"
        return [Finding(RunReason.WAITING_FOR_INITIALIZATION, about, message)]
    group = next((g for g in gang.spec.pod_groups if g.name == expected.name), None)
    named = {r.name for r in group.pod_references} if group is not None else set()
    unnamed = [p.metadata.name or "" for p in pods if p.metadata.name not in named]
    if unnamed:
        why = f": {missing}" if (missing := _missing_pods(gang, seen)) else ""
        message = f"PodGang {name} does not name {listed(unnamed)} yet{why}"
        return [Finding(RunReason.WAITING_FOR_INITIALIZATION, about, message)]
    base = pods[0].metadata.labels.get(labels.BASE_POD_GANG, "")
    if base and (base not in seen.gang_of or not gang_is(seen.gang_of[base], ConditionType.SCHEDULED)):
        message = f"the base gang {base} is not scheduled"
        return [Finding(RunReason.WAITING_FOR_BASE_GANG, about, message)]
    if not gang_is(gang, ConditionType.SCHEDULED) and all(is_surplus(p, expected.minimum) for p in pods):
        message = f"{counted(len(pods))} waiting until PodGang {name} has its minimum of pods on nodes"
        return [Finding(RunReason.WAITING_FOR_MINIMUM, about, message)]
    return [Finding(RunReason.WAITING_FOR_GATES, about, f"{counted(len(pods))} behind the gate")]


def _missing_pods(gang: PodGang, seen: Observed) -> str:
    """Which pods the gang lacks; empty if none."""
    found: list[str] = []
    for group in gang.spec.pod_groups:
        clique = seen.clique_of.get(group.name)
        wanted = clique.spec.replicas if clique is not None else group.min_replicas
        count = wanted - sum(map(is_present, seen.pods_of.get(group.name, ())))
        if count > 0:
            found.append(f"{count} of {group.name}")
        elif 0 < wanted < group.min_replicas:
            few = f"it is scaled to {wanted}, below its minimum"
            found.append(f"{group.min_replicas - wanted} of {group.name} ({few} of {group.min_replicas})")
    return f"pods are still missing: {listed(found)}" if found else ""


def _for_another_scheduler(pods: Sequence[Pod], gang: PodGang) -> list[Pod]:
    wanted = gang.metadata.labels.get(labels.SCHEDULER_NAME)
    return [p for p in pods if wanted and p.spec.scheduler_name and p.spec.scheduler_name != wanted]


def _wrong_scheduler(pods: Sequence[Pod], gang: PodGang) -> str:
    wanted = gang.metadata.labels.get(labels.SCHEDULER_NAME)
    names = listed([p.metadata.name or "" for p in pods])
    return f"{names} is for {pods[0].spec.scheduler_name}, but PodGang {gang.metadata.name} is for {wanted}"
