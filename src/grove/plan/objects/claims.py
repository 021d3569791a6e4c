"""Resource claims that pods share, at three levels.

    level     owner                    one for all replicas       one for each replica
    set       PodCliqueSet             <set>-all-<template>       <set>-<i>-<template>
    group     PodCliqueScalingGroup    <group>-all-<template>     <group>-<j>-<template>
    clique    PodClique                <clique>-all-<template>    <clique>-<p>-<template>

A filter decides which pods use a claim, not whether it exists. The template of a claim is one of the set's own, or else
a ResourceClaimTemplate of the cluster: `external_templates` names those, and the caller reads them. A template of
another namespace must be shared with the namespace of the set (`is_shared_with`): the user who creates a set may not be
allowed to read that namespace. A claim whose template does not exist, or is not shared, is left out.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import msgspec

from grove.api import labels, names
from grove.api.meta import OwnerReference
from grove.api.podclique import PodClique
from grove.api.podcliqueset import Clique
from grove.api.scalinggroup import PodCliqueScalingGroup
from grove.api.sharing import CliqueFilter, CliqueResourceSharing, SetFilter
from grove.plan.layout.clique_position import position_of
from grove.plan.layout.set_layout import Group, SetLayout, owner_reference
from grove.plan.objects.metadata import Json, metadata


@dataclass(frozen=True, order=True)
class TemplateRef:
    """A ResourceClaimTemplate of the cluster."""

    namespace: str
    name: str


Templates = Mapping[TemplateRef, Json]
"""The ResourceClaimTemplates that the set may use: their `spec.spec`, which is the spec of the claims."""

ClaimLabels = Mapping[str, str]
"""Labels that the backend wants on the claims that pods share."""
NO_LABELS: ClaimLabels = MappingProxyType({})


def external_templates(layout: SetLayout) -> list[TemplateRef]:
    """The ResourceClaimTemplates of the cluster that the set refers to."""
    template = layout.pcs.spec.template
    levels: list[Sequence[CliqueResourceSharing]] = [template.resource_sharing]
    levels += [g.template.resource_sharing for g in layout.groups]
    levels += [c.resource_sharing for c in layout.cliques.values()]
    own = _own_templates(layout)
    return sorted({_reference(layout, e) for level in levels for e in level if not _is_own(e, own)})


def is_shared_with(namespace: str, reference: TemplateRef, annotations: Mapping[str, str]) -> bool:
    """Whether sets of a namespace may use a template that has these annotations."""
    named = {n.strip() for n in annotations.get(labels.SHARED_WITH_NAMESPACES, "").split(",")}
    return reference.namespace == namespace or "*" in named or namespace in named


def set_claims(layout: SetLayout, templates: Templates, claim_labels: ClaimLabels = NO_LABELS) -> list[Json]:
    """The claims that all replicas of the set share."""
    return _Level(layout, layout.name, layout.owner, claim_labels, templates).shared(
        layout.pcs.spec.template.resource_sharing
    )


def replica_claims(
    layout: SetLayout, i: int, templates: Templates, claim_labels: ClaimLabels = NO_LABELS
) -> list[Json]:
    """The claims of replica i of the set."""
    entries = layout.pcs.spec.template.resource_sharing
    level = _Level(layout, layout.name, layout.owner, claim_labels, templates)
    return level.of_replica(entries, labels.REPLICA_INDEX, i)


def group_claims(
    layout: SetLayout,
    group: PodCliqueScalingGroup,
    templates: Templates,
    claim_labels: ClaimLabels = NO_LABELS,
) -> list[Json]:
    """The claims of a scaling group and of each of its copies."""
    name = group.metadata.name or ""
    own = {**claim_labels, labels.SCALING_GROUP: name}
    level = _Level(layout, name, owner_reference(group), own, templates)
    entries = _group_template(layout, group).template.resource_sharing
    copies = [
        claim
        for j in range(group.spec.replicas)
        for claim in level.of_replica(entries, labels.SCALING_GROUP_REPLICA_INDEX, j)
    ]
    return [*level.shared(entries), *copies]


def clique_claims(
    layout: SetLayout,
    clique: PodClique,
    indices: Iterable[int],
    templates: Templates,
    claim_labels: ClaimLabels = NO_LABELS,
) -> list[Json]:
    """The claims of a clique and of each of its pods. `indices` are those of the pods that exist or should exist."""
    name = clique.metadata.name or ""
    level = _Level(
        layout, name, owner_reference(clique), {**claim_labels, labels.POD_CLIQUE: name}, templates
    )
    entries = position_of(layout, clique).clique.resource_sharing
    pods = [claim for p in indices for claim in level.of_replica(entries, labels.POD_INDEX, p)]
    return [*level.shared(entries), *pods]


def claims_of_pod(layout: SetLayout, clique: PodClique, p: int) -> list[str]:
    """The names of the claims that pod p of a clique uses."""
    position = position_of(layout, clique)
    found = _names(
        layout.name,
        [
            e
            for e in layout.pcs.spec.template.resource_sharing
            if _lets_in(e.filter, position.clique, position.group)
        ],
        position.i,
    )
    if position.group is not None and position.j is not None:
        full = names.scaling_group(layout.name, position.i, position.group.name)
        sharing = position.group.template.resource_sharing
        found += _names(full, [e for e in sharing if _lets_in(e.filter, position.clique, None)], position.j)
    return [*found, *_names(clique.metadata.name or "", position.clique.resource_sharing, p)]


class _Level:
    """Builds the claims of one owner, with `own` as further labels."""

    def __init__(
        self,
        layout: SetLayout,
        name: str,
        owner: OwnerReference,
        own: Mapping[str, str],
        templates: Templates,
    ) -> None:
        self._layout = layout
        self._name = name
        self._owner = owner
        self._labels = {labels.COMPONENT: labels.ComponentLabel.RESOURCE_CLAIM, **own}
        self._templates = templates
        self._own_templates = _own_templates(layout)

    def shared(self, entries: Sequence[CliqueResourceSharing]) -> list[Json]:
        return [
            claim
            for e in entries
            if e.scope == "AllReplicas"
            for claim in self._claim(names.shared_claim(self._name, e.name), e, {})
        ]

    def of_replica(self, entries: Sequence[CliqueResourceSharing], label: str, index: int) -> list[Json]:
        return [
            claim
            for e in entries
            if e.scope == "PerReplica"
            for claim in self._claim(names.replica_claim(self._name, index, e.name), e, {label: str(index)})
        ]

    def _claim(self, name: str, entry: CliqueResourceSharing, index: dict[str, str]) -> list[Json]:
        """One claim, or none if its template does not exist."""
        external = self._templates.get(_reference(self._layout, entry))
        spec = self._own_templates[entry.name] if _is_own(entry, self._own_templates) else external
        if spec is None:
            return []
        return [
            {
                "apiVersion": "resource.k8s.io/v1",
                "kind": "ResourceClaim",
                "metadata": metadata(self._layout, name, self._labels | index, self._owner),
                "spec": spec,
            }
        ]


def _own_templates(layout: SetLayout) -> dict[str, Json]:
    found = layout.pcs.spec.template.resource_claim_templates
    return {t.name: msgspec.json.decode(t.template_spec)["spec"] for t in found}


def _is_own(entry: CliqueResourceSharing, own: Mapping[str, Json]) -> bool:
    return not entry.namespace and entry.name in own


def _reference(layout: SetLayout, entry: CliqueResourceSharing) -> TemplateRef:
    return TemplateRef(entry.namespace or layout.namespace, entry.name)


def _group_template(layout: SetLayout, group: PodCliqueScalingGroup) -> Group:
    i = int(group.metadata.labels[labels.REPLICA_INDEX])
    for found in layout.groups:
        if names.scaling_group(layout.name, i, found.name) == group.metadata.name:
            return found
    raise LookupError(f"PodCliqueSet {layout.name} describes no scaling group {group.metadata.name}")


def _names(owner: str, entries: Sequence[CliqueResourceSharing], index: int) -> list[str]:
    """Claims that all replicas share come first."""
    shared = [names.shared_claim(owner, e.name) for e in entries if e.scope == "AllReplicas"]
    return [*shared, *(names.replica_claim(owner, index, e.name) for e in entries if e.scope == "PerReplica")]


def _lets_in(found: CliqueFilter | None, clique: Clique, group: Group | None) -> bool:
    """Whether a filter lets the pods of a clique use a claim. A clique or group may be in either list of the filter."""
    if found is None:
        return True
    wanted = {*found.child_clique_names}
    if isinstance(found, SetFilter):
        wanted |= {*found.child_scaling_group_names}
    return clique.name in wanted or (group is not None and group.name in wanted)
