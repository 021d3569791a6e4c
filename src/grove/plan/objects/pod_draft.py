"""What a scheduler backend may say about the pods of one pod group, before they are made."""

from dataclasses import dataclass, field
from typing import Any


@dataclass
class PodDraft:
    """Starts with what the user wrote; the backend adds what its scheduler needs to find the gang.

    All pods of a group are made from one draft, so nothing in it may depend on which of them it is.
    """

    scheduler_name: str
    gate: str
    labels: dict[str, str] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)
    # Further fields of the pod's spec, such as a link to the scheduler's group object. None takes one away.
    spec: dict[str, Any] = field(default_factory=dict)
