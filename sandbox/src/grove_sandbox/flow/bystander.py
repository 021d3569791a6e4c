"""A backend that decides nothing: the smallest there can be, to stand beside the one under test."""

from collections.abc import Sequence
from typing import Any

import msgspec
from grove.api.podgang import PodGang, PodGroup
from grove.plan.objects.pod_draft import PodDraft
from grove.schedulers.backend import Backend
from grove.schedulers.types import ObjectKind, SchedulerObject, Served


class BystanderSettings(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """There is nothing to set."""


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
        """Its scheduler needs nothing to know the gang by."""
