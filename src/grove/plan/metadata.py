"""Metadata, as JSON, of what a set makes of kinds that are not Grove's own."""

from typing import Any

import msgspec

from grove.api.meta import OwnerReference
from grove.plan.shape import Shape

Json = dict[str, Any]


def metadata(shape: Shape, name: str, own: dict[str, str], owner: OwnerReference | None = None) -> Json:
    """`own` are the labels that say what the object is. Its owner is the set, unless another is given."""
    return {
        "name": name,
        "namespace": shape.namespace,
        "labels": shape.labels | own,
        "ownerReferences": [msgspec.to_builtins(owner or shape.owner)],
    }
