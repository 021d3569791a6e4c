"""What is wrong with a set, a scaling group, a gang or a clique."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from grove.api import PodClique, PodCliqueScalingGroup, labels
from grove.api.conditions import ConditionType, Reason
from grove.api.meta import LastError
from grove.api.pod_view import Pod
from grove.api.podgang import PodGang
from grove.api.reasons import RunReason
from grove.plan.explain.findings import Finding, Quote, counted, listed, quotes
from grove.plan.explain.gates import gate_findings
from grove.plan.explain.observed import ExpectedClique, Observed, is_invalid
from grove.plan.explain.pods import dead_pod_troubles, pod_findings, pod_trouble
from grove.plan.gangs.completion import POD_NOT_CREATED
from grove.plan.pod_state import is_dead, is_present
from grove.plan.status.conditions import find, gang_conditions

# A message about an object that is being deleted lists at most so many objects with finalizers.
MAX_HOLDERS = 5

# What the reasons of BackendSynced mean while it is not True; any other reason means that the backend failed.
_BACKEND = {
    Reason.SCHEDULER_NOT_INSTALLED: RunReason.SCHEDULER_NOT_INSTALLED,
    Reason.BACKEND_NOT_ENABLED: RunReason.BACKEND_NOT_ENABLED,
    Reason.REFUSED_BY_BACKEND: RunReason.REFUSED_BY_BACKEND,
    Reason.QUEUE_MISSING: RunReason.QUEUE_MISSING,
    Reason.SCHEDULER_NOT_KNOWN_YET: RunReason.WAITING_FOR_BACKEND,
    Reason.OLD_OBJECT_GOING: RunReason.WAITING_FOR_BACKEND,
}

# The codes in a clique's lastErrors, and who wrote their descriptions.
CLIQUE_ERRORS = {
    "ERR_SYNC_PCLQ_RESOURCE_CLAIM": (RunReason.PARTS_REFUSED_BY_SERVER, "API server"),
    "ERR_BUILD_POD_RESOURCE": (RunReason.REFUSED_BY_BACKEND, "backend"),
    "ERR_LABEL_POD": (RunReason.PARTS_REFUSED_BY_SERVER, "API server"),
    "ERR_SET_CONTROLLER_REFERENCE": (RunReason.PARTS_REFUSED_BY_SERVER, "API server"),
    POD_NOT_CREATED: (RunReason.PODS_REFUSED_BY_SERVER, "API server"),
    "ERR_DELETE_POD": (RunReason.PODS_NOT_DELETED, "API server"),
    "ERR_POD_LINK_DROPPED": (RunReason.POD_LINK_DROPPED, "backend"),
    "ERR_REMOVE_POD_SCHEDULING_GATE": (RunReason.GATES_NOT_OPENED, "API server"),
}


def set_findings(seen: Observed) -> list[Finding]:
    pcs = seen.pcs
    if pcs is None:
        return []
    name, status = pcs.metadata.name or "", pcs.status
    about = f"PodCliqueSet/{name}"
    if pcs.metadata.deletion_timestamp is not None:
        return [terminating(about, seen.pods, pcs.metadata.finalizers, [*seen.groups, *seen.cliques])]
    conditions = status.conditions if status is not None else []
    if is_invalid(pcs):
        invalid = find(conditions, ConditionType.INVALID)
        return [Finding(RunReason.INVALID_SET, about, invalid.message if invalid is not None else "")]
    found = _errors(about, status.last_errors if status is not None else [])
    generation = (status.observed_generation or 0) if status is not None else 0
    if generation < (pcs.metadata.generation or 0) and not found:
        message = (
            "the operator has never written a status"
            if not generation
            else "the operator has not processed its latest change yet"
        )
        found.append(Finding(RunReason.NOT_SEEN_YET, about, message))
    several = find(conditions, ConditionType.SEVERAL_BACKENDS_MATCH)
    if several is not None:
        found.append(Finding(RunReason.SEVERAL_BACKENDS_MATCH, about, several.message))
    levels = find(conditions, ConditionType.TOPOLOGY_LEVELS_UNAVAILABLE)
    if levels is not None and levels.status != "False":
        found.append(Finding(RunReason.TOPOLOGY_IGNORED, about, levels.message))
    return found


def group_findings(seen: Observed, groups: Iterable[str]) -> list[Finding]:
    found: list[Finding] = []
    for name in groups:
        group = seen.group_of.get(name)
        if group is not None and group.status is not None:
            found += _errors(f"PodCliqueScalingGroup/{name}", group.status.last_errors)
    return found


def gang_findings(seen: Observed, name: str) -> list[Finding]:
    """`name` is the name of a gang that should exist."""
    about = f"PodGang/{name}"
    gang = seen.gang_of.get(name)
    if gang is None:
        return [Finding(RunReason.WAITING_FOR_PARTS, about, f"PodGang {name} does not exist")]
    if gang.metadata.deletion_timestamp is not None:
        return [Finding(RunReason.WAITING_FOR_PARTS, about, f"PodGang {name} is being deleted")]
    return _backend(about, gang)


def clique_findings(seen: Observed, expected: ExpectedClique, only: str = "") -> list[Finding]:
    """With `only`, the name of a pod: findings about that pod alone."""
    about, clique = f"PodClique/{expected.name}", expected.clique
    if clique is None:
        message = f"PodClique {expected.name} does not exist"
        return [Finding(RunReason.WAITING_FOR_PARTS, about, message)]
    pods = [p for p in seen.pods_of.get(expected.name, ()) if not only or p.metadata.name == only]
    if clique.metadata.deletion_timestamp is not None:
        return [terminating(about, pods, clique.metadata.finalizers)]
    present = [p for p in pods if is_present(p)]
    gated = [p for p in present if p.spec.scheduling_gates]
    found: list[Finding] = []
    if not only or gated:
        errors = clique.status.last_errors if clique.status is not None else []
        found += _pod_errors(about, errors, f"{len(present)} of {expected.wanted} pods exist")
    if not only:
        found += _missing(about, expected, pods, len(present), refused=bool(found))
    found += gate_findings(expected, gated, seen)
    troubles = [t for p in present if not p.spec.scheduling_gates and (t := pod_trouble(p, seen)) is not None]
    return found + pod_findings(troubles, f"Pod/{only}" if only else about)


def terminating(
    about: str,
    pods: Sequence[Pod],
    finalizers: Sequence[str],
    of_it: Sequence[PodClique | PodCliqueScalingGroup] = (),
) -> Finding:
    """`of_it` are the parts of a set. The message names finalizers, except Grove's own, which Grove removes itself."""
    where = [f"{p.metadata.name} on {p.spec.node_name or 'no node'}" for p in pods]
    message = f"{counted(len(pods))} left" + (f": {listed(where)}" if where else "")
    holders = [("Pod", p.metadata) for p in pods] + [(part.kind, part.metadata) for part in of_it]
    held = [(kind, m.name, theirs) for kind, m in holders if (theirs := _without_groves(m.finalizers))]
    for kind, name, theirs in held[:MAX_HOLDERS]:
        message += f"; {kind} {name} is held by {listed(theirs)}"
    if theirs := _without_groves(finalizers):
        message += f"; finalizers: {listed(theirs)}"
    return Finding(RunReason.TERMINATING, about, message)


