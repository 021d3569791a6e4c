"""Rules for topology constraints.

    one topology per set; every domain is a level of it; no constraint is narrower than the constraints inside it

The set, a scaling group or a clique may have a constraint. A constraint without a topology name inherits it: a group
from the set; a clique from its group if that has a constraint, otherwise from the set.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from grove.api.podcliqueset import PodCliqueSet
from grove.api.topology import ClusterTopologyBinding, TopologyConstraint
from grove.api.validation.cliques import PATH as CLIQUES
from grove.api.validation.groups import PATH as GROUPS
from grove.api.validation.immutable import REMEDY
from grove.api.validation.problem import Problem, forbidden, invalid, required, unsupported, warning
from grove.schema.errors import Path


@dataclass(frozen=True)
class PlacedConstraint:
    """A constraint with its position in the set and the constraints that enclose it, nearest first."""

    what: str
    path: Path
    constraint: TopologyConstraint
    enclosing: tuple["PlacedConstraint", ...]

    @property
    def inherited_name(self) -> str | None:
        return self.enclosing[0].name if self.enclosing else None

    @property
    def name(self) -> str | None:
        return self.constraint.topology_name or self.inherited_name


def placed_constraints(pcs: PodCliqueSet) -> list[PlacedConstraint]:
    """All constraints of a set, outer ones first."""
    template = pcs.spec.template
    found: list[PlacedConstraint] = []
    of_set: tuple[PlacedConstraint, ...] = ()
    if template.topology_constraint is not None:
        path: Path = ("spec", "template", "topologyConstraint")
        of_set = (PlacedConstraint("the set", path, template.topology_constraint, ()),)
        found += of_set
    around: dict[str, tuple[PlacedConstraint, ...]] = {}
    for i, group in enumerate(template.pod_clique_scaling_groups):
        enclosing = of_set
        if group.topology_constraint is not None:
            path = (*GROUPS, i, "topologyConstraint")
            place = PlacedConstraint(f"scaling group {group.name!r}", path, group.topology_constraint, of_set)
            found.append(place)
            enclosing = (place, *of_set)
        around |= dict.fromkeys(group.clique_names, enclosing)
    for i, clique in enumerate(template.cliques):
        if clique.topology_constraint is not None:
            path = (*CLIQUES, i, "topologyConstraint")
            place = PlacedConstraint(
                f"clique {clique.name!r}", path, clique.topology_constraint, around.get(clique.name, of_set)
            )
            found.append(place)
    return found


def check_topology(
    pcs: PodCliqueSet, *, enabled: bool, topologies: Mapping[str, ClusterTopologyBinding] | None
) -> Iterator[Problem]:
    """If `topologies` is None, the topologies of the cluster are not known, and the domains are not checked."""
    found = placed_constraints(pcs)
    if not enabled:
        for place in found:
            yield forbidden(
                place.path,
                "topology-aware scheduling is disabled in this cluster",
                "remove the constraint, or set topologyAwareScheduling.enabled in the operator's configuration",
            )
        return
    names = list(_check_names(found))
    yield from names
    for place in found:
        yield from _check_redundant(place, topologies)
    if names or not found or topologies is None or (name := found[0].name) is None:
        return
    if name not in topologies:
        yield invalid(
            (*found[0].path, "topologyName"),
            name,
            "there is no such ClusterTopologyBinding",
            f"there are: {', '.join(sorted(topologies)) or 'none'}",
        )
        return
    domains = [level.domain for level in topologies[name].spec.levels]
    unknown = [p for place in found for p in _check_domains(place, domains)]
    yield from unknown
    if not unknown:
        for place in found:
            yield from _check_hierarchy(place, domains)


def check_topology_unchanged(new: PodCliqueSet, old: PodCliqueSet) -> Iterator[Problem]:
    """Constraints are immutable, except that pack.required may replace packDomain, and a missing name may be added."""
    after, before = ({p.what: p for p in placed_constraints(s)} for s in (new, old))
    for what, now in after.items():
        was = before.pop(what, None)
        if was is None:
            yield forbidden(now.path, "a topology constraint cannot be added", REMEDY)
        elif _meaning(now) != _meaning(was) and not _is_repair(now, was):
            yield forbidden(now.path, "a topology constraint cannot be changed", REMEDY)
    for was in before.values():
        yield forbidden(was.path, "a topology constraint cannot be removed", REMEDY)


def repairs_topology(new: PodCliqueSet, old: PodCliqueSet) -> bool:
    """Whether an update adds a topology name that was missing. Its constraints are then checked as on creation."""
    before = {p.what: p for p in placed_constraints(old)}
    return any(p.what in before and p.name and _is_repair(p, before[p.what]) for p in placed_constraints(new))


def deprecations(pcs: PodCliqueSet) -> Iterator[Problem]:
    for place in placed_constraints(pcs):
        if place.constraint.pack_domain is not None:
            yield warning(
                (*place.path, "packDomain"),
                place.constraint.pack_domain,
                "is deprecated",
                f"write pack: {{required: {place.constraint.pack_domain}}} instead",
            )


def _meaning(place: PlacedConstraint) -> tuple[str | None, str | None, str | None]:
    c = place.constraint
    return c.topology_name, c.required, c.preferred


def _is_repair(now: PlacedConstraint, was: PlacedConstraint) -> bool:
    """Old sets could have packDomain without a topology: an update may add the name and change nothing else."""
    nameless = was.name is None and was.constraint.pack_domain is not None
    return nameless and _meaning(now)[1:] == _meaning(was)[1:]


def _check_names(found: list[PlacedConstraint]) -> Iterator[Problem]:
    for place in found:
        path = (*place.path, "topologyName")
        own, inherited = place.constraint.topology_name, place.inherited_name
        if place.name is None:
            yield required(
                path,
                "a constraint names its topology",
                "name a ClusterTopologyBinding: kubectl get clustertopologybindings",
            )
        elif own and inherited and own != inherited:
            yield invalid(
                path,
                own,
                f"{place.enclosing[0].what} around it uses {inherited!r}, and a set uses one topology",
                f"write {inherited!r}, or leave it out",
            )
    explicit = {p.name for p in found if p.name is not None}
    conflicts = any(
        p.constraint.topology_name and p.inherited_name and p.constraint.topology_name != p.inherited_name
        for p in found
    )
    if len(explicit) > 1 and not conflicts:
        for place in found:
            if place.constraint.topology_name:
                yield invalid(
                    (*place.path, "topologyName"),
                    place.constraint.topology_name,
                    f"a set uses one topology, and this one names {', '.join(sorted(explicit))}",
                    "write the same name everywhere",
                )


def _check_domains(place: PlacedConstraint, domains: list[str]) -> Iterator[Problem]:
    for path, domain in _domains_of(place):
        if domain not in domains:
            yield unsupported(
                path, domain, domains, f"use a level of the ClusterTopologyBinding {place.name!r}"
            )


def _domains_of(place: PlacedConstraint) -> Iterator[tuple[Path, str]]:
    c = place.constraint
    if c.pack_domain:
        yield (*place.path, "packDomain"), c.pack_domain
    if c.pack and c.pack.required:
        yield (*place.path, "pack", "required"), c.pack.required
    if c.pack and c.pack.preferred:
        yield (*place.path, "pack", "preferred"), c.pack.preferred


def _check_hierarchy(place: PlacedConstraint, domains: list[str]) -> Iterator[Problem]:
    """`domains` are in order, broadest first: an enclosing level must not come after the level inside it."""
    for field in ("required", "preferred"):
        inner = getattr(place.constraint, field)
        for outer_place in place.enclosing:
            outer = getattr(outer_place.constraint, field)
            if inner and outer and domains.index(outer) > domains.index(inner):
                yield invalid(
                    (*outer_place.path, "pack", field),
                    outer,
                    f"is narrower than {inner!r} of {place.what} inside it",
                    f"use {inner!r} or a broader level here, or {outer!r} or a narrower one there",
                )


def _check_redundant(
    place: PlacedConstraint, topologies: Mapping[str, ClusterTopologyBinding] | None
) -> Iterator[Problem]:
    binding = (topologies or {}).get(place.name or "")
    domains = [level.domain for level in binding.spec.levels] if binding else []
    needed, wished = place.constraint.required, place.constraint.preferred
    if needed in domains and wished in domains and domains.index(wished) <= domains.index(needed):
        yield warning(
            (*place.path, "pack", "preferred"),
            wished,
            f"has no effect: required {needed!r} is as narrow or narrower",
            "prefer a narrower level than the required one, or remove it",
        )
