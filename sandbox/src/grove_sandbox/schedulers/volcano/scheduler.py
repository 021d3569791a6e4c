"""Volcano: a PodGroup with a minimum, minimums per task, subgroups, and topology domains from HyperNodes.

Reads from a pod: annotation `scheduling.k8s.io/group-name` (not `scheduling.volcano.sh/group-name`), label or
annotation `volcano.sh/task-spec`, and the labels that the PodGroup's `subGroupPolicy` names. Reads from the API:
PodGroups, Queues, HyperNodes, PriorityClasses.

- It ignores a pod without the annotation, and one whose PodGroup does not exist or names an unknown or closed queue.
- Gated pods count as existing but are not placed.
- Pods that request nothing are not placed with the gang: they count as ready and are placed one by one.
- It silently ignores a topology whose tier no HyperNode has.

It also plays the queue controller, which opens new queues. Not simulated: preempt, reclaim, shares between queues.
"""

from collections.abc import Sequence

from grove.runtime.client.objects import APIResource, ObjectKey, ResourceType

from grove_sandbox.schedulers.gangs import place
from grove_sandbox.schedulers.objects import PRIORITY_CLASSES, Json, PolicyObject
from grove_sandbox.schedulers.policy import PolicyStatusWrite, Round, View, place_alone
from grove_sandbox.schedulers.snapshot import Snapshot
from grove_sandbox.schedulers.volcano.hypernodes import HYPER_NODES, HyperNodes
from grove_sandbox.schedulers.volcano.job import POD_GROUPS, VolcanoJob

QUEUES = APIResource("scheduling.volcano.sh", "v1beta1", "queues", "Queue", namespaced=False)

_LINK = "scheduling.k8s.io/group-name"


def _queue(name: str) -> Json:
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": name},
        "spec": {"weight": 1},
    }


class VolcanoScheduler:
    reads: Sequence[ResourceType] = (POD_GROUPS, QUEUES, HYPER_NODES, PRIORITY_CLASSES)
    bootstrap: Sequence[tuple[ResourceType, Json]] = ((QUEUES, _queue("root")), (QUEUES, _queue("default")))

    def __init__(self, scheduler_name: str = "volcano") -> None:
        self.scheduler_name = scheduler_name

    def round(self, view: View) -> Round:
        result = Round()
        snapshot = view.snapshot()
        queues = {queue.name: queue for queue in view.objects.get("queues", ())}
        for queue in queues.values():
            if not queue.status.get("state"):
                result.statuses.append(PolicyStatusWrite(QUEUES, queue.key, {"state": "Open"}))
        jobs = self._jobs(view, queues)
        hyper_nodes = HyperNodes(view.objects.get("hypernodes", ()), snapshot.nodes)
        for job in sorted(jobs, key=VolcanoJob.order):
            job.enqueue(snapshot)
            if job.phase != "Pending" and job.pending() and not job.invalid():
                self._allocate(snapshot, job, hyper_nodes, result)
        for job in jobs:
            for pod in job.without_requests():
                place_alone(snapshot, pod, result)
            job.report(result)
        return result

    def _jobs(self, view: View, queues: dict[str, PolicyObject]) -> list[VolcanoJob]:
        jobs: dict[ObjectKey, VolcanoJob] = {}
        for key, group in view.of("podgroups").items():
            queue = queues.get(group.spec.get("queue") or "default")
            if queue is not None and queue.status.get("state") == "Open":
                jobs[key] = VolcanoJob(group, view)
        for pod in view.pods:
            if pod.spec.scheduler_name == self.scheduler_name:
                job = jobs.get(
                    ObjectKey(pod.metadata.namespace or "", pod.metadata.annotations.get(_LINK, ""))
                )
                if job is not None:
                    job.pods.append(pod)
        return list(jobs.values())

    def _allocate(self, snapshot: Snapshot, job: VolcanoJob, hyper_nodes: HyperNodes, result: Round) -> None:
        if job.wants_topology() and hyper_nodes.broken:
            job.failure = hyper_nodes.broken
            return
        outcome = place(snapshot, job.gang(snapshot, hyper_nodes))
        if not outcome.ok:
            job.failure = outcome.failure
            for pod in job.pending():
                fits = snapshot.find(pod) is not None
                reason = "Schedulable" if fits else "Unschedulable"
                result.unschedulable([pod], job.unschedulable_text(), reason)
            return
        job.place(outcome.placement)
        result.bind(outcome)
        for pod in job.pending():
            if pod.uid not in job.placed and place_alone(
                snapshot, pod, result, job.domain_for(pod, hyper_nodes, snapshot)
            ):
                job.place([result.bindings[-1]])
