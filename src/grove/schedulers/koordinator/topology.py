"""Koordinator's network topology: it gathers a gang as a whole in one domain of one topology.

    ClusterTopologyBinding       the ClusterNetworkTopology named `default`: a chain of layers, down to the node
    pack constraint of a gang    gatherStrategy by the layer of the node label: MustGather if required, PreferGather if
                                 preferred

Koordinator cannot gather a part of a gang. A required constraint that it cannot express is refused. A preferred one is
dropped and reported on the gang.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from grove.api.podcliqueset import PodCliqueSet
from grove.api.podgang import GangPackConstraint, GangTopologyConstraint, PodGang
from grove.api.topology import ClusterTopologyBinding
from grove.api.validation.problem import Problem, forbidden
from grove.api.validation.topology import PlacedConstraint, placed_constraints
from grove.schedulers.types import Json, ObjectKind, Refusal, SchedulerObject

TOPOLOGIES = ObjectKind(
    "scheduling.koordinator.sh",
    "v1alpha1",
    "clusternetworktopologies",
    "ClusterNetworkTopology",
    namespaced=False,
)
TOPOLOGY_NAME = "default"
"""The name of the only ClusterNetworkTopology that koord-scheduler reads."""

NODE_LAYER = "NodeTopologyLayer"
HOSTNAME = "kubernetes.io/hostname"

_SET_UP_REMEDY = (
    "switch network topology on in koord-scheduler and set networkTopology in its profile, as "
    "docs/schedulers/koordinator.md says, or make the constraint a preferred one"
)
_PART_REMEDY = "constrain the whole set instead, or choose a scheduler with topology per group"


@dataclass(frozen=True)
class NetworkLayers:
    """The layers of the ClusterNetworkTopology by node label, broadest first; if there are none, `missing` says why."""

    by_label: Mapping[str, str]
    missing: str = ""

    def depth(self, layer: str) -> int:
        return list(self.by_label.values()).index(layer)


def layers_of(topology: Json | None) -> NetworkLayers:
    """The layers of a ClusterNetworkTopology; None if it does not exist."""
    if topology is None:
        return NetworkLayers({}, f"there is no {TOPOLOGIES.kind} {TOPOLOGY_NAME!r}")
    chain = _chain((topology.get("spec") or {}).get("networkTopologySpec") or [])
    if not chain:
        return NetworkLayers(
            {}, f"the layers of {TOPOLOGIES.kind} {TOPOLOGY_NAME!r} are not one chain down to {NODE_LAYER}"
        )
    by_label = {key: layer["topologyLayer"] for layer in chain for key in layer.get("labelKey") or ()}
    return NetworkLayers({k: v for k, v in by_label.items() if k != HOSTNAME} | {HOSTNAME: NODE_LAYER})


@dataclass(frozen=True)
class GatherRules:
    """The gatherStrategy of a gang, and its constraints that Koordinator does not keep, as sentences."""

    rules: Sequence[Json]
    shortfalls: Sequence[str]


def gather_rules(gang: PodGang, layers: NetworkLayers) -> GatherRules:
    """Raises Refusal for a required constraint that Koordinator cannot keep."""
    rules: list[tuple[int, Json]] = []
    shortfalls: list[str] = []
    for constraint in _constraints(gang):
        part, pack = constraint.part, constraint.pack
        for label, strategy in ((pack.required, "MustGather"), (pack.preferred, "PreferGather")):
            if not label or (strategy == "PreferGather" and label == pack.required):
                continue
            obstacle, remedy = _obstacle(label, constraint.is_whole_gang, layers)
            if not obstacle:
                rule = {"layer": layers.by_label[label], "strategy": strategy}
                rules.append((layers.depth(rule["layer"]), rule))
            elif strategy == "MustGather":
                raise Refusal(f"{part} must be packed by {label}, and {obstacle}", remedy)
            else:
                shortfalls.append(f"the preference to pack {part} by {label} is dropped, since {obstacle}")
    if any(rule["strategy"] == "MustGather" for _, rule in rules):
        shortfalls.append("pods that replace lost ones and pods beyond the minimum may leave the domain")
    unique = {(depth, r["strategy"]): r for depth, r in rules}
    return GatherRules([unique[key] for key in sorted(unique)], shortfalls)


def topology_object(binding: ClusterTopologyBinding) -> SchedulerObject:
    """Its layers have the names of the binding's domains; the last one is always the node."""
    spec: list[Json] = []
    parent = ""
    for level in binding.spec.levels:
        if level.key != HOSTNAME:
            above = {"parentTopologyLayer": parent} if parent else {}
            spec.append({"topologyLayer": level.domain, **above, "labelKey": [level.key]})
            parent = level.domain
    above = {"parentTopologyLayer": parent} if parent else {}
    spec.append({"topologyLayer": NODE_LAYER, **above})
    return SchedulerObject(
        TOPOLOGIES, {"metadata": {"name": TOPOLOGY_NAME}, "spec": {"networkTopologySpec": spec}}
    )


