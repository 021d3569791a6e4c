"""A Volcano PodGroup with its pods: whether it is complete, which pods it still needs, and its status."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from grove.runtime.client.objects import APIResource

from grove_sandbox.label_selectors import selector_matches
from grove_sandbox.schedulers.amounts import amounts, total
from grove_sandbox.schedulers.gangs import Domain, Gang, Placement
from grove_sandbox.schedulers.objects import Json, PolicyObject, SchedulerPod
from grove_sandbox.schedulers.policy import PolicyStatusWrite, Round, View, by_priority
from grove_sandbox.schedulers.snapshot import Snapshot
from grove_sandbox.schedulers.volcano.hypernodes import HyperNodes

POD_GROUPS = APIResource("scheduling.volcano.sh", "v1beta1", "podgroups", "PodGroup")

_TASK = "volcano.sh/task-spec"


@dataclass
class _Subgroup:
    name: str
    size: int
    topology: Json
    policy: str
    pods: list[SchedulerPod] = field(default_factory=list)


class VolcanoJob:
    """One PodGroup with its pods, during one scheduling round. `placed` are the nodes chosen in this round."""

    def __init__(self, group: PolicyObject, view: View) -> None:
        self.group = group
        self.view = view
        self.pods: list[SchedulerPod] = []
        self.placed: dict[str, str] = {}
        self.failure = ""
        self.phase = str(group.status.get("phase") or "Pending")

    @property
    def minimum(self) -> int:
        return int(self.group.spec.get("minMember") or 0)

    def order(self) -> tuple[int, str, str]:
        name = self.group.spec.get("priorityClassName") or ""
        priority = next((c.value for c in self.view.priority_classes if c.metadata.name == name), 0)
        return (-priority, self.group.metadata.creation_timestamp or "", str(self.group.key))

    def live(self) -> list[SchedulerPod]:
        return [pod for pod in self.pods if not pod.finished]

    def pending(self) -> list[SchedulerPod]:
        with_requests = [pod for pod in self.pods if not _requests_nothing(pod) and not pod.finished]
        return by_priority(self.view.waiting(with_requests))

    def without_requests(self) -> list[SchedulerPod]:
        return self.view.waiting([pod for pod in self.live() if _requests_nothing(pod)])

    def node_of(self, pod: SchedulerPod) -> str:
        return self.view.node_of(pod) or self.placed.get(pod.uid, "")

    def ready(self, placement: Placement = ()) -> list[SchedulerPod]:  # type: ignore[assignment]
        """The pods that have a node or, because they request nothing, need no reservation."""
        now = {pod.uid for pod, _ in placement}
        return [p for p in self.pods if self.node_of(p) or p.uid in now or p.finished or _requests_nothing(p)]

    def enqueue(self, snapshot: Snapshot) -> None:
        """Admits a Pending group once the whole cluster has its `minResources` free."""
        if self.phase != "Pending":
            return
        needed = amounts(self.group.spec.get("minResources") or {})
        free = total(info.free for info in snapshot.node_infos.values())
        if all(free.get(name, 0) >= amount for name, amount in needed.items()):
            self.phase = "Inqueue"

    def invalid(self) -> str:
        """Why allocation cannot begin: too few pods exist. Empty if it can."""
        if len(self.live()) < self.minimum:
            return f"{len(self.live())} pods exist, {self.minimum} are needed"
        if short := self._short_task(self.live()):
            return short
        by_policy = Counter(sub.policy for sub in self.subgroups())
        for policy in self.group.spec.get("subGroupPolicy") or ():
            if by_policy[policy.get("name", "")] < (policy.get("minSubGroups") or 0):
                return f"too few subgroups of policy {policy.get('name')}"
        return ""

    def _short_task(self, pods: Sequence[SchedulerPod]) -> str:
        minimums = self.group.spec.get("minTaskMember") or {}
        if not minimums or self.minimum < sum(minimums.values()):
            return ""
        counts = Counter(_task(pod) for pod in pods)
        for task, minimum in minimums.items():
            if counts[task] < minimum:
                return f"task {task} has {counts[task]} of {minimum} pods"
        return ""

    def subgroups(self) -> list[_Subgroup]:
        found: dict[str, _Subgroup] = {}
        for pod in self.live():
            for policy in self.group.spec.get("subGroupPolicy") or ():
                if (value := _subgroup_of(policy, pod)) is not None:
                    name = f"{policy.get('name', '')}/{value}"
                    size = int(policy.get("subGroupSize") or 1)
                    new = _Subgroup(name, size, policy.get("networkTopology") or {}, policy.get("name", ""))
                    found.setdefault(name, new).pods.append(pod)
                    break
            else:
                found.setdefault("", _Subgroup("", 1, {}, "")).pods.append(pod)
        return [found[name] for name in sorted(found)]

    def wants_topology(self) -> bool:
        return bool(self.group.spec.get("networkTopology")) or any(sub.topology for sub in self.subgroups())

    def gang(self, snapshot: Snapshot, hyper_nodes: HyperNodes) -> Gang:
        """Places each subgroup up to its size, then further pods until the minimum of the group is reached."""
        children = [self._leaf(sub, snapshot, hyper_nodes) for sub in self.subgroups()]
        chosen = {pod.uid for child in children for pod in child.pods}
        spare = [pod for pod in self.pending() if pod.uid not in chosen]
        short = max(0, self.minimum - len(self.ready()) - len(chosen))
        by_subgroup = {pod.uid: i for i, sub in enumerate(self.subgroups()) for pod in sub.pods}
        for pod in spare[:short]:
            leaf = children[by_subgroup[pod.uid]]
            leaf.pods = [*leaf.pods, pod]
        present = [self.node_of(pod) for pod in self.live() if self.node_of(pod)]
        topology = self.group.spec.get("networkTopology") or {}
        return Gang(
            self.group.name,
            0,
            children=children or [Gang("", 0)],
            domains=hyper_nodes.domains(topology, present),
            refuse=self._refuse,
        )

    def _leaf(self, sub: _Subgroup, snapshot: Snapshot, hyper_nodes: HyperNodes) -> Gang:
        present = [self.node_of(pod) for pod in sub.pods if self.node_of(pod)]
        members = {pod.uid for pod in sub.pods}
        waiting = [pod for pod in self.pending() if pod.uid in members]
        domains = hyper_nodes.domains(sub.topology, present)
        if domains is not None and not present:
            # The first domain must have room for all pending pods, including gated ones and those above the minimum.
            needed = total(snapshot.need(pod) for pod in sub.pods if not self.node_of(pod))
            domains = [domain for domain in domains if _has_room(snapshot, domain, needed)]
        settled = len(present) + sum(
            1 for pod in sub.pods if _requests_nothing(pod) and not self.node_of(pod)
        )
        return Gang(sub.name, sub.size, waiting[: max(0, sub.size - settled)], settled, domains=domains)

    def _refuse(self, placement: Placement) -> str:
        ready = self.ready(placement)
        if len(ready) < self.minimum:
            return f"pod group is not ready, {len(ready)} of minimum {self.minimum}"
        if short := self._short_task(ready):
            return f"pod group is not ready, {short}"
        settled = {pod.uid for pod in ready}
        complete = Counter(
            sub.policy
            for sub in self.subgroups()
            if sum(1 for pod in sub.pods if pod.uid in settled) >= sub.size
        )
        for policy in self.group.spec.get("subGroupPolicy") or ():
            needed = policy.get("minSubGroups") or 0
            if complete[policy.get("name", "")] < needed:
                return (
                    f"pod group is not ready, policy {policy.get('name')} needs {needed} complete subgroups"
                )
        return ""

    def place(self, placement: Placement) -> None:
        self.placed.update({pod.uid: node for pod, node in placement})

    def domain_for(self, pod: SchedulerPod, hyper_nodes: HyperNodes, snapshot: Snapshot) -> Domain | None:
        """The widest allowed domain around the placed pods, for pods above the minimum."""
        allowed: Domain | None = None
        sub = next(sub for sub in self.subgroups() if pod in sub.pods)
        for topology, pods in (
            (self.group.spec.get("networkTopology") or {}, self.live()),
            (sub.topology, sub.pods),
        ):
            if topology.get("mode", "hard") != "hard":
                continue
            present = [self.node_of(other) for other in pods if self.node_of(other)]
            domains = hyper_nodes.domains(topology, present)
            if domains is not None:
                widest = max(domains, key=len, default=frozenset())
                allowed = widest if allowed is None else allowed & widest
        return allowed

    def unschedulable_text(self) -> str:
        live = self.live()
        short = len(live) - len(self.ready())
        return f"{short}/{len(live)} tasks in gang unschedulable: {self.failure or 'pod group is not ready'}"

    def report(self, result: Round) -> None:
        if not self.pods and self.group.status.get("phase") == self.phase:
            return
        ready = self.ready()
        running = sum(1 for pod in self.pods if pod.status.phase == "Running")
        ended = Counter(pod.status.phase for pod in self.pods if pod.finished)
        bound = sum(1 for pod in self.pods if self.node_of(pod) or pod.finished)
        phase = self.phase
        if bound >= self.minimum:
            done = bool(self.pods) and all(pod.finished for pod in self.pods)
            phase = "Completed" if done or not self.minimum else "Running"
        elif running:
            phase = "Unknown"
        elif phase in ("Running", "Unknown", "Completed"):
            phase = "Pending"
        status: Json = {
            "phase": phase,
            "running": running,
            "succeeded": ended["Succeeded"],
            "failed": ended["Failed"],
        }
        if self.pods:
            if len(ready) >= self.minimum:
                text = ("Scheduled", "tasks in gang are ready to be scheduled", "")
            else:
                text = ("Unschedulable", "NotEnoughResources", self.unschedulable_text())
            status["conditions"] = self._conditions(*text)
        result.statuses.append(PolicyStatusWrite(POD_GROUPS, self.group.key, status, subresource=""))

    def _conditions(self, kind: str, reason: str, message: str) -> list[Json]:
        """Volcano keeps one condition per type, always True; the newest one is the valid one."""
        known: list[Json] = self.group.status.get("conditions") or []
        now = next((c for c in known if c["type"] == kind), None)
        newest = max(known, key=lambda c: str(c.get("lastTransitionTime")), default=None)
        if now and newest is now and (now.get("reason"), now.get("message", "")) == (reason, message):
            return list(known)
        entry = {
            "type": kind,
            "status": "True",
            "reason": reason,
            "message": message,
            "lastTransitionTime": self.view.now_text,
        }
        return [c for c in known if c["type"] != kind] + [entry]


def _requests_nothing(pod: SchedulerPod) -> bool:
    return not any(c.resources.requests for c in (*pod.spec.containers, *pod.spec.init_containers))


def _task(pod: SchedulerPod) -> str:
    return pod.metadata.annotations.get(_TASK) or pod.metadata.labels.get(_TASK, "")


def _subgroup_of(policy: Json, pod: SchedulerPod) -> str | None:
    """The subgroup of the pod by the policy. None if the policy does not select the pod."""
    labels = pod.metadata.labels
    keys = policy.get("matchLabelKeys") or []
    if not keys or not selector_matches(policy.get("labelSelector") or {}, labels):
        return None
    values = [labels.get(key, "") for key in keys]
    return "/".join(values) if all(values) else None


def _has_room(snapshot: Snapshot, domain: Domain, needed: dict[str, int]) -> bool:
    free = total(info.free for name, info in snapshot.node_infos.items() if name in domain)
    return all(free.get(name, 0) >= amount for name, amount in needed.items())
