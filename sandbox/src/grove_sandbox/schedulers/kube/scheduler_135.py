"""kube-scheduler of 1.34 and 1.35. In 1.35 a Workload lists pod groups, and pods wait in Permit for their gang.

Reads from a pod: `spec.workloadRef` (name, podGroup, podGroupReplicaKey). Reads from the API: Workloads.

Pods are placed one by one. A placed pod of an incomplete gang waits in Permit and reserves its node, which the
simulation shows as `status.nominatedNodeName`. Five minutes after the first reservation all pods of the gang give up
together. Until then two half gangs can block each other, as in the real scheduler. Gated pods count as existing but
are never placed.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from grove.runtime.client.objects import APIResource, ObjectKey, ResourceType

from grove_sandbox.schedulers.objects import Json, SchedulerPod
from grove_sandbox.schedulers.policy import Round, View, by_priority, place_alone
from grove_sandbox.schedulers.snapshot import Snapshot

WORKLOADS = APIResource("scheduling.k8s.io", "v1alpha1", "workloads", "Workload")
_PERMIT_TIMEOUT = timedelta(minutes=5)

_Key = tuple[str, str, str, str]


@dataclass
class _Waiters:
    """Reservations of a gang in Permit until `deadline`; or, after a timeout, the members with which it gave up."""

    nodes: dict[str, str] = field(default_factory=dict)
    deadline: datetime | None = None
    gave_up_with: frozenset[str] = frozenset()
    flush_at: datetime | None = None


class KubeScheduler135:
    reads: Sequence[ResourceType] = (WORKLOADS,)
    bootstrap: Sequence[tuple[ResourceType, Json]] = ()

    def __init__(self, scheduler_name: str = "default-scheduler") -> None:
        self.scheduler_name = scheduler_name
        self._waiters: dict[_Key, _Waiters] = {}

    def round(self, view: View) -> Round:
        result = Round()
        snapshot = view.snapshot()
        workloads = view.of("workloads")
        gangs: dict[_Key, list[SchedulerPod]] = {}
        for pod in view.live(self.scheduler_name):
            if pod.spec.workload_ref:
                gangs.setdefault(_key(pod), []).append(pod)
        self._waiters = {key: self._waiters.get(key, _Waiters()) for key in gangs}
        for key, pods in gangs.items():
            self._renew_reservations(snapshot, key, pods, view, result)
        for pod in by_priority(view.waiting(view.live(self.scheduler_name))):
            if not pod.spec.workload_ref:
                place_alone(snapshot, pod, result)
                continue
            key = _key(pod)
            workload = workloads.get(ObjectKey(key[0], key[1]))
            minimum = _minimum(workload.spec if workload else {}, key[2])
            if minimum is None or len(gangs[key]) < minimum or self._gave_up(key, gangs[key], view.now):
                continue
            if pod.uid not in self._waiters[key].nodes:
                self._reserve(snapshot, pod, view, result)
            self._release_if_complete(minimum, gangs[key], view, result)
        held = {uid: node for waiters in self._waiters.values() for uid, node in waiters.nodes.items()}
        result.nominations = [
            (pod, held.get(pod.uid, "")) for pods in gangs.values() for pod in view.waiting(pods)
        ]
        return result

    def _renew_reservations(
        self, snapshot: Snapshot, key: _Key, pods: list[SchedulerPod], view: View, result: Round
    ) -> None:
        """Assumes the reservations of earlier rounds again, unless they have timed out."""
        waiters = self._waiters[key]
        pending = {pod.uid: pod for pod in view.waiting(pods)}
        waiters.nodes = {
            uid: node for uid, node in waiters.nodes.items() if uid in pending and node in snapshot.node_infos
        }
        if not waiters.nodes:
            waiters.deadline = None
        if waiters.deadline is not None and view.now >= waiters.deadline:
            held = [pending[uid] for uid in waiters.nodes]
            result.unschedulable(held, "pod group did not become complete within 5m0s at Permit")
            waiters.gave_up_with = frozenset(pod.uid for pod in pods)
            waiters.flush_at = view.now + _PERMIT_TIMEOUT
            waiters.nodes, waiters.deadline = {}, None
        for uid, node in waiters.nodes.items():
            snapshot.assume(pending[uid], node)
        until = waiters.deadline or waiters.flush_at
        if until is not None and until > view.now:
            result.wake((until - view.now).total_seconds())

    def _gave_up(self, key: _Key, pods: list[SchedulerPod], now: datetime) -> bool:
        """Whether the gang timed out and waits for a change of its members, or for five minutes to pass."""
        waiters = self._waiters[key]
        if waiters.flush_at is None:
            return False
        if now >= waiters.flush_at or waiters.gave_up_with != frozenset(pod.uid for pod in pods):
            waiters.flush_at = None
            return False
        return True

    def _reserve(self, snapshot: Snapshot, pod: SchedulerPod, view: View, result: Round) -> None:
        node = snapshot.find(pod)
        if node is None:
            result.unschedulable([pod], snapshot.explain(pod))
            return
        snapshot.assume(pod, node)
        waiters = self._waiters[_key(pod)]
        waiters.nodes[pod.uid] = node
        if waiters.deadline is None:
            waiters.deadline = view.now + _PERMIT_TIMEOUT
            result.wake(_PERMIT_TIMEOUT.total_seconds())

    def _release_if_complete(self, minimum: int, pods: list[SchedulerPod], view: View, result: Round) -> None:
        waiters = self._waiters[_key(pods[0])]
        released = {pod.uid for pod, _ in result.bindings}
        bound = sum(1 for pod in pods if view.node_of(pod) or pod.uid in released)
        if waiters.nodes and bound + len(waiters.nodes) >= minimum:
            result.bindings += [(pod, waiters.nodes[pod.uid]) for pod in pods if pod.uid in waiters.nodes]
            waiters.nodes, waiters.deadline = {}, None


class KubeScheduler134(KubeScheduler135):
    """Release 1.34, which has no Workloads; its API server drops `spec.workloadRef`."""

    reads: Sequence[ResourceType] = ()


def _key(pod: SchedulerPod) -> _Key:
    ref = pod.spec.workload_ref
    return (
        pod.metadata.namespace or "",
        str(ref.get("name", "")),
        str(ref.get("podGroup", "")),
        str(ref.get("podGroupReplicaKey", "")),
    )


def _minimum(workload: Json, pod_group: str) -> int | None:
    """The minimum of a pod group. None if the Workload or the group does not exist."""
    for group in workload.get("podGroups") or ():
        if group.get("name") == pod_group:
            gang = (group.get("policy") or {}).get("gang")
            return int(gang["minCount"]) if gang else 0
    return None
