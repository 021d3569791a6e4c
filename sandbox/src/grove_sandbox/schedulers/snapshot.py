"""The nodes during one scheduling round: their pods, their free resources, and where a pod fits.

Placements are assumed in memory. `rollback` undoes all assumptions since a `mark`, which makes a gang all or nothing.
"""

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

import msgspec

from grove_sandbox.label_selectors import expression_matches, selector_matches
from grove_sandbox.schedulers.amounts import Amounts, amounts, request_of
from grove_sandbox.schedulers.objects import Json, SchedulerNode, SchedulerPod


@dataclass
class NodeInfo:
    """A node with its pods and its free resources."""

    node: SchedulerNode
    free: Amounts
    pods: dict[str, SchedulerPod] = field(default_factory=dict)


class Snapshot:
    def __init__(self, nodes: Iterable[SchedulerNode], placed: Iterable[tuple[SchedulerPod, str]]) -> None:
        """`placed` are pods with their nodes, without finished pods, which occupy nothing."""
        self.node_infos = {
            node.name: NodeInfo(node, amounts(node.status.allocatable))
            for node in sorted(nodes, key=lambda node: node.name)
        }
        self._journal: list[tuple[SchedulerPod, str]] = []
        self._needs: dict[str, Amounts] = {}
        self._constraints: dict[str, bytes] = {}
        self._eligible_by_constraints: dict[bytes, dict[str, NodeInfo]] = {}
        for pod, node_name in placed:
            if node_name in self.node_infos:
                self._take(pod, node_name)

    @property
    def nodes(self) -> list[SchedulerNode]:
        return [info.node for info in self.node_infos.values()]

    def need(self, pod: SchedulerPod) -> Amounts:
        found = self._needs.get(pod.uid)
        if found is None:
            found = self._needs[pod.uid] = request_of(pod)
        return found

    def assume(self, pod: SchedulerPod, node_name: str) -> None:
        self._take(pod, node_name)
        self._journal.append((pod, node_name))

    def remove(self, pod: SchedulerPod, node_name: str) -> None:
        """Undoes one assumption. Must not be called between `mark` and `rollback`."""
        self._journal.remove((pod, node_name))
        self._give_back(pod, node_name)

    def mark(self) -> int:
        return len(self._journal)

    def rollback(self, mark: int) -> None:
        while len(self._journal) > mark:
            self._give_back(*self._journal.pop())

    def find(self, pod: SchedulerPod, allowed: Collection[str] | None = None) -> str | None:
        """The fitting node with the least free resources, comparing scarce resources first. None if no node fits."""
        need = sorted(self.need(pod).items(), key=lambda item: (item[0] in _COMMON, item[0]))
        best: tuple[list[int], str] | None = None
        for name, info in self._eligible(pod).items():
            if allowed is not None and name not in allowed:
                continue
            free = [info.free.get(resource, 0) for resource, _ in need]
            if any(amount > there for (_, amount), there in zip(need, free, strict=True) if amount):
                continue
            if (best is None or free < best[0]) and self._affinity_obstacle(pod, info.node) is None:
                best = (free, name)
        return best[1] if best else None

    def explain(self, pod: SchedulerPod, allowed: Collection[str] | None = None) -> str:
        """Why no node fits, in kube-scheduler's format."""
        considered = self._candidates(allowed)
        reasons = Counter(
            self.obstacle(pod, info) or "node(s) were taken by other pods" for info in considered
        )
        skipped = len(self.node_infos) - len(considered)
        if skipped:
            reasons["node(s) are outside of the topology domain"] += skipped
        if not reasons:
            return "no nodes available to schedule pods"
        listed = ", ".join(sorted(f"{count} {reason}" for reason, count in reasons.items()))
        return f"0/{len(self.node_infos)} nodes are available: {listed}."

    def obstacle(self, pod: SchedulerPod, info: NodeInfo) -> str | None:
        """Why the pod does not fit on the node. None if it fits."""
        if reason := _rejection(pod, info.node):
            return reason
        for name, need in self.need(pod).items():
            if need > info.free.get(name, 0) and need > 0:
                return "Too many pods" if name == "pods" else f"Insufficient {name}"
        return self._affinity_obstacle(pod, info.node)

    def _eligible(self, pod: SchedulerPod) -> dict[str, NodeInfo]:
        """The nodes that would accept the pod if they were empty. Cached by node selector, tolerations and affinity."""
        constraints = self._constraints.get(pod.uid)
        if constraints is None:
            parts = (pod.spec.node_selector, pod.spec.tolerations, pod.spec.affinity.get("nodeAffinity"))
            constraints = self._constraints[pod.uid] = msgspec.json.encode(parts)
        found = self._eligible_by_constraints.get(constraints)
        if found is None:
            found = {
                name: info for name, info in self.node_infos.items() if _rejection(pod, info.node) is None
            }
            self._eligible_by_constraints[constraints] = found
        return found

    def _candidates(self, allowed: Collection[str] | None) -> list[NodeInfo]:
        return [info for name, info in self.node_infos.items() if allowed is None or name in allowed]

    def _take(self, pod: SchedulerPod, node_name: str) -> None:
        info = self.node_infos[node_name]
        info.pods[pod.uid] = pod
        for name, need in self.need(pod).items():
            info.free[name] = info.free.get(name, 0) - need

    def _give_back(self, pod: SchedulerPod, node_name: str) -> None:
        info = self.node_infos[node_name]
        del info.pods[pod.uid]
        for name, need in self.need(pod).items():
            info.free[name] = info.free.get(name, 0) + need

    def _affinity_obstacle(self, pod: SchedulerPod, node: SchedulerNode) -> str | None:
        for term in _required_terms(pod, "podAffinity"):
            if not self._has_match(term, pod, node) and not self._is_first_match(term, pod):
                return "node(s) didn't match pod affinity rules"
        for term in _required_terms(pod, "podAntiAffinity"):
            if self._has_match(term, pod, node):
                return "node(s) didn't match pod anti-affinity rules"
        return None

    def _has_match(self, term: Json, pod: SchedulerPod, node: SchedulerNode) -> bool:
        """Whether a pod that the term selects runs in the same topology domain as the node."""
        key = term["topologyKey"]
        domain = node.metadata.labels.get(key)
        return domain is not None and any(
            _selects(term, pod, other)
            for info in self.node_infos.values()
            if info.node.metadata.labels.get(key) == domain
            for other in info.pods.values()
        )

    def _is_first_match(self, term: Json, pod: SchedulerPod) -> bool:
        """Whether the pod matches its own affinity term and no other pod does: then it may go anywhere."""
        no_other = not any(
            _selects(term, pod, other) for info in self.node_infos.values() for other in info.pods.values()
        )
        return no_other and _selects(term, pod, pod)


