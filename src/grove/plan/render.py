"""Everything that the operator would make of a set, worked out by the same plans, without a cluster.

The order is that of creation: what belongs to the set as a whole, then for each replica what its pods need, its groups
and cliques, its gangs and at last its pods. What only a cluster can know is filled in so that a person can read it:

    uid of an object               <uid of KIND/NAME>
    random end of a pod's name     the index of the pod
    random end of a set's name     xxxxx
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

import msgspec

from grove.api import labels, names
from grove.api.meta import Resource
from grove.api.podclique import PodClique
from grove.api.podcliqueset import PodCliqueSet
from grove.api.podgang import NamespacedName, PodGang, PodGroup
from grove.api.scalinggroup import PodCliqueScalingGroup
from grove.api.serialization.model import replace
from grove.plan.gangs.membership import GangSettings, gangs_of_replica
from grove.plan.layout.set_layout import Group, SetLayout
from grove.plan.objects.access import access
from grove.plan.objects.autoscaling import autoscalers
from grove.plan.objects.claims import (
    NO_TAGS,
    Tags,
    Templates,
    clique_claims,
    group_claims,
    replica_claims,
    set_claims,
)
from grove.plan.objects.cliques import member_clique, scaling_group, standalone_clique
from grove.plan.objects.metadata import Json
from grove.plan.objects.mnnvl import compute_domains
from grove.plan.objects.pod_draft import GroupDrafts, PodDraft
from grove.plan.objects.pods import PodBuilder
from grove.plan.objects.services import headless_service

R = TypeVar("R", bound=Resource)


@dataclass(frozen=True)
class Scheduling:
    """What a scheduler backend decides about a set."""

    settings: GangSettings
    draft: Callable[[PodGang, PodGroup], PodDraft]
    """The draft of the pods of a group in a gang."""
    surplus: Callable[[PodGang, PodGroup], PodDraft | None] = lambda gang, group: None
    """That of its pods beyond the minimum, if it is another one."""
    objects: Callable[[PodGang], Iterable[Json]] = lambda gang: ()
    """The scheduler's own objects for a gang."""
    claim_labels: Tags = field(default_factory=lambda: NO_TAGS)
    """Labels of the resource claims that pods share."""


@dataclass(frozen=True)
class Sizes:
    """Sizes to try in place of those that are written: replicas of the set, and copies of scaling groups by name."""

    replicas: int | None = None
    copies: Mapping[str, int] = field(default_factory=dict)


def render(
    pcs: PodCliqueSet,
    scheduling: Callable[[SetLayout], Scheduling],
    *,
    init_image: str,
    sizes: Sizes | None = None,
    templates: Templates | None = None,
) -> list[Json]:
    """All objects of a valid set. `templates` are the ResourceClaimTemplates of the cluster, as far as known."""
    sizes = sizes or Sizes()
    layout = SetLayout(_with_uid(_named(pcs, sizes.replicas)))
    renderer = _Renderer(layout, scheduling(layout), sizes.copies, templates or {}, init_image)
    return list(renderer.objects())


@dataclass(frozen=True)
class _Renderer:
    layout: SetLayout
    scheduling: Scheduling
    copies: Mapping[str, int]
    templates: Templates
    init_image: str

    def objects(self) -> Iterator[Json]:
        yield from access(self.layout)
        yield from set_claims(self.layout, self.templates, self.scheduling.claim_labels)
        for i in range(self.layout.replicas):
            yield from self._replica(i)

    def _replica(self, i: int) -> Iterator[Json]:
        layout = self.layout
        groups = [self._group(g, i) for g in layout.groups]
        cliques = list(self._cliques(groups, i))
        copies = {g.name: owner.spec.replicas for g, owner in zip(layout.groups, groups, strict=True)}
        gangs = [
            _with_uid(_filled(g, cliques))
            for g in gangs_of_replica(layout, i, copies, self.scheduling.settings)
        ]
        yield headless_service(layout, i)
        yield from autoscalers(layout, i)
        yield from compute_domains(layout, i)
        yield from replica_claims(layout, i, self.templates, self.scheduling.claim_labels)
        for group in groups:
            yield _printed(group)
            yield from group_claims(layout, group, self.templates, self.scheduling.claim_labels)
        for clique in cliques:
            yield _printed(clique)
            indices = range(clique.spec.replicas)
            yield from clique_claims(layout, clique, indices, self.templates, self.scheduling.claim_labels)
        for gang in gangs:
            yield _printed(gang)
            yield from self.scheduling.objects(gang)
        for clique in cliques:
            yield from self._pods(clique, gangs)

    def _group(self, group: Group, i: int) -> PodCliqueScalingGroup:
        made = scaling_group(self.layout, group, i)
        copies = self.copies.get(group.name, made.spec.replicas)
        return _with_uid(replace(made, spec=replace(made.spec, replicas=copies)))

    def _cliques(self, groups: list[PodCliqueScalingGroup], i: int) -> Iterator[PodClique]:
        for clique in self.layout.standalone:
            yield _with_uid(standalone_clique(self.layout, clique, i))
        for group, owner in zip(self.layout.groups, groups, strict=True):
            for j in range(owner.spec.replicas):
                for clique in group.cliques:
                    yield _with_uid(member_clique(self.layout, group, clique, i, j, owner))

    def _pods(self, clique: PodClique, gangs: list[PodGang]) -> Iterator[Json]:
        gang = next(g for g in gangs if g.metadata.name == clique.metadata.labels[labels.POD_GANG])
        group = next(g for g in gang.spec.pod_groups if g.name == clique.metadata.name)

        drafts = GroupDrafts(self.scheduling.draft(gang, group), self.scheduling.surplus(gang, group))
        builder = PodBuilder(self.layout, clique, gang, drafts, init_image=self.init_image)
        for p in range(clique.spec.replicas):
            pod: Json = msgspec.json.decode(builder.body(p, _pod_name(clique, p)))
            yield pod


def _named(pcs: PodCliqueSet, replicas: int | None) -> PodCliqueSet:
    meta = pcs.metadata
    name = meta.name or f"{meta.generate_name or ''}xxxxx"
    spec = pcs.spec if replicas is None else replace(pcs.spec, replicas=replicas)
    return replace(pcs, metadata=replace(meta, name=name), spec=spec)


def _with_uid(resource: R) -> R:
    """As if the server had given it an identity, for what refers to it."""
    uid = f"<uid of {resource.kind}/{resource.metadata.name}>"
    return replace(resource, metadata=replace(resource.metadata, uid=uid))


def _printed(resource: Resource) -> Json:
    return replace(resource, metadata=replace(resource.metadata, uid=None)).to_dict()


def _filled(gang: PodGang, cliques: list[PodClique]) -> PodGang:
    """The gang with the names of all its pods."""
    pods = {c.metadata.name: [_pod_name(c, p) for p in range(c.spec.replicas)] for c in cliques}
    namespace = gang.metadata.namespace or ""
    groups = [
        replace(g, pod_references=[NamespacedName(namespace=namespace, name=n) for n in pods.get(g.name, [])])
        for g in gang.spec.pod_groups
    ]
    return replace(gang, spec=replace(gang.spec, pod_groups=groups))


def _pod_name(clique: PodClique, p: int) -> str:
    return names.hostname(clique.metadata.name or "", p)
