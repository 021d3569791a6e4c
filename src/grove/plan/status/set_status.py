"""The status of a PodCliqueSet, summed up from summaries of its replicas.

    available   every standalone clique has its minimum of ready pods, every scaling group enough available copies
    updated     available, and every clique and group follows the set's current templates

A summary depends only on the objects of one replica. A change in one of two thousand replicas costs one new summary and
a sum.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import get_args

from grove.api import labels, names
from grove.api.conditions import ConditionType, Reason
from grove.api.meta import Condition, ConditionStatus
from grove.api.podclique import PodClique
from grove.api.podcliqueset import (
    PodCliqueSet,
    PodCliqueSetStatus,
    PodCliqueSetUpdateProgress,
    PodGangPhase,
    PodGangSummary,
)
from grove.api.podgang import PodGang
from grove.api.scalinggroup import PodCliqueScalingGroup
from grove.api.serialization.model import replace
from grove.api.topology import ClusterTopologyBinding
from grove.api.validation.topology import placed_constraints
from grove.plan.layout.clique_position import find_position
from grove.plan.layout.set_layout import SetLayout
from grove.plan.layout.template_hash import is_own_hash
from grove.plan.rollout.progress import is_updating
from grove.plan.rollout.replicas import ReplicaProgress, plan_set_update
from grove.plan.rollout.rollout import rollout_of
from grove.plan.status.clique_status import is_available, is_rolled_out, is_updated
from grove.plan.status.conditions import find, put, without

# Only so many gangs carry their conditions in the status of the set. An object may not be much larger than 1 MB: names
# and phases of 2,000 gangs take some 200 KB, and five conditions on each would take ten times as much. The PodGangs
# themselves have them all.
MAX_GANGS_WITH_CONDITIONS = 20


@dataclass(frozen=True)
class ReplicaSummary:
    available: bool
    updated: bool
    updated_cliques: int
    """Standalone cliques only."""
    updated_groups: int
    complete: bool = False
    """Whether every clique reports all its pods as ready, not just its minimum."""
    done: bool = False
    """Whether an update has nothing more to do here: all pods follow the current templates and are ready."""
    outdated: bool = False
    """Whether a PodClique has another template than the set, by a hash of our own."""
    overdue: tuple[str, ...] = ()
    """The cliques and groups whose update exceeded its deadline."""


@dataclass(frozen=True)
class ObservedTopology:
    """The topology that the set names, as it was found in the cluster."""

    enabled: bool
    binding: ClusterTopologyBinding | None = None
    """None if no binding has that name."""


def replica_summary(
    layout: SetLayout, i: int, cliques: Iterable[PodClique], groups: Iterable[PodCliqueScalingGroup]
) -> ReplicaSummary:
    """`cliques` and `groups` are those of replica i. Objects that the set does not describe, or that are being deleted,
    do not count."""
    found_cliques = {c.metadata.name: c for c in cliques if c.metadata.deletion_timestamp is None}
    found_groups = {g.metadata.name: g for g in groups if g.metadata.deletion_timestamp is None}
    wanted = layout.generation_hash
    available = True
    updated_cliques = updated_groups = 0
    for clique in layout.standalone:
        found = found_cliques.get(names.clique(layout.name, i, clique.name))
        available &= found is not None and is_available(found)
        updated_cliques += found is not None and is_updated(found, layout.hashes[clique.name], wanted)
    for group in layout.groups:
        scaled = found_groups.get(names.scaling_group(layout.name, i, group.name))
        status = scaled.status if scaled is not None else None
        available &= (
            scaled is not None
            and status is not None
            and status.available_replicas >= scaled.spec.min_available
        )
        updated_groups += status is not None and status.current_pod_clique_set_generation_hash == wanted
    current = updated_cliques == len(layout.standalone) and updated_groups == len(layout.groups)
    complete = available and all(
        c.status is not None and c.status.ready_replicas >= c.spec.replicas for c in found_cliques.values()
    )
    return ReplicaSummary(
        available,
        available and current,
        updated_cliques,
        updated_groups,
        complete,
        done=_is_done(layout, i, found_cliques, found_groups),
        outdated=any(_is_outdated(layout, c) for c in found_cliques.values()),
        overdue=tuple(
            sorted(
                part.metadata.name or ""
                for part in [*found_cliques.values(), *found_groups.values()]
                if _is_overdue(part)
            )
        ),
    )


def _is_done(
    layout: SetLayout,
    i: int,
    cliques: Mapping[str | None, PodClique],
    groups: Mapping[str | None, PodCliqueScalingGroup],
) -> bool:
    wanted = layout.generation_hash
    for clique in layout.standalone:
        found = cliques.get(names.clique(layout.name, i, clique.name))
        ends = clique.name in layout.finishing
        if found is None or not is_rolled_out(found, layout.hashes[clique.name], wanted, ends=ends):
            return False
    for group in layout.groups:
        scaled = groups.get(names.scaling_group(layout.name, i, group.name))
        status = scaled.status if scaled is not None else None
        progress = status.update_progress if status is not None else None
        if (
            status is None
            or status.current_pod_clique_set_generation_hash != wanted
            or is_updating(progress)
            or (progress is not None and progress.pod_clique_set_generation_hash != wanted)
        ):
            return False
    return True


def _is_outdated(layout: SetLayout, clique: PodClique) -> bool:
    position = find_position(layout, clique)
    found = clique.metadata.labels.get(labels.POD_TEMPLATE_HASH, "")
    return position is not None and is_own_hash(found) and found != layout.hashes[position.clique.name]


def _is_overdue(part: PodClique | PodCliqueScalingGroup) -> bool:
    conditions = part.status.conditions if part.status is not None else []
    found = find(conditions, ConditionType.UPDATE_IN_PROGRESS)
    return found is not None and found.reason == Reason.PROGRESS_DEADLINE_EXCEEDED


def set_status(
    pcs: PodCliqueSet,
    layout: SetLayout,
    summaries: Sequence[ReplicaSummary],
    gangs: Iterable[PodGang],
    topology: ObservedTopology,
    now: datetime,
    *,
    synced: bool = True,
    quick: bool = False,
) -> PodCliqueSetStatus:
    """`summaries` has one entry for each replica that the set asks for; `gangs` are all gangs of the set.

    `synced` says whether the last reconcile applied the whole spec; only then does `observedGeneration` advance.
    `quick` keeps the conditions of gangs whose phase is unchanged, which saves writes while many gangs change.
    """
    old = planned_update(pcs, layout, summaries, now)
    return replace(
        old,
        observed_generation=pcs.metadata.generation if synced else old.observed_generation,
        replicas=layout.replicas or None,
        available_replicas=sum(s.available for s in summaries),
        updated_replicas=sum(s.updated for s in summaries),
        hpa_pod_selector=labels.selector(layout.labels),
        update_progress=_progress(old.update_progress, layout, summaries),
        pod_gang_statuses=gang_summaries(gangs, old.pod_gang_statuses if quick else None),
        conditions=_topology(_update(old, layout, summaries, now), layout, topology, now),
    )


def planned_update(
    pcs: PodCliqueSet, layout: SetLayout, summaries: Sequence[ReplicaSummary], now: datetime
) -> PodCliqueSetStatus:
    """The status of the set with the next step of its update."""
    replicas = [ReplicaProgress(s.done, s.available, s.outdated) for s in summaries]
    return plan_set_update(layout, pcs.status or PodCliqueSetStatus(), replicas, now)


def _update(
    status: PodCliqueSetStatus, layout: SetLayout, summaries: Sequence[ReplicaSummary], now: datetime
) -> list[Condition]:
    """The conditions with UpdateInProgress, once there was an update."""
    if status.update_progress is None:
        return status.conditions
    verdict = _update_verdict(status, layout, summaries)
    return put(status.conditions, ConditionType.UPDATE_IN_PROGRESS, *verdict, now)


def _update_verdict(
    status: PodCliqueSetStatus, layout: SetLayout, summaries: Sequence[ReplicaSummary]
) -> tuple[ConditionStatus, str, str]:
    rollout, done = rollout_of(layout, status), sum(s.done for s in summaries)
    message = f"{done} of {len(summaries)} replicas follow the current templates"
    if not is_updating(status.update_progress):
        if done < len(summaries):
            return "False", Reason.WAITS_FOR_DELETION, f"{message}; pods do once somebody deletes them"
        return "False", Reason.UPDATE_COMPLETE, message
    if rollout.paused:
        return "True", Reason.UPDATE_PAUSED, f"{message}; updateStrategy.paused stops the update"
    overdue = [name for s in summaries for name in s.overdue]
    if overdue:
        message += f"; no progress within the deadline: {', '.join(overdue[:5])}"
        return "True", Reason.PROGRESS_DEADLINE_EXCEEDED, message
    if rollout.current is None and rollout.partition:
        return (
            "True",
            Reason.HELD_BY_PARTITION,
            f"{message}; replicas below {rollout.partition} stay as they are",
        )
    where = f"; replica {rollout.current} is being updated" if rollout.current is not None else ""
    return "True", Reason.UPDATING, f"{message}{where}"


def gang_summaries(
    gangs: Iterable[PodGang], old: Iterable[PodGangSummary] | None = None
) -> list[PodGangSummary]:
    """The gangs that are not being deleted, in the order of their names. The worst ones carry their conditions.

    With `old` summaries, a gang whose phase is unchanged keeps its old summary, and no other gets conditions.
    """
    staying = sorted(
        (g for g in gangs if g.metadata.deletion_timestamp is None), key=lambda g: g.metadata.name or ""
    )
    phases = [_phase(g) for g in staying]
    if old is not None:
        known = {(s.name, s.phase): s for s in old}
        return [
            known.get((g.metadata.name or "", phase))
            or PodGangSummary(name=g.metadata.name or "", phase=phase)
            for g, phase in zip(staying, phases, strict=True)
        ]
    troubled = [k for k, phase in enumerate(phases) if phase in _WORST_FIRST]
    worst_first = sorted(troubled, key=lambda k: _WORST_FIRST.index(phases[k]))
    explained = set(worst_first[:MAX_GANGS_WITH_CONDITIONS])
    return [
        PodGangSummary(
            name=gang.metadata.name or "",
            phase=phase,
            conditions=list(gang.status.conditions) if k in explained and gang.status else [],
        )
        for k, (gang, phase) in enumerate(zip(staying, phases, strict=True))
    ]


_WORST_FIRST: tuple[PodGangPhase, ...] = ("Failed", "Pending", "Starting")
_PHASES: dict[str, PodGangPhase] = {p: p for p in get_args(PodGangPhase)}


def _phase(gang: PodGang) -> PodGangPhase:
    return _PHASES.get(gang.status.phase, "Pending") if gang.status else "Pending"


def _progress(
    progress: PodCliqueSetUpdateProgress | None, layout: SetLayout, summaries: Sequence[ReplicaSummary]
) -> PodCliqueSetUpdateProgress | None:
    if progress is None:
        return None
    return replace(
        progress,
        updated_pod_cliques_count=sum(s.updated_cliques for s in summaries),
        total_pod_cliques_count=layout.replicas * len(layout.standalone),
        updated_pod_clique_scaling_groups_count=sum(s.updated_groups for s in summaries),
        total_pod_clique_scaling_groups_count=layout.replicas * len(layout.groups),
    )


def _topology(
    conditions: list[Condition], layout: SetLayout, topology: ObservedTopology, now: datetime
) -> list[Condition]:
    kind = ConditionType.TOPOLOGY_LEVELS_UNAVAILABLE
    found = _levels(layout, topology)
    return without(conditions, kind) if found is None else put(conditions, kind, *found, now)


def _levels(layout: SetLayout, topology: ObservedTopology) -> tuple[ConditionStatus, str, str] | None:
    constraints = [p.constraint for p in placed_constraints(layout.pcs)]
    domains = dict.fromkeys(d for c in constraints for d in (c.required, c.preferred) if d)
    if not topology.enabled:
        if not domains:
            return None
        message = (
            "the set has topology constraints, but topology-aware scheduling is switched off: they have no effect; "
            "set topologyAwareScheduling.enabled in the operator's configuration"
        )
        return "Unknown", Reason.TOPOLOGY_DISABLED, message
    if not domains:
        return "False", Reason.TOPOLOGY_LEVELS_AVAILABLE, "the set has no topology constraints"
    name = layout.topology_name
    if name is None:
        message = (
            "the set has topology constraints, but none says which topology: set topologyName in one of them"
        )
        return "Unknown", Reason.TOPOLOGY_NAME_MISSING, message
    if topology.binding is None:
        message = f"there is no ClusterTopologyBinding {name}: new gangs are placed without constraints"
        return "Unknown", Reason.TOPOLOGY_NOT_FOUND, message
    known = {level.domain for level in topology.binding.spec.levels}
    absent = ", ".join(d for d in domains if d not in known)
    if absent:
        message = f"ClusterTopologyBinding {name} has no level {absent}: constraints on it have no effect"
        return "True", Reason.TOPOLOGY_LEVELS_UNAVAILABLE, message
    message = f"ClusterTopologyBinding {name} has every level that the set names"
    return "False", Reason.TOPOLOGY_LEVELS_AVAILABLE, message
