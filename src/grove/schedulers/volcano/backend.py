"""Volcano: one PodGroup per gang, of the same name.

    gang                       PodGroup: minMember is the sum of the minimums, in a queue
    pod group                  a task: minTaskMember, and the label volcano.sh/task-spec on its pods
    constraint on the gang     networkTopology
    constraint below it        one subGroupPolicy for the groups that it is about, with its own networkTopology
    node label of a level      the tier of the HyperNodes that have it as their tierName, as Volcano's own discovery
                               makes them; or as the profile says

What shapes this translation, beside the fields themselves:

- A hard constraint by the *name* of a tier that no HyperNode has is not enforced, without a word. So tiers are written
  as numbers, and a label without a tier is refused.
- A PodGroup whose queue does not exist is ignored, without a word. So it is refused before.
- Pods without requests count as placed before they are. So a set with such pods is invalid.
- Pods beyond the minimum may take the room of those below it, since Volcano knows tasks and not indices. So they are
  released when the gang has its place.
- A pod is in one subgroup, and there is one layer of them: of a constraint inside another only the outer can be kept.
- `minResources` makes a gang wait in phase Pending until its queue has room for all of it; then it is Inqueue, and only
  then considered. Off by default: a gang that waits so cannot preempt.
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
from grove.schedulers.queues import check_exists, disagreements, queue_of
from grove.schedulers.requests import pod_requests, times, total, written
from grove.schedulers.types import Json, ObjectKind, Observation, SchedulerObject, Served
from grove.schedulers.volcano.topology import HYPER_NODES, POD_GROUPS, Topology, check_surplus
from grove.schema.errors import OMITTED, Path

QUEUES = ObjectKind("scheduling.volcano.sh", "v1beta1", "queues", "Queue", namespaced=False)

QUEUE = "scheduling.grove.io/volcano-queue"
QUEUE_OF_VOLCANO = "scheduling.volcano.sh/queue-name"
LINK = "scheduling.k8s.io/group-name"
LINK_OF_OTHERS = "scheduling.volcano.sh/group-name"
TASK = "volcano.sh/task-spec"

# Fields of the PodGroup in which Grove alone decides.
OURS = (
    "spec.minTaskMember",
    "spec.minResources",
    "spec.priorityClassName",
    "spec.networkTopology",
    "spec.subGroupPolicy",
)


class Settings(msgspec.Struct, rename="camel", forbid_unknown_fields=True, frozen=True):
    """The `config` of the profile."""

    queue: str = "default"
    # Whether a gang is admitted to its queue only when that has room for all of it.
    min_resources: bool = False
    # Tiers of node labels, for HyperNodes whose tierName is not the label, or that Grove may not read.
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
        self._settings = msgspec.convert(settings, Settings)

    def gang_annotations(self, pcs: PodCliqueSet, members: Sequence[Clique]) -> Mapping[str, str]:
        """A queue may be named by cliques, and what pods request stands in their templates."""
        found = {labels.QUEUE: queue_of(pcs, _queue_in) or self._settings.queue}
        if self._settings.min_resources:
            needed = total(
                times(c.spec.min_available or c.spec.replicas, pod_requests(c.spec.pod_spec)) for c in members
            )
            found[labels.MIN_RESOURCES] = msgspec.json.encode(written(needed)).decode()
        return found

    def translate(self, gang: PodGang, served: Served) -> Sequence[SchedulerObject]:
        queue = self._queue(gang)
        check_exists(queue, "Volcano queue", QUEUES, served, f"annotation {QUEUE}")
        topology = Topology(gang, served, self._settings.tiers)
        tasks = {g.name: g.min_replicas for g in gang.spec.pod_groups if g.min_replicas > 0}
        spec: Json = {
            # Of a PodGroup that needs nobody Volcano thinks that it is complete.
            "minMember": max(1, sum(tasks.values())),
            "minTaskMember": tasks,
            "queue": queue,
            "priorityClassName": gang.spec.priority_class_name,
            "minResources": self._min_resources(gang),
            "networkTopology": topology.of(gang.spec.topology_constraint),
            "subGroupPolicy": topology.policies(),
        }
        body = {
            "metadata": {"name": gang.metadata.name, "labels": _labels(gang)},
            "spec": {k: v for k, v in spec.items() if v},
        }
        return [SchedulerObject(POD_GROUPS, body, OURS)]

    def prepare_pod(self, gang: PodGang, group: PodGroup, pod: PodDraft) -> None:
        pod.annotations[LINK] = pod.annotations[LINK_OF_OTHERS] = gang.metadata.name or ""
        pod.labels[TASK] = group.name

    def separates_surplus(self, gang: PodGang, group: PodGroup) -> bool:
        return True

    def prepare_surplus_pod(self, gang: PodGang, group: PodGroup, pod: PodDraft) -> None:
        """They join the gang all the same: so they stay in its domain, and in its queue."""
        self.prepare_pod(gang, group, pod)

    def validate(self, pcs: PodCliqueSet) -> Iterable[Problem]:
        yield from disagreements(pcs, _queue_in)
        for i, clique in enumerate(pcs.spec.template.cliques):
            yield from _check_requests(clique, ("spec", "template", "cliques", i, "spec", "podSpec"))
        yield from check_surplus(pcs)

    def shortfall(self, gang: PodGang, served: Served) -> str:
        return Topology(gang, served, self._settings.tiers).shortfall()

    def observe(self, gang: PodGang, objects: Sequence[Json]) -> Observation:
        """Volcano calls a gang unschedulable while its pods have gates, and never takes a condition back."""
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
        said: list[Json] = status.get("conditions") or []
        newest = max(said, key=lambda c: str(c.get("lastTransitionTime")), default={})
        if newest.get("type") != "Unschedulable":
            return Observation()
        return Observation(newest.get("reason", ""), newest.get("message", ""))

    def _queue(self, gang: PodGang) -> str:
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


def _queue_in(tags: Mapping[str, str], annotations: Mapping[str, str]) -> str:
    return (annotations.get(QUEUE) or annotations.get(QUEUE_OF_VOLCANO, "")).strip()


def _labels(gang: PodGang) -> dict[str, str]:
    prefixes = ("app.kubernetes.io/", labels.GROVE_PREFIX)
    return {k: v for k, v in gang.metadata.labels.items() if k.startswith(prefixes)}


def _check_requests(clique: Clique, path: Path) -> Iterator[Problem]:
    try:
        asks = bool(pod_requests(clique.spec.pod_spec))
    except ValueError as e:
        yield invalid(path, OMITTED, str(e), "correct the resources of its containers")
        return
    if not asks:
        yield required(
            (*path, "containers", 0, "resources", "requests"),
            "Volcano does not hold pods that request nothing for their gang",
            "request at least some cpu",
        )
