"""No gang API: an older cluster, or one whose feature gates are off.

The gates still hold every pod until the whole gang exists, so nothing is scheduled in advance of the rest; but the
scheduler then places pods one by one, and nothing keeps a part of a gang from running alone. The gang says so.
"""

from collections.abc import Sequence

from grove.api.podgang import PodGang, PodGroup
from grove.schedulers.kube.dialect import Json, Settings
from grove.schedulers.types import ObjectKind, Probe, SchedulerObject, Served


class NoGangApi:
    name = "NoGangAPI"
    kinds: Sequence[ObjectKind] = ()
    probes: Sequence[Probe] = ()
    one_priority = False

    def offered(self, served: Served) -> bool:
        return True

    def objects(self, gang: PodGang, served: Served, settings: Settings) -> list[SchedulerObject]:
        return []

    def splits(self, gang: PodGang, group: PodGroup) -> bool:
        return False

    def link(self, gang: PodGang, group: PodGroup, *, surplus: bool) -> Json:
        return {}

    def shortfall(self, gang: PodGang, served: Served) -> str:
        return (
            "no gang API of kube-scheduler is used for this gang: its pods are released together but placed one by "
            "one; Kubernetes 1.35 or later with the feature gate GenericWorkload has one"
        )