def check_constraints(pcs: PodCliqueSet, *, off: bool) -> Iterator[Problem]:
    """Required constraints that Koordinator can never keep; `off` is whether network topology is not set up."""
    for place in placed_constraints(pcs):
        if not place.constraint.required:
            continue
        if off:
            yield forbidden(place.path, "network topology is not set up for Koordinator", _SET_UP_REMEDY)
        elif not _covers_base_gang(pcs, place):
            yield forbidden(
                place.path,
                "Koordinator gathers only whole gangs, and this constrains a part of one",
                _PART_REMEDY,
            )


@dataclass(frozen=True)
class _PackedPart:
    """A constraint of a part of a gang; `is_whole_gang` is whether the part has all its groups."""

    part: str
    pack: GangPackConstraint
    is_whole_gang: bool


def _constraints(gang: PodGang) -> Iterator[_PackedPart]:
    all_groups = {g.name for g in gang.spec.pod_groups}
    parts: list[tuple[str, GangTopologyConstraint | None, bool]] = [
        ("the gang", gang.spec.topology_constraint, True)
    ]
    for config in gang.spec.topology_constraint_group_configs:
        is_whole = set(config.pod_group_names) == all_groups
        parts.append((f"group {config.name!r}", config.topology_constraint, is_whole))
    parts += [
        (f"pod group {g.name!r}", g.topology_constraint, len(all_groups) == 1) for g in gang.spec.pod_groups
    ]
    for part, constraint, is_whole in parts:
        if constraint is not None and constraint.pack_constraint is not None:
            yield _PackedPart(part, constraint.pack_constraint, is_whole)


def _obstacle(label: str, is_whole_gang: bool, layers: NetworkLayers) -> tuple[str, str]:
    """Why Koordinator cannot gather by this node label, and what to do; both empty if it can."""
    if not is_whole_gang:
        return "Koordinator gathers only whole gangs", _PART_REMEDY
    if layers.missing:
        return layers.missing, _SET_UP_REMEDY
    if label not in layers.by_label:
        what = f"{TOPOLOGIES.kind} {TOPOLOGY_NAME!r} has no layer for this node label"
        return what, f"add one; it has: {', '.join(layers.by_label)}"
    return "", ""


def _covers_base_gang(pcs: PodCliqueSet, place: PlacedConstraint) -> bool:
    """Whether the base gang has no pod group outside of the constraint."""
    template = pcs.spec.template
    grouped = {name for g in template.pod_clique_scaling_groups for name in g.clique_names}
    total = sum(1 for c in template.cliques if c.name not in grouped)
    total += sum(g.min_available * len(g.clique_names) for g in template.pod_clique_scaling_groups)
    match place.path[2:]:
        case ["podCliqueScalingGroups", int(i), *_]:
            return len(template.pod_clique_scaling_groups[i].clique_names) == total
        case ["cliques", *_]:
            return total == 1
    return True


def _chain(layers: Sequence[Json]) -> list[Json]:
    """The layers from the broadest down; empty if they are not one chain that ends at the node."""
    below = {layer.get("parentTopologyLayer") or "": layer for layer in layers}
    chain: list[Json] = []
    name = ""
    while name in below and len(chain) < len(layers):
        chain.append(below[name])
        name = chain[-1].get("topologyLayer") or ""
    return chain if len(chain) == len(layers) and name == NODE_LAYER else []
