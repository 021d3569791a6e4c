"""The dialect of clusters without a gang API: older ones, and those whose feature gates are off.

Gates still hold every pod until the whole gang exists. Then the scheduler places the pods one by one, and nothing
prevents a part of a gang from running alone. The gang reports this as its shortfall.
"""

from grove.api.podgang import PodGang, PodGroup
from grove.schedulers.kube.dialect import Dialect
from grove.schedulers.kube.settings import KubernetesSettings
from grove.schedulers.types import Json, SchedulerObject, Served


class NoGangApi(Dialect):
    name = "NoGangAPI"

    def is_available(self, served: Served) -> bool:
        return True

    def objects(self, gang: PodGang, served: Served, settings: KubernetesSettings) -> list[SchedulerObject]:
        return []

    def separates_surplus(self, gang: PodGang, group: PodGroup) -> bool:
        return False

    def link(self, gang: PodGang, group: PodGroup, *, surplus: bool) -> Json:
        return {}

    def shortfall(self, gang: PodGang, served: Served) -> str:
        return (
            "no gang API of kube-scheduler is used for this gang: its pods are released together but placed one by "
            "one; Kubernetes 1.35 or later with the feature gate GenericWorkload has one"
        )
