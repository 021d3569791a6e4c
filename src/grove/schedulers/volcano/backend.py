"""Volcano: one PodGroup per gang, of the same name.

    gang                       PodGroup: minMember is the sum of the minimums, in a queue
    pod group                  a task: minTaskMember, and the label volcano.sh/task-spec on its pods
    constraint on the gang     networkTopology
    constraint below it        one subGroupPolicy for the groups that it is about, with its own networkTopology
    node label of a level      the tier of the HyperNodes with this tierName, as Volcano's own discovery creates them;
                               or the tier in the profile

Behaviour of Volcano that this translation takes into account:

- Volcano silently ignores a hard constraint by the *name* of a tier that no HyperNode has. Therefore tiers are written
  as numbers, and a label without a tier is refused.
- Volcano silently ignores a PodGroup whose queue does not exist. Therefore such a gang is refused.
- Volcano counts pods without requests as placed before they are. Therefore a set with such pods is invalid.
- Pods beyond the minimum may take the room of the others, because Volcano knows tasks and not indices. Therefore they
  are released when the gang is scheduled.
- A pod is in one subgroup, and subgroups have one level: of two nested constraints only the outer one can be kept.
- `minResources` makes a gang wait in phase Pending until its queue has room for all of it; only then Volcano considers
  it. Off by default, because a gang that waits in this phase cannot preempt.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from grove.api import labels
from grove.api.conditions import ConditionType
from grove.api.labels import Gate
from grove.api.podcliqueset import Clique, PodCliqueSet
from grove.api.podgang import PodGang, PodGroup
from grove.api.validation.problem import Problem, invalid, required
from grove.plan.objects.pod_draft import PodDraft
from grove.plan.status.conditions import is_true
from grove.schedulers.backend import Backend
from grove.schedulers.guarantees import Guarantee, SchedulerVariant
from grove.schedulers.queues import check_queue_exists, conflicting_queues, queue_of
from grove.schedulers.requests import as_quantities, pod_requests, times, total
from grove.schedulers.types import Json, ObjectKind, Observation, SchedulerObject, Served
from grove.schedulers.volcano.topology import HYPER_NODES, POD_GROUPS, NetworkTopology, check_surplus
from grove.schema.errors import OMITTED, Path

QUEUES = ObjectKind("scheduling.volcano.sh", "v1beta1", "queues", "Queue", namespaced=False)

QUEUE = "scheduling.grove.io/volcano-queue"
VOLCANO_QUEUE = "scheduling.volcano.sh/queue-name"
# The two annotations by which components of Volcano find the PodGroup of a pod.
LINKS = ("scheduling.k8s.io/group-name", "scheduling.volcano.sh/group-name")
TASK = "volcano.sh/task-spec"

OWNED_FIELDS = (
    "spec.minTaskMember",
    "spec.minResources",
    "spec.priorityClassName",
    "spec.networkTopology",
    "spec.subGroupPolicy",
)


class VolcanoSettings(msgspec.Struct, rename="camel", forbid_unknown_fields=True, frozen=True):
    """The `config` of the profile."""

    queue: str = "default"
    # Whether a gang is admitted to its queue only when the queue has room for all of it.
    min_resources: bool = False
    # Tiers by node label, for HyperNodes whose tierName is not the label, or that Grove has no permission to read.
    tiers: dict[str, int] = {}


class Volcano(Backend):
    name = "volcano"
    scheduler_name = "volcano"
    gate = Gate.VOLCANO
    kinds: Sequence[ObjectKind] = (POD_GROUPS,)
    reads: Sequence[ObjectKind] = (QUEUES, HYPER_NODES)
    variants = (
        SchedulerVariant(
            "volcano",
            "Volcano",
            {
                Guarantee.ALL_OR_NOTHING: "pods must request something",
                Guarantee.MINIMUM_BELOW_REPLICAS: "the others follow the gang",
                Guarantee.WAITING_HOLDS_NO_ROOM: "yes",
                Guarantee.RESCHEDULED_AS_GANG: "yes",
                Guarantee.TOPOLOGY_REQUIRED: "set, and one level below it; needs HyperNodes",
                Guarantee.TOPOLOGY_PREFERRED: "near each other, pod by pod, no level",
                Guarantee.QUEUES: "with a capability",
                Guarantee.PREEMPTION: "of single pods, with the action `preempt`",
            },
        ),
    )

    def __init__(self, settings: dict[str, Any]) -> None:
        self._settings = msgspec.convert(settings, VolcanoSettings)

    def gang_annotations(self, pcs: PodCliqueSet, members: Sequence[Clique]) -> Mapping[str, str]:
        """A gang has neither the metadata of cliques, which may name the queue, nor their pod templates."""
        annotations = {labels.QUEUE: queue_of(pcs, _queue_in) or self._settings.queue}
        if self._settings.min_resources:
            needed = total(
                times(c.spec.min_available or c.spec.replicas, pod_requests(c.spec.pod_spec)) for c in members
            )
            annotations[labels.MIN_RESOURCES] = msgspec.json.encode(as_quantities(needed)).decode()
        return annotations

    def translate(self, gang: PodGang, served: Served) -> Sequence[SchedulerObject]:
        queue = self._queue_of_gang(gang)
        check_queue_exists(queue, "Volcano queue", QUEUES, served, f"annotation {QUEUE}")
        topology = NetworkTopology(gang, served, self._settings.tiers)
        tasks = {g.name: g.min_replicas for g in gang.spec.pod_groups if g.min_replicas > 0}
        spec: Json = {
            # Volcano takes a PodGroup with a minimum of 0 for complete.
            "minMember": max(1, sum(tasks.values())),
            "minTaskMember": tasks,
            "queue": queue,
            "priorityClassName": gang.spec.priority_class_name,
            "minResources": self._min_resources(gang),
            "networkTopology": topology.of_gang(),
            "subGroupPolicy": topology.subgroup_policies(),
        }
        body = {
            "metadata": {"name": gang.metadata.name, "labels": _pod_group_labels(gang)},
            "spec": {k: v for k, v in spec.items() if v},
        }
        return [SchedulerObject(POD_GROUPS, body, OWNED_FIELDS)]

    def prepare_pod(self, gang: PodGang, group: PodGroup, pod: PodDraft) -> None:
        pod.annotations |= dict.fromkeys(LINKS, gang.metadata.name or "")
        pod.labels[TASK] = group.name

    def separates_surplus(self, gang: PodGang, group: PodGroup) -> bool:
        return True

    def prepare_surplus_pod(self, gang: PodGang, group: PodGroup, pod: PodDraft) -> None:
        """Surplus pods join the PodGroup too, so that they stay in its topology domain and queue."""
        self.prepare_pod(gang, group, pod)

    def validate(self, pcs: PodCliqueSet) -> Iterable[Problem]:
        yield from conflicting_queues(pcs, _queue_in)
        for i, clique in enumerate(pcs.spec.template.cliques):
            yield from _check_requests(clique, ("spec", "template", "cliques", i, "spec", "podSpec"))
        yield from check_surplus(pcs)

    def shortfall(self, gang: PodGang, served: Served) -> str:
        return NetworkTopology(gang, served, self._settings.tiers).shortfall()

    def observe(self, gang: PodGang, objects: Sequence[Json]) -> Observation:
        """Volcano calls a gang unschedulable while its pods have gates, and never removes a condition."""
        initialized = gang.status is not None and is_true(gang.status.conditions, ConditionType.INITIALIZED)
        if not objects or not initialized:
            return Observation()
        status = objects[0].get("status") or {}
        if status.get("phase", "Pending") == "Pending":
            queue = objects[0].get("spec", {}).get("queue", "")
            return Observation(
                "WaitingForAdmission",
                f"not admitted to the Volcano queue {queue!r} yet: it is closed, or has no room for the gang",
            )
        conditions: list[Json] = status.get("conditions") or []
        newest = max(conditions, key=lambda c: str(c.get("lastTransitionTime")), default={})
        if newest.get("type") != "Unschedulable":
            return Observation()
        return Observation(newest.get("reason", ""), newest.get("message", ""))

    def _queue_of_gang(self, gang: PodGang) -> str:
        meta = gang.metadata
        return (
            meta.annotations.get(labels.QUEUE)
            or _queue_in(meta.labels, meta.annotations)
            or self._settings.queue
        )

    def _min_resources(self, gang: PodGang) -> Json | None:
        text = gang.metadata.annotations.get(labels.MIN_RESOURCES)
        return (
            msgspec.json.decode(text, type=dict[str, Any]) if text and self._settings.min_resources else None
        )


def _queue_in(object_labels: Mapping[str, str], annotations: Mapping[str, str]) -> str:
    return (annotations.get(QUEUE) or annotations.get(VOLCANO_QUEUE, "")).strip()


def _pod_group_labels(gang: PodGang) -> dict[str, str]:
    prefixes = ("app.kubernetes.io/", labels.GROVE_PREFIX)
    return {k: v for k, v in gang.metadata.labels.items() if k.startswith(prefixes)}


def _check_requests(clique: Clique, path: Path) -> Iterator[Problem]:
    try:
        requests_something = bool(pod_requests(clique.spec.pod_spec))
    except ValueError as e:
        yield invalid(path, OMITTED, str(e), "correct the resources of its containers")
        return
    if not requests_something:
        yield required(
            (*path, "containers", 0, "resources", "requests"),
            "Volcano does not wait for the gang before it starts pods that request nothing",
            "request at least some cpu",
        )
