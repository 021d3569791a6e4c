"""Builders for layouts and their objects, with a scheduler backend that adds nothing."""

from typing import Any

import msgspec

from grove.api import PodClique, PodCliqueScalingGroup, PodCliqueSet, labels
from grove.api.podgang import PodGang
from grove.api.serialization.model import replace
from grove.plan.gangs.membership import gang_members
from grove.plan.layout.set_layout import SetLayout
from grove.plan.objects.cliques import member_clique, scaling_group, standalone_clique
from grove.plan.objects.pod_draft import GroupDrafts, PodDraft
from grove.plan.objects.podgangs import GangScheduling, pod_gang
from grove.plan.objects.pods import PodBuilder
from grove.plan.render import ScheduledGang, SetParts, Sizes, build_gang, lay_out, render
from tests.unit.api.sets import pcs

Json = dict[str, Any]

GATE = "example.com/gang"
INIT_IMAGE = "registry.example/grove-initc:1"
DEVICE: Json = {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu"}}]}}


def layout(*cliques: Json, **template: Any) -> SetLayout:
    return SetLayout(with_uid(pcs(*cliques, **template)))


def with_uid(found: PodCliqueSet) -> PodCliqueSet:
    return replace(found, metadata=replace(found.metadata, uid="uid-of-set"))


def template(name: str) -> Json:
    return {"name": name, "templateSpec": {"spec": DEVICE}}


def share(name: str, scope: str, **more: Any) -> Json:
    return {"name": name, "scope": scope, **more}


def alone(found: SetLayout, name: str, i: int = 0) -> PodClique:
    made = standalone_clique(found, found.cliques[name], i)
    return replace(made, metadata=replace(made.metadata, uid="uid-of-clique"))


def group(found: SetLayout, name: str, i: int = 0) -> PodCliqueScalingGroup:
    (wanted,) = [g for g in found.groups if g.name == name]
    made = scaling_group(found, wanted, i)
    return replace(made, metadata=replace(made.metadata, uid="uid-of-group"))


def member(found: SetLayout, name: str, i: int = 0, j: int = 0) -> PodClique:
    own = found.group_of[name]
    made = member_clique(found, own, found.cliques[name], i, j, group(found, own.name, i))
    return replace(made, metadata=replace(made.metadata, uid="uid-of-clique"))


def draft(**changes: Any) -> PodDraft:
    return PodDraft(**{"scheduler_name": "default-scheduler", "gate": GATE, **changes})


def gang_of(found: SetLayout, clique: PodClique) -> PodGang:
    i = int(clique.metadata.labels[labels.REPLICA_INDEX])
    name = clique.metadata.labels[labels.POD_GANG]
    members = next(m for m in gang_members(found, i, {}) if m.name == name)
    return pod_gang(found, members, GangScheduling("default-scheduler", "default"))


def pod(found: SetLayout, clique: PodClique, index: int = 0, **changes: Any) -> Json:
    """A pod as it would be posted. `changes` are those of its draft."""
    drafts = GroupDrafts(draft(**changes))
    builder = PodBuilder(
        found, clique, gang_of(found, clique), drafts, init_image=INIT_IMAGE, gates=frozenset()
    )
    built: Json = msgspec.json.decode(builder.body(index, f"{clique.metadata.name}-abcde"))
    return built


def rendered(found: PodCliqueSet, sizes: Sizes | None = None, **how: Any) -> list[Json]:
    """All objects of a set, with a backend that adds nothing."""
    parts = lay_out(found, sizes)
    return render(parts, scheduled(parts), init_image=INIT_IMAGE, gates=frozenset(), **how)


def scheduled(parts: SetParts) -> list[ScheduledGang]:
    name = parts.layout.scheduler_name or "default-scheduler"
    gangs = [build_gang(parts, m, GangScheduling(name, "example")) for m in parts.gang_members]
    drafts = GroupDrafts(draft(scheduler_name=name))
    return [ScheduledGang(gang, {g.name: drafts for g in gang.spec.pod_groups}) for gang in gangs]
