"""Which pods form a gang: the PodGangs of a set, without the names of their pods, which are filled in once all exist.

    base gang of replica i      every standalone clique, and of each scaling group the copies below minAvailable
    scaled gang of a group      one per copy from minAvailable on; it waits for its base gang

A gang's groups are in the order: standalone cliques as written, then per group and copy its cliques. The minimum of a
group is that of its PodClique, which keeps what it was made with; `minimums` has those that exist, by name.
"""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from grove.api import labels, names
from grove.api.meta import ObjectMeta
from grove.api.podcliqueset import Clique, PodCliqueSet
from grove.api.podgang import (
    GangPackConstraint,
    GangTopologyConstraint,
    PodGang,
    PodGangSpec,
    PodGroup,
    TopologyConstraintGroup,
)
from grove.api.serialization.model import replace
from grove.api.topology import ClusterTopologyBinding, TopologyConstraint
from grove.api.validation.topology import places
from grove.plan.layout.set_layout import Group, SetLayout


class GangSettings(NamedTuple):
    """What the cluster decides about the gangs of a set."""

    scheduler_name: str
    backend: str
    topology: ClusterTopologyBinding | None = None
    topology_object: str = ""
    """The scheduler's own topology object, where it has another name than the binding."""
    annotate: Callable[[PodCliqueSet, Sequence[Clique]], Mapping[str, str]] | None = None
    """What the backend wants to know of the set, as annotations of a gang with these cliques."""
    priority_class: Callable[[Sequence[Clique]], str | None] | None = None
    """What the backend takes for the priority class of a gang with these cliques, if the set names none."""


def topology_name(layout: SetLayout) -> str | None:
    """The topology that the set names; all its constraints agree on one."""
    return next((p.constraint.topology_name for p in places(layout.pcs) if p.constraint.topology_name), None)


def base_gang(layout: SetLayout, i: int, settings: GangSettings, minimums: Mapping[str, int]) -> PodGang:
    levels = _Levels(settings.topology)
    members = {names.clique(layout.name, i, c.name): c for c in layout.standalone}
    together: list[TopologyConstraintGroup] = []
    for group in layout.groups:
        full = names.scaling_group(layout.name, i, group.name)
        for j in range(group.min_available):
            copy = _members(full, group, j)
            members |= copy
            if settings.topology is not None and group.template.topology_constraint is not None:
                together.append(
                    TopologyConstraintGroup(
                        name=names.scaling_group_replica(full, j),
                        pod_group_names=list(copy),
                        topology_constraint=levels.translate(group.template.topology_constraint),
                    )
                )
    constraint = levels.translate(layout.pcs.spec.template.topology_constraint)
    members = _sized(members, minimums)
    return _gang(layout, names.base_gang(layout.name, i), members, constraint, together, settings, levels)


def scaled_gang(
    layout: SetLayout, group: Group, i: int, j: int, settings: GangSettings, minimums: Mapping[str, int]
) -> PodGang:
    """The gang of copy j of a scaling group, j not below minAvailable."""
    full = names.scaling_group(layout.name, i, group.name)
    own = group.template.topology_constraint or layout.pcs.spec.template.topology_constraint
    name = names.scaled_gang(full, j, group.min_available)
    members = _sized(_members(full, group, j), minimums)
    levels = _Levels(settings.topology)
    return _gang(layout, name, members, levels.translate(own), [], settings, levels)


def gangs_of_replica(
    layout: SetLayout,
    i: int,
    copies: Mapping[str, int],
    settings: GangSettings,
    minimums: Mapping[str, int] = MappingProxyType({}),
) -> list[PodGang]:
    """All gangs of replica i; `copies` says how many copies each scaling group has now."""
    scaled = [
        scaled_gang(layout, g, i, j, settings, minimums)
        for g in layout.groups
        for j in range(g.min_available, copies.get(g.name, g.template.replicas))
    ]
    return [base_gang(layout, i, settings, minimums), *scaled]


