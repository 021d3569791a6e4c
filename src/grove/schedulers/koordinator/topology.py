"""Network topology as Koordinator understands it: a gang as a whole is gathered in one domain of one tree.

    ClusterTopologyBinding       the ClusterNetworkTopology named `default`: one chain of layers, down to the node
    pack constraint of a gang    gatherStrategy: required MustGather, preferred PreferGather, by the layer of the label

There is nothing for a part of a gang. What is required and cannot be said is refused; a wish that cannot is dropped,
and the gang says so.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from grove.api.podcliqueset import PodCliqueSet
from grove.api.podgang import GangPackConstraint, GangTopologyConstraint, PodGang
from grove.api.topology import ClusterTopologyBinding
from grove.api.validation.problem import Problem, forbidden
from grove.api.validation.topology import Place, places
from grove.schedulers.types import Json, ObjectKind, Refusal, SchedulerObject

TOPOLOGIES = ObjectKind(
    "scheduling.koordinator.sh",
    "v1alpha1",
    "clusternetworktopologies",
    "ClusterNetworkTopology",
    namespaced=False,
)
TREE = "default"
"""The only ClusterNetworkTopology that koord-scheduler looks at."""

NODE_LAYER = "NodeTopologyLayer"
HOSTNAME = "kubernetes.io/hostname"

_SWITCHES = (
    "switch network topology on in koord-scheduler and set networkTopology in its profile, as "
    "docs/schedulers/koordinator.md says, or make the constraint a preferred one"
)
_PARTS = "constrain the whole set instead, or choose a scheduler with topology per group"


@dataclass(frozen=True)
class Layers:
    """The layers of the tree by node label, broadest first; or why there are none."""

    by_label: Mapping[str, str]
    missing: str = ""

    def depth(self, layer: str) -> int:
        return list(self.by_label.values()).index(layer)


def layers(tree: Json | None) -> Layers:
    if tree is None:
        return Layers({}, f"there is no {TOPOLOGIES.kind} {TREE!r}")
    found = (tree.get("spec") or {}).get("networkTopologySpec") or []
    chain = _chain(found)
    if not chain:
        return Layers({}, f"the layers of {TOPOLOGIES.kind} {TREE!r} are not one chain down to {NODE_LAYER}")
    by_label = {key: layer["topologyLayer"] for layer in chain for key in layer.get("labelKey") or ()}
    return Layers({k: v for k, v in by_label.items() if k != HOSTNAME} | {HOSTNAME: NODE_LAYER})


@dataclass(frozen=True)
class Gathering:
    """What is said of a gang to Koordinator, and what of its constraints is not."""

    rules: Sequence[Json]
    weaker: Sequence[str]


def gathering(gang: PodGang, known: Layers) -> Gathering:
    """Raises Refusal."""
    rules: list[tuple[int, Json]] = []
    weaker: list[str] = []
    for where, pack, whole in _asked(gang):
        for label, strategy in ((pack.required, "MustGather"), (pack.preferred, "PreferGather")):
            if not label or (strategy == "PreferGather" and label == pack.required):
                continue
            obstacle, remedy = _obstacle(label, whole, known)
            if not obstacle:
                rule = {"layer": known.by_label[label], "strategy": strategy}
                rules.append((known.depth(rule["layer"]), rule))
            elif strategy == "MustGather":
                raise Refusal(f"{where} must be packed by {label}, and {obstacle}", remedy)
            else:
                weaker.append(f"the wish to pack {where} by {label} is dropped, since {obstacle}")
    if any(rule["strategy"] == "MustGather" for _, rule in rules):
        weaker.append("pods that replace lost ones and pods beyond the minimum are not held in the domain")
    unique = {(depth, r["strategy"]): r for depth, r in rules}
    return Gathering([unique[key] for key in sorted(unique)], weaker)


def tree_of(binding: ClusterTopologyBinding) -> SchedulerObject:
    """Layers are named as the domains of the binding; the last one is always the node."""
    spec: list[Json] = []
    parent = ""
    for level in binding.spec.levels:
        if level.key != HOSTNAME:
            above = {"parentTopologyLayer": parent} if parent else {}
            spec.append({"topologyLayer": level.domain, **above, "labelKey": [level.key]})
            parent = level.domain
    above = {"parentTopologyLayer": parent} if parent else {}
    spec.append({"topologyLayer": NODE_LAYER, **above})
    return SchedulerObject(TOPOLOGIES, {"metadata": {"name": TREE}, "spec": {"networkTopologySpec": spec}})


def check_constraints(pcs: PodCliqueSet, *, off: bool) -> Iterator[Problem]:
    """Constraints that the gangs of a set could never be served with."""
    for place in places(pcs):
        if not place.constraint.required:
            continue
        if off:
            yield forbidden(place.path, "network topology is not set up for Koordinator", _SWITCHES)
        elif not _is_whole(pcs, place):
            yield forbidden(
                place.path, "Koordinator gathers whole gangs, and this is about a part of one", _PARTS
            )


def _asked(gang: PodGang) -> Iterator[tuple[str, GangPackConstraint, bool]]:
    """Every constraint: where it stands, what it asks, and whether it is about the gang as a whole."""
    everyone = {g.name for g in gang.spec.pod_groups}
    about: list[tuple[str, GangTopologyConstraint | None, bool]] = [
        ("the gang", gang.spec.topology_constraint, True)
    ]
    for config in gang.spec.topology_constraint_group_configs:
        whole = set(config.pod_group_names) == everyone
        about.append((f"group {config.name!r}", config.topology_constraint, whole))
    about += [
        (f"pod group {g.name!r}", g.topology_constraint, len(everyone) == 1) for g in gang.spec.pod_groups
    ]
    for where, constraint, whole in about:
        if constraint is not None and constraint.pack_constraint is not None:
            yield where, constraint.pack_constraint, whole


def _obstacle(label: str, whole: bool, known: Layers) -> tuple[str, str]:
    if not whole:
        return "Koordinator gathers only whole gangs", _PARTS
    if known.missing:
        return known.missing, _SWITCHES
    if label not in known.by_label:
        what = f"{TOPOLOGIES.kind} {TREE!r} has no layer for this node label"
        return what, f"add one; it has: {', '.join(known.by_label)}"
    return "", ""


def _is_whole(pcs: PodCliqueSet, place: Place) -> bool:
    """Whether a base gang has nothing beside what the constraint is about."""
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


def _chain(found: Sequence[Json]) -> list[Json]:
    """From the broadest layer down; empty if they are not one chain that ends at the node."""
    below = {layer.get("parentTopologyLayer") or "": layer for layer in found}
    chain: list[Json] = []
    name = ""
    while name in below and len(chain) < len(found):
        chain.append(below[name])
        name = chain[-1].get("topologyLayer") or ""
    return chain if len(chain) == len(found) and name == NODE_LAYER else []
