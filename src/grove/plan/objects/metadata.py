"""Metadata, as JSON, of what a set makes of kinds that are not Grove's own."""

from typing import Any

import msgspec

from grove.api.meta import OwnerReference
from grove.plan.layout.set_layout import SetLayout

Json = dict[str, Any]


def metadata(layout: SetLayout, name: str, own: dict[str, str], owner: OwnerReference | None = None) -> Json:
    """`own` are the labels that say what the object is. Its owner is the set, unless another is given."""
    return {
        "name": name,
        "namespace": layout.namespace,
        "labels": layout.labels | own,
        "ownerReferences": [msgspec.to_builtins(owner or layout.owner)],
    }
