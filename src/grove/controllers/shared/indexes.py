"""How an object that Grove made is found again: by the labels on it, which name its set, replica, group and gang.

The functions below are indexes of caches (`cache.by_index("gang", key)`) and key functions of triggers.
"""

from collections.abc import Callable
from typing import NamedTuple

from grove.api import PodClique, PodCliqueScalingGroup, PodGang, labels
from grove.api.pod_view import Pod
from grove.controllers.shared.companions import Companion
from grove.runtime.client.objects import ObjectKey

Managed = PodClique | PodCliqueScalingGroup | PodGang | Pod | Companion
"""An object that Grove made and labelled."""


class ReplicaKey(NamedTuple):
    """One replica of a PodCliqueSet."""

    namespace: str
    name: str
    replica: int

    @property
    def set(self) -> ObjectKey:
        return ObjectKey(self.namespace, self.name)

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name} replica {self.replica}"


def label(obj: Managed, key: str) -> str:
    """The value of a label; empty without one."""
    return obj.metadata.labels.get(key, "")


def replica_index(obj: Managed) -> int | None:
    """Which replica of its set an object belongs to; None for an object of the set as a whole.

    A label says it. Gangs and autoscalers have no such label: their name has the index, after the name of the set.
    """
    text = label(obj, labels.REPLICA_INDEX)
    if not text and label(obj, labels.COMPONENT) in _NAMED_BY_REPLICA:
        text = (obj.metadata.name or "").removeprefix(f"{label(obj, labels.PART_OF)}-").partition("-")[0]
    return int(text) if text.isdigit() else None


_NAMED_BY_REPLICA = (labels.ComponentLabel.POD_GANG, labels.ComponentLabel.HPA)


def replica_of(obj: Managed) -> list[ReplicaKey]:
    """Empty for an object that belongs to no replica."""
    index, name = replica_index(obj), label(obj, labels.PART_OF)
    return [ReplicaKey(obj.metadata.namespace or "", name, index)] if name and index is not None else []


def _named_by(key: str) -> Callable[[Managed], list[ObjectKey]]:
    def keys(obj: Managed) -> list[ObjectKey]:
        name = label(obj, key)
        return [ObjectKey(obj.metadata.namespace or "", name)] if name else []

    return keys


set_of = _named_by(labels.PART_OF)
group_of = _named_by(labels.SCALING_GROUP)
gang_of = _named_by(labels.POD_GANG)
base_gang_of = _named_by(labels.BASE_POD_GANG)
stood_in_for = _named_by(labels.STAND_IN_FOR)
"""The gang that a scheduler's placeholder pod keeps a place for."""


def controller_uid(obj: Pod | Companion) -> list[str]:
    """The uid of the owner that controls the object."""
    return [o.uid for o in obj.metadata.owner_references if o.controller]
