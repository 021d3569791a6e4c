"""What one replica of a set consists of, as objects to create or update."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import orjson

from grove.api import PodClique, PodCliqueScalingGroup, PodGang, labels, names
from grove.api.podcliqueset import Clique
from grove.api.serialization import codec
from grove.controllers.podcliqueset.set_judgements import SetJudgements
from grove.controllers.shared.apply import key_of_json
from grove.controllers.shared.claims import Claims
from grove.controllers.shared.context import OperatorContext
from grove.controllers.shared.indexes import ReplicaKey, label
from grove.controllers.shared.informers import Informers
from grove.plan.gangs.membership import gang_members
from grove.plan.layout.set_layout import SetLayout
from grove.plan.objects.autoscaling import autoscalers
from grove.plan.objects.claims import replica_claims
from grove.plan.objects.cliques import (
    OWNED_CLIQUE_FIELDS,
    OWNED_GROUP_FIELDS,
    as_scaled,
    as_scaled_group,
    scaling_group,
    standalone_clique,
)
from grove.plan.objects.mnnvl import compute_domains
from grove.plan.objects.podgangs import OWNED_GANG_FIELDS, keep_decided, pod_gang
from grove.plan.objects.services import headless_service
from grove.plan.rollout.templates import with_template
from grove.runtime.cache.informer import Informer
from grove.runtime.client.objects import ObjectKey, key_of

# The fields in which Grove alone decides.
OWNED_COMPANION_FIELDS = {"Service": ("spec.selector",), "HorizontalPodAutoscaler": ("spec.scaleTargetRef",)}

# The kinds of companions that each replica has of its own, with the code of a failure. The others are the set's.
COMPANION_CODES = {
    "Service": "ERR_SYNC_PODCLIQUESET_SERVICE",
    "HorizontalPodAutoscaler": "ERR_SYNC_HPA",
    "ResourceClaim": "ERR_SYNC_PCS_RESOURCE_CLAIM",
    "ComputeDomain": "ERR_SYNC_COMPUTEDOMAIN",
}


@dataclass(frozen=True)
class DesiredObject:
    """`body` is called right before the write, so that it keeps what others have decided by then, such as a scale."""

    informer: Informer[Any]
    key: ObjectKey
    body: Callable[[], bytes]
    owned_fields: tuple[str, ...]
    failure_code: str


class ReplicaObjects:
    def __init__(
        self, context: OperatorContext, informers: Informers, judgements: SetJudgements, claims: Claims
    ) -> None:
        self._context = context
        self._informers = informers
        self._judgements = judgements
        self._claims = claims

    def desired(self, key: ReplicaKey, layout: SetLayout) -> list[DesiredObject]:
        """Gangs come first: pods are created only once their gang exists."""
        return [
            *self._gangs(key, layout),
            *self._cliques(key, layout),
            *self._groups(key, layout),
            *self._companions(key, layout),
        ]

    def copies(self, layout: SetLayout, i: int) -> dict[str, int]:
        """How many copies each scaling group of replica i has now, by its name in the set."""
        found: dict[str, int] = {}
        for group in layout.groups:
            name = names.scaling_group(layout.name, i, group.name)
            existing = self._informers.groups.cache.get(ObjectKey(layout.namespace, name))
            found[group.name] = existing.spec.replicas if existing is not None else group.template.replicas
        return found

    def _gangs(self, key: ReplicaKey, layout: SetLayout) -> list[DesiredObject]:
        cliques = self._informers.cliques.cache.by_index("replica", key)
        minimums = {c.metadata.name or "": m for c in cliques if (m := c.spec.min_available) is not None}
        gangs = [
            pod_gang(layout, members, self._judgements.scheduling(layout, members))
            for members in gang_members(layout, key.replica, self.copies(layout, key.replica), minimums)
        ]
        return [
            DesiredObject(
                self._informers.gangs,
                key_of(gang),
                partial(self._gang_body, gang),
                OWNED_GANG_FIELDS,
                "ERR_CREATE_OR_PATCH_PODGANG",
            )
            for gang in gangs
        ]

    def _cliques(self, key: ReplicaKey, layout: SetLayout) -> list[DesiredObject]:
        wanted = [(c, standalone_clique(layout, c, key.replica)) for c in layout.standalone]
        return [
            DesiredObject(
                self._informers.cliques,
                key_of(clique),
                partial(self._clique_body, layout, template, clique),
                OWNED_CLIQUE_FIELDS,
                "ERR_CREATE_OR_UPDATE_PODCLIQUE",
            )
            for template, clique in wanted
        ]

    def _groups(self, key: ReplicaKey, layout: SetLayout) -> list[DesiredObject]:
        wanted = [scaling_group(layout, group, key.replica) for group in layout.groups]
        return [
            DesiredObject(
                self._informers.groups,
                key_of(group),
                partial(self._group_body, group),
                OWNED_GROUP_FIELDS,
                "ERR_CREATE_PODCLIQUESCALINGGROUP",
            )
            for group in wanted
        ]

    def _companions(self, key: ReplicaKey, layout: SetLayout) -> list[DesiredObject]:
        wanted = [headless_service(layout, key.replica), *autoscalers(layout, key.replica)]
        if self._context.configuration.network.auto_mnnvl_enabled:
            wanted += compute_domains(layout, key.replica)
        if layout.shares_claims:
            templates, tags = self._claims.templates(layout), self._claims.tags(layout)
            wanted += replica_claims(layout, key.replica, templates, tags)
        informers = self._informers.companions
        return [
            DesiredObject(
                informers[obj["kind"]],
                key_of_json(obj),
                partial(orjson.dumps, obj),
                OWNED_COMPANION_FIELDS.get(obj["kind"], ()),
                COMPANION_CODES[obj["kind"]],
            )
            for obj in wanted
            if obj["kind"] in informers
        ]

    def _gang_body(self, gang: PodGang) -> bytes:
        existing = self._informers.gangs.cache.get(key_of(gang))
        if existing is None:
            return codec.encode(gang)
        backend = self._context.registry.get(label(existing, labels.SCHEDULER_BACKEND))
        pins_priority = backend is not None and backend.pins_priority
        return codec.encode(keep_decided(gang, existing, pins_priority=pins_priority))

    def _clique_body(self, layout: SetLayout, template: Clique, clique: PodClique) -> bytes:
        existing = self._informers.cliques.cache.get(key_of(clique))
        i = int(clique.metadata.labels[labels.REPLICA_INDEX])
        clique = with_template(clique, existing, self._judgements.rollout(layout), i)
        return codec.encode(as_scaled(layout, template, clique, existing))

    def _group_body(self, group: PodCliqueScalingGroup) -> bytes:
        return codec.encode(as_scaled_group(group, self._informers.groups.cache.get(key_of(group))))
