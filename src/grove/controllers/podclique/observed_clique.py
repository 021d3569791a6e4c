"""A clique with what one reconcile has read about it."""

from dataclasses import dataclass
from functools import cached_property

from grove.api import PodClique, PodGang
from grove.api.pod_view import Pod
from grove.api.podgang import PodGroup
from grove.plan.clique_pods import PodFindings
from grove.plan.layout.clique_position import CliquePosition
from grove.plan.layout.set_layout import SetLayout
from grove.runtime.client.objects import uid_of
from grove.schedulers.backend import Backend


@dataclass(frozen=True)
class ObservedClique:
    """`gang` has the dialect that its backend is about to record, if that is known (`dialect_known`).

    `backend` is None while there is no gang, or if its backend is not enabled.
    """

    clique: PodClique
    layout: SetLayout
    position: CliquePosition
    gang: PodGang | None
    dialect_known: bool
    backend: Backend | None

    @cached_property
    def group(self) -> PodGroup | None:
        """The clique as a group of its gang."""
        groups = self.gang.spec.pod_groups if self.gang is not None else []
        return next((g for g in groups if g.name == self.clique.metadata.name), None)

    @property
    def may_create_pods(self) -> bool:
        """Pods are created for a gang that exists and stays, by a backend that knows how to tie them to it."""
        return (
            self.gang is not None
            and self.gang.metadata.deletion_timestamp is None
            and self.dialect_known
            and self.backend is not None
            and self.group is not None
        )

    @cached_property
    def surplus_from(self) -> int | None:
        """The index of the first pod that the backend keeps apart from the gang; None if it keeps none apart."""
        if self.gang is None or self.group is None or self.backend is None:
            return None
        return self.group.min_replicas if self.backend.separates_surplus(self.gang, self.group) else None

    def findings(self, pods: list[Pod]) -> PodFindings:
        if self.gang is None or self.backend is None:
            return PodFindings()
        gang, backend = self.gang, self.backend
        return PodFindings(
            gave_up=any(backend.needs_new_dialect(gang, p) for p in pods),
            outdated=frozenset(uid_of(p) for p in pods if backend.is_outdated(gang, p)),
            surplus_from=self.surplus_from,
        )

    def broken_links(self, pods: list[Pod]) -> dict[str, str]:
        """Why the scheduler would not see pods as part of the gang, by uid; without the pods that it would see."""
        if self.gang is None or self.group is None or self.backend is None:
            return {}
        found = {uid_of(p): _other_scheduler(self.backend, p) for p in pods}
        found |= {
            uid_of(p): self.backend.broken_link(self.gang, self.group, p)
            for p in pods
            if not found[uid_of(p)]
        }
        return {uid: why for uid, why in found.items() if why}


def _other_scheduler(backend: Backend, pod: Pod) -> str:
    """Says so if another scheduler than the one that has the gang's objects would see the pod; else empty."""
    name = pod.spec.scheduler_name or ""
    if backend.matches(name):
        return ""
    return (
        f"its schedulerName is {name or 'empty'}, but the backend of its gang is {backend.name}, which serves "
        f"{backend.scheduler_name}; delete the pod, and check which webhook changes it if that does not help"
    )
