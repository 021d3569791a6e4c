"""Every object that the operator would create for a set, computed by the same plans, without a cluster.

What the scheduler backend decides is passed in as values, so the caller takes three steps:

    parts = lay_out(pcs)                               groups, cliques and members of each gang
    gang  = build_gang(parts, members, scheduling)     for each of `parts.gang_members`; then ask the backend about it
    render(parts, scheduled_gangs, ...)                all objects

The objects are in the order of creation: first the set's own, then for each replica what its pods need, its groups,
cliques and gangs, and its pods last. Values that only a cluster knows are filled in so that a person can read them:

    uid of an object               <uid of KIND/NAME>
    random end of a pod's name     the index of the pod
    random end of a set's name     xxxxx
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

import msgspec

from grove.api import labels, names
from grove.api.meta import Resource
from grove.api.podclique import PodClique
from grove.api.podcliqueset import PodCliqueSet
from grove.api.podgang import NamespacedName, PodGang
from grove.api.scalinggroup import PodCliqueScalingGroup
from grove.api.serialization.model import replace
from grove.plan.gangs.membership import GangMembers, gang_members
from grove.plan.layout.set_layout import Group, SetLayout
from grove.plan.objects.access import access
from grove.plan.objects.autoscaling import autoscalers
from grove.plan.objects.claims import (
    NO_LABELS,
    ClaimLabels,
    Templates,
    clique_claims,
    group_claims,
    replica_claims,
    set_claims,
)
from grove.plan.objects.cliques import member_clique, scaling_group, standalone_clique
from grove.plan.objects.metadata import Json
from grove.plan.objects.mnnvl import compute_domains
from grove.plan.objects.pod_draft import GroupDrafts
from grove.plan.objects.podgangs import GangScheduling, pod_gang
from grove.plan.objects.pods import PodBuilder
from grove.plan.objects.services import headless_service

R = TypeVar("R", bound=Resource)


@dataclass(frozen=True)
class Sizes:
    """Sizes to try in place of those in the manifest: replicas of the set, and copies of scaling groups by name."""

    replicas: int | None = None
    copies: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class ReplicaParts:
    """The groups and cliques of one replica, with uids, and the members of its gangs."""

    groups: Sequence[PodCliqueScalingGroup]
    cliques: Sequence[PodClique]
    gang_members: Sequence[GangMembers]


@dataclass(frozen=True)
class SetParts:
    layout: SetLayout
    replicas: Sequence[ReplicaParts]

    @property
    def gang_members(self) -> list[GangMembers]:
        return [members for replica in self.replicas for members in replica.gang_members]

    @cached_property
    def pod_names(self) -> dict[str, list[str]]:
        """By PodClique."""
        return {
            c.metadata.name or "": [_pod_name(c, p) for p in range(c.spec.replicas)]
            for replica in self.replicas
            for c in replica.cliques
        }


@dataclass(frozen=True)
class ScheduledGang:
    """A gang with everything that its backend decided about it."""

    gang: PodGang
    drafts: Mapping[str, GroupDrafts]
    """By pod group."""
    objects: Sequence[Json] = ()
    """The scheduler's own objects for the gang."""


def lay_out(pcs: PodCliqueSet, sizes: Sizes | None = None) -> SetParts:
    """`pcs` must be valid."""
    sizes = sizes or Sizes()
    layout = SetLayout(_with_uid(_with_name(pcs, sizes.replicas)))
    return SetParts(layout, [_replica_parts(layout, i, sizes.copies) for i in range(layout.replicas)])


def build_gang(parts: SetParts, members: GangMembers, scheduling: GangScheduling) -> PodGang:
    """The gang as the backend sees it in a cluster when all pods exist: with a uid and the names of all its pods."""
    gang = _with_uid(pod_gang(parts.layout, members, scheduling))
    namespace = gang.metadata.namespace or ""
    groups = [
        replace(
            g,
            # A group whose clique is scaled away has no pods.
            pod_references=[
                NamespacedName(namespace=namespace, name=name) for name in parts.pod_names.get(g.name, [])
            ],
        )
        for g in gang.spec.pod_groups
    ]
    return replace(gang, spec=replace(gang.spec, pod_groups=groups))


