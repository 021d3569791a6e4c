"""Volcano's HyperNodes: nested sets of nodes, each in a tier. Nodes in a lower tier are closer to each other."""

import re
from collections.abc import Iterable, Sequence

from grove.runtime.client.objects import APIResource

from grove_sandbox.label_selectors import selector_matches
from grove_sandbox.schedulers.gangs import Domain
from grove_sandbox.schedulers.objects import Json, PolicyObject, SchedulerNode

HYPER_NODES = APIResource("topology.volcano.sh", "v1alpha1", "hypernodes", "HyperNode", namespaced=False)


class HyperNodes:
    """`broken` is the reason why no group with a topology can be placed. Empty if the tree is valid."""

    def __init__(self, hyper_nodes: Iterable[PolicyObject], nodes: Sequence[SchedulerNode]) -> None:
        self._hyper_nodes = {hyper_node.name: hyper_node for hyper_node in hyper_nodes}
        self._nodes = nodes
        self.broken = self._check()
        self._sets: list[tuple[int, str, Domain]] = []
        if not self.broken:
            self._sets = sorted(
                (int(hyper_node.spec.get("tier") or 0), name, self._members(hyper_node))
                for name, hyper_node in self._hyper_nodes.items()
            )

    def domains(self, topology: Json, around: Sequence[str]) -> list[Domain] | None:
        """The domains that satisfy a `networkTopology`, narrowest first. None if it demands nothing.

        `around` are nodes in use: only domains that contain all of them are returned.
        """
        if not topology:
            return None
        everywhere = frozenset(node.name for node in self._nodes)
        if topology.get("mode", "hard") == "soft":
            found = [members for _, _, members in self._sets] + [everywhere]
        else:
            limit = self._limit(topology)
            if limit is None:
                return None
            found = [members for tier, _, members in self._sets if tier <= limit]
        return [domain for domain in found if set(around) <= domain]

    def _limit(self, topology: Json) -> int | None:
        """The highest tier allowed. None, which enforces nothing, if no tier is given or no HyperNode has its name."""
        if (tier := topology.get("highestTierAllowed")) is not None:
            return int(tier)
        name = topology.get("highestTierName")
        tiers = [
            int(t.spec.get("tier") or 0)
            for t in self._hyper_nodes.values()
            if name and t.spec.get("tierName") == name
        ]
        return max(tiers, default=None)

    def _check(self) -> str:
        parents: dict[str, str] = {}
        for name, hyper_node in self._hyper_nodes.items():
            for member in hyper_node.spec.get("members") or ():
                if member.get("type") != "HyperNode":
                    continue
                child = ((member.get("selector") or {}).get("exactMatch") or {}).get("name", "")
                if child in parents or not child:
                    return f"the HyperNode tree is not ready: {child or name} has two parents or no name"
                parents[child] = name
        for start in parents:
            seen, name = {start}, parents[start]
            while name in parents:
                if name in seen:
                    return f"the HyperNode tree is not ready: {name} is below itself"
                seen.add(name)
                name = parents[name]
        return ""

    def _members(self, hyper_node: PolicyObject) -> Domain:
        found: set[str] = set()
        for member in hyper_node.spec.get("members") or ():
            selector = member.get("selector") or {}
            if member.get("type") == "HyperNode":
                child = self._hyper_nodes.get((selector.get("exactMatch") or {}).get("name", ""))
                found |= self._members(child) if child else set()
            else:
                found |= {node.name for node in self._nodes if _selects(selector, node)}
        return frozenset(found)


def _selects(selector: Json, node: SchedulerNode) -> bool:
    if exact := selector.get("exactMatch"):
        return bool(exact.get("name") == node.name)
    if pattern := (selector.get("regexMatch") or {}).get("pattern"):
        return re.search(pattern, node.name) is not None
    return "labelMatch" in selector and selector_matches(selector["labelMatch"] or {}, node.metadata.labels)
