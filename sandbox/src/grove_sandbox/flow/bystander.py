"""The smallest possible backend, without any objects. Tests run it beside the backend under test."""

from collections.abc import Sequence
from typing import Any

import msgspec
from grove.api.podgang import PodGang, PodGroup
from grove.plan.objects.pod_draft import PodDraft
from grove.schedulers.backend import Backend
from grove.schedulers.types import ObjectKind, SchedulerObject, Served


class BystanderSettings(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """It has no settings."""


class Bystander(Backend):
    name = "bystander"
    scheduler_name = "bystander"
    gate = "testing.grove.io/bystander"
    kinds: Sequence[ObjectKind] = ()

    def __init__(self, settings: dict[str, Any]) -> None:
        msgspec.convert(settings, BystanderSettings)

    def translate(self, gang: PodGang, served: Served) -> Sequence[SchedulerObject]:
        return ()

    def prepare_pod(self, gang: PodGang, group: PodGroup, pod: PodDraft) -> None:
        """Its scheduler needs nothing on the pods."""
