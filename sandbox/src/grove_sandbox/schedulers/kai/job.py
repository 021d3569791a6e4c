"""A KAI PodGroup with its pods: whether it is ready, which pods it still needs, and where they may go."""

from collections.abc import Iterator, Sequence

from grove.runtime.client.objects import APIResource

from grove_sandbox.schedulers.amounts import Amounts, total
from grove_sandbox.schedulers.gangs import Domain, Gang
from grove_sandbox.schedulers.kai.queues import Queues
from grove_sandbox.schedulers.kai.subgroups import Subgroup, path_to, subgroup_tree, with_descendants
from grove_sandbox.schedulers.objects import Json, PolicyObject, SchedulerPod
from grove_sandbox.schedulers.policy import PolicyStatusWrite, Round, SchedulerEvent, View
from grove_sandbox.schedulers.snapshot import Snapshot, label_domains

POD_GROUPS = APIResource("scheduling.run.ai", "v2alpha2", "podgroups", "PodGroup")
SUBGROUP = "kai.scheduler/subgroup-name"

_TASK_PRIORITY = "kai.scheduler/task-priority"
_DEFAULT_PRIORITY = 50
_NON_PREEMPTIBLE_FROM = 100


class KaiJob:
    """One PodGroup with its pods, during one scheduling round. `strays` name a subgroup that does not exist."""

    def __init__(self, group: PolicyObject, view: View) -> None:
        self.group = group
        self.view = view
        self.strays: list[SchedulerPod] = []
        self.tree = subgroup_tree(group)
        self._leaves = {leaf.name: leaf for leaf in self.tree.leaves()}

    def add(self, pod: SchedulerPod) -> None:
        leaf = self._leaves.get(pod.metadata.labels.get(SUBGROUP, "default"))
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

    def members(self) -> list[SchedulerPod]:
        return [pod for leaf in self._leaves.values() for pod in leaf.pods]

    def pending(self) -> list[SchedulerPod]:
        return self.view.waiting(self.members())

    def has_gated(self) -> bool:
        return any(pod.gated for pod in self.members())

    def active(self, leaf: Subgroup) -> list[SchedulerPod]:
        return [pod for pod in self.holding(leaf) if not pod.deleting]

    def holding(self, leaf: Subgroup) -> list[SchedulerPod]:
        """The pods on nodes, terminating ones included."""
        return [pod for pod in leaf.pods if self.view.node_of(pod)]

    def allocated(self, snapshot: Snapshot) -> Amounts:
        return total(snapshot.need(pod) for leaf in self._leaves.values() for pod in self.holding(leaf))

    def is_ready(self, node: Subgroup) -> bool:
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

    def is_satisfied(self, node: Subgroup) -> bool:
        if not node.children:
            return len(self.active(node)) >= (node.minimum or 0)
        needed = len(node.children) if node.minimum is None else node.minimum
        return sum(self.is_satisfied(child) for child in node.children) >= needed

    def missing(self) -> list[SchedulerPod]:
        """Exactly the pods that are missing to the minimum."""
        return list(self._missing(self.tree))

    def _missing(self, node: Subgroup) -> Iterator[SchedulerPod]:
        if not node.children:
            waiting = self.view.waiting(node.pods)
            yield from waiting[: max(0, (node.minimum or 0) - len(self.active(node)))]
        else:
            for child in self.chosen(node):
                yield from self._missing(child)

    def chosen(self, node: Subgroup) -> list[Subgroup]:
        """The children that count for the minimum: satisfied ones first, then by name."""
        needed = len(node.children) if node.minimum is None else node.minimum
        ready = [child for child in node.children if self.is_satisfied(child) or self.is_ready(child)]
        return sorted(ready, key=lambda c: (not self.is_satisfied(c), c.name))[:needed]

    def gang(self, node: Subgroup, snapshot: Snapshot, required: Sequence[SchedulerPod]) -> Gang:
        wanted = {pod.uid for pod in required}
        present = [self.view.node_of(pod) for leaf in node.leaves() for pod in self.active(leaf)]
        children = self.chosen(node) if node.children else []
        return Gang(
            node.name,
            len(children) if children else node.minimum or 0,
            pods=[] if children else [pod for pod in node.pods if pod.uid in wanted],
            present=len(present),
            children=[self.gang(child, snapshot, required) for child in children],
            domains=self._domains(node.constraint, snapshot, present),
        )

    def _domains(self, constraint: Json, snapshot: Snapshot, present: Sequence[str]) -> list[Domain] | None:
        if not constraint.get("topology"):
            return None
        levels = self._levels(constraint["topology"]) or []
        usable = [n for n in snapshot.nodes if all(key in n.metadata.labels for key in levels)]
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
        for topology in self.view.objects.get("topologies", ()):
            if topology.name == name:
                return [level["nodeLabel"] for level in topology.spec.get("levels") or ()]
        return None

    def domain_of_extras(
        self, pod: SchedulerPod, snapshot: Snapshot, placed: dict[str, str]
    ) -> Domain | None:
        """Where a pod above the minimum may go: the domains of the pods in its subtrees that have a node."""
        allowed: Domain | None = None
        leaf = next(leaf for leaf in self._leaves.values() if pod in leaf.pods)
        for node in path_to(self.tree, leaf):
            required = {**node.constraint, "preferredTopologyLevel": None}
            if not required.get("requiredTopologyLevel"):
                continue
            present = [
                self.view.node_of(other) or placed.get(other.uid, "")
                for below in node.leaves()
                for other in below.pods
            ]
            domains = self._domains(required, snapshot, [name for name in present if name]) or []
            inside = frozenset().union(*domains[:1]) if any(present) else frozenset().union(*domains)
            allowed = inside if allowed is None else allowed & inside
        return allowed

    def obstacle(self, queues: Queues, snapshot: Snapshot) -> tuple[str, str]:
        """Reason and message if the group cannot be tried at all. Empty if it can."""
        if problem := queues.missing(self.queue):
            return "QueueDoesNotExist", problem
        for node in with_descendants(self.tree):
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

    def report_failure(self, pending: list[SchedulerPod], reason: str, failure: str, result: Round) -> None:
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
        result.statuses.append(
            PolicyStatusWrite(POD_GROUPS, self.group.key, {"schedulingConditions": [condition]})
        )
        result.events.append(SchedulerEvent(POD_GROUPS, self.group.key, "Unschedulable", failure))


def _task_order(pod: SchedulerPod) -> tuple[int, str, str]:
    try:
        priority = int(pod.metadata.labels.get(_TASK_PRIORITY, "0"))
    except ValueError:
        priority = 0
    return (-priority, pod.metadata.creation_timestamp or "", str(pod.key))
