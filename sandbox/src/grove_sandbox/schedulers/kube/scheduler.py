"""kube-scheduler of 1.36 and 1.37: PodGroups, and in 1.37 trees of CompositePodGroups.

Reads from a pod: `spec.schedulingGroup.podGroupName`. Reads from the API: PodGroups and CompositePodGroups, never
Workloads.

- A pod waits, without a condition or event, while its PodGroup or an ancestor is missing, or while the group has too
  few pods.
- 1.36: each PodGroup is tried on its own, with its ungated pods.
- 1.37: the whole tree is one unit. A single gated pod holds back the tree; each pod must have the priority of the root;
  either all satisfied leaves of a tree are bound, or nothing.

Not simulated: preemption, claims of groups, preferred affinity.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from grove.runtime.client.objects import APIResource, ObjectKey, ResourceType

from grove_sandbox.schedulers.gangs import Domain, Gang, PlacementOutcome, place
from grove_sandbox.schedulers.objects import Json, PolicyObject, SchedulerPod
from grove_sandbox.schedulers.policy import PolicyStatusWrite, Round, View, by_priority, place_alone
from grove_sandbox.schedulers.snapshot import Snapshot, label_domains

_GROUP = "scheduling.k8s.io"
_MAX_DEPTH = 4


@dataclass(frozen=True)
class Release:
    """The differences between the releases."""

    pod_groups: APIResource
    composites: APIResource | None
    condition: str
    tree_is_unit: bool


V1_36 = Release(APIResource(_GROUP, "v1alpha2", "podgroups", "PodGroup"), None, "PodGroupScheduled", False)
V1_37_FLAT = Release(
    APIResource(_GROUP, "v1beta1", "podgroups", "PodGroup"), None, "PodGroupInitiallyScheduled", True
)
V1_37 = Release(
    V1_37_FLAT.pod_groups,
    APIResource(_GROUP, "v1alpha3", "compositepodgroups", "CompositePodGroup"),
    "PodGroupInitiallyScheduled",
    True,
)


class KubeScheduler:
    bootstrap: Sequence[tuple[ResourceType, Json]] = ()

    def __init__(self, release: Release, scheduler_name: str = "default-scheduler") -> None:
        self.scheduler_name = scheduler_name
        self._release = release
        self.reads: Sequence[ResourceType] = [
            kind for kind in (release.pod_groups, release.composites) if kind is not None
        ]

    def round(self, view: View) -> Round:
        result = Round()
        snapshot = view.snapshot()
        pods = view.live(self.scheduler_name)
        alone = [pod for pod in view.waiting(pods) if not _link(pod)]
        trees = self._trees(view)
        units: list[tuple[int, str, str, SchedulerPod | _Tree]] = [
            (-pod.spec.priority, pod.metadata.creation_timestamp or "", str(pod.key), pod) for pod in alone
        ]
        units += [
            (-t.rank(self._release), t.since, t.root.name, t) for t in trees if t.is_ready(self._release)
        ]
        for _, _, _, unit in sorted(units, key=lambda u: u[:3]):
            if isinstance(unit, SchedulerPod):
                place_alone(snapshot, unit, result)
            else:
                self._schedule(snapshot, unit, result)
        return result

    def _trees(self, view: View) -> list["_Tree"]:
        composites = view.of("compositepodgroups") if self._release.composites else {}
        groups = view.of("podgroups")
        children = _children([*composites.values(), *groups.values()])
        trees: dict[ObjectKey, _Tree] = {}
        for pod in (p for p in view.pods if not p.finished and _link(p)):
            group = groups.get(ObjectKey(pod.metadata.namespace or "", _link(pod)))
            root = _root(group, composites) if group else None
            if group is None or root is None:
                continue
            if root.key not in trees:
                trees[root.key] = _Tree(root, view, groups, children)
            trees[root.key].members.setdefault(group.name, []).append(pod)
        return [
            tree
            for tree in trees.values()
            if any(pod.spec.scheduler_name == self.scheduler_name for pod in tree.waiting())
        ]

    def _schedule(self, snapshot: Snapshot, tree: "_Tree", result: Round) -> None:
        pods = tree.waiting()
        error = tree.error(self.scheduler_name, check_priority=self._release.tree_is_unit)
        if error:
            result.unschedulable(pods, error, "SchedulerError")
            self._report(tree, result, dict.fromkeys(tree.members, ("False", "SchedulerError", error)))
            return
        outcome = place(snapshot, tree.gang(tree.root, snapshot))
        leaves = _leaf_outcomes(tree.root.name, outcome)
        if outcome.ok:
            result.bind(outcome)
            placed = {pod.uid for pod, _ in outcome.placement}
            for pod in pods:
                if pod.uid not in placed:
                    result.unschedulable([pod], snapshot.explain(pod))
        else:
            result.unschedulable(pods, outcome.failure)
        self._report(
            tree,
            result,
            {
                name: ("True", "Scheduled", "All required pods have been successfully scheduled")
                if outcome.ok and leaf.ok
                else ("False", "Unschedulable", leaf.failure or outcome.failure)
                for name, leaf in ((name, leaves.get(name, outcome)) for name in tree.members)
            },
        )

    def _report(self, tree: "_Tree", result: Round, states: dict[str, tuple[str, str, str]]) -> None:
        """Writes the condition of each PodGroup. Once True, it stays True."""
        for name, (status, reason, message) in states.items():
            group = tree.groups[ObjectKey(tree.namespace, name)]
            known: list[Json] = group.status.get("conditions") or []
            others = [c for c in known if c["type"] != self._release.condition]
            now: Json = next((c for c in known if c["type"] == self._release.condition), {})
            if now.get("status") == "True":
                continue
            since = now["lastTransitionTime"] if now.get("status") == status else tree.view.now_text
            condition = {
                "type": self._release.condition,
                "status": status,
                "reason": reason,
                "message": message,
                "lastTransitionTime": since,
            }
            result.statuses.append(
                PolicyStatusWrite(self._release.pod_groups, group.key, {"conditions": [*others, condition]})
            )


class _Tree:
    """A PodGroup without a parent, or a root CompositePodGroup with all its descendants, and the pods of each leaf."""

    def __init__(
        self,
        root: PolicyObject,
        view: View,
        groups: dict[ObjectKey, PolicyObject],
        children: dict[ObjectKey, list[PolicyObject]],
    ) -> None:
        self.root = root
        self.view = view
        self.groups = groups
        self.members: dict[str, list[SchedulerPod]] = {}
        self._all_children = children

    @property
    def namespace(self) -> str:
        return self.root.metadata.namespace or ""

    @property
    def priority(self) -> int:
        return int(self.root.spec.get("priority") or 0)

    def rank(self, release: Release) -> int:
        """The priority in the queue: in 1.36 that of the group's first pod, in 1.37 that of the root."""
        return self.priority if release.tree_is_unit else self.waiting()[0].spec.priority

    @property
    def since(self) -> str:
        return min(pod.metadata.creation_timestamp or "" for pod in self.waiting())

    def waiting(self) -> list[SchedulerPod]:
        return by_priority(self.view.waiting([pod for pods in self.members.values() for pod in pods]))

    def is_ready(self, release: Release) -> bool:
        """Whether enough pods exist and, in 1.37, no pending pod has a gate."""
        queued = [p for pods in self.members.values() for p in pods if not self.view.node_of(p)]
        if release.tree_is_unit and any(pod.gated for pod in queued):
            return False
        return self._has_quorum(self.root)

    def _has_quorum(self, obj: PolicyObject) -> bool:
        if obj.key in self.groups and obj.name in self.members:
            return len(self.members[obj.name]) >= _minimum(obj)
        ready = sum(self._has_quorum(child) for child in self._children(obj))
        return ready >= _minimum(obj)

    def error(self, scheduler_name: str, *, check_priority: bool) -> str:
        for pod in (pod for pods in self.members.values() for pod in pods):
            if pod.spec.scheduler_name != scheduler_name:
                return f"pod {pod.key} of the group has another scheduler: {pod.spec.scheduler_name}"
            if check_priority and pod.spec.priority != self.priority:
                return (
                    f"pod {pod.key} has priority {pod.spec.priority}, "
                    f"but its root group {self.root.name} has {self.priority}"
                )
        return ""

    def gang(self, obj: PolicyObject, snapshot: Snapshot) -> Gang:
        children = self._children(obj)
        pods = self._pods_below(obj)
        present = [self.view.node_of(pod) for pod in pods if self.view.node_of(pod)]
        return Gang(
            obj.name,
            _minimum(obj),
            pods=[] if children else by_priority(self.view.waiting(pods)),
            present=len(present),
            children=[self.gang(child, snapshot) for child in children],
            domains=_domains(obj, snapshot, present),
        )

    def _children(self, obj: PolicyObject) -> list[PolicyObject]:
        return [] if obj.key in self.groups else self._all_children.get(obj.key, [])

    def _pods_below(self, obj: PolicyObject) -> list[SchedulerPod]:
        if obj.key in self.groups:
            return self.members.get(obj.name, [])
        return [pod for child in self._children(obj) for pod in self._pods_below(child)]


