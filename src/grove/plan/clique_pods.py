"""What happens to the pods of a clique in one reconcile.

The first rule that applies decides:

    1. delete   pods behind the gate of another backend: their gang was moved to this one before they were released
    2. wait     if the scheduler gave the gang up: the pod that shows it must stay until the gang has a new dialect
    3. delete   pods of an earlier dialect: the scheduler will never place them
    4. create and delete pods as `clique_scaling.plan_pods` says; of the pods that stay, replace outdated ones as
       `rollout.pods` says, if an update is in progress

After 1 to 3 nothing else is done to the clique's pods until the next reconcile.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from grove.api import labels
from grove.api.pod_view import Pod
from grove.api.podclique import PodClique
from grove.plan.clique_scaling import plan_pods
from grove.plan.layout.clique_position import CliquePosition
from grove.plan.layout.set_layout import SetLayout
from grove.plan.objects.pods import identifying_labels
from grove.plan.pod_state import is_present, is_terminating
from grove.plan.rollout.budget import DEFAULT_MAX_UNAVAILABLE, Budget, UnitPlan
from grove.plan.rollout.pods import is_outdated, plan_pod_updates
from grove.plan.rollout.rollout import Rollout

# A pod that its scheduler would not see as part of the gang stays this long, so that people can look at it.
UNLINKED_POD_LIFETIME = timedelta(minutes=5)


@dataclass(frozen=True)
class PodFindings:
    """What the backend of the gang finds about the clique's pods. Pods are named by uid."""

    gave_up: bool = False
    """Whether the scheduler gave the gang up, so that it needs a new dialect."""
    outdated: frozenset[str] = frozenset()
    """Pods of an earlier dialect."""
    surplus_from: int | None = None
    """The lowest index of a surplus pod, if the backend keeps surplus pods apart from the gang."""


@dataclass(frozen=True)
class PodUpdates:
    """How far an update may go with the pods of a clique."""

    budget: Budget
    may_take_healthy: bool


@dataclass(frozen=True)
class CliquePodPlan:
    create: Sequence[int] = ()
    """Indices of the pods to create."""
    delete: Sequence[Pod] = ()
    replaced: Sequence[Pod] = ()
    """The dead pods among `delete` that a new pod replaces. Replacements of one clique are spaced out."""
    update: UnitPlan[Pod] = UnitPlan()
    """Pods to delete beside these because an update replaces them. It must be recorded first: `rollout.recording`."""
    proceed: bool = True
    """Whether the same reconcile also restores labels, keeps claims and opens gates."""


def plan_clique_pods(
    clique: PodClique,
    pods: Sequence[Pod],
    findings: PodFindings,
    *,
    other_gates: Collection[str],
    may_create: bool,
    may_replace: bool,
    update: PodUpdates | None = None,
) -> CliquePodPlan:
    """`pods` are all pods of the clique, `other_gates` the gates of all other backends.

    `may_create` is False until the gang exists, has the clique as a group and its dialect is known. `may_replace` is
    False while the backoff of the clique's replacements runs; it does not delay an update. `update` is None unless an
    update may replace pods of this clique.
    """
    strays = [
        p for p in pods if is_present(p) and any(g.name in other_gates for g in p.spec.scheduling_gates)
    ]
    if strays:
        return CliquePodPlan(delete=strays, proceed=False)
    if findings.gave_up:
        return CliquePodPlan(proceed=False)
    outdated = [p for p in pods if is_present(p) and p.metadata.uid in findings.outdated]
    if outdated:
        return CliquePodPlan(delete=outdated, proceed=False)
    template_hash = clique.metadata.labels.get(labels.POD_TEMPLATE_HASH, "")
    counted = plan_pods(
        clique.spec.replicas, pods, template_hash=template_hash, surplus_from=findings.surplus_from
    )
    mends = update is not None and any(is_outdated(p, template_hash) for p in counted.replaced)
    if counted.replaced and not may_replace and not mends:
        counted = counted.without_replacements()
    replaced: UnitPlan[Pod] = UnitPlan()
    if update is not None:
        deleted = {p.metadata.uid for p in counted.delete}
        staying = [p for p in pods if p.metadata.uid not in deleted]
        replaced = plan_pod_updates(
            staying, template_hash, update.budget, may_take_healthy=update.may_take_healthy
        )
    return CliquePodPlan(counted.create if may_create else (), counted.delete, counted.replaced, replaced)


def pod_updates(
    clique: PodClique, position: CliquePosition, layout: SetLayout, rollout: Rollout
) -> PodUpdates | None:
    """None if no update may replace pods of the clique: none is in progress, its PodClique does not have the new
    template yet, or the clique belongs to a scaling group, which is updated copy by copy."""
    known = clique.metadata.labels.get(labels.POD_TEMPLATE_HASH)
    if position.group is not None or known != layout.hashes[position.clique.name]:
        return None
    if not rollout.replaces_broken(position.i):
        return None
    minimum, settings = clique.spec.min_available, position.clique.rolling_update
    budget = Budget(
        clique.spec.replicas,
        clique.spec.replicas if minimum is None else minimum,
        (settings.max_unavailable if settings is not None else None) or DEFAULT_MAX_UNAVAILABLE,
    )
    return PodUpdates(budget, rollout.replaces_healthy(position.i))


def pods_to_adopt(clique: PodClique, own: Sequence[Pod], in_gang: Sequence[Pod]) -> list[Pod]:
    """Pods that an earlier PodClique of this name left behind (`kubectl delete --cascade=orphan`).

    `own` are the pods that the clique controls, `in_gang` all pods with the label of its gang. Only a new clique
    adopts: one that has reported on its spec knows its pods.
    """
    is_new = clique.status is None or clique.status.observed_generation is None
    if not is_new or len(own) >= clique.spec.replicas:
        return []
    return [
        pod
        for pod in in_gang
        if pod.metadata.labels.get(labels.POD_CLIQUE) == clique.metadata.name
        and not any(o.controller for o in pod.metadata.owner_references)
        and not is_terminating(pod)
    ]


def pods_with_edited_labels(clique: PodClique, pods: Sequence[Pod]) -> list[Pod]:
    """Pods whose identifying labels were edited."""
    own = identifying_labels(clique)
    return [p for p in pods if not own.items() <= p.metadata.labels.items()]


def unlinked_pods_to_recreate(unlinked: Sequence[Pod], now: datetime) -> list[Pod]:
    """A pod without a link to its gang cannot be repaired. It is recreated later, when the cause may be gone."""
    return [p for p in unlinked if pod_age(p, now) >= UNLINKED_POD_LIFETIME]


def pod_age(pod: Pod, now: datetime) -> timedelta:
    created = pod.metadata.creation_timestamp
    return now - datetime.fromisoformat(created) if created else timedelta()
