"""A gang as a tree, for CompositePodGroups: groups of pods are leaves, constraints on several groups are branches.

    gang ---- a group that belongs to no constraint group
      |
      +------ constraint group ---- group
                    |
                    +-------------- group

Every branch needs all its children. A branch with a single child and without a constraint of its own is left out, so a
gang of one group is a single leaf.

A Workload has templates, not instances: children of the same shape share a template. A node may list eight templates.
A node with more shapes gets another level of branches, without constraints, below it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from grove.api.podgang import PodGang
from grove.schedulers.kube.fields import required_key
from grove.schedulers.types import Refusal

# Limits of the API server.
MAX_TEMPLATES = 8
MAX_DEPTH = 3


@dataclass(frozen=True)
class Leaf:
    """The pods of one group; `key` is the node label whose value they must share, if any."""

    name: str
    minimum: int
    key: str | None = None

    @property
    def shape(self) -> tuple[object, ...]:
        """Equal for nodes that can share a template."""
        return "leaf", self.minimum, self.key


@dataclass(frozen=True)
class Branch:
    """Several nodes that are placed together; `key` is the node label whose value they must share, if any."""

    name: str
    children: tuple["TreeNode", ...]
    key: str | None = None

    @property
    def shape(self) -> tuple[object, ...]:
        """Equal for nodes that can share a template."""
        return "branch", self.key, tuple(sorted((c.shape for c in self.children), key=repr))

    @property
    def children_by_shape(self) -> list[list["TreeNode"]]:
        """In the order in which the shapes first appear."""
        by_shape: dict[tuple[object, ...], list[TreeNode]] = {}
        for child in self.children:
            by_shape.setdefault(child.shape, []).append(child)
        return list(by_shape.values())


TreeNode = Leaf | Branch


def tree_of(gang: PodGang) -> TreeNode:
    """Raises Refusal if the constraints do not form a tree, or if three levels cannot list all shapes."""
    name = gang.metadata.name or ""
    configs = [c for c in gang.spec.topology_constraint_group_configs if required_key(c.topology_constraint)]
    config_of: dict[str, str] = {}
    for config in configs:
        for member in config.pod_group_names:
            if config_of.setdefault(member, config.name) != config.name:
                raise Refusal(
                    f"the group {member} is in the constraints {config_of[member]} and {config.name}, and "
                    "kube-scheduler's groups form a tree",
                    "let each group be in one of them",
                )
    leaves = {
        g.name: Leaf(f"{name}.pg.{g.name}", g.min_replicas, required_key(g.topology_constraint))
        for g in gang.spec.pod_groups
    }
    children: list[TreeNode] = [leaf for group, leaf in leaves.items() if group not in config_of]
    for config in configs:
        members = tuple(leaves[m] for m in config.pod_group_names if m in leaves)
        if members:
            key = required_key(config.topology_constraint)
            children.append(_collapsed(Branch(f"{name}.grp.{config.name}", members, key)))
    root = _collapsed(Branch(name, tuple(children), required_key(gang.spec.topology_constraint)))
    root = _within_template_limit(root)
    if depth(root) > MAX_DEPTH:
        raise Refusal(
            f"PodGang {name} has too many kinds of groups for kube-scheduler: more than {MAX_TEMPLATES} at two levels",
            "let cliques have the same minAvailable and constraint, or split the set",
        )
    return root


def branches(node: TreeNode) -> Iterator[tuple[Branch, Branch | None]]:
    """Every branch with its parent, from the root down."""
    if isinstance(node, Branch):
        yield node, None
        for child in node.children:
            for branch, parent in branches(child):
                yield branch, parent or node


def leaves_of(node: TreeNode) -> list[Leaf]:
    if isinstance(node, Leaf):
        return [node]
    return [leaf for child in node.children for leaf in leaves_of(child)]


def depth(node: TreeNode) -> int:
    """The number of branches between the root and the deepest leaf."""
    return 1 + max(depth(c) for c in node.children) if isinstance(node, Branch) else 0


def _collapsed(branch: Branch) -> TreeNode:
    """The single child of a branch if one node can have the constraints of both, otherwise the branch."""
    if len(branch.children) != 1:
        return branch
    child = branch.children[0]
    if branch.key is None or child.key is None or branch.key == child.key:
        return replace(child, key=child.key or branch.key)
    return branch


def _within_template_limit(node: TreeNode) -> TreeNode:
    """The tree with at most eight shapes of leaves and eight shapes of branches below each branch."""
    if isinstance(node, Leaf):
        return node
    node = replace(node, children=tuple(_within_template_limit(c) for c in node.children))
    leaf_shapes = [same for same in node.children_by_shape if isinstance(same[0], Leaf)]
    branch_shapes = [same for same in node.children_by_shape if isinstance(same[0], Branch)]
    if len(leaf_shapes) <= MAX_TEMPLATES and len(branch_shapes) <= MAX_TEMPLATES:
        return node
    parts: list[TreeNode] = []
    for shapes in (*_chunks(leaf_shapes), *_chunks(branch_shapes)):
        members = tuple(child for same in shapes for child in same)
        parts.append(Branch(f"{node.name}.part.{len(parts)}", members))
    if len(parts) > MAX_TEMPLATES:
        kinds = len(leaf_shapes) + len(branch_shapes)
        raise Refusal(
            f"{node.name} has {kinds} kinds of groups, more than kube-scheduler supports",
            "let cliques have the same minAvailable and constraint, or split the set",
        )
    return replace(node, children=tuple(parts))


def _chunks(shapes: Sequence[list[TreeNode]]) -> list[Sequence[list[TreeNode]]]:
    return [shapes[i : i + MAX_TEMPLATES] for i in range(0, len(shapes), MAX_TEMPLATES)]
