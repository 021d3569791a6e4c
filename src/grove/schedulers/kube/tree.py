"""A gang as a tree: groups of pods at the leaves, constraints on what stands together at the branches.

    gang ---- a group that belongs to no config
      |
      +------ config ---- group
                 |
                 +------- group

Every branch needs all its children. A branch with a single child that adds no constraint of its own is left out, so a
gang of one group is a single leaf. A Workload describes shapes, not instances: children of the same shape share a
template. A node may list eight templates; a node with more shapes gets a level of branches without constraint in
between.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from grove.api.podgang import PodGang
from grove.schedulers.kube.dialect import required_key
from grove.schedulers.types import Refusal

MOST_TEMPLATES = 8
DEEPEST = 3


class Leaf(NamedTuple):
    """Pods of one group; `key` is a node label whose value they must share."""

    name: str
    minimum: int
    key: str | None = None

    @property
    def shape(self) -> tuple[object, ...]:
        return "leaf", self.minimum, self.key


class Branch(NamedTuple):
    name: str
    children: tuple["Node", ...]
    key: str | None = None

    @property
    def shape(self) -> tuple[object, ...]:
        return "branch", self.key, tuple(sorted((c.shape for c in self.children), key=repr))

    @property
    def kinds(self) -> list[list["Node"]]:
        """The children by shape, in the order in which the shapes first appear."""
        found: dict[tuple[object, ...], list[Node]] = {}
        for child in self.children:
            found.setdefault(child.shape, []).append(child)
        return list(found.values())


Node = Leaf | Branch


def tree_of(gang: PodGang) -> Node:
    """Raises Refusal for constraints that form no tree, and for more shapes than a tree of three levels can list."""
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
    children: list[Node] = [leaf for group, leaf in leaves.items() if group not in config_of]
    for config in configs:
        members = tuple(leaves[m] for m in config.pod_group_names if m in leaves)
        if members:
            key = required_key(config.topology_constraint)
            children.append(_simple(Branch(f"{name}.grp.{config.name}", members, key)))
    root = _simple(Branch(name, tuple(children), required_key(gang.spec.topology_constraint)))
    root = _listed(root)
    if depth(root) > DEEPEST:
        raise Refusal(
            f"PodGang {name} has too many kinds of groups for kube-scheduler: more than {MOST_TEMPLATES} at two levels",
            "let cliques have the same minAvailable and constraint, or split the set",
        )
    return root


def branches(node: Node) -> Iterator[tuple[Branch, Branch | None]]:
    """Every branch with the one above it, from the top down."""
    if isinstance(node, Branch):
        yield node, None
        for child in node.children:
            for branch, parent in branches(child):
                yield branch, parent or node


def depth(node: Node) -> int:
    """How many branches there are from the top down to the deepest leaf."""
    return 1 + max(depth(c) for c in node.children) if isinstance(node, Branch) else 0


def _simple(branch: Branch) -> Node:
    """Without the branch, if it adds nothing to its single child."""
    if len(branch.children) != 1:
        return branch
    child = branch.children[0]
    if branch.key is None or child.key is None or branch.key == child.key:
        key = child.key or branch.key
        return child if key == child.key else child._replace(key=key)
    return branch


def _listed(node: Node) -> Node:
    """With no more than eight kinds of leaves and eight kinds of branches below each branch."""
    if isinstance(node, Leaf):
        return node
    children = tuple(_listed(c) for c in node.children)
    node = node._replace(children=children)
    leaves = [k for k in node.kinds if isinstance(k[0], Leaf)]
    inner = [k for k in node.kinds if isinstance(k[0], Branch)]
    if len(leaves) <= MOST_TEMPLATES and len(inner) <= MOST_TEMPLATES:
        return node
    parts: list[Node] = []
    for kinds in (*_chunks(leaves), *_chunks(inner)):
        members = tuple(child for same in kinds for child in same)
        parts.append(Branch(f"{node.name}.part.{len(parts)}", members))
    if len(parts) > MOST_TEMPLATES:
        raise Refusal(
            f"{node.name} has {len(leaves) + len(inner)} kinds of groups, more than kube-scheduler can be told of",
            "let cliques have the same minAvailable and constraint, or split the set",
        )
    return node._replace(children=tuple(parts))


def _chunks(kinds: Sequence[list[Node]]) -> list[Sequence[list[Node]]]:
    return [kinds[i : i + MOST_TEMPLATES] for i in range(0, len(kinds), MOST_TEMPLATES)]
