"""Constraints of a gang as Volcano's network topology: in tiers of HyperNodes, for the gang and for subgroups of it."""

from collections.abc import Iterator, Mapping, Sequence

from grove.api import labels
from grove.api.podcliqueset import PodCliqueSet
from grove.api.podgang import GangTopologyConstraint, PodGang
from grove.api.validation.problem import Problem, warning
from grove.api.validation.topology import places
from grove.schedulers.types import Json, ObjectKind, Refusal, Served

POD_GROUPS = ObjectKind("scheduling.volcano.sh", "v1beta1", "podgroups", "PodGroup")
HYPER_NODES = ObjectKind("topology.volcano.sh", "v1alpha1", "hypernodes", "HyperNode", namespaced=False)


class Topology:
    """The constraints of a gang in tiers of HyperNodes. Raises Refusal where one cannot be kept."""

    def __init__(self, gang: PodGang, served: Served, tiers: Mapping[str, int]) -> None:
        self._gang = gang
        self._served = served
        self._tiers = tiers

    def of(self, found: GangTopologyConstraint | None, path: str = "spec.networkTopology") -> Json | None:
        """A preference for a level cannot be said, only one for as close together as possible."""
        pack = found.pack_constraint if found else None
        if pack is None or not (pack.required or pack.preferred):
            return None
        if POD_GROUPS in self._served and not self._served.has(POD_GROUPS, path):
            if not pack.required:
                return None  # said as a shortfall
            raise Refusal(
                f"the PodGroups of this Volcano have no {path}, which a required topology needs",
                "upgrade Volcano to 1.14 or later",
            )
        if pack.required:
            return {"mode": "hard", "highestTierAllowed": self._tier(pack.required)}
        return {"mode": "soft"}

    def policies(self) -> list[Json]:
        """One for the groups of each constraint, by name. Groups without one need none: their minimum is a task's."""
        gang = self._gang
        minimums = {g.name: g.min_replicas for g in gang.spec.pod_groups}
        taken: dict[str, str] = {}
        found: list[Json] = []
        for config in gang.spec.topology_constraint_group_configs:
            for member in config.pod_group_names:
                if member in taken:
                    raise Refusal(
                        f"pod group {member!r} is in the constraint groups {taken[member]!r} and {config.name!r}, "
                        "and Volcano knows one for each pod"
                    )
            constraint = self.of(config.topology_constraint, "spec.subGroupPolicy.networkTopology")
            if constraint is not None:
                taken |= dict.fromkeys(config.pod_group_names, config.name)
                size = sum(minimums.get(m, 0) for m in config.pod_group_names)
                found.append(_policy(config.name, config.pod_group_names, size, constraint))
        for group in gang.spec.pod_groups:
            constraint = self.of(group.topology_constraint, "spec.subGroupPolicy.networkTopology")
            if constraint is None:
                continue
            if group.name not in taken:
                found.append(_policy(group.name, [group.name], group.min_replicas, constraint))
            elif not self._follows(constraint, taken[group.name]):
                raise Refusal(
                    f"pod group {group.name!r} and the constraint group {taken[group.name]!r} around it both have a "
                    "required topology, and Volcano can keep only one for each pod",
                    "require the narrower level for the scaling group as a whole, or for its cliques only",
                )
        return sorted(found, key=lambda p: str(p["name"]))

    def shortfall(self) -> str:
        """Preferences that are dropped; what is required is kept or refused."""
        paths = [("spec.networkTopology", self._gang.spec.topology_constraint)]
        inner: list[GangTopologyConstraint | None] = [
            c.topology_constraint for c in self._gang.spec.topology_constraint_group_configs
        ]
        inner += [g.topology_constraint for g in self._gang.spec.pod_groups]
        paths += [("spec.subGroupPolicy.networkTopology", c) for c in inner]
        missing = [p for p, c in paths if c is not None and not self._served.has(POD_GROUPS, p)]
        if missing:
            return f"this Volcano has no {missing[0]}: preferred topology levels have no effect"
        members = {m for c in self._gang.spec.topology_constraint_group_configs for m in c.pod_group_names}
        dropped = [g.name for g in self._gang.spec.pod_groups if g.topology_constraint and g.name in members]
        if dropped:
            return f"Volcano keeps one constraint for each pod: that of {', '.join(dropped)} itself has no effect"
        return ""

    def _follows(self, inner: Json, around: str) -> bool:
        """Whether an inner constraint asks for no more than the one around it."""
        configs = self._gang.spec.topology_constraint_group_configs
        outer = self.of(next(c.topology_constraint for c in configs if c.name == around)) or {}
        if inner["mode"] == "soft":
            return True
        return outer.get("mode") == "hard" and bool(
            inner["highestTierAllowed"] >= outer["highestTierAllowed"]
        )

    def _tier(self, key: str) -> int:
        if key in self._tiers:
            return self._tiers[key]
        nodes = self._served.objects.get(HYPER_NODES, {})
        found = sorted({int(n["spec"]["tier"]) for n in nodes.values() if n["spec"].get("tierName") == key})
        if len(found) == 1:
            return found[0]
        what = f"are on the tiers {', '.join(map(str, found))}" if found else "do not exist"
        raise Refusal(
            f"the HyperNodes with the tierName {key!r}, which is the node label of a required topology, {what}",
            "let Volcano's hyperNode-controller discover them from that label, or write the tier of the label in "
            "`tiers` of the operator's profile for volcano",
        )


def check_surplus(pcs: PodCliqueSet) -> Iterator[Problem]:
    """Volcano looks for a first domain with room for all pods of a subgroup, those beyond the minimum too."""
    groups = {n: g.name for g in pcs.spec.template.pod_clique_scaling_groups for n in g.clique_names}
    constrained = {p.what for p in places(pcs) if p.constraint.required}
    for i, clique in enumerate(pcs.spec.template.cliques):
        around = {f"clique {clique.name!r}", f"scaling group {groups.get(clique.name)!r}"}
        minimum = clique.spec.min_available or clique.spec.replicas
        if constrained & around and minimum < clique.spec.replicas:
            yield warning(
                ("spec", "template", "cliques", i, "spec", "minAvailable"),
                minimum,
                "with a required topology, Volcano starts the gang only where there is room for all "
                f"{clique.spec.replicas} pods",
                "set minAvailable to the number of replicas, or leave the required topology to the set as a whole",
            )


def _policy(name: str, groups: Sequence[str], size: int, constraint: Json) -> Json:
    """Every pod of a gang has the gang's name in a label: by it, a policy makes exactly one subgroup."""
    selector = (
        {"matchLabels": {labels.POD_CLIQUE: groups[0]}}
        if len(groups) == 1
        else {
            "matchExpressions": [
                {"key": labels.POD_CLIQUE, "operator": "In", "values": sorted(groups)},
            ]
        }
    )
    return {
        "name": name,
        "labelSelector": selector,
        "matchLabelKeys": [labels.POD_GANG],
        "subGroupSize": max(1, size),
        "minSubGroups": 1 if size else 0,
        "networkTopology": constraint,
    }
