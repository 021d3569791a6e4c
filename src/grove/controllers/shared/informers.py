"""The informers that the controllers share: one per kind, with the indexes by which objects are looked up.

Pods are decoded in part (`grove.api.pod_view`), Grove's own kinds as their models, and all other kinds as `Companion`.
"""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import TypeVar

import msgspec

from grove.api import ClusterTopologyBinding, PodClique, PodCliqueScalingGroup, PodCliqueSet, PodGang, labels
from grove.api.meta import Resource
from grove.api.pod_view import Pod
from grove.api.serialization import codec
from grove.controllers.shared.companions import (
    CLAIM_TEMPLATES,
    COMPANIONS,
    OPTIONAL_COMPANIONS,
    PODS,
    Companion,
    decode_companion,
)
from grove.controllers.shared.indexes import (
    base_gang_of,
    controller_uid,
    gang_of,
    group_of,
    replica_of,
    set_of,
    stood_in_for,
)
from grove.runtime.cache.informer import Informer
from grove.runtime.client.objects import ObjectKey, ResourceType
from grove.runtime.controller.manager import Manager
from grove.schedulers.backend import Backend

MANAGED_BY_GROVE = f"{labels.MANAGED_BY}={labels.MANAGER}"


@dataclass(frozen=True, kw_only=True)
class GangInformers:
    """What a process needs that runs one scheduler backend alone: the gangs and their pods.

    `stand_ins` are pods that a scheduler creates to keep places for a gang; None if no backend here has them.
    """

    gangs: Informer[PodGang]
    pods: Informer[Pod]
    stand_ins: Informer[Pod] | None = None

    def pods_and_stand_ins(self, gang: ObjectKey) -> list[Pod]:
        found = self.pods.cache.by_index("gang", gang)
        return found + self.stand_ins.cache.by_index("gang", gang) if self.stand_ins is not None else found


@dataclass(frozen=True, kw_only=True)
class Informers(GangInformers):
    """What the operator needs. `companions` are by kind, without the optional kinds that the cluster does not serve."""

    sets: Informer[PodCliqueSet]
    cliques: Informer[PodClique]
    groups: Informer[PodCliqueScalingGroup]
    topologies: Informer[ClusterTopologyBinding]
    companions: dict[str, Informer[Companion]]
    claim_templates: Informer[Companion] | None = None


def make_gang_informers(manager: Manager, backends: Iterable[Backend]) -> GangInformers:
    """`backends` are those that run in this process."""
    stand_ins = None
    if any(b.creates_stand_ins for b in backends):
        stand_ins = manager.informer(
            PODS,
            _decode_pod,
            labels=labels.STAND_IN_FOR,
            indexes={"gang": stood_in_for},
            title="stand-ins",
        )
    return GangInformers(
        gangs=manager.informer(PodGang.resource, _decoder(PodGang)),
        pods=manager.informer(PODS, _decode_pod, labels=MANAGED_BY_GROVE, indexes={"gang": gang_of}),
        stand_ins=stand_ins,
    )


def make_informers(
    manager: Manager, backends: Iterable[Backend], served: Collection[ResourceType]
) -> Informers:
    """`served` are the optional kinds that this cluster has."""
    of_gangs = make_gang_informers(manager, backends)
    of_gangs.gangs.cache.add_index("set", set_of)
    of_gangs.gangs.cache.add_index("replica", replica_of)
    of_gangs.pods.cache.add_index("owner", controller_uid)
    of_gangs.pods.cache.add_index("set", set_of)
    of_gangs.pods.cache.add_index("replica", replica_of)
    companions = {
        kind.kind: manager.informer(
            kind,
            decode_companion,
            labels=MANAGED_BY_GROVE,
            indexes={"set": set_of, "replica": replica_of, "owner": controller_uid},
        )
        for kind in (*COMPANIONS, *(k for k in OPTIONAL_COMPANIONS if k in served))
    }
    claim_templates = None
    if CLAIM_TEMPLATES in served:
        claim_templates = manager.informer(CLAIM_TEMPLATES, decode_companion)
    return Informers(
        gangs=of_gangs.gangs,
        pods=of_gangs.pods,
        stand_ins=of_gangs.stand_ins,
        sets=manager.informer(PodCliqueSet.resource, _decoder(PodCliqueSet)),
        cliques=manager.informer(
            PodClique.resource,
            _decoder(PodClique),
            indexes={
                "set": set_of,
                "replica": replica_of,
                "group": group_of,
                "gang": gang_of,
                "base": base_gang_of,
            },
        ),
        groups=manager.informer(
            PodCliqueScalingGroup.resource,
            _decoder(PodCliqueScalingGroup),
            indexes={"set": set_of, "replica": replica_of},
        ),
        topologies=manager.informer(ClusterTopologyBinding.resource, _decoder(ClusterTopologyBinding)),
        companions=companions,
        claim_templates=claim_templates,
    )


R = TypeVar("R", bound=Resource)


def _decoder(kind: type[R]) -> Callable[[bytes], R]:
    def decode(body: bytes) -> R:
        return codec.decode(body, kind)

    return decode


_decode_pod = msgspec.json.Decoder(Pod).decode
