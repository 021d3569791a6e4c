"""KAI Scheduler: one PodGroup per gang, with a tree of subgroups.

    gang                              PodGroup pg-<gang>-<uid>, in a queue
    constraint group                  subgroup that needs all of its children
    pod group                         subgroup with a minimum of pods, below its constraint group if it has one
    pack constraint on any of them    topologyConstraint of the same part, in the scheduler's Topology
    ClusterTopologyBinding            Topology with the same levels

Behaviour of KAI that this translation takes into account:

- KAI up to 0.17.1 finds a PodGroup by its name in any namespace. Therefore the name contains the gang's uid.
- KAI calls a gang stale when any leaf falls below its minimum, whatever `minSubGroup` says, and deletes all its pods a
  minute later. Therefore no branch is optional, and where the field exists, it switches staleness off: ending such a
  gang is the task of Grove's gang termination.
- A field that the cluster's CRD does not have is never sent. A missing `minSubGroup` means the same as ours.
- KAI's podgrouper creates PodGroups for pods of other owners. From 0.15 on an annotation excludes our pods.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from grove.api import labels, names
from grove.api.labels import Gate
from grove.api.podcliqueset import Clique, PodCliqueSet
from grove.api.podgang import PodGang, PodGroup
from grove.api.scalars import Duration
from grove.api.topology import ClusterTopologyBinding
from grove.api.validation.problem import Problem, invalid, unsupported
from grove.plan.objects.pod_draft import PodDraft
from grove.schedulers.backend import Backend
from grove.schedulers.guarantees import Guarantee, SchedulerVariant
from grove.schedulers.kai.subgroups import (
    POD_GROUPS,
    check_subgroup_fields,
    subgroups_of,
    topology_constraint,
)
from grove.schedulers.queues import check_queue_exists, conflicting_queues, queue_of
from grove.schedulers.types import Json, ObjectKind, Observation, SchedulerObject, Served

QUEUES = ObjectKind("scheduling.run.ai", "v2", "queues", "Queue", namespaced=False)
TOPOLOGIES = ObjectKind("kai.scheduler", "v1alpha1", "topologies", "Topology", namespaced=False)

# Labels and annotations that KAI reads.
QUEUE = "kai.scheduler/queue"
NODE_POOL = "kai.scheduler/node-pool"
PREEMPTIBILITY = "kai.scheduler/preemptibility"
PREEMPTION_DELAY = "kai.scheduler/preemption-delay"
STALENESS = "kai.scheduler/staleness-grace-period"
LINK = "pod-group-name"
SUBGROUP = "kai.scheduler/subgroup-name"
SKIP_GROUPER = "kai.scheduler/skip-podgrouper"

# The other fields of a PodGroup (markUnschedulable, schedulingBackoff) are KAI's.
OWNED_FIELDS = (
    "spec.minMember",
    "spec.minSubGroup",
    "spec.priorityClassName",
    "spec.preemptibility",
    "spec.preemptionDelay",
    "spec.stalenessGracePeriod",
    "spec.subGroups",
    "spec.topologyConstraint",
)


class KaiSettings(msgspec.Struct, rename="camel", forbid_unknown_fields=True, frozen=True):
    """The `config` of the profile."""

    queue: str = "default-queue"
    # Negative means never: Grove itself ends a gang below its minimum, after its terminationDelay.
    staleness_grace_period: str = "-1s"


class Kai(Backend):
    name = "kai"
    scheduler_name = "kai-scheduler"
    gate = Gate.KAI
    kinds: Sequence[ObjectKind] = (POD_GROUPS,)
    reads: Sequence[ObjectKind] = (QUEUES,)
    topology_kind = TOPOLOGIES
    variants = (
        SchedulerVariant(
            "kai",
            "KAI",
            {
                Guarantee.ALL_OR_NOTHING: "yes",
                Guarantee.MINIMUM_BELOW_REPLICAS: "the others one by one",
                Guarantee.WAITING_HOLDS_NO_ROOM: "yes",
                Guarantee.RESCHEDULED_AS_GANG: "yes",
                Guarantee.TOPOLOGY_REQUIRED: "set, scaling group, clique",
                Guarantee.TOPOLOGY_PREFERRED: "set, scaling group, clique",
                Guarantee.QUEUES: "with quotas and limits",
                Guarantee.PREEMPTION: "of whole gangs, pods beyond the minimum first",
            },
        ),
    )

    def __init__(self, settings: dict[str, Any]) -> None:
        self._settings = msgspec.convert(settings, KaiSettings)

    def matches(self, scheduler_name: str) -> bool:
        return scheduler_name in ("kai-scheduler", "grove-scheduler")

    def gang_annotations(self, pcs: PodCliqueSet, members: Sequence[Clique]) -> Mapping[str, str]:
        """A clique may name the queue, and a gang does not have the metadata of cliques."""
        return {labels.QUEUE: self._queue_of_set(pcs)}

    def claim_labels(self, pcs: PodCliqueSet) -> Mapping[str, str]:
        """KAI lets pods use a shared claim of a GPU class only in the queue that the claim names."""
        return {QUEUE: self._queue_of_set(pcs)}

    def translate(self, gang: PodGang, served: Served) -> Sequence[SchedulerObject]:
        queue = self._queue_of_gang(gang)
        check_subgroup_fields(gang, served)
        check_queue_exists(queue, "KAI queue", QUEUES, served, f"label {QUEUE}")
        subgroups = subgroups_of(gang, served)
        annotations = gang.metadata.annotations
        spec: Json = {
            "queue": queue,
            "minSubGroup": sum(1 for s in subgroups if "parent" not in s),
            "priorityClassName": gang.spec.priority_class_name,
            "preemptibility": gang.metadata.labels.get(PREEMPTIBILITY),
            "preemptionDelay": annotations.get(PREEMPTION_DELAY),
            "stalenessGracePeriod": annotations.get(STALENESS) or self._settings.staleness_grace_period,
            "topologyConstraint": topology_constraint(gang, gang.spec.topology_constraint),
            "subGroups": subgroups,
        }
        body = {
            "metadata": {"name": _pod_group_name(gang), "labels": _pod_group_labels(gang)},
            "spec": {k: v for k, v in spec.items() if v and served.has(POD_GROUPS, f"spec.{k}")},
        }
        return [SchedulerObject(POD_GROUPS, body, OWNED_FIELDS)]

    def prepare_pod(self, gang: PodGang, group: PodGroup, pod: PodDraft) -> None:
        # KAI's binder handles only pods with this name, also if the user wrote `grove-scheduler`.
        pod.scheduler_name = self.scheduler_name
        pod.annotations[LINK] = _pod_group_name(gang)
        pod.annotations[SKIP_GROUPER] = "true"
        pod.labels[SUBGROUP] = group.name

    def topology_object(self, binding: ClusterTopologyBinding) -> SchedulerObject:
        levels = [{"nodeLabel": level.key} for level in binding.spec.levels]
        body = {"metadata": {"name": binding.metadata.name}, "spec": {"levels": levels}}
        # No owned fields: others may add aliases of levels.
        return SchedulerObject(TOPOLOGIES, body, owned_fields=(), immutable_fields=("spec.levels",))

    def validate(self, pcs: PodCliqueSet) -> Iterable[Problem]:
        yield from conflicting_queues(pcs, _queue_in)
        preemptibility = pcs.metadata.labels.get(PREEMPTIBILITY, "")
        supported = ["preemptible", "non-preemptible"]
        if preemptibility and preemptibility not in supported:
            path = ("metadata", "labels", PREEMPTIBILITY)
            yield unsupported(path, preemptibility, supported, "remove it to let the priority decide")
        for key in (PREEMPTION_DELAY, STALENESS):
            yield from _check_duration(key, pcs.metadata.annotations.get(key, ""))

    def shortfall(self, gang: PodGang, served: Served) -> str:
        if served.has(POD_GROUPS, "spec.minSubGroup"):
            return ""
        return (
            "this KAI is older than 0.15: its podgrouper interferes with Grove's PodGroups; upgrade KAI, or keep "
            "the podgrouper out of this namespace with its flag --namespace-label-selector"
        )

    def observe(self, gang: PodGang, objects: Sequence[Json]) -> Observation:
        """KAI reports in the PodGroup why it cannot be placed. Before 0.17 it never removes that condition."""
        conditions = [
            condition
            for o in objects
            for condition in o.get("status", {}).get("schedulingConditions") or ()
            if condition.get("type") == "UnschedulableOnNodePool" and condition.get("status") == "True"
        ]
        if not conditions:
            return Observation()
        latest = max(conditions, key=lambda c: int(c.get("transitionID") or 0))
        reasons = [r for r in latest.get("reasons") or () if r.get("message")]
        if not reasons:
            return Observation(latest.get("reason", ""), latest.get("message", ""))
        return Observation(reasons[0].get("reason", ""), "; ".join(r["message"] for r in reasons))

    def _queue_of_set(self, pcs: PodCliqueSet) -> str:
        return queue_of(pcs, _queue_in) or self._settings.queue

    def _queue_of_gang(self, gang: PodGang) -> str:
        meta = gang.metadata
        return (
            meta.annotations.get(labels.QUEUE)
            or _queue_in(meta.labels, meta.annotations)
            or self._settings.queue
        )


def _queue_in(object_labels: Mapping[str, str], annotations: Mapping[str, str]) -> str:
    return object_labels.get(QUEUE) or annotations.get(QUEUE, "")


def _pod_group_name(gang: PodGang) -> str:
    return names.kai_pod_group(gang.metadata.name or "", gang.metadata.uid or "")


def _pod_group_labels(gang: PodGang) -> dict[str, str]:
    """The labels that identify the workload, its queue and its node pool; not all labels of the user's set."""
    return {
        k: v
        for k, v in gang.metadata.labels.items()
        if k.startswith(("app.kubernetes.io/", labels.GROVE_PREFIX)) or k in (NODE_POOL, QUEUE)
    }


def _check_duration(key: str, text: str) -> Iterator[Problem]:
    if not text:
        return
    path, remedy = ("metadata", "annotations", key), "write it as in 30s or 10m"
    try:
        duration = Duration(text)
    except ValueError as e:
        yield invalid(path, text, str(e), remedy)
        return
    if key == PREEMPTION_DELAY and duration.nanoseconds < 0:
        yield invalid(path, text, "must not be negative", remedy)