def render(
    parts: SetParts,
    gangs: Iterable[ScheduledGang],
    *,
    init_image: str,
    gates: Set[str],
    templates: Templates | None = None,
    claim_labels: ClaimLabels = NO_LABELS,
) -> list[Json]:
    """All objects of a set. `gangs` has one entry for each of `parts.gang_members`.

    `gates` are those of all enabled backends, `templates` the known ResourceClaimTemplates of the cluster.
    `claim_labels` are the labels that the backend wants on the resource claims that pods share.
    """
    by_name = {g.gang.metadata.name or "": g for g in gangs}
    return list(_Renderer(parts, by_name, templates or {}, claim_labels, init_image, gates).objects())


@dataclass(frozen=True)
class _Renderer:
    parts: SetParts
    gangs: Mapping[str, ScheduledGang]
    templates: Templates
    claim_labels: ClaimLabels
    init_image: str
    gates: Set[str]

    def objects(self) -> Iterator[Json]:
        yield from access(self.parts.layout)
        yield from set_claims(self.parts.layout, self.templates, self.claim_labels)
        for i, replica in enumerate(self.parts.replicas):
            yield from self._replica(i, replica)

    def _replica(self, i: int, replica: ReplicaParts) -> Iterator[Json]:
        layout = self.parts.layout
        yield headless_service(layout, i)
        yield from autoscalers(layout, i)
        yield from compute_domains(layout, i)
        yield from replica_claims(layout, i, self.templates, self.claim_labels)
        for group in replica.groups:
            yield _without_uid(group)
            yield from group_claims(layout, group, self.templates, self.claim_labels)
        for clique in replica.cliques:
            yield _without_uid(clique)
            indices = range(clique.spec.replicas)
            yield from clique_claims(layout, clique, indices, self.templates, self.claim_labels)
        for members in replica.gang_members:
            yield _without_uid(self.gangs[members.name].gang)
            yield from self.gangs[members.name].objects
        for clique in replica.cliques:
            yield from self._pods(clique)

    def _pods(self, clique: PodClique) -> Iterator[Json]:
        scheduled = self.gangs[clique.metadata.labels[labels.POD_GANG]]
        drafts = scheduled.drafts[clique.metadata.name or ""]
        builder = PodBuilder(
            self.parts.layout,
            clique,
            scheduled.gang,
            drafts,
            init_image=self.init_image,
            gates=self.gates,
        )
        for p in range(clique.spec.replicas):
            pod: Json = msgspec.json.decode(builder.body(p, _pod_name(clique, p)))
            yield pod


def _replica_parts(layout: SetLayout, i: int, sizes: Mapping[str, int]) -> ReplicaParts:
    groups = [_group(layout, g, i, sizes) for g in layout.groups]
    cliques = [_with_uid(standalone_clique(layout, c, i)) for c in layout.standalone]
    for group, owner in zip(layout.groups, groups, strict=True):
        cliques += [
            _with_uid(member_clique(layout, group, c, i, j, owner))
            for j in range(owner.spec.replicas)
            for c in group.cliques
        ]
    copies = {g.name: owner.spec.replicas for g, owner in zip(layout.groups, groups, strict=True)}
    return ReplicaParts(groups, cliques, gang_members(layout, i, copies))


def _group(layout: SetLayout, group: Group, i: int, sizes: Mapping[str, int]) -> PodCliqueScalingGroup:
    written = scaling_group(layout, group, i)
    copies = sizes.get(group.name, written.spec.replicas)
    return _with_uid(replace(written, spec=replace(written.spec, replicas=copies)))


def _with_name(pcs: PodCliqueSet, replicas: int | None) -> PodCliqueSet:
    meta = pcs.metadata
    name = meta.name or f"{meta.generate_name or ''}xxxxx"
    spec = pcs.spec if replicas is None else replace(pcs.spec, replicas=replicas)
    return replace(pcs, metadata=replace(meta, name=name), spec=spec)


def _with_uid(resource: R) -> R:
    """A readable uid, for the owner references that point to the object."""
    uid = f"<uid of {resource.kind}/{resource.metadata.name}>"
    return replace(resource, metadata=replace(resource.metadata, uid=uid))


def _without_uid(resource: Resource) -> Json:
    return replace(resource, metadata=replace(resource.metadata, uid=None)).to_dict()


def _pod_name(clique: PodClique, p: int) -> str:
    return names.hostname(clique.metadata.name or "", p)