def label_domains(
    nodes: Iterable[SchedulerNode], keys: Iterable[str], around: Collection[str] = ()
) -> list[frozenset[str]]:
    """Sets of nodes with equal values of the labels `keys`, sorted by value. Nodes without these labels are left out.

    `around` are nodes in use: only domains that contain all of them are returned.
    """
    domains: dict[tuple[str, ...], set[str]] = {}
    wanted = tuple(keys)
    for node in nodes:
        if all(key in node.metadata.labels for key in wanted):
            domains.setdefault(tuple(node.metadata.labels[key] for key in wanted), set()).add(node.name)
    return [frozenset(domains[value]) for value in sorted(domains) if set(around) <= domains[value]]


# Resources that every node has. All others are scarce and decide first.
_COMMON = ("cpu", "memory", "pods")


def _rejection(pod: SchedulerPod, node: SchedulerNode) -> str | None:
    """Why the node would reject the pod even if it were empty. None if it would not."""
    if node.spec.unschedulable:
        return "node(s) were unschedulable"
    for taint in node.spec.taints:
        if taint.get("effect") in ("NoSchedule", "NoExecute") and not _tolerated(taint, pod):
            return f"node(s) had untolerated taint {{{taint['key']}: {taint.get('value', '')}}}"
    return None if _selected(pod, node) else "node(s) didn't match Pod's node affinity/selector"


def _tolerated(taint: Json, pod: SchedulerPod) -> bool:
    for toleration in pod.spec.tolerations:
        if toleration.get("effect") and toleration["effect"] != taint.get("effect"):
            continue
        if toleration.get("key") and toleration["key"] != taint["key"]:
            continue
        if toleration.get("operator") == "Exists":
            return True
        if toleration.get("key") and toleration.get("value", "") == taint.get("value", ""):
            return True
    return False


def _selected(pod: SchedulerPod, node: SchedulerNode) -> bool:
    labels = node.metadata.labels
    if any(labels.get(key) != value for key, value in pod.spec.node_selector.items()):
        return False
    rule = (pod.spec.affinity.get("nodeAffinity") or {}).get("requiredDuringSchedulingIgnoredDuringExecution")
    if not rule:
        return True
    return any(
        all(expression_matches(e, labels) for e in term.get("matchExpressions") or ())
        and all(expression_matches(e, {"metadata.name": node.name}) for e in term.get("matchFields") or ())
        for term in rule.get("nodeSelectorTerms") or ()
        if term
    )


def _required_terms(pod: SchedulerPod, kind: str) -> list[Json]:
    return (pod.spec.affinity.get(kind) or {}).get("requiredDuringSchedulingIgnoredDuringExecution") or []


def _selects(term: Json, pod: SchedulerPod, other: SchedulerPod) -> bool:
    namespaces = term.get("namespaces") or [pod.metadata.namespace]
    selector = term.get("labelSelector")
    return (
        selector is not None
        and other.metadata.namespace in namespaces
        and selector_matches(selector, other.metadata.labels)
    )
