"""Kinds of `scheduling.k8s.io`, and the fields of their objects that several dialects write."""

from grove.api.podgang import GangTopologyConstraint, PodGang
from grove.schedulers.types import Json, ObjectKind

GROUP = "scheduling.k8s.io"


def scheduling_kind(version: str, name: str) -> ObjectKind:
    return ObjectKind(GROUP, version, f"{name.lower()}s", name)


def controller_ref(gang: PodGang) -> Json:
    return {"apiGroup": gang.resource.group, "kind": gang.resource.kind, "name": gang.metadata.name}


def required_key(constraint: GangTopologyConstraint | None) -> str | None:
    """The node label whose value all pods under the constraint must share; None if it requires nothing."""
    return constraint.pack_constraint.required if constraint and constraint.pack_constraint else None


def scheduling_constraints(key: str | None) -> Json:
    """`key` is a node label; without one the field is left out."""
    return {"schedulingConstraints": {"topology": [{"key": key}]}} if key else {}


def priority_class(gang: PodGang) -> Json:
    name = gang.spec.priority_class_name
    return {"priorityClassName": name} if name else {}


def gang_policy(count_field: str, minimum: int) -> Json:
    """`count_field` is `minCount` for pods, `minGroupCount` for groups."""
    return {"schedulingPolicy": {"gang": {count_field: minimum}}}
