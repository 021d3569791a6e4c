"""The dialect of Kubernetes 1.37 with CompositePodGroups: a gang is a tree that is placed as a whole or not at all.

Each group keeps its own minimum, and constraints can be at every level. One gated pod blocks its whole tree. Therefore
each PodGang is a tree of its own, and all pods of a gang are released together.

The scheduler fills one group after another, each with as many pods as fit, and does not backtrack: pods beyond the
minimum of one group could take the room of the next. Therefore they stay out of the tree and are released when the gang
is scheduled. The exception is a gang with constraints: those hold only inside the tree, so all its pods are in it.
"""

from collections.abc import Sequence

from grove.api.podgang import PodGang, PodGroup
from grove.schedulers.kube.dialect import Dialect
from grove.schedulers.kube.fields import (
    controller_ref,
    gang_policy,
    priority_class,
    required_key,
    scheduling_constraints,
    scheduling_kind,
)
from grove.schedulers.kube.gang_tree import Branch, Leaf, TreeNode, branches, leaves_of, tree_of
from grove.schedulers.kube.pod_link import SCHEDULING_GROUP
from grove.schedulers.kube.podgroup_v1beta1 import POD_GROUPS, WORKLOADS
from grove.schedulers.kube.settings import KubernetesSettings
from grove.schedulers.types import Json, ObjectKind, Probe, SchedulerObject, Served

COMPOSITES = scheduling_kind("v1alpha3", "CompositePodGroup")
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

# Not all of spec: the server fills in the other fields of a PodGroup.
_IMMUTABLE_FIELDS = (
    "spec.parentCompositePodGroupName",
    "spec.workloadRef",
    "spec.schedulingConstraints",
    "spec.disruptionMode",
    "spec.priorityClassName",
)
_OWNED_FIELDS = ("spec.parentCompositePodGroupName", "spec.schedulingConstraints")


class CompositePodGroup(Dialect):
    name = "CompositePodGroup"
    kinds: Sequence[ObjectKind] = (WORKLOADS, COMPOSITES, POD_GROUPS)
    probes: Sequence[Probe] = (SCHEDULING_GROUP, PARENT)
    one_priority = True

    def is_available(self, served: Served) -> bool:
        return (
            all(k in served for k in self.kinds)
            and PARENT.name in served.kept
            and SCHEDULING_GROUP.name not in served.dropped
        )

    def objects(self, gang: PodGang, served: Served, settings: KubernetesSettings) -> list[SchedulerObject]:
        return _TreeWriter(gang, tree_of(gang), settings).objects()

    def separates_surplus(self, gang: PodGang, group: PodGroup) -> bool:
        return len(gang.spec.pod_groups) > 1 and not _is_constrained(gang)

    def link(self, gang: PodGang, group: PodGroup, *, surplus: bool) -> Json:
        if surplus:
            return {}
        return {"schedulingGroup": {"podGroupName": f"{gang.metadata.name}.pg.{group.name}"}}

    def shortfall(self, gang: PodGang, served: Served) -> str:
        return ""


class _TreeWriter:
    """Writes a tree as objects: one Workload with all templates, and an object for each node."""

    def __init__(self, gang: PodGang, root: TreeNode, settings: KubernetesSettings) -> None:
        self._gang = gang
        self._root = root
        self._evict_whole_gang = settings.disruption == "gang"
        self._template_names: dict[str, str] = {}
        """By the name of the node."""
        self._template_counts = {"pods": 0, "groups": 0}

    def objects(self) -> list[SchedulerObject]:
        template = self._template([self._root])
        workload = {"controllerRef": controller_ref(self._gang), _template_field(self._root): [template]}
        objects = [self._object(WORKLOADS, self._gang.metadata.name or "", workload)]
        parents: dict[str, Branch] = {}
        for branch, parent in branches(self._root):
            parents |= {c.name: branch for c in branch.children}
            spec = self._references(branch, parent) | self._common_fields(branch)
            objects.append(self._object(COMPOSITES, branch.name, spec))
        for leaf in leaves_of(self._root):
            spec = self._references(leaf, parents.get(leaf.name)) | self._common_fields(leaf)
            objects.append(self._pod_group(leaf.name, spec))
        return objects

    def _template(self, same_shape: list[TreeNode]) -> Json:
        """The template that nodes of one shape share, with the templates of their children."""
        first = same_shape[0]
        name = self._new_template_name(first)
        self._template_names |= {node.name: name for node in same_shape}
        template: Json = {"name": name} | self._common_fields(first)
        if isinstance(first, Branch):
            # Nodes of one shape have children of the same shapes, possibly in another order.
            pools = [list(children) for children in first.children_by_shape]
            for other in same_shape[1:]:
                assert isinstance(other, Branch)
                by_shape = {children[0].shape: children for children in other.children_by_shape}
                for pool in pools:
                    pool += by_shape[pool[0].shape]
            for pool in pools:
                template.setdefault(_template_field(pool[0]), []).append(self._template(pool))
        return template

    def _new_template_name(self, node: TreeNode) -> str:
        kind = "pods" if isinstance(node, Leaf) else "groups"
        self._template_counts[kind] += 1
        return f"{kind}-{self._template_counts[kind] - 1}"

    def _common_fields(self, node: TreeNode) -> Json:
        """The fields that the object of a node and its template both have."""
        if isinstance(node, Leaf):
            policy = gang_policy("minCount", node.minimum)
        else:
            policy = gang_policy("minGroupCount", len(node.children))
        is_evicted_whole = self._evict_whole_gang and node is self._root
        mode: Json = {"disruptionMode": {"all": {}}} if is_evicted_whole else {}
        return policy | scheduling_constraints(node.key) | mode | priority_class(self._gang)

    def _references(self, node: TreeNode, parent: Branch | None) -> Json:
        """The fields that refer to the parent of a node and to its template."""
        template = {"workloadName": self._gang.metadata.name, "templateName": self._template_names[node.name]}
        above: Json = {"parentCompositePodGroupName": parent.name} if parent is not None else {}
        return above | {"workloadRef": template}

    def _object(self, kind: ObjectKind, name: str, spec: Json) -> SchedulerObject:
        body = {"metadata": {"name": name}, "spec": spec}
        return SchedulerObject(kind, body, owned_fields=_OWNED_FIELDS, immutable_fields=("spec",))

    def _pod_group(self, name: str, spec: Json) -> SchedulerObject:
        """The server protects a PodGroup from deletion while pods refer to it."""
        body = {"metadata": {"name": name}, "spec": spec}
        return SchedulerObject(
            POD_GROUPS,
            body,
            owned_fields=_OWNED_FIELDS,
            immutable_fields=_IMMUTABLE_FIELDS,
            in_use_by_pods=True,
        )


def _template_field(node: TreeNode) -> str:
    return "podGroupTemplates" if isinstance(node, Leaf) else "compositePodGroupTemplates"


def _is_constrained(gang: PodGang) -> bool:
    spec = gang.spec
    constraints = [spec.topology_constraint, *(g.topology_constraint for g in spec.pod_groups)]
    constraints += [c.topology_constraint for c in spec.topology_constraint_group_configs]
    return any(required_key(c) for c in constraints)
