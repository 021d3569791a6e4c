"""The contract of a dialect: one of the gang APIs that kube-scheduler has had.

The API changes with each release of Kubernetes. Grove detects the API of a cluster by discovery and probes, never by
the cluster's version. A new API is a new module with a subclass of `Dialect`, and an entry in `backend.DIALECTS`.

Dialects are pure and stateless, as backends are: see `grove.schedulers.backend`.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence

from grove.api.podgang import PodGang, PodGroup
from grove.schedulers.kube.settings import KubernetesSettings
from grove.schedulers.types import Json, ObjectKind, Probe, SchedulerObject, Served


class Dialect(ABC):
    name: str
    """The reason of the condition SchedulerDialect of gangs in this dialect."""

    kinds: Sequence[ObjectKind] = ()
    """The kinds that `objects` returns, in the order in which they are created."""

    probes: Sequence[Probe] = ()
    """What `is_available`, `objects` and `shortfall` need to know from dry runs."""

    one_priority: bool = False
    """Whether the scheduler rejects a gang if a pod of it has another priority than the gang."""

    @abstractmethod
    def is_available(self, served: Served) -> bool:
        """Whether the cluster serves this API and keeps the field that ties pods to it."""

    @abstractmethod
    def objects(self, gang: PodGang, served: Served, settings: KubernetesSettings) -> list[SchedulerObject]:
        """As `Backend.translate`."""

    @abstractmethod
    def separates_surplus(self, gang: PodGang, group: PodGroup) -> bool:
        """As `Backend.separates_surplus`."""

    @abstractmethod
    def link(self, gang: PodGang, group: PodGroup, *, surplus: bool) -> Json:
        """The fields of a pod's spec that tie it to the gang; `surplus` for a pod that stays out of the gang."""

    @abstractmethod
    def shortfall(self, gang: PodGang, served: Served) -> str:
        """As `Backend.shortfall`."""