def _link(pod: SchedulerPod) -> str:
    return str(pod.spec.scheduling_group.get("podGroupName") or "")


def _parent(obj: PolicyObject) -> str:
    return str(obj.spec.get("parentCompositePodGroupName") or "")


def _children(objects: Sequence[PolicyObject]) -> dict[ObjectKey, list[PolicyObject]]:
    """Children by parent, in the order in which they are tried."""
    found: dict[ObjectKey, list[PolicyObject]] = {}
    for obj in sorted(objects, key=lambda t: (t.metadata.creation_timestamp or "", t.name)):
        if parent := _parent(obj):
            found.setdefault(ObjectKey(obj.metadata.namespace or "", parent), []).append(obj)
    return found


def _root(group: PolicyObject, composites: dict[ObjectKey, PolicyObject]) -> PolicyObject | None:
    """The root of the group's tree. None if an ancestor is missing or the ancestors form a cycle."""
    obj: PolicyObject | None = group
    for _ in range(_MAX_DEPTH):
        if obj is None or not _parent(obj):
            return obj
        obj = composites.get(ObjectKey(obj.metadata.namespace or "", _parent(obj)))
    return None


def _minimum(obj: PolicyObject) -> int:
    gang = (obj.spec.get("schedulingPolicy") or {}).get("gang")
    if not gang:
        return 1
    return int(gang.get("minCount") or gang.get("minGroupCount") or 1)


def _domains(obj: PolicyObject, snapshot: Snapshot, present: list[str]) -> list[Domain] | None:
    topology = (obj.spec.get("schedulingConstraints") or {}).get("topology") or []
    if not topology:
        return None
    return label_domains(snapshot.nodes, [topology[0]["key"]], present)


def _leaf_outcomes(name: str, outcome: PlacementOutcome) -> dict[str, PlacementOutcome]:
    if not outcome.parts:
        return {name: outcome}
    found: dict[str, PlacementOutcome] = {}
    for part_name, part in outcome.parts.items():
        found |= _leaf_outcomes(part_name, part)
    return found
