"""Koordinator: a PodGroup per gang; an annotation combines gangs into a gang group.

Reads from a pod: label `pod-group.scheduling.sigs.k8s.io`. Reads from the API: PodGroups of `scheduling.sigs.k8s.io`
(spec.minMember and the annotations under `gang.scheduling.koordinator.sh/`) and, if network topology is enabled,
the ClusterNetworkTopology named `default`.

- It places a pod without the label alone. A pod waits, without a condition or event, while its gang or another gang of
  the gang group does not exist or has too few pods.
- Gated pods count as members. Once an ungated member starts an attempt, gated members are placed and counted too, but
  the API server refuses to bind them. So, as with the real scheduler, a gang with some gates open is bound in part.
- The first member that fits on no node ends the attempt for the whole gang group.

Not simulated: reservations, preemption, gangs that are declared by pod annotations without a PodGroup.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from grove.runtime.client.objects import APIResource, ObjectKey, ResourceType

from grove_sandbox.schedulers.gangs import Domain, Placement
from grove_sandbox.schedulers.objects import Json, PolicyObject, SchedulerPod
from grove_sandbox.schedulers.policy import PolicyStatusWrite, Round, View, by_priority, place_alone
from grove_sandbox.schedulers.snapshot import Snapshot, label_domains

POD_GROUPS = APIResource("scheduling.sigs.k8s.io", "v1alpha1", "podgroups", "PodGroup")
TOPOLOGIES = APIResource(
    "scheduling.koordinator.sh",
    "v1alpha1",
    "clusternetworktopologies",
    "ClusterNetworkTopology",
    namespaced=False,
)

_LINK = "pod-group.scheduling.sigs.k8s.io"
_PREFIX = "gang.scheduling.koordinator.sh/"
_NODE_LAYER = "NodeTopologyLayer"


class KoordinatorScheduler:
    bootstrap: Sequence[tuple[ResourceType, Json]] = ()

    def __init__(self, scheduler_name: str = "koord-scheduler", *, network_topology: bool = False) -> None:
        self.scheduler_name = scheduler_name
        self._network_topology = network_topology
        self.reads: Sequence[ResourceType] = [POD_GROUPS, *([TOPOLOGIES] if network_topology else [])]
        self._satisfied: set[frozenset[ObjectKey]] = set()

    def round(self, view: View) -> Round:
        result = Round()
        snapshot = view.snapshot()
        pods = view.live(self.scheduler_name)
        gangs = {key: _KoordinatorGang(group, view) for key, group in view.of("podgroups").items()}
        for pod in pods:
            gang = gangs.get(_gang_key(pod))
            if gang is not None and _LINK in pod.metadata.labels:
                gang.pods.append(pod)
        groups = {gang.group for gang in gangs.values()}
        self._satisfied = {group for group in self._satisfied if any(key in gangs for key in group)}
        for pod in by_priority([p for p in view.waiting(pods) if _LINK not in p.metadata.labels]):
            place_alone(snapshot, pod, result)
        for group in sorted(groups, key=lambda keys: _order(keys, gangs)):
            members = [gangs[key] for key in sorted(group) if key in gangs]
            if len(members) == len(group) and all(gang.has_enough_pods() for gang in members):
                self._attempt(snapshot, group, members, view, result)
        for gang in gangs.values():
            gang.report(result)
        return result

    def _attempt(
        self,
        snapshot: Snapshot,
        group: frozenset[ObjectKey],
        gangs: list["_KoordinatorGang"],
        view: View,
        result: Round,
    ) -> None:
        pending = [pod for gang in gangs for pod in gang.pending()]
        if not any(not pod.gated for pod in pending):
            return
        if any(gang.bound() for gang in gangs):
            self._satisfied.add(group)
        once = group in self._satisfied
        mark = snapshot.mark()
        placement: Placement = []
        domains: list[Domain | None] = [None]
        if any(gang.topology() for gang in gangs) and not once:
            found = self._domains(next(gang for gang in gangs if gang.topology()), snapshot, view)
            if not found:
                result.unschedulable(_ungated(pending), "no cluster network topology")
                return
            domains = [*found]
        failure = ""
        for domain in domains:
            snapshot.rollback(mark)
            placement, failure = _try(snapshot, gangs, pending, once, domain)
            if not failure:
                break
        if failure:
            snapshot.rollback(mark)
            result.unschedulable(_ungated(pending), failure)
            return
        self._satisfied.add(group)
        result.bindings += placement
        placed = {pod.uid for pod, _ in placement}
        for gang in gangs:
            gang.released += sum(1 for pod in gang.pods if pod.uid in placed)
        for pod in by_priority([p for p in _ungated(pending) if p.uid not in placed]):
            if place_alone(snapshot, pod, result):
                gangs[0].released += 0 if pod not in gangs[0].pods else 1

    def _domains(self, gang: "_KoordinatorGang", snapshot: Snapshot, view: View) -> list[Domain]:
        """The domains of the topology tree, narrowest layer first, up to the widest layer that the gang allows."""
        if not self._network_topology:
            return []
        tree = next((t for t in view.objects.get(TOPOLOGIES.plural, ()) if t.name == "default"), None)
        chain = _chain(tree.spec.get("networkTopologySpec") or ()) if tree else []
        if not chain:
            return []
        must = [
            rule["layer"]
            for rule in gang.topology().get("gatherStrategy") or ()
            if rule["strategy"] == "MustGather"
        ]
        names = [layer["topologyLayer"] for layer in chain]
        if any(name not in names for name in must):
            return []
        deepest = max((names.index(name) for name in must), default=-1)
        found: list[Domain] = []
        for depth in range(len(chain) - 1, max(deepest, 0) - 1, -1):
            if names[depth] == _NODE_LAYER:
                found += [frozenset([node.name]) for node in snapshot.nodes]
            else:
                keys = [layer["labelKey"][0] for layer in chain[: depth + 1] if layer.get("labelKey")]
                found += label_domains(snapshot.nodes, keys)
        if deepest < 0:
            found.append(frozenset(node.name for node in snapshot.nodes))
        return found


@dataclass
class _KoordinatorGang:
    pod_group: PolicyObject
    view: View
    pods: list[SchedulerPod] = field(default_factory=list)
    released: int = 0

    @property
    def key(self) -> ObjectKey:
        return self.pod_group.key

    @property
    def minimum(self) -> int:
        return int(self.pod_group.spec.get("minMember") or 0)

    @property
    def group(self) -> frozenset[ObjectKey]:
        """The gang group: this gang and all that its annotation names."""
        listed = _read_json(self.pod_group, "groups")
        if not isinstance(listed, list) or not listed:
            return frozenset([self.key])
        return frozenset(ObjectKey(*str(name).split("/", 1)) for name in listed if "/" in str(name))

    def has_enough_pods(self) -> bool:
        return len(self.pods) >= self.minimum

    def bound(self) -> int:
        return sum(1 for pod in self.pods if self.view.node_of(pod))

    def pending(self) -> list[SchedulerPod]:
        return [pod for pod in self.pods if not self.view.node_of(pod) and not pod.deleting]

    def is_satisfied(self, waiting: int, once: bool) -> bool:
        annotations = self.pod_group.metadata.annotations
        policy = annotations.get(f"{_PREFIX}match-policy") or annotations.get(f"{_LINK}/match-policy")
        if policy == "waiting-and-running":
            return waiting + self.bound() >= self.minimum
        if policy == "only-waiting":
            return waiting >= self.minimum
        return once or waiting >= self.minimum

    def topology(self) -> Json:
        spec = _read_json(self.pod_group, "network-topology-spec")
        return spec if isinstance(spec, dict) and spec.get("gatherStrategy") else {}

    def report(self, result: Round) -> None:
        """Writes the status as the PodGroup controller in koord-scheduler does. The kind has no status subresource."""
        scheduled = self.bound() + self.released
        running = sum(1 for pod in self.pods if pod.status.phase == "Running")
        phase = str(self.pod_group.status.get("phase") or "")
        status: Json = {"scheduled": scheduled, "running": running}
        if not self.pods or not phase:
            status["phase"] = "Pending"
        elif phase == "Pending":
            status["phase"] = "PreScheduling" if self.has_enough_pods() and self.minimum else "Pending"
        elif scheduled < self.minimum:
            status["phase"] = "Scheduling"
            status["scheduleStartTime"] = self.pod_group.status.get("scheduleStartTime") or self.view.now_text
        else:
            status["phase"] = "Running" if running >= self.minimum else "Scheduled"
        result.statuses.append(PolicyStatusWrite(POD_GROUPS, self.key, status, subresource=""))


def _try(
    snapshot: Snapshot,
    gangs: list[_KoordinatorGang],
    pending: list[SchedulerPod],
    once: bool,
    domain: Domain | None,
) -> tuple[Placement, str]:
    """Places members one by one until every gang is satisfied. The first member that fits on no node ends the attempt.

    Within a domain all pending pods must fit, as in the planner of the real scheduler.
    """
    placement: Placement = []
    waiting = {gang.key: 0 for gang in gangs}
    owner = {pod.uid: gang.key for gang in gangs for pod in gang.pods}
    for pod in pending:
        node = snapshot.find(pod, domain)
        if node is None:
            names = ", ".join(str(gang.key) for gang in gangs)
            return [], f"gang group [{names}] gets rejected: pod {pod.key}: {snapshot.explain(pod, domain)}"
        snapshot.assume(pod, node)
        placement.append((pod, node))
        waiting[owner[pod.uid]] += 1
        if domain is None and all(gang.is_satisfied(waiting[gang.key], once) for gang in gangs):
            return placement, ""
    if all(gang.is_satisfied(waiting[gang.key], once) for gang in gangs):
        return placement, ""
    return [], "gang group gets rejected: no further member to place and the minimum is not reached"


def _gang_key(pod: SchedulerPod) -> ObjectKey:
    return ObjectKey(pod.metadata.namespace or "", pod.metadata.labels.get(_LINK, ""))


def _ungated(pods: Sequence[SchedulerPod]) -> list[SchedulerPod]:
    return [pod for pod in pods if not pod.gated]


def _order(
    keys: frozenset[ObjectKey], gangs: dict[ObjectKey, _KoordinatorGang]
) -> tuple[int, str, list[ObjectKey]]:
    pods = [pod for key in keys if key in gangs for pod in gangs[key].pods]
    priority = max((pod.spec.priority for pod in pods), default=0)
    since = min((pod.metadata.creation_timestamp or "" for pod in pods), default="")
    return (-priority, since, sorted(keys))


def _read_json(group: PolicyObject, name: str) -> object:
    """The annotation as JSON. As in the real scheduler, a malformed annotation counts as absent."""
    try:
        return json.loads(group.metadata.annotations.get(f"{_PREFIX}{name}", "null"))
    except ValueError:
        return None


def _chain(layers: Sequence[Json]) -> list[Json]:
    """The layers from the widest to the node. Empty if they do not form a single chain."""
    by_parent = {layer.get("parentTopologyLayer") or "": layer for layer in layers}
    chain: list[Json] = []
    name = ""
    while name in by_parent and len(chain) < len(layers):
        chain.append(by_parent[name])
        name = chain[-1].get("topologyLayer", "")
    return chain if len(chain) == len(layers) and name == _NODE_LAYER else []
