"""What a scheduler backend decides about the pods of a pod group, before the pods are built."""

from dataclasses import dataclass, field
from typing import Any


@dataclass
class PodDraft:
    """Starts with what the user wrote; the backend adds what its scheduler needs to find the gang.

    All pods of a group are built from one draft, so nothing in it may depend on the index of a pod.
    """

    scheduler_name: str
    gate: str
    labels: dict[str, str] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)
    # Further fields of the pod's spec, such as a link to the scheduler's group object. None removes a field.
    spec: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class GroupDrafts:
    """The drafts for all pods of a pod group."""

    required: PodDraft
    surplus: PodDraft | None = None
    """For the pods beyond the group's minimum, if the backend keeps them apart from the gang."""
