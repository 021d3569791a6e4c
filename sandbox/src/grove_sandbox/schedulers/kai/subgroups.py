"""The subgroups of a KAI PodGroup as a tree. Leaves have pods; every subgroup may have a minimum and constraints."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from grove_sandbox.schedulers.objects import Json, PolicyObject, SchedulerPod


@dataclass
class Subgroup:
    name: str
    minimum: int | None
    constraint: Json
    children: list["Subgroup"] = field(default_factory=list)
    pods: list[SchedulerPod] = field(default_factory=list)

    def leaves(self) -> Iterator["Subgroup"]:
        if not self.children:
            yield self
        for child in self.children:
            yield from child.leaves()


def subgroup_tree(group: PolicyObject) -> Subgroup:
    """The subgroups below an unnamed root. If they do not form a tree, KAI uses one leaf named `default`."""
    spec = group.spec
    constraint = spec.get("topologyConstraint") or {}
    declared = spec.get("subGroups") or []
    names = [sub.get("name", "") for sub in declared]
    minimum = spec.get("minMember")
    if not declared:
        return _root([Subgroup("default", 1 if minimum is None else minimum, {})], None, constraint)
    parents = {sub["name"]: sub.get("parent") or "" for sub in declared}
    if len(set(names)) != len(names) or any(_is_unreachable(name, parents) for name in names):
        return _root([Subgroup("default", 1, {})], None, constraint)
    inner = set(parents.values())
    nodes = {
        sub["name"]: Subgroup(
            sub["name"],
            sub.get("minSubGroup") if sub["name"] in inner else sub.get("minMember", 1),
            sub.get("topologyConstraint") or {},
        )
        for sub in declared
    }
    top: list[Subgroup] = []
    for name, parent in parents.items():
        (nodes[parent].children if parent else top).append(nodes[name])
    return _root(top, spec.get("minSubGroup"), constraint)


def _root(children: list[Subgroup], minimum: int | None, constraint: Json) -> Subgroup:
    return Subgroup("", minimum, constraint, children)


def _is_unreachable(name: str, parents: dict[str, str]) -> bool:
    """Whether no path leads from the root to the subgroup."""
    seen: set[str] = set()
    while name:
        if name in seen or name not in parents:
            return True
        seen.add(name)
        name = parents[name]
    return False


def with_descendants(node: Subgroup) -> Iterator[Subgroup]:
    yield node
    for child in node.children:
        yield from with_descendants(child)


def path_to(node: Subgroup, leaf: Subgroup) -> list[Subgroup]:
    if node is leaf:
        return [node]
    for child in node.children:
        if path := path_to(child, leaf):
            return [node, *path]
    return []
