"""Topology constraints of a gang as Volcano's network topology: tiers of HyperNodes, for the gang and its subgroups."""

from collections.abc import Iterator, Mapping, Sequence

from grove.api import labels
from grove.api.podcliqueset import PodCliqueSet
from grove.api.podgang import GangTopologyConstraint, PodGang
from grove.api.validation.problem import Problem, warning
from grove.api.validation.topology import placed_constraints
from grove.schedulers.types import Json, ObjectKind, Refusal, Served

POD_GROUPS = ObjectKind("scheduling.volcano.sh", "v1beta1", "podgroups", "PodGroup")
HYPER_NODES = ObjectKind("topology.volcano.sh", "v1alpha1", "hypernodes", "HyperNode", namespaced=False)

GANG_FIELD = "spec.networkTopology"
SUBGROUP_FIELD = "spec.subGroupPolicy.networkTopology"


class NetworkTopology:
    """The topology fields of a gang's PodGroup.

    `tiers` are the tiers of node labels in the profile; they take precedence over the cluster's HyperNodes. Methods
    raise Refusal for a required constraint that Volcano cannot keep.
    """

    def __init__(self, gang: PodGang, served: Served, tiers: Mapping[str, int]) -> None:
        self._gang = gang
        self._served = served
        self._tiers = tiers

    def of_gang(self) -> Json | None:
        return self._translate(self._gang.spec.topology_constraint, GANG_FIELD)

    def subgroup_policies(self) -> list[Json]:
        """A policy for the groups of each constraint below the gang, sorted by name.

        A group without a constraint needs none: its minimum is that of its task.
        """
        gang = self._gang
        minimums = {g.name: g.min_replicas for g in gang.spec.pod_groups}
        config_of: dict[str, str] = {}
        policies: list[Json] = []
        for config in gang.spec.topology_constraint_group_configs:
            for member in config.pod_group_names:
                if member in config_of:
                    raise Refusal(
                        f"pod group {member!r} is in the constraint groups {config_of[member]!r} and {config.name!r}, "
                        "and Volcano supports one for each pod"
                    )
            constraint = self._translate(config.topology_constraint, SUBGROUP_FIELD)
            if constraint is not None:
                config_of |= dict.fromkeys(config.pod_group_names, config.name)
                size = sum(minimums.get(m, 0) for m in config.pod_group_names)
                policies.append(_subgroup_policy(config.name, config.pod_group_names, size, constraint))
        for group in gang.spec.pod_groups:
            constraint = self._translate(group.topology_constraint, SUBGROUP_FIELD)
            if constraint is None:
                continue
            if group.name not in config_of:
                policies.append(_subgroup_policy(group.name, [group.name], group.min_replicas, constraint))
            elif not self._is_implied(constraint, config_of[group.name]):
                raise Refusal(
                    f"pod group {group.name!r} and the constraint group {config_of[group.name]!r} around it both have "
                    "a required topology, and Volcano can keep only one for each pod",
                    "require the narrower level for the scaling group as a whole, or for its cliques only",
                )
        return sorted(policies, key=lambda p: str(p["name"]))

    def shortfall(self) -> str:
        """The preferences that have no effect; required constraints are kept or refused."""
        spec = self._gang.spec
        configs = spec.topology_constraint_group_configs
        constraints = [(GANG_FIELD, spec.topology_constraint)]
        constraints += [(SUBGROUP_FIELD, c.topology_constraint) for c in configs]
        constraints += [(SUBGROUP_FIELD, g.topology_constraint) for g in spec.pod_groups]
        missing = [f for f, c in constraints if c is not None and not self._served.has(POD_GROUPS, f)]
        if missing:
            return f"this Volcano has no {missing[0]}: preferred topology levels have no effect"
        members = {m for c in configs for m in c.pod_group_names}
        ignored = [g.name for g in spec.pod_groups if g.topology_constraint and g.name in members]
        if ignored:
            return f"Volcano keeps one constraint for each pod: that of {', '.join(ignored)} itself has no effect"
        return ""

    def _translate(self, constraint: GangTopologyConstraint | None, field: str) -> Json | None:
        """Volcano has no preference for a level, only one for being as close together as possible."""
        pack = constraint.pack_constraint if constraint else None
        if pack is None or not (pack.required or pack.preferred):
            return None
        if POD_GROUPS in self._served and not self._served.has(POD_GROUPS, field):
            if not pack.required:
                return None  # `shortfall` reports it
            raise Refusal(
                f"the PodGroups of this Volcano have no {field}, which a required topology needs",
                "upgrade Volcano to 1.14 or later",
            )
        if pack.required:
            return {"mode": "hard", "highestTierAllowed": self._tier_of(pack.required)}
        return {"mode": "soft"}

    def _is_implied(self, inner: Json, config_name: str) -> bool:
        """Whether the constraint group around a group already guarantees the group's own constraint."""
        if inner["mode"] == "soft":
            return True
        configs = self._gang.spec.topology_constraint_group_configs
        around = next(c.topology_constraint for c in configs if c.name == config_name)
        outer = self._translate(around, SUBGROUP_FIELD) or {}
        return outer.get("mode") == "hard" and bool(
            inner["highestTierAllowed"] >= outer["highestTierAllowed"]
        )

    def _tier_of(self, node_label: str) -> int:
        if node_label in self._tiers:
            return self._tiers[node_label]
        hyper_nodes = self._served.objects.get(HYPER_NODES, {}).values()
        tiers = sorted(
            {int(n["spec"]["tier"]) for n in hyper_nodes if n["spec"].get("tierName") == node_label}
        )
        if len(tiers) == 1:
            return tiers[0]
        what = f"are on the tiers {', '.join(map(str, tiers))}" if tiers else "do not exist"
        raise Refusal(
            f"the HyperNodes with the tierName {node_label!r}, which is the node label of a required topology, {what}",
            "let Volcano's hyperNode-controller discover them from that label, or write the tier of the label in "
            "`tiers` of the operator's profile for volcano",
        )


def check_surplus(pcs: PodCliqueSet) -> Iterator[Problem]:
    """Warns of pods beyond the minimum under a required topology.

    Volcano looks for a domain with room for all pods of a subgroup, including those beyond the minimum.
    """
    groups = {n: g.name for g in pcs.spec.template.pod_clique_scaling_groups for n in g.clique_names}
    constrained = {p.what for p in placed_constraints(pcs) if p.constraint.required}
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


def _subgroup_policy(name: str, groups: Sequence[str], size: int, constraint: Json) -> Json:
    """A policy forms one subgroup for each value of `matchLabelKeys`; all pods of a gang have the same gang label."""
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
