"""The PodGang of each gang.

The PodGang is built without the names of its pods: `grove.plan.gangs.completion` fills them in once all pods exist.
The user's labels and annotations of the set pass to its gangs, and from there to the scheduler's objects. Domains of
the set's topology become node labels; a domain that the topology lacks is left out.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from grove.api import labels
from grove.api.meta import ObjectMeta
from grove.api.podcliqueset import Clique
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
from grove.plan.gangs.membership import GangMembers
from grove.plan.layout.set_layout import SetLayout

OWNED_GANG_FIELDS = (
    "spec.podgroups",
    "spec.priorityClassName",
    "spec.topologyConstraint",
    "spec.topologyConstraintGroupConfigs",
)
"""The fields of a PodGang that belong to Grove alone."""


@dataclass(frozen=True)
class GangScheduling:
    """Who schedules one gang, and what the backend adds to it. `annotations` and `priority_class` depend on the gang's
    cliques, so the caller asks the backend once per gang."""

    scheduler_name: str
    backend: str
    topology: ClusterTopologyBinding | None = None
    """The topology that the set names; None if it names none, or topology-aware scheduling is switched off."""
    topology_object: str = ""
    """The name of the scheduler's own topology object, where it differs from that of the binding."""
    annotations: Mapping[str, str] = field(default_factory=dict)
    """What the backend needs to know about the set and cannot read from a gang."""
    priority_class: str | None = None
    """The gang's priority class, if the set names none."""


def pod_gang(layout: SetLayout, members: GangMembers, scheduling: GangScheduling) -> PodGang:
    levels = _Levels(scheduling.topology)
    constraint = levels.translate(_constraint(layout, members))
    groups = [_pod_group(name, clique, levels) for name, clique in members.cliques.items()]
    copies = _constrained_copies(members, scheduling, levels)
    constrained = (
        constraint is not None
        or any(g.topology_constraint for g in groups)
        or any(c.topology_constraint for c in copies)
    )
    meta = layout.pcs.metadata
    own_labels = {
        labels.COMPONENT: labels.ComponentLabel.POD_GANG,
        labels.SCHEDULER_NAME: scheduling.scheduler_name,
        labels.SCHEDULER_BACKEND: scheduling.backend,
    }
    return PodGang(
        metadata=ObjectMeta(
            name=members.name,
            namespace=layout.namespace,
            labels=_without_groves(meta.labels) | layout.labels | own_labels,
            annotations=_annotations(layout, scheduling, constrained=constrained),
            owner_references=[layout.owner],
        ),
        spec=PodGangSpec(
            pod_groups=groups,
            topology_constraint=constraint,
            topology_constraint_group_configs=copies,
            priority_class_name=layout.pcs.spec.template.priority_class_name or scheduling.priority_class,
        ),
    )


class _Levels:
    """Translates the domains of a topology into node labels."""

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


def _constraint(layout: SetLayout, members: GangMembers) -> TopologyConstraint | None:
    """A scaled gang follows its scaling group if that has a constraint, else the set."""
    of_set = layout.pcs.spec.template.topology_constraint
    if members.is_base:
        return of_set
    (copy,) = members.copies
    return copy.group.template.topology_constraint or of_set


def _constrained_copies(
    members: GangMembers, scheduling: GangScheduling, levels: _Levels
) -> list[TopologyConstraintGroup]:
    """The copies in a base gang that have a constraint of their own. A scaled gang is one copy: see `_constraint`."""
    if not members.is_base or scheduling.topology is None:
        return []
    return [
        TopologyConstraintGroup(
            name=copy.name,
            pod_group_names=list(copy.clique_names),
            topology_constraint=levels.translate(copy.group.template.topology_constraint),
        )
        for copy in members.copies
        if copy.group.template.topology_constraint is not None
    ]


def _pod_group(name: str, clique: Clique, levels: _Levels) -> PodGroup:
    return PodGroup(
        name=name,
        pod_references=[],
        min_replicas=clique.spec.min_available or clique.spec.replicas,
        topology_constraint=levels.translate(clique.topology_constraint),
    )


def _annotations(layout: SetLayout, scheduling: GangScheduling, *, constrained: bool) -> dict[str, str]:
    given = layout.pcs.metadata.annotations
    annotations = _without_groves(given)
    if labels.GANG_GUARANTEE in given:
        annotations[labels.GANG_GUARANTEE] = given[labels.GANG_GUARANTEE]
    if scheduling.topology is not None and constrained:
        binding = scheduling.topology.metadata.name or ""
        annotations[labels.TOPOLOGY_NAME] = binding
        annotations[labels.SCHEDULER_TOPOLOGY] = scheduling.topology_object or binding
    return {**annotations, **scheduling.annotations}


def _without_groves(metadata: Mapping[str, str]) -> dict[str, str]:
    return {k: v for k, v in metadata.items() if not k.startswith(labels.GROVE_PREFIX)}


def keep_decided(gang: PodGang, existing: PodGang, *, pins_priority: bool) -> PodGang:
    """`gang` with what the existing PodGang must keep: the pods that it names, which `grove.plan.gangs.completion`
    decides, and with `pins_priority` its priority class, since neither pods nor scheduler objects can change theirs."""
    named = {g.name: g.pod_references for g in existing.spec.pod_groups}
    groups = [replace(g, pod_references=named.get(g.name, [])) for g in gang.spec.pod_groups]
    priority = existing.spec.priority_class_name if pins_priority else gang.spec.priority_class_name
    return replace(gang, spec=replace(gang.spec, pod_groups=groups, priority_class_name=priority))
