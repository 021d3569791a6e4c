"""KAI Scheduler: one PodGroup with a tree of subgroups, a Queue, perhaps a Topology.

Read from a pod: annotation `pod-group-name` and label `kai.scheduler/subgroup-name`. Read from the API: PodGroups (by
name alone, whatever the namespace, as KAI up to 0.17.1 does), Queues, Topologies, PriorityClasses. `spec.minMember` of
a PodGroup with subgroups is ignored, as is the priority of a pod.

- A pod that names no PodGroup, or one that does not exist, is not noticed at all.
- A group is tried when each required leaf has its minimum of pods without gates; until then only an event says so.
- Exactly the missing minimum is placed at once, then further pods one by one.
- A gang that lost members below a minimum is evicted as a whole after the staleness grace period.

Not simulated: BindRequests (the scheduler binds by itself), preemption and reclaim, fractions of GPUs.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from grove.runtime.objects import Resource, ResourceType
from grove.sandbox.schedulers.amounts import Amounts, total
from grove.sandbox.schedulers.cluster import Cluster, label_domains
from grove.sandbox.schedulers.gangs import Domain, Gang, place
from grove.sandbox.schedulers.kai_queues import Queues
from grove.sandbox.schedulers.objects import PRIORITY_CLASSES, Json, Pod, Thing
from grove.sandbox.schedulers.policy import Note, Round, StatusWrite, View, place_alone

POD_GROUPS = Resource("scheduling.run.ai", "v2alpha2", "podgroups", "PodGroup")
QUEUES = Resource("scheduling.run.ai", "v2", "queues", "Queue", namespaced=False)
TOPOLOGIES = Resource("kai.scheduler", "v1alpha1", "topologies", "Topology", namespaced=False)

_LINK = "pod-group-name"
_SUBGROUP = "kai.scheduler/subgroup-name"
_TASK_PRIORITY = "kai.scheduler/task-priority"
_NODE_POOL = "kai.scheduler/node-pool"
_STALE_SINCE = "kai.scheduler/stale-podgroup-timestamp"
_STALE_AFTER = timedelta(seconds=60)
_DEFAULT_PRIORITY = 50
_NON_PREEMPTIBLE_FROM = 100


class KaiScheduler:
    reads: Sequence[ResourceType] = (POD_GROUPS, QUEUES, TOPOLOGIES, PRIORITY_CLASSES)
    bootstrap: Sequence[tuple[ResourceType, Json]] = ()

    def __init__(self, scheduler_name: str = "kai-scheduler") -> None:
        self.scheduler_name = scheduler_name

    def round(self, view: View) -> Round:
        result = Round()
        hidden = {node.name for node in view.nodes if _NODE_POOL in node.metadata.labels}
        cluster = view.cluster(hidden)
        jobs = self._jobs(view)
        queues = Queues([q for q in view.things.get("queues", ()) if _NODE_POOL not in q.metadata.labels])
        for job in jobs:
            queues.charge(job.queue, job.allocated(cluster), preemptible=job.preemptible)
        for job in sorted(jobs, key=_Job.order):
            self._schedule(cluster, queues, job, view, result)
        for job in jobs:
            _evict_if_stale(job, view, result)
        return result

    def _jobs(self, view: View) -> list["_Job"]:
        groups = sorted(view.things.get("podgroups", ()), key=lambda g: g.metadata.creation_timestamp or "")
        by_name = {g.name: g for g in groups if _NODE_POOL not in g.metadata.labels}
        jobs = {name: _Job(group, view) for name, group in by_name.items()}
        for pod in view.pods:
            job = jobs.get(pod.metadata.annotations.get(_LINK, ""))
            if job is not None and not pod.finished:
                job.add(pod)
        return list(jobs.values())

    def _schedule(self, cluster: Cluster, queues: Queues, job: "_Job", view: View, result: Round) -> None:
        for pod in job.strays:
            text = f"Pod references a subgroup that does not exist: {pod.metadata.labels.get(_SUBGROUP)}"
            result.unschedulable([pod], text)
        pending = job.pending()
        if not pending:
            if job.group.status.get("schedulingConditions") and not job.has_gated():
                result.statuses.append(StatusWrite(POD_GROUPS, job.group.key, {"schedulingConditions": None}))
            return
        if not job.is_ready(job.tree):
            result.notes.append(Note(POD_GROUPS, job.group.key, "NotReady", job.not_ready_text()))
            return
        reason, failure = job.obstacle(queues, cluster)
        if not failure:
            required = job.missing()
            reason, failure = queues.obstacle(
                job.queue, total(cluster.need(p) for p in required), preemptible=job.preemptible
            )
            if not failure:
                outcome = place(cluster, job.gang(job.tree, cluster, required))
                reason, failure = "PodSchedulingErrors", outcome.failure
        if failure:
            job.report_failure(pending, reason, failure, result)
            return
        result.bind(outcome)
        queues.charge(job.queue, total(cluster.need(p) for p in required), preemptible=job.preemptible)
        self._add_extras(cluster, queues, job, {p.uid: n for p, n in outcome.placement}, result)

    def _add_extras(
        self, cluster: Cluster, queues: Queues, job: "_Job", placed: dict[str, str], result: Round
    ) -> None:
        """Pods above the minimum, one at a time, inside the domains that the gang already has."""
        for pod in job.pending():
            if pod.uid in placed:
                continue
            need = cluster.need(pod)
            _, failure = queues.obstacle(job.queue, need, preemptible=job.preemptible)
            if failure:
                result.unschedulable([pod], failure)
                continue
            allowed = job.domain_of_extras(pod, cluster, placed)
            if place_alone(cluster, pod, result, allowed):
                placed[pod.uid] = result.bindings[-1][1]
                queues.charge(job.queue, need, preemptible=job.preemptible)


@dataclass
class _Subgroup:
    name: str
    minimum: int | None
    constraint: Json
    children: list["_Subgroup"] = field(default_factory=list)
    pods: list[Pod] = field(default_factory=list)

    def leaves(self) -> Iterator["_Subgroup"]:
        if not self.children:
            yield self
        for child in self.children:
            yield from child.leaves()


class _Job:
    """A PodGroup with its pods."""

    def __init__(self, group: Thing, view: View) -> None:
        self.group = group
        self.view = view
        self.strays: list[Pod] = []
        self.tree = _tree(group)
        self._leaves = {leaf.name: leaf for leaf in self.tree.leaves()}

    def add(self, pod: Pod) -> None:
        leaf = self._leaves.get(pod.metadata.labels.get(_SUBGROUP, "default"))
        if leaf is None:
            self.strays.append(pod)
        else:
            leaf.pods.append(pod)
            leaf.pods.sort(key=_task_order)

    @property
    def queue(self) -> str:
        return str(self.group.spec.get("queue") or "")

    @property
    def priority(self) -> int:
        name = self.group.spec.get("priorityClassName") or ""
        classes = {c.metadata.name: c for c in self.view.priority_classes}
        if name in classes:
            return classes[name].value
        return next((c.value for c in classes.values() if c.global_default), _DEFAULT_PRIORITY)

    @property
    def preemptible(self) -> bool:
        chosen = self.group.spec.get("preemptibility")
        return chosen == "preemptible" if chosen else self.priority < _NON_PREEMPTIBLE_FROM

    def order(self) -> tuple[int, str, str]:
        return (-self.priority, self.group.metadata.creation_timestamp or "", self.group.name)

    def members(self) -> list[Pod]:
        return [pod for leaf in self._leaves.values() for pod in leaf.pods]

    def pending(self) -> list[Pod]:
        return self.view.waiting(self.members())

    def has_gated(self) -> bool:
        return any(pod.gated for pod in self.members())

    def active(self, leaf: _Subgroup) -> list[Pod]:
        return [pod for pod in self.holding(leaf) if not pod.deleting]

    def holding(self, leaf: _Subgroup) -> list[Pod]:
        """Those on a node, also those that are about to leave it."""
        return [pod for pod in leaf.pods if self.view.node_of(pod)]

    def allocated(self, cluster: Cluster) -> Amounts:
        return total(cluster.need(pod) for leaf in self._leaves.values() for pod in self.holding(leaf))

    def is_ready(self, node: _Subgroup) -> bool:
        if not node.children:
            return sum(1 for pod in node.pods if not pod.gated and not pod.deleting) >= (node.minimum or 0)
        needed = len(node.children) if node.minimum is None else node.minimum
        return sum(self.is_ready(child) for child in node.children) >= needed

    def not_ready_text(self) -> str:
        counts = ", ".join(
            f"{leaf.name}: {sum(1 for p in leaf.pods if not p.gated)}/{leaf.minimum or 0} ready, "
            f"{sum(1 for p in leaf.pods if p.gated)} gated"
            for leaf in self._leaves.values()
        )
        return f"Job is not ready for scheduling. Pods of the subgroups: {counts}"

    def is_satisfied(self, node: _Subgroup) -> bool:
        if not node.children:
            return len(self.active(node)) >= (node.minimum or 0)
        needed = len(node.children) if node.minimum is None else node.minimum
        return sum(self.is_satisfied(child) for child in node.children) >= needed

    def missing(self) -> list[Pod]:
        """Exactly the pods that the minimum still needs."""
        return list(self._missing(self.tree))

    def _missing(self, node: _Subgroup) -> Iterator[Pod]:
        if not node.children:
            waiting = self.view.waiting(node.pods)
            yield from waiting[: max(0, (node.minimum or 0) - len(self.active(node)))]
        else:
            for child in self.chosen(node):
                yield from self._missing(child)

    def chosen(self, node: _Subgroup) -> list[_Subgroup]:
        """The children that the minimum is made of: those that have it already, then by name."""
        needed = len(node.children) if node.minimum is None else node.minimum
        ready = [child for child in node.children if self.is_satisfied(child) or self.is_ready(child)]
        return sorted(ready, key=lambda c: (not self.is_satisfied(c), c.name))[:needed]

    def gang(self, node: _Subgroup, cluster: Cluster, required: Sequence[Pod]) -> Gang:
        wanted = {pod.uid for pod in required}
        present = [self.view.node_of(pod) for leaf in node.leaves() for pod in self.active(leaf)]
        children = self.chosen(node) if node.children else []
        return Gang(
            node.name,
            len(children) if children else node.minimum or 0,
            pods=[] if children else [pod for pod in node.pods if pod.uid in wanted],
            present=len(present),
            children=[self.gang(child, cluster, required) for child in children],
            domains=self._domains(node.constraint, cluster, present),
        )

    def _domains(self, constraint: Json, cluster: Cluster, present: Sequence[str]) -> list[Domain] | None:
        if not constraint.get("topology"):
            return None
        levels = self._levels(constraint["topology"]) or []
        usable = [n for n in cluster.nodes if all(key in n.metadata.labels for key in levels)]
        required = constraint.get("requiredTopologyLevel")
        preferred = constraint.get("preferredTopologyLevel")
        coarsest = levels.index(required) if required else -1
        finest = levels.index(preferred) if preferred else coarsest
        found: list[Domain] = []
        for depth in range(finest, coarsest - 1, -1):
            if depth < 0:
                found.append(frozenset(node.name for node in usable))
            else:
                found += label_domains(usable, levels[: depth + 1])
        return [domain for domain in found if not present or domain & set(present)]

    def _levels(self, name: str) -> list[str] | None:
        for topology in self.view.things.get("topologies", ()):
            if topology.name == name:
                return [level["nodeLabel"] for level in topology.spec.get("levels") or ()]
        return None

    def domain_of_extras(self, pod: Pod, cluster: Cluster, placed: dict[str, str]) -> Domain | None:
        """Where a pod may go beside those of its subtrees that have a place, however they got it."""
        allowed: Domain | None = None
        leaf = next(leaf for leaf in self._leaves.values() if pod in leaf.pods)
        for node in _path_to(self.tree, leaf):
            required = {**node.constraint, "preferredTopologyLevel": None}
            if not required.get("requiredTopologyLevel"):
                continue
            present = [
                self.view.node_of(other) or placed.get(other.uid, "")
                for below in node.leaves()
                for other in below.pods
            ]
            domains = self._domains(required, cluster, [name for name in present if name]) or []
            inside = frozenset().union(*domains[:1]) if any(present) else frozenset().union(*domains)
            allowed = inside if allowed is None else allowed & inside
        return allowed

    def obstacle(self, queues: Queues, cluster: Cluster) -> tuple[str, str]:
        """What keeps the whole group from being tried: reason and text, empty if nothing does."""
        if problem := queues.missing(self.queue):
            return "QueueDoesNotExist", problem
        for node in _all(self.tree):
            name = node.constraint.get("topology")
            if not name:
                continue
            levels = self._levels(name)
            if levels is None:
                return "PodSchedulingErrors", f"Requested topology {name} does not exist"
            wanted = [node.constraint.get(k) for k in ("requiredTopologyLevel", "preferredTopologyLevel")]
            if not any(wanted) or any(level and level not in levels for level in wanted):
                return (
                    "PodSchedulingErrors",
                    f"Requested levels {wanted} are not all levels of topology {name}",
                )
        return "", ""

    def report_failure(self, pending: list[Pod], reason: str, failure: str, result: Round) -> None:
        if self.group.spec.get("markUnschedulable") is not False:
            result.unschedulable(pending, failure)
        if any(self.active(leaf) for leaf in self._leaves.values()):
            return
        known = (self.group.status.get("schedulingConditions") or [{}])[-1]
        same = known.get("message") == failure
        condition = {
            "type": "UnschedulableOnNodePool",
            "status": "True",
            "nodePool": "default",
            "reason": "Unschedulable",
            "message": failure,
            "reasons": [{"reason": reason, "message": failure}],
            "lastTransitionTime": known["lastTransitionTime"] if same else self.view.now_text,
            "transitionID": known["transitionID"] if same else str(int(known.get("transitionID", -1)) + 1),
        }
        result.statuses.append(StatusWrite(POD_GROUPS, self.group.key, {"schedulingConditions": [condition]}))
        result.notes.append(Note(POD_GROUPS, self.group.key, "Unschedulable", failure))


def _evict_if_stale(job: _Job, view: View, result: Round) -> None:
    leaves = list(job.tree.leaves())
    running = [pod for leaf in leaves for pod in job.holding(leaf)]
    short = any(len(job.holding(leaf)) < (leaf.minimum or 0) for leaf in leaves)
    bound_now = {pod.uid for pod, _ in result.bindings}
    completing = any(pod.uid in bound_now for leaf in leaves for pod in leaf.pods)
    stamp = job.group.metadata.annotations.get(_STALE_SINCE)
    if not (running and short) or completing:
        if stamp:
            result.annotations.append((POD_GROUPS, job.group, {_STALE_SINCE: None}))
        return
    grace = _grace(job.group)
    if grace is None:
        return
    if stamp is None:
        result.annotations.append((POD_GROUPS, job.group, {_STALE_SINCE: view.now.isoformat()}))
        result.notes.append(Note(POD_GROUPS, job.group.key, "StaleJob", "Job is stale"))
        result.wake(grace.total_seconds())
        return
    left = datetime.fromisoformat(stamp) + grace - view.now
    if left > timedelta(0):
        result.wake(left.total_seconds())
    else:
        result.evictions += [pod for pod in running if not pod.deleting]
        result.notes.append(
            Note(POD_GROUPS, job.group.key, "Evict", "stalegangeviction: the gang is short of members")
        )


def _grace(group: Thing) -> timedelta | None:
    """None: never."""
    text = group.spec.get("stalenessGracePeriod")
    if text is None:
        return _STALE_AFTER
    seconds = sum(
        float(number) * {"ms": 0.001, "s": 1, "m": 60, "h": 3600}[unit]
        for number, unit in re.findall(r"([0-9.]+)(ms|s|m|h)", text)
    )
    return None if text.startswith("-") else timedelta(seconds=seconds)


def _tree(group: Thing) -> _Subgroup:
    """The subgroups below an unnamed root. If they make no tree, KAI falls back to one leaf named `default`."""
    spec = group.spec
    constraint = spec.get("topologyConstraint") or {}
    declared = spec.get("subGroups") or []
    names = [sub.get("name", "") for sub in declared]
    minimum = spec.get("minMember")
    if not declared:
        return _root([_Subgroup("default", 1 if minimum is None else minimum, {})], None, constraint)
    parents = {sub["name"]: sub.get("parent") or "" for sub in declared}
    if len(set(names)) != len(names) or any(_is_lost(name, parents) for name in names):
        return _root([_Subgroup("default", 1, {})], None, constraint)
    inner = set(parents.values())
    nodes = {
        sub["name"]: _Subgroup(
            sub["name"],
            sub.get("minSubGroup") if sub["name"] in inner else sub.get("minMember", 1),
            sub.get("topologyConstraint") or {},
        )
        for sub in declared
    }
    top: list[_Subgroup] = []
    for name, parent in parents.items():
        (nodes[parent].children if parent else top).append(nodes[name])
    return _root(top, spec.get("minSubGroup"), constraint)


def _root(children: list[_Subgroup], minimum: int | None, constraint: Json) -> _Subgroup:
    return _Subgroup("", minimum, constraint, children)


def _is_lost(name: str, parents: dict[str, str]) -> bool:
    """A subgroup that no path leads to from the root."""
    seen: set[str] = set()
    while name:
        if name in seen or name not in parents:
            return True
        seen.add(name)
        name = parents[name]
    return False


def _all(node: _Subgroup) -> Iterator[_Subgroup]:
    yield node
    for child in node.children:
        yield from _all(child)


def _path_to(node: _Subgroup, leaf: _Subgroup) -> list[_Subgroup]:
    if node is leaf:
        return [node]
    for child in node.children:
        if path := _path_to(child, leaf):
            return [node, *path]
    return []


def _task_order(pod: Pod) -> tuple[int, str, str]:
    try:
        priority = int(pod.metadata.labels.get(_TASK_PRIORITY, "0"))
    except ValueError:
        priority = 0
    return (-priority, pod.metadata.creation_timestamp or "", str(pod.key))