def _without_groves(finalizers: Sequence[str]) -> list[str]:
    return [f for f in finalizers if not f.startswith(labels.GROVE_PREFIX)]


def _missing(
    about: str, expected: ExpectedClique, pods: Sequence[Pod], present: int, *, refused: bool
) -> list[Finding]:
    missing = expected.wanted - present
    dead = [p for p in pods if is_dead(p)]
    if missing <= 0 or refused:
        return []
    if dead:
        return pod_findings(dead_pod_troubles(dead), about)
    message = f"{present} of {expected.wanted} pods exist"
    return [Finding(RunReason.WAITING_FOR_PODS, about, message)]


def _backend(about: str, gang: PodGang) -> list[Finding]:
    name = gang.metadata.labels.get(labels.SCHEDULER_BACKEND, "")
    synced = find(gang_conditions(gang), ConditionType.BACKEND_SYNCED)
    if synced is None:
        message = f"the backend {name} has not processed it yet"
        return [Finding(RunReason.WAITING_FOR_BACKEND, about, message)]
    said = (Quote(f"backend {name}", synced.message),)
    if synced.status != "True":
        reason = _BACKEND.get(synced.reason, RunReason.BACKEND_FAILED)
        return [Finding(reason, about, f"the backend {name} does not accept it", said)]
    if (synced.observed_generation or 0) < (gang.metadata.generation or 0):
        message = f"the backend {name} has not processed its latest change yet"
        return [Finding(RunReason.WAITING_FOR_BACKEND, about, message)]
    if synced.reason == Reason.WEAKER_THAN_ASKED:
        return [Finding(RunReason.WEAKER_THAN_ASKED, about, synced.message)]
    return []


def _errors(about: str, errors: Sequence[LastError]) -> list[Finding]:
    if not errors:
        return []
    said = quotes(Quote("API server", e.description) for e in errors)
    codes = ", ".join(dict.fromkeys(e.code for e in errors))
    message = f"parts of it could not be created, updated or deleted; {codes}"
    return [Finding(RunReason.PARTS_REFUSED_BY_SERVER, about, message, said)]


def _pod_errors(about: str, errors: Sequence[LastError], exist: str) -> list[Finding]:
    """One finding per reason. An unknown code, of a later version of Grove, counts as a failure to create pods."""
    by_reason: dict[tuple[RunReason, str], list[LastError]] = defaultdict(list)
    for error in errors:
        by_reason[CLIQUE_ERRORS.get(error.code, CLIQUE_ERRORS[POD_NOT_CREATED])].append(error)
    return [
        Finding(
            reason,
            about,
            f"{exist}; {', '.join(dict.fromkeys(e.code for e in same))}",
            quotes(Quote(who, e.description) for e in same),
        )
        for (reason, who), same in by_reason.items()
    ]
