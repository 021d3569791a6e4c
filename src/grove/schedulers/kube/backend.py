"""The backend for plain kube-scheduler, on clusters that do not serve a gang API.

The gates still hold every pod until the whole gang exists, so nothing is scheduled in advance of the rest; but the
scheduler then places pods one by one, and nothing keeps a part of a gang from running alone. The gang says so.
"""

from collections.abc import Sequence
from typing import Any

from grove.api.config import DEFAULT_SCHEDULER
from grove.api.labels import Gate
from grove.api.podgang import PodGang, PodGroup
from grove.plan.draft import PodDraft
from grove.schedulers.backend import ObjectKind, SchedulerObject, Served


class Kubernetes:
    name = "default"
    scheduler_name = DEFAULT_SCHEDULER
    gate = Gate.KUBERNETES
    kinds: Sequence[ObjectKind] = ()

    def __init__(self, settings: dict[str, Any]) -> None:
        self._settings = settings

    def matches(self, scheduler_name: str) -> bool:
        return scheduler_name in ("", DEFAULT_SCHEDULER)

    def translate(self, gang: PodGang, served: Served) -> Sequence[SchedulerObject]:
        return ()

    def prepare_pod(self, gang: PodGang, group: PodGroup, pod: PodDraft) -> None:
        """The scheduler's name, which the draft has, is all that a pod needs."""

    def shortfall(self, gang: PodGang, served: Served) -> str:
        return (
            "this cluster serves no gang API to kube-scheduler: pods start together but are placed one by one"
        )
