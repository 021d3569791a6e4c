"""The metadata, as JSON, of objects whose kinds are not Grove's own: Services, claims, autoscalers and the like."""

from typing import Any

import msgspec

from grove.api.meta import OwnerReference
from grove.plan.layout.set_layout import SetLayout

Json = dict[str, Any]


def metadata(layout: SetLayout, name: str, own: dict[str, str], owner: OwnerReference | None = None) -> Json:
    """`own` are the labels that identify the object. The set owns it, unless another owner is given."""
    return {
        "name": name,
        "namespace": layout.namespace,
        "labels": layout.labels | own,
        "ownerReferences": [msgspec.to_builtins(owner or layout.owner)],
    }
