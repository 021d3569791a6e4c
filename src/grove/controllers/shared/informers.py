"""What the controllers see and write: one cache per kind, shared by all of them.

Pods are seen in part, Grove's own kinds as their models, and everything else that Grove makes (Services, autoscalers,
claims) as `Companion`: metadata to find it by, and its JSON to compare.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime

import msgspec

from grove.api import ClusterTopologyBinding, PodClique, PodCliqueScalingGroup, PodCliqueSet, PodGang, labels
from grove.api.config import OperatorConfiguration
from grove.api.pod_view import Pod
from grove.api.serialization import codec
from grove.runtime.cache.informer import Informer
from grove.runtime.client.objects import ObjectKey, ObjectMeta, Resource, ResourceType
from grove.runtime.controller.events import EventRecorder, reference
from grove.runtime.controller.manager import Manager
from grove.schedulers.backend import Backend, StandIns
from grove.schedulers.registry import Registry

PODS = Resource("", "v1", "pods", "Pod")
SERVICES = Resource("", "v1", "services", "Service")
SERVICE_ACCOUNTS = Resource("", "v1", "serviceaccounts", "ServiceAccount")
SECRETS = Resource("", "v1", "secrets", "Secret")
ROLES = Resource("rbac.authorization.k8s.io", "v1", "roles", "Role")
ROLE_BINDINGS = Resource("rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding")
AUTOSCALERS = Resource("autoscaling", "v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler")
CLAIMS = Resource("resource.k8s.io", "v1", "resourceclaims", "ResourceClaim")
CLAIM_TEMPLATES = Resource("resource.k8s.io", "v1", "resourceclaimtemplates", "ResourceClaimTemplate")
COMPUTE_DOMAINS = Resource("resource.nvidia.com", "v1beta1", "computedomains", "ComputeDomain")

COMPANIONS = (SERVICES, SERVICE_ACCOUNTS, SECRETS, ROLES, ROLE_BINDINGS, AUTOSCALERS)
# Kinds that a cluster may not serve.
OPTIONAL_COMPANIONS = (CLAIMS, COMPUTE_DOMAINS)
OPTIONAL_KINDS = (*OPTIONAL_COMPANIONS, CLAIM_TEMPLATES)

MANAGED = f"{labels.MANAGED_BY}={labels.MANAGER}"


class Companion(msgspec.Struct, kw_only=True, gc=False):
    metadata: ObjectMeta
    kind: str = ""
    body: bytes = b""


def decode_companion(body: bytes) -> Companion:
    found = _companion.decode(body)
    found.body = body
    return found


@dataclass(frozen=True, kw_only=True)
class GangWorld:
    """What a scheduler backend needs to see, beside its scheduler's own objects: the gangs and their pods."""

    configuration: OperatorConfiguration
    recorder: EventRecorder
    now: Callable[[], datetime]
    gangs: Informer[PodGang]
    pods: Informer[Pod]
    stand_ins: Informer[Pod] | None = None

    def pods_of(self, gang: ObjectKey) -> list[Pod]:
        """Those of a gang, and those that its scheduler made to keep places for them."""
        found = self.pods.cache.by_index("gang", gang)
        return found + self.stand_ins.cache.by_index("gang", gang) if self.stand_ins is not None else found

    def warn(self, resource: ResourceType, obj: object, reason: str, note: str, action: str) -> None:
        """A warning event on an object, for people."""
        self.recorder.record(reference(resource, obj), reason, note, action=action, type="Warning")  # type: ignore[arg-type]

    def tell(self, resource: ResourceType, obj: object, reason: str, note: str, action: str) -> None:
        self.recorder.record(reference(resource, obj), reason, note, action=action)  # type: ignore[arg-type]


@dataclass(frozen=True, kw_only=True)
class World(GangWorld):
    """What the operator sees."""

    registry: Registry
    sets: Informer[PodCliqueSet]
    cliques: Informer[PodClique]
    groups: Informer[PodCliqueScalingGroup]
    topologies: Informer[ClusterTopologyBinding]
    companions: dict[str, Informer[Companion]]
    claim_templates: Informer[Companion] | None = None


def make_gang_world(
    manager: Manager,
    configuration: OperatorConfiguration,
    recorder: EventRecorder,
    now: Callable[[], datetime],
    backends: Iterable[Backend],
) -> GangWorld:
    """For these backends."""
    return GangWorld(
        configuration=configuration,
        recorder=recorder,
        now=now,
        gangs=manager.informer(PodGang.resource, _decode_gang),
        pods=manager.informer(PODS, _decode_pod, labels=MANAGED, indexes={"gang": _gang_of}),
        stand_ins=manager.informer(
            PODS,
            _decode_pod,
            labels=labels.STAND_IN_FOR,
            indexes={"gang": stood_in_for},
            title="stand-ins",
        )
        if any(isinstance(b, StandIns) for b in backends)
        else None,
    )


