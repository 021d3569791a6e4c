"""KAI Scheduler: a PodGroup with a tree of subgroups, a Queue, and an optional Topology.

Reads from a pod: annotation `pod-group-name` and label `kai.scheduler/subgroup-name`. Reads from the API: PodGroups
(by name, regardless of the namespace, as KAI up to 0.17.1 does), Queues, Topologies, PriorityClasses. It ignores
`spec.minMember` of a PodGroup with subgroups, and the priority of pods.

- It ignores a pod that names no PodGroup, or one that does not exist.
- It tries a group once each required leaf has its minimum of ungated pods. Until then it only records an event.
- It places exactly the missing minimum as a gang, then further pods one by one.
- It evicts a whole gang that fell below a minimum, after the staleness grace period.

Not simulated: BindRequests (the scheduler binds by itself), preemption and reclaim, fractions of GPUs.
"""

import re
from collections.abc import Sequence
from datetime import datetime, timedelta

from grove.runtime.client.objects import APIResource, ResourceType

from grove_sandbox.schedulers.amounts import total
from grove_sandbox.schedulers.gangs import place
from grove_sandbox.schedulers.kai.job import POD_GROUPS, SUBGROUP, KaiJob
from grove_sandbox.schedulers.kai.queues import Queues
from grove_sandbox.schedulers.objects import PRIORITY_CLASSES, Json, PolicyObject
from grove_sandbox.schedulers.policy import PolicyStatusWrite, Round, SchedulerEvent, View, place_alone
from grove_sandbox.schedulers.snapshot import Snapshot

QUEUES = APIResource("scheduling.run.ai", "v2", "queues", "Queue", namespaced=False)
TOPOLOGIES = APIResource("kai.scheduler", "v1alpha1", "topologies", "Topology", namespaced=False)

_LINK = "pod-group-name"
_NODE_POOL = "kai.scheduler/node-pool"
_STALE_SINCE = "kai.scheduler/stale-podgroup-timestamp"
_STALE_AFTER = timedelta(seconds=60)


class KaiScheduler:
    reads: Sequence[ResourceType] = (POD_GROUPS, QUEUES, TOPOLOGIES, PRIORITY_CLASSES)
    bootstrap: Sequence[tuple[ResourceType, Json]] = ()

    def __init__(self, scheduler_name: str = "kai-scheduler") -> None:
        self.scheduler_name = scheduler_name

    def round(self, view: View) -> Round:
        result = Round()
        hidden = {node.name for node in view.nodes if _NODE_POOL in node.metadata.labels}
        snapshot = view.snapshot(hidden)
        jobs = self._jobs(view)
        queues = Queues([q for q in view.objects.get("queues", ()) if _NODE_POOL not in q.metadata.labels])
        for job in jobs:
            queues.charge(job.queue, job.allocated(snapshot), preemptible=job.preemptible)
        for job in sorted(jobs, key=KaiJob.order):
            self._schedule(snapshot, queues, job, view, result)
        for job in jobs:
            _evict_if_stale(job, view, result)
        return result

    def _jobs(self, view: View) -> list[KaiJob]:
        groups = sorted(view.objects.get("podgroups", ()), key=lambda g: g.metadata.creation_timestamp or "")
        by_name = {g.name: g for g in groups if _NODE_POOL not in g.metadata.labels}
        jobs = {name: KaiJob(group, view) for name, group in by_name.items()}
        for pod in view.pods:
            job = jobs.get(pod.metadata.annotations.get(_LINK, ""))
            if job is not None and not pod.finished:
                job.add(pod)
        return list(jobs.values())

    def _schedule(self, snapshot: Snapshot, queues: Queues, job: KaiJob, view: View, result: Round) -> None:
        for pod in job.strays:
            text = f"Pod references a subgroup that does not exist: {pod.metadata.labels.get(SUBGROUP)}"
            result.unschedulable([pod], text)
        pending = job.pending()
        if not pending:
            if job.group.status.get("schedulingConditions") and not job.has_gated():
                result.statuses.append(
                    PolicyStatusWrite(POD_GROUPS, job.group.key, {"schedulingConditions": None})
                )
            return
        if not job.is_ready(job.tree):
            result.events.append(SchedulerEvent(POD_GROUPS, job.group.key, "NotReady", job.not_ready_text()))
            return
        reason, failure = job.obstacle(queues, snapshot)
        if not failure:
            required = job.missing()
            reason, failure = queues.obstacle(
                job.queue, total(snapshot.need(p) for p in required), preemptible=job.preemptible
            )
            if not failure:
                outcome = place(snapshot, job.gang(job.tree, snapshot, required))
                reason, failure = "PodSchedulingErrors", outcome.failure
        if failure:
            job.report_failure(pending, reason, failure, result)
            return
        result.bind(outcome)
        queues.charge(job.queue, total(snapshot.need(p) for p in required), preemptible=job.preemptible)
        self._add_extras(snapshot, queues, job, {p.uid: n for p, n in outcome.placement}, result)

    def _add_extras(
        self, snapshot: Snapshot, queues: Queues, job: KaiJob, placed: dict[str, str], result: Round
    ) -> None:
        """Places pods above the minimum one at a time, inside the domains of the gang."""
        for pod in job.pending():
            if pod.uid in placed:
                continue
            need = snapshot.need(pod)
            _, failure = queues.obstacle(job.queue, need, preemptible=job.preemptible)
            if failure:
                result.unschedulable([pod], failure)
                continue
            allowed = job.domain_of_extras(pod, snapshot, placed)
            if place_alone(snapshot, pod, result, allowed):
                placed[pod.uid] = result.bindings[-1][1]
                queues.charge(job.queue, need, preemptible=job.preemptible)


def _evict_if_stale(job: KaiJob, view: View, result: Round) -> None:
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
        result.events.append(SchedulerEvent(POD_GROUPS, job.group.key, "StaleJob", "Job is stale"))
        result.wake(grace.total_seconds())
        return
    left = datetime.fromisoformat(stamp) + grace - view.now
    if left > timedelta(0):
        result.wake(left.total_seconds())
    else:
        result.evictions += [pod for pod in running if not pod.deleting]
        result.events.append(
            SchedulerEvent(
                POD_GROUPS, job.group.key, "Evict", "stalegangeviction: the gang is short of members"
            )
        )


def _grace(group: PolicyObject) -> timedelta | None:
    """The staleness grace period. None means that stale gangs are never evicted."""
    text = group.spec.get("stalenessGracePeriod")
    if text is None:
        return _STALE_AFTER
    seconds = sum(
        float(number) * {"ms": 0.001, "s": 1, "m": 60, "h": 3600}[unit]
        for number, unit in re.findall(r"([0-9.]+)(ms|s|m|h)", text)
    )
    return None if text.startswith("-") else timedelta(seconds=seconds)