def gang_names(layout: SetLayout, i: int, copies: Mapping[str, int]) -> set[str]:
    """Of all gangs of replica i; `copies` as above."""
    scaled = {
        names.scaled_gang(names.scaling_group(layout.name, i, g.name), j, g.min_available)
        for g in layout.groups
        for j in range(g.min_available, copies.get(g.name, g.template.replicas))
    }
    return {names.base_gang(layout.name, i), *scaled}


class _Levels:
    """Translates domains of a topology into node labels. What the topology does not have is left out."""

    def __init__(self, topology: ClusterTopologyBinding | None) -> None:
        self._keys = {level.domain: level.key for level in topology.spec.levels} if topology else {}

    def translate(self, constraint: TopologyConstraint | None) -> GangTopologyConstraint | None:
        if constraint is None:
            return None
        required = self._keys.get(constraint.required or "")
        preferred = self._keys.get(constraint.preferred or "")
        if required is None and preferred is None:
            return None
        return GangTopologyConstraint(
            pack_constraint=GangPackConstraint(required=required, preferred=preferred)
        )


def _members(full: str, group: Group, j: int) -> dict[str, Clique]:
    return {names.clique_in_group(full, j, c.name): c for c in group.cliques}


def _sized(members: Mapping[str, Clique], minimums: Mapping[str, int]) -> dict[str, Clique]:
    return {
        name: replace(c, spec=replace(c.spec, min_available=minimums[name]))
        if minimums.get(name, c.spec.min_available) != c.spec.min_available
        else c
        for name, c in members.items()
    }


def _pod_group(name: str, clique: Clique, levels: _Levels) -> PodGroup:
    return PodGroup(
        name=name,
        pod_references=[],
        min_replicas=clique.spec.min_available or clique.spec.replicas,
        topology_constraint=levels.translate(clique.topology_constraint),
    )


def _gang(
    layout: SetLayout,
    name: str,
    members: Mapping[str, Clique],
    constraint: GangTopologyConstraint | None,
    together: list[TopologyConstraintGroup],
    settings: GangSettings,
    levels: _Levels,
) -> PodGang:
    """The user's labels and annotations of the set go to its gangs, and from there to the scheduler's objects."""
    meta = layout.pcs.metadata
    groups = [_pod_group(n, c, levels) for n, c in members.items()]
    own = {
        labels.COMPONENT: labels.Component.POD_GANG,
        labels.SCHEDULER_NAME: settings.scheduler_name,
        labels.SCHEDULER_BACKEND: settings.backend,
    }
    annotations = _users(meta.annotations)
    if (guarantee := meta.annotations.get(labels.GANG_GUARANTEE)) is not None:
        annotations[labels.GANG_GUARANTEE] = guarantee
    constrained = (
        constraint
        or any(g.topology_constraint for g in groups)
        or any(t.topology_constraint for t in together)
    )
    if settings.topology is not None and constrained:
        name_of_binding = settings.topology.metadata.name or ""
        annotations[labels.TOPOLOGY_NAME] = name_of_binding
        annotations[labels.SCHEDULER_TOPOLOGY] = settings.topology_object or name_of_binding
    priority = layout.pcs.spec.template.priority_class_name
    if not priority and settings.priority_class is not None:
        priority = settings.priority_class(list(members.values()))
    if settings.annotate is not None:
        annotations |= settings.annotate(layout.pcs, list(members.values()))
    return PodGang(
        metadata=ObjectMeta(
            name=name,
            namespace=layout.namespace,
            labels=_users(meta.labels) | layout.labels | own,
            annotations=annotations,
            owner_references=[layout.owner],
        ),
        spec=PodGangSpec(
            pod_groups=groups,
            topology_constraint=constraint,
            topology_constraint_group_configs=together,
            priority_class_name=priority,
        ),
    )


def _users(metadata: dict[str, str]) -> dict[str, str]:
    return {k: v for k, v in metadata.items() if not k.startswith(labels.GROVE_PREFIX)}