def make_world(
    manager: Manager,
    configuration: OperatorConfiguration,
    registry: Registry,
    recorder: EventRecorder,
    now: Callable[[], datetime],
    served: Iterable[ResourceType],
) -> World:
    """`served` are those of the optional kinds that this cluster has."""
    kinds = [*COMPANIONS, *(r for r in OPTIONAL_COMPANIONS if r in served)]
    seen = make_gang_world(manager, configuration, recorder, now, registry.backends)
    seen.gangs.cache.add_index("set", _set_of)
    seen.gangs.cache.add_index("replica", replica_of)
    seen.pods.cache.add_index("owner", _owner_of)
    seen.pods.cache.add_index("set", _set_of)
    seen.pods.cache.add_index("replica", replica_of)
    return World(
        **vars(seen),
        registry=registry,
        sets=manager.informer(PodCliqueSet.resource, _decode_set),
        cliques=manager.informer(
            PodClique.resource,
            _decode_clique,
            indexes={
                "set": _set_of,
                "replica": replica_of,
                "group": _group_of,
                "gang": _gang_of,
                "base": _base_of,
            },
        ),
        groups=manager.informer(
            PodCliqueScalingGroup.resource, _decode_group, indexes={"set": _set_of, "replica": replica_of}
        ),
        topologies=manager.informer(ClusterTopologyBinding.resource, _decode_topology),
        companions={
            r.kind: manager.informer(
                r,
                decode_companion,
                labels=MANAGED,
                indexes={"set": _set_of, "replica": replica_of, "owner": _owner_of},
            )
            for r in kinds
        },
        claim_templates=manager.informer(CLAIM_TEMPLATES, decode_companion)
        if CLAIM_TEMPLATES in served
        else None,
    )


def label(obj: PodClique | PodCliqueScalingGroup | PodGang | Pod | Companion, key: str) -> str:
    return obj.metadata.labels.get(key, "")


_Ours = PodClique | PodCliqueScalingGroup | PodGang | Pod | Companion


def replica_index(obj: _Ours) -> int | None:
    """Which replica of its set an object belongs to; None for what belongs to the set as a whole.

    A label says it; gangs and autoscalers have none, and it stands in their name, after that of the set.
    """
    given = obj.metadata.labels
    text = given.get(labels.REPLICA_INDEX, "")
    if not text and given.get(labels.COMPONENT) in _NAMED_BY_REPLICA:
        text = (obj.metadata.name or "").removeprefix(f"{label(obj, labels.PART_OF)}-").partition("-")[0]
    return int(text) if text.isdigit() else None


_NAMED_BY_REPLICA = (labels.Component.POD_GANG, labels.Component.HPA)


def replica_of(obj: _Ours) -> list[tuple[str, str, int]]:
    """The namespace and name of its set, and which replica; empty for what belongs to none."""
    index, name = replica_index(obj), label(obj, labels.PART_OF)
    return [(obj.metadata.namespace or "", name, index)] if name and index is not None else []


def _named_by(key: str) -> Callable[[_Ours], list[ObjectKey]]:
    def keys(obj: _Ours) -> list[ObjectKey]:
        found = obj.metadata
        return [ObjectKey(found.namespace or "", name)] if (name := found.labels.get(key)) else []

    return keys


stood_in_for = _named_by(labels.STAND_IN_FOR)
_set_of = _named_by(labels.PART_OF)
_group_of = _named_by(labels.SCALING_GROUP)
_gang_of = _named_by(labels.POD_GANG)
_base_of = _named_by(labels.BASE_POD_GANG)


def _owner_of(obj: Pod | Companion) -> list[str]:
    return [o.uid for o in obj.metadata.owner_references if o.controller]


def _decode_set(body: bytes) -> PodCliqueSet:
    return codec.decode(body, PodCliqueSet)


def _decode_clique(body: bytes) -> PodClique:
    return codec.decode(body, PodClique)


def _decode_group(body: bytes) -> PodCliqueScalingGroup:
    return codec.decode(body, PodCliqueScalingGroup)


def _decode_gang(body: bytes) -> PodGang:
    return codec.decode(body, PodGang)


def _decode_topology(body: bytes) -> ClusterTopologyBinding:
    return codec.decode(body, ClusterTopologyBinding)


_companion = msgspec.json.Decoder(Companion)
_decode_pod = msgspec.json.Decoder(Pod).decode
