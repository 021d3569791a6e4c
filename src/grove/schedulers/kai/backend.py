"""KAI Scheduler: one PodGroup per gang, with a tree of subgroups.

    gang                                  PodGroup pg-<gang>-<uid>, in a queue
    constraint group                      subgroup that needs all of its children
    pod group                             subgroup with a minimum of pods, below its constraint group if it has one
    pack constraint, on any of them       topologyConstraint of the same part, in the scheduler's Topology
    ClusterTopologyBinding                Topology with the same levels

What shapes this translation, beside the fields themselves:

- KAI up to 0.17.1 finds PodGroups by name alone, whatever their namespace: the name has the gang's uid in it.
- It calls a gang stale when any leaf falls below its minimum, whatever `minSubGroup` says, and deletes all its pods a
  minute later. So there are no optional branches, and where the field exists, staleness is left to Grove's own gang
  termination.
- A field that the cluster's CRD does not have is never sent. `minSubGroup` then means the same by its absence.
- KAI's own grouper makes PodGroups for pods of other owners; an annotation keeps it off ours (from 0.15 on).
- A constraint that names a Topology and no level can never be met: such a one is left out.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from grove.api import labels, names
from grove.api.labels import Gate
from grove.api.podcliqueset import Clique, PodCliqueSet
from grove.api.podgang import GangTopologyConstraint, PodGang, PodGroup
from grove.api.scalars import Duration
from grove.api.topology import ClusterTopologyBinding
from grove.api.validation.problem import Problem, invalid, unsupported
from grove.plan.objects.pod_draft import PodDraft
from grove.schedulers.backend import Backend
from grove.schedulers.guarantees import Guarantee, SchedulerVariant
from grove.schedulers.queues import check_exists, disagreements, queue_of
from grove.schedulers.types import Json, ObjectKind, Observation, Refusal, SchedulerObject, Served

POD_GROUPS = ObjectKind("scheduling.run.ai", "v2alpha2", "podgroups", "PodGroup")
QUEUES = ObjectKind("scheduling.run.ai", "v2", "queues", "Queue", namespaced=False)
TOPOLOGIES = ObjectKind("kai.scheduler", "v1alpha1", "topologies", "Topology", namespaced=False)

QUEUE = "kai.scheduler/queue"
NODE_POOL = "kai.scheduler/node-pool"
PREEMPTIBILITY = "kai.scheduler/preemptibility"
PREEMPTION_DELAY = "kai.scheduler/preemption-delay"
STALENESS = "kai.scheduler/staleness-grace-period"
TOPOLOGY = "kai.scheduler/topology"
LINK = "pod-group-name"
SUBGROUP = "kai.scheduler/subgroup-name"
SKIP_GROUPER = "kai.scheduler/skip-podgrouper"

# Fields of the PodGroup in which Grove alone decides. The others (markUnschedulable, schedulingBackoff) are KAI's.
OURS = (
    "spec.minMember",
    "spec.minSubGroup",
    "spec.priorityClassName",
    "spec.preemptibility",
    "spec.preemptionDelay",
    "spec.stalenessGracePeriod",
    "spec.subGroups",
    "spec.topologyConstraint",
)


class Settings(msgspec.Struct, rename="camel", forbid_unknown_fields=True, frozen=True):
    """The `config` of the profile."""

    queue: str = "default-queue"
    # Never: a gang below its minimum is for Grove to end, after its terminationDelay.
    staleness_grace_period: str = "-1s"


class Kai(Backend):
    name = "kai"
    scheduler_name = "kai-scheduler"
    gate = Gate.KAI
    kinds: Sequence[ObjectKind] = (POD_GROUPS,)
    reads: Sequence[ObjectKind] = (QUEUES,)
    topology_kind: ObjectKind | None = TOPOLOGIES
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
        self._settings = msgspec.convert(settings, Settings)

    def matches(self, scheduler_name: str) -> bool:
        return scheduler_name in ("kai-scheduler", "grove-scheduler")

    def gang_annotations(self, pcs: PodCliqueSet, members: Sequence[Clique]) -> Mapping[str, str]:
        """A queue may be named by cliques, which a gang does not show."""
        return {labels.QUEUE: self._queue_of_set(pcs)}

    def claim_labels(self, pcs: PodCliqueSet) -> Mapping[str, str]:
        """A shared claim of a GPU class is usable only in the queue that it names."""
        return {QUEUE: self._queue_of_set(pcs)}

    def translate(self, gang: PodGang, served: Served) -> Sequence[SchedulerObject]:
        queue = self._queue(gang)
        _check_served(gang, served)
        check_exists(queue, "KAI queue", QUEUES, served, f"label {QUEUE}")
        subgroups = _subgroups(gang, served)
        tops = sum(1 for s in subgroups if "parent" not in s)
        own = gang.metadata.annotations
        spec: Json = {
            "queue": queue,
            "minSubGroup": tops,
            "priorityClassName": gang.spec.priority_class_name,
            "preemptibility": gang.metadata.labels.get(PREEMPTIBILITY),
            "preemptionDelay": own.get(PREEMPTION_DELAY),
            "stalenessGracePeriod": own.get(STALENESS) or self._settings.staleness_grace_period,
            "topologyConstraint": _constraint(gang, gang.spec.topology_constraint),
            "subGroups": subgroups,
        }
        body = {
            "metadata": {"name": _name(gang), "labels": _labels(gang)},
            "spec": {k: v for k, v in spec.items() if v and served.has(POD_GROUPS, f"spec.{k}")},
        }
        return [SchedulerObject(POD_GROUPS, body, OURS)]

    def prepare_pod(self, gang: PodGang, group: PodGroup, pod: PodDraft) -> None:
        """KAI's binder looks at pods of KAI's own name only, whichever of the two the user wrote."""
        pod.scheduler_name = self.scheduler_name
        pod.annotations[LINK] = _name(gang)
        pod.annotations[SKIP_GROUPER] = "true"
        pod.labels[SUBGROUP] = group.name

    def topology_object(self, binding: ClusterTopologyBinding) -> SchedulerObject:
        levels = [{"nodeLabel": level.key} for level in binding.spec.levels]
        body = {"metadata": {"name": binding.metadata.name}, "spec": {"levels": levels}}
        # Aliases of levels, which others may add, are not ours.
        return SchedulerObject(TOPOLOGIES, body, owned_fields=(), immutable_fields=("spec.levels",))

    def validate(self, pcs: PodCliqueSet) -> Iterable[Problem]:
        yield from disagreements(pcs, _queue_in)
        chosen = pcs.metadata.labels.get(PREEMPTIBILITY, "")
        supported = ["preemptible", "non-preemptible"]
        if chosen and chosen not in supported:
            path = ("metadata", "labels", PREEMPTIBILITY)
            yield unsupported(path, chosen, supported, "remove it to let the priority decide")
        for key in (PREEMPTION_DELAY, STALENESS):
            yield from _check_duration(key, pcs.metadata.annotations.get(key, ""))

    def shortfall(self, gang: PodGang, served: Served) -> str:
        if served.has(POD_GROUPS, "spec.minSubGroup"):
            return ""
        return (
            "this KAI is older than 0.15: its podgrouper does not leave Grove's PodGroups alone; upgrade KAI, or keep "
            "the podgrouper out of this namespace by its flag --namespace-label-selector"
        )

    def observe(self, gang: PodGang, objects: Sequence[Json]) -> Observation:
        """KAI says in the PodGroup why it cannot be placed. Before 0.17 it never takes that back."""
        said = [
            condition
            for o in objects
            for condition in o.get("status", {}).get("schedulingConditions") or ()
            if condition.get("type") == "UnschedulableOnNodePool" and condition.get("status") == "True"
        ]
        if not said:
            return Observation()
        latest = max(said, key=lambda c: int(c.get("transitionID") or 0))
        reasons = [r for r in latest.get("reasons") or () if r.get("message")]
        if not reasons:
            return Observation(latest.get("reason", ""), latest.get("message", ""))
        return Observation(reasons[0].get("reason", ""), "; ".join(r["message"] for r in reasons))

    def _queue_of_set(self, pcs: PodCliqueSet) -> str:
        return queue_of(pcs, _queue_in) or self._settings.queue

    def _queue(self, gang: PodGang) -> str:
        meta = gang.metadata
        return (
            meta.annotations.get(labels.QUEUE)
            or _queue_in(meta.labels, meta.annotations)
            or self._settings.queue
        )


def _queue_in(tags: Mapping[str, str], annotations: Mapping[str, str]) -> str:
    return tags.get(QUEUE) or annotations.get(QUEUE, "")


def _name(gang: PodGang) -> str:
    return names.kai_pod_group(gang.metadata.name or "", gang.metadata.uid or "")


def _labels(gang: PodGang) -> dict[str, str]:
    """What identifies the workload, its queue and its node pool; not whatever else the user has on the set."""
    return {
        k: v
        for k, v in gang.metadata.labels.items()
        if k.startswith(("app.kubernetes.io/", labels.GROVE_PREFIX)) or k in (NODE_POOL, QUEUE)
    }


def _check_served(gang: PodGang, served: Served) -> None:
    if POD_GROUPS not in served:
        return  # said by the framework, which knows why
    needed = ["spec.subGroups"]
    if any(g.topology_constraint or g.pod_group_names for g in gang.spec.topology_constraint_group_configs):
        needed.append("spec.subGroups.parent")
    if any(g.topology_constraint for g in gang.spec.pod_groups):
        needed.append("spec.subGroups.topologyConstraint")
    missing = [path for path in needed if not served.has(POD_GROUPS, path)]
    if missing:
        raise Refusal(
            f"the PodGroups of this KAI have no {' and no '.join(missing)}, which this gang needs",
            "upgrade KAI to 0.15 or later",
        )


def _subgroups(gang: PodGang, served: Served) -> list[Json]:
    """Groups first, then leaves, by name, so that the same gang always gives the same list."""
    leaves = {g.name for g in gang.spec.pod_groups}
    parents: dict[str, str] = {}
    inner: list[Json] = []
    for config in gang.spec.topology_constraint_group_configs:
        if not config.pod_group_names:
            continue
        name = _unlike(config.name, leaves)
        for member in config.pod_group_names:
            if member not in leaves or member in parents:
                what = f"is also in {parents[member]!r}" if member in parents else "does not exist"
                raise Refusal(f"pod group {member!r} of the constraint group {config.name!r} {what}")
            parents[member] = name
        constraint = _constraint(gang, config.topology_constraint)
        inner.append(
            _present(name=name, minSubGroup=len(config.pod_group_names), topologyConstraint=constraint)
        )
    outer: list[Json] = []
    for group in gang.spec.pod_groups:
        if group.min_replicas < 1:
            raise Refusal(
                f"pod group {group.name!r} has a minimum of {group.min_replicas}, KAI needs 1 or more"
            )
        outer.append(
            _present(
                name=group.name,
                parent=parents.get(group.name),
                minMember=group.min_replicas,
                topologyConstraint=_constraint(gang, group.topology_constraint),
            )
        )
    found = [*sorted(inner, key=_by_name), *sorted(outer, key=_by_name)]
    return [{k: v for k, v in s.items() if served.has(POD_GROUPS, f"spec.subGroups.{k}")} for s in found]


def _unlike(name: str, leaves: set[str]) -> str:
    """A clique of its own may have the name of a copy of a scaling group; names of subgroups are unique."""
    while name in leaves:
        name += "-group"
    return name


def _constraint(gang: PodGang, found: GangTopologyConstraint | None) -> Json | None:
    pack = found.pack_constraint if found else None
    if pack is None or not (pack.required or pack.preferred):
        return None
    own = gang.metadata.annotations
    topology = own.get(labels.SCHEDULER_TOPOLOGY) or own.get(labels.TOPOLOGY_NAME) or own.get(TOPOLOGY)
    if not topology:
        raise Refusal(
            f"PodGang {gang.metadata.name} has a topology constraint and names no topology",
            f"name one in the annotation {labels.TOPOLOGY_NAME}",
        )
    # Beside an equal requirement a preference says nothing, and KAI before 0.13 mistakes the pair.
    preferred = pack.preferred if pack.preferred != pack.required else None
    return _present(topology=topology, requiredTopologyLevel=pack.required, preferredTopologyLevel=preferred)


def _check_duration(key: str, text: str) -> Iterator[Problem]:
    if not text:
        return
    try:
        length = Duration(text)
    except ValueError as e:
        yield invalid(("metadata", "annotations", key), text, str(e), "write it as in 30s or 10m")
        return
    if key == PREEMPTION_DELAY and length.nanoseconds < 0:
        yield invalid(
            ("metadata", "annotations", key), text, "must not be negative", "write it as in 30s or 10m"
        )


def _present(**fields: Any) -> Json:
    return {k: v for k, v in fields.items() if v is not None}


def _by_name(subgroup: Json) -> str:
    return str(subgroup["name"])
