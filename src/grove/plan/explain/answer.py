"""From what was observed to one answer.

The search starts with the parts of the target: a set has gangs, a gang has cliques, a clique has pods. A part that
waits for another one leads to that, and so on. A part that waits for no other is the cause.

The answer is the finding with the greatest weight; among equals, the one at the earliest step.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from grove.api import labels
from grove.api.conditions import ConditionType
from grove.api.podclique import PodClique
from grove.api.podcliqueset import PodCliqueSet
from grove.api.podgang import PodGang
from grove.api.reasons import RunReason, Weight
from grove.api.validation.podspec import scheduler_name
from grove.plan.explain import parts
from grove.plan.explain.findings import CliqueCounts, Explanation, Finding, counted, merged, worst
from grove.plan.explain.observed import ExpectedClique, Observed, Target
from grove.plan.explain.pods import dead_pod_troubles, pod_findings
from grove.plan.pod_state import (
    is_dead,
    is_finished,
    is_present,
    is_ready,
    is_scheduled,
    is_terminating,
)
from grove.plan.status.clique_status import min_available
from grove.plan.status.conditions import find, gang_conditions


def explain(seen: Observed) -> Explanation:
    findings, scope = _findings(seen)
    first = findings[0]
    reason = first.reason
    counts = tuple(_counts(seen, e) for e in scope)
    metadata = next((o.metadata for o in (seen.pcs, *seen.gangs, *seen.cliques) if o is not None), None)
    gangs = [seen.gang_of[name] for name in dict.fromkeys(e.gang for e in scope) if name in seen.gang_of]
    chosen = gangs[0].metadata.labels if gangs else {}
    return Explanation(
        kind=seen.target.kind,
        namespace=(metadata.namespace if metadata is not None else None) or "default",
        name=seen.target.name,
        state=_state(reason, scope, counts),
        reason=reason,
        about=first.about,
        message=first.message,
        pods=first.pods,
        meaning=reason.meaning,
        step=reason.step,
        next=reason.actor,
        remedy=reason.remedy,
        said=first.said,
        backend=chosen.get(labels.SCHEDULER_BACKEND, ""),
        scheduler=chosen.get(labels.SCHEDULER_NAME, ""),
        chosen_by=_chosen_by(seen),
        dialect=", ".join(dict.fromkeys(d for g in gangs if (d := _dialect(g)))),
        findings=tuple(findings),
        cliques=counts,
    )


def top_reason(seen: Observed) -> Finding:
    """The first finding of `explain`, without the counts."""
    return _findings(seen)[0][0]


def set_reason(pcs: PodCliqueSet, of_replicas: Iterable[Finding]) -> Finding:
    """`top_reason` of a set, from `top_reason` of each replica: that one needs only the objects of the replica."""
    target = Target("PodCliqueSet", pcs.metadata.name or "")
    own = parts.set_findings(Observed(target, pcs))
    if any(f.reason in _EXPLAINS_EVERYTHING for f in own):
        return worst(own)
    nothing = Finding(RunReason.SCALED_TO_ZERO, str(target), "no pods are requested")
    return worst([*own, *(list(of_replicas) or [nothing])])


def _findings(seen: Observed) -> tuple[list[Finding], list[ExpectedClique]]:
    """The findings, the most important first and at least one; and the cliques that belong to the target."""
    search = _Search(seen)
    scope = search.visit_target()
    about_gangs = [f for gang, of_gang in search.by_gang.items() for f in merged(of_gang, f"PodGang/{gang}")]
    found = sorted(dict.fromkeys([*search.found, *about_gangs]), key=lambda f: f.rank)
    if not any(f.reason.weight > Weight.FINE for f in found):
        found.insert(0, _all_is_well(seen, scope))
    return found, scope


class _Search:
    """Visits each part once, and then the parts that it waits for. Findings about cliques are kept by gang."""

    def __init__(self, seen: Observed) -> None:
        self.found: list[Finding] = []
        self.by_gang: dict[str, list[Finding]] = defaultdict(list)
        self._seen = seen
        self._visited: set[str] = set()

    def visit_target(self) -> list[ExpectedClique]:
        """Visits the target, and returns its cliques."""
        seen, target = self._seen, self._seen.target
        match target.kind:
            case "PodCliqueSet":
                scope = list(seen.expected.values())
                if seen.replica is not None:
                    self._visited.add("set")
                if not self._visit_set():
                    self.found += parts.group_findings(seen, seen.group_of)
                    self._visit_gangs(seen.expected_gangs)
                    self._visit_cliques(scope)
            case "PodGang":
                scope = _members(seen, labels.POD_GANG, target.name)
                self._visit_gangs([target.name])
                self._visit_cliques(scope)
            case "PodCliqueScalingGroup":
                scope = _members(seen, labels.SCALING_GROUP, target.name)
                self.found += parts.group_findings(seen, [target.name])
                self._visit_gangs(e.gang for e in scope)
                self._visit_cliques(scope)
            case "PodClique":
                scope = _members(seen, "", target.name)
                self._visit_cliques(scope)
            case "Pod":
                scope = self._visit_pod(target.name)
        return scope

    def _visit_set(self) -> bool:
        """Whether the findings about the set itself explain everything."""
        if "set" in self._visited:
            return False
        self._visited.add("set")
        found = parts.set_findings(self._seen)
        self.found += found
        return any(f.reason in _EXPLAINS_EVERYTHING for f in found)

    def _visit_gangs(self, gangs: Iterable[str]) -> None:
        for name in gangs:
            if name and f"gang {name}" not in self._visited:
                self._visited.add(f"gang {name}")
                self._add(parts.gang_findings(self._seen, name), None)

    def _visit_cliques(self, cliques: Iterable[ExpectedClique], only: str = "") -> None:
        for expected in cliques:
            if expected.name in self._visited:
                continue
            self._visited.add(expected.name)
            found = parts.clique_findings(self._seen, expected, only)
            if found:
                self._visit_gangs([expected.gang])
            self._add(found, expected)

    def _visit_pod(self, name: str) -> list[ExpectedClique]:
        pod = next((p for p in self._seen.pods if p.metadata.name == name), None)
        if pod is None:
            return []
        scope = _members(self._seen, "", pod.metadata.labels.get(labels.POD_CLIQUE, ""))
        if is_terminating(pod):
            self.found.append(parts.terminating(f"Pod/{name}", [pod], ()))
        elif is_dead(pod):
            self.found += pod_findings(dead_pod_troubles([pod]), f"Pod/{name}")
        else:
            self._visit_cliques(scope, only=name)
        return scope

    def _add(self, found: list[Finding], expected: ExpectedClique | None) -> None:
        if expected is None:
            self.found += found
        else:
            self.by_gang[expected.gang] += found
        for finding in found:
            if finding.reason is RunReason.WAITING_FOR_PARTS:
                self._visit_set()
                self.found += parts.group_findings(self._seen, self._seen.group_of)
            elif expected is not None:
                self._visit_cliques(self._waited_for(finding.reason, expected))

    def _waited_for(self, reason: RunReason, expected: ExpectedClique) -> Iterator[ExpectedClique]:
        seen = self._seen
        if reason in (RunReason.WAITING_FOR_INITIALIZATION, RunReason.WAITING_FOR_MINIMUM):
            yield from _members(seen, labels.POD_GANG, expected.gang)
        elif expected.clique is not None and reason is RunReason.WAITING_FOR_BASE_GANG:
            base = expected.clique.metadata.labels.get(labels.BASE_POD_GANG, "")
            self._visit_gangs([base])
            yield from _members(seen, labels.POD_GANG, base)
        elif expected.clique is not None and reason is RunReason.WAITING_FOR_START_ORDER:
            for parent in expected.clique.spec.starts_after:
                yield from _members(seen, "", parent)


# A set with one of these needs no other finding.
_EXPLAINS_EVERYTHING = (RunReason.TERMINATING, RunReason.INVALID_SET)


def _members(seen: Observed, label: str, name: str) -> list[ExpectedClique]:
    """The cliques with this label, or with this name if `label` is empty. Cliques that are being deleted only if there
    are no others."""

    def belongs(clique: PodClique | None) -> bool:
        return clique is not None and clique.metadata.labels.get(label) == name

    if not label:
        found = [e for e in seen.expected.values() if e.name == name]
    elif label == labels.POD_GANG:
        found = [e for e in seen.expected.values() if e.gang == name]
    else:
        found = [e for e in seen.expected.values() if belongs(e.clique)]
    return found or [
        ExpectedClique(n, c.metadata.labels.get(labels.POD_GANG, ""), c.spec.replicas, min_available(c), c)
        for n, c in seen.clique_of.items()
        if (belongs(c) if label else n == name)
    ]


def _all_is_well(seen: Observed, scope: Sequence[ExpectedClique]) -> Finding:
    about = str(seen.target)
    pods = [p for e in scope for p in seen.pods_of.get(e.name, ()) if is_present(p)]
    if seen.target.kind == "Pod":
        pods = [p for p in pods if p.metadata.name == seen.target.name]
    if not any(e.wanted for e in scope):
        return Finding(RunReason.SCALED_TO_ZERO, about, "no pods are requested")
    if pods and all(map(is_finished, pods)):
        return Finding(RunReason.FINISHED, about, f"{counted(len(pods))} finished")
    return Finding(RunReason.RUNNING, about, f"{counted(len(pods))} ready")


def _state(
    reason: RunReason, scope: Sequence[ExpectedClique], counts: Sequence[CliqueCounts]
) -> Literal["Running", "Degraded", "NotRunning"]:
    if reason.fine:
        return "Running"
    if reason in (RunReason.TERMINATING, RunReason.NOT_SEEN_YET):
        return "NotRunning"
    scaled = {
        e.name for e in scope if e.clique is not None and labels.BASE_POD_GANG in e.clique.metadata.labels
    }
    needed = [c for c in counts if c.name not in scaled] or counts
    return "Degraded" if needed and all(c.ready >= c.minimum for c in needed) else "NotRunning"


def _counts(seen: Observed, expected: ExpectedClique) -> CliqueCounts:
    present = [p for p in seen.pods_of.get(expected.name, ()) if is_present(p)]
    own = parts.clique_findings(seen, expected)
    if own and expected.gang:
        own = own + parts.gang_findings(seen, expected.gang)
    blocking = [f for f in own if f.reason.weight > Weight.FINE]
    fine = RunReason.RUNNING if expected.wanted else RunReason.SCALED_TO_ZERO
    return CliqueCounts(
        name=expected.name,
        gang=expected.gang,
        wanted=expected.wanted,
        minimum=expected.minimum,
        created=len(present),
        gated=sum(bool(p.spec.scheduling_gates) for p in present),
        scheduled=sum(map(is_scheduled, present)),
        ready=sum(is_ready(p) or is_finished(p) for p in present),
        reason=worst(blocking).reason if blocking else fine,
    )


def _dialect(gang: PodGang) -> str:
    found = find(gang_conditions(gang), ConditionType.DIALECT)
    return found.reason if found is not None else ""


def _chosen_by(seen: Observed) -> str:
    """What selected the backend; see `grove.schedulers.registry`."""
    if seen.pcs is None:
        return ""
    if seen.pcs.metadata.annotations.get(labels.SCHEDULER_BACKEND):
        return f"the annotation {labels.SCHEDULER_BACKEND} of the set"
    if any(scheduler_name(c.spec.pod_spec) for c in seen.pcs.spec.template.cliques):
        return "the schedulerName of its pods"
    return "default: its pods name no scheduler"
