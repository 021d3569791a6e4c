"""Kubernetes 1.37 with CompositePodGroups: a gang as a tree, placed as a whole or not at all.

Each group keeps its own minimum, and a constraint can stand at every level. One gated pod holds back its whole tree: so
each PodGang is a tree of its own, and the pods of a gang are released together.

The scheduler fills group after group, each with as many pods as fit, and does not go back: pods beyond the minimum of
one group could take the room of the next. So they stay out of the tree and follow when the gang is scheduled; except
where a constraint says that they belong to the same place as the gang, which holds only inside the tree.
"""

from collections.abc import Sequence

from grove.api.podgang import PodGang, PodGroup
from grove.schedulers.kube.dialect import (
    Json,
    Settings,
    controller_ref,
    gang_policy,
    kind,
    metadata,
    priority,
    required_key,
    topology,
)
from grove.schedulers.kube.flat import POD_GROUPS, WORKLOADS
from grove.schedulers.kube.merged import LINK
from grove.schedulers.kube.tree import Branch, Leaf, Node, branches, tree_of
from grove.schedulers.types import ObjectKind, Probe, SchedulerObject, Served

COMPOSITES = kind("v1alpha3", "CompositePodGroup")
PARENT = Probe(
    "parent",
    POD_GROUPS,
    {
        "metadata": {"name": "grove-probe"},
        "spec": {
            "parentCompositePodGroupName": "grove-probe",
            "workloadRef": {"workloadName": "grove-probe", "templateName": "probe"},
        }
        | gang_policy("minCount", 1),
    },
    "spec.parentCompositePodGroupName",
)

# The server fills in the rest of a PodGroup. It is kept from deletion while pods refer to it.
_FIXED = (
    "spec.parentCompositePodGroupName",
    "spec.workloadRef",
    "spec.schedulingConstraints",
    "spec.disruptionMode",
    "spec.priorityClassName",
)
_OURS = ("spec.parentCompositePodGroupName", "spec.schedulingConstraints")


class Composite:
    name = "CompositePodGroup"
    kinds: Sequence[ObjectKind] = (WORKLOADS, COMPOSITES, POD_GROUPS)
    probes: Sequence[Probe] = (LINK, PARENT)
    one_priority = True

    def offered(self, served: Served) -> bool:
        return (
            all(k in served for k in self.kinds)
            and PARENT.name in served.kept
            and LINK.name not in served.dropped
        )

    def objects(self, gang: PodGang, served: Served, settings: Settings) -> list[SchedulerObject]:
        return _Writer(gang, tree_of(gang), settings).objects()

    def splits(self, gang: PodGang, group: PodGroup) -> bool:
        return len(gang.spec.pod_groups) > 1 and not _is_constrained(gang)

    def link(self, gang: PodGang, group: PodGroup, *, surplus: bool) -> Json:
        if surplus:
            return {}
        return {"schedulingGroup": {"podGroupName": f"{gang.metadata.name}.pg.{group.name}"}}

    def shortfall(self, gang: PodGang, served: Served) -> str:
        return ""


class _Writer:
    """Writes a tree down: the templates in one Workload, and an object for each node."""

    def __init__(self, gang: PodGang, root: Node, settings: Settings) -> None:
        self._gang = gang
        self._root = root
        self._whole = settings.disruption == "gang"
        self._template_of: dict[str, str] = {}
        self._numbers = {"pods": 0, "groups": 0}

    def objects(self) -> list[SchedulerObject]:
        template = self._template([self._root])
        field = "podGroupTemplates" if isinstance(self._root, Leaf) else "compositePodGroupTemplates"
        workload = {"controllerRef": controller_ref(self._gang), field: [template]}
        found = [self._object(WORKLOADS, self._gang.metadata.name or "", workload)]
        parents: dict[str, Branch] = {}
        for branch, parent in branches(self._root):
            parents |= {c.name: branch for c in branch.children}
            spec = self._reference(branch, parent) | self._describe(branch)
            found.append(self._object(COMPOSITES, branch.name, spec))
        for leaf in _leaves(self._root):
            spec = self._reference(leaf, parents.get(leaf.name)) | self._describe(leaf)
            found.append(self._pod_group(leaf.name, spec))
        return found

    def _template(self, alike: list[Node]) -> Json:
        """The template of nodes of one shape, with those of their children."""
        first = alike[0]
        name = self._name(first)
        self._template_of |= {node.name: name for node in alike}
        template: Json = {"name": name} | self._describe(first)
        if isinstance(first, Branch):
            # Nodes of one shape have children of the same shapes, but maybe in another order.
            pools = [list(kinds) for kinds in first.kinds]
            for other in alike[1:]:
                assert isinstance(other, Branch)
                by_shape = {kinds[0].shape: kinds for kinds in other.kinds}
                for pool in pools:
                    pool += by_shape[pool[0].shape]
            for pool in pools:
                field = "podGroupTemplates" if isinstance(pool[0], Leaf) else "compositePodGroupTemplates"
                template.setdefault(field, []).append(self._template(pool))
        return template

    def _name(self, node: Node) -> str:
        kind = "pods" if isinstance(node, Leaf) else "groups"
        self._numbers[kind] += 1
        return f"{kind}-{self._numbers[kind] - 1}"

    def _describe(self, node: Node) -> Json:
        """What a node and its template have in common."""
        if isinstance(node, Leaf):
            policy = gang_policy("minCount", node.minimum)
        else:
            policy = gang_policy("minGroupCount", len(node.children))
        whole: Json = {"disruptionMode": {"all": {}}} if self._whole and node is self._root else {}
        return policy | topology(node.key) | whole | priority(self._gang)

    def _reference(self, node: Node, parent: Branch | None) -> Json:
        own = {"workloadName": self._gang.metadata.name, "templateName": self._template_of[node.name]}
        above: Json = {"parentCompositePodGroupName": parent.name} if parent is not None else {}
        return above | {"workloadRef": own}

    def _object(self, kind: ObjectKind, name: str, spec: Json) -> SchedulerObject:
        body = {"metadata": metadata(self._gang, name), "spec": spec}
        return SchedulerObject(kind, body, owned_fields=_OURS, immutable_fields=("spec",))

    def _pod_group(self, name: str, spec: Json) -> SchedulerObject:
        body = {"metadata": metadata(self._gang, name), "spec": spec}
        return SchedulerObject(
            POD_GROUPS, body, owned_fields=_OURS, immutable_fields=_FIXED, in_use_by_pods=True
        )


def _is_constrained(gang: PodGang) -> bool:
    spec = gang.spec
    constraints = [spec.topology_constraint, *(g.topology_constraint for g in spec.pod_groups)]
    constraints += [c.topology_constraint for c in spec.topology_constraint_group_configs]
    return any(required_key(c) for c in constraints)


def _leaves(node: Node) -> list[Leaf]:
    if isinstance(node, Leaf):
        return [node]
    return [leaf for child in node.children for leaf in _leaves(child)]
