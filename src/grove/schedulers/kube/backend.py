"""The backend for kube-scheduler: which dialect a gang gets, and what all dialects share.

A new gang gets the best dialect that is available in the cluster. Its released pods are tied to that dialect for good,
so the gang keeps it. If the dialect stops being available, for example after an upgrade of Kubernetes, the gang moves
to a dialect that ties pods in the same way.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from grove.api.config import DEFAULT_SCHEDULER
from grove.api.labels import POD_CLIQUE, Gate
from grove.api.pod_view import Pod
from grove.api.podcliqueset import Clique, PodCliqueSet
from grove.api.podgang import PodGang, PodGroup
from grove.api.validation import Problem
from grove.plan.objects.pod_draft import PodDraft
from grove.plan.pod_state import has_gate, is_present, is_surplus
from grove.schedulers.backend import Backend
from grove.schedulers.guarantees import SchedulerVariant
from grove.schedulers.kube.composite_podgroup import CompositePodGroup
from grove.schedulers.kube.dialect import Dialect
from grove.schedulers.kube.no_gang_api import NoGangApi
from grove.schedulers.kube.observation import observe_pod_groups
from grove.schedulers.kube.pod_link import link_of
from grove.schedulers.kube.podgroup_v1alpha2 import PodGroupV1alpha2
from grove.schedulers.kube.podgroup_v1beta1 import PodGroupV1beta1
from grove.schedulers.kube.priorities import common_priority_class
from grove.schedulers.kube.settings import KubernetesSettings
from grove.schedulers.kube.validation import warnings_for
from grove.schedulers.kube.variants import VARIANTS, WITHOUT_GANGS
from grove.schedulers.kube.workload_v1alpha1 import WorkloadV1alpha1
from grove.schedulers.recorded_dialect import dialect_of
from grove.schedulers.types import (
    Json,
    ObjectKind,
    Observation,
    Probe,
    Refusal,
    SchedulerObject,
    Served,
)

# The best first; the last is always available.
DIALECTS: Sequence[Dialect] = (
    CompositePodGroup(),
    PodGroupV1beta1(),
    PodGroupV1alpha2(),
    WorkloadV1alpha1(),
    NoGangApi(),
)
_DIALECTS_BY_NAME = {d.name: d for d in DIALECTS}


class Kubernetes(Backend):
    name = "default"
    scheduler_name = DEFAULT_SCHEDULER
    gate = Gate.KUBERNETES
    kinds: Sequence[ObjectKind] = tuple(dict.fromkeys(k for d in DIALECTS for k in d.kinds))
    probes: Sequence[Probe] = tuple({p.name: p for d in DIALECTS for p in d.probes}.values())
    pins_priority = True
    has_dialects = True
    variants = VARIANTS

    def __init__(self, settings: dict[str, Any]) -> None:
        self._settings = msgspec.convert(settings, KubernetesSettings)
        self.strict = self._settings.strict

    def matches(self, scheduler_name: str) -> bool:
        return scheduler_name in ("", DEFAULT_SCHEDULER)

    def detected_variant(self, served: Served) -> SchedulerVariant:
        best = _available_dialects(served)[0]
        return next((v for v in VARIANTS if v.key == best.name), WITHOUT_GANGS)

    def dialect(self, gang: PodGang, pods: Sequence[Pod], served: Served) -> str:
        available = _available_dialects(served)
        released = [p for p in pods if is_present(p) and not has_gate(p, self.gate)]
        if not released:
            return available[0].name
        current = dialect_of(gang)
        available.sort(key=lambda d: d.name != current)
        matching = next((d for d in available if _links_as(gang, released, d)), None)
        if matching is not None:
            return matching.name
        if available[0].name == current:
            return current
        raise Refusal(
            f"the pods of PodGang {gang.metadata.name} were created for another gang API of kube-scheduler, which this "
            "cluster does not serve any more: they keep running, but new ones stay gated",
            "re-create the replica, by scaling the set in and out again",
        )

    def translate(self, gang: PodGang, served: Served) -> Sequence[SchedulerObject]:
        return _dialect(gang).objects(gang, served, self._settings)

    def prepare_pod(self, gang: PodGang, group: PodGroup, pod: PodDraft) -> None:
        self._prepare(gang, group, pod, surplus=False)

    def separates_surplus(self, gang: PodGang, group: PodGroup) -> bool:
        return bool(dialect_of(gang)) and _dialect(gang).separates_surplus(gang, group)

    def prepare_surplus_pod(self, gang: PodGang, group: PodGroup, pod: PodDraft) -> None:
        self._prepare(gang, group, pod, surplus=True)

    def broken_link(self, gang: PodGang, group: PodGroup, pod: Pod) -> str:
        wanted, found = _wanted_link(gang, group, pod, _dialect(gang)), link_of(pod)
        if wanted == found:
            return ""
        name = pod.metadata.name
        if found or not wanted:
            return (
                f"pod {name} was created for another gang API of kube-scheduler and stays gated; it is recreated "
                "within minutes, or at once if you delete it"
            )
        field = next(iter(wanted))
        return (
            f"pod {name} stays gated: the API server dropped spec.{field} from it, so it would be scheduled outside "
            "its gang; switch on the feature gate GenericWorkload in every kube-apiserver; the pod is then recreated "
            "within minutes, or at once if you delete it"
        )

    def shortfall(self, gang: PodGang, served: Served) -> str:
        return _dialect(gang).shortfall(gang, served)

    def observe(self, gang: PodGang, objects: Sequence[Json]) -> Observation:
        return observe_pod_groups(gang, objects)

    def default_priority_class(self, members: Sequence[Clique]) -> str | None:
        return common_priority_class(members)

    def validate(self, pcs: PodCliqueSet) -> Iterable[Problem]:
        return warnings_for(pcs)

    def _prepare(self, gang: PodGang, group: PodGroup, pod: PodDraft, *, surplus: bool) -> None:
        dialect = _dialect(gang)
        pod.spec |= dialect.link(gang, group, surplus=surplus)
        priority = gang.spec.priority_class_name
        if priority or dialect.one_priority:
            pod.spec["priorityClassName"] = priority


def _available_dialects(served: Served) -> list[Dialect]:
    """The best first, never empty."""
    return [d for d in DIALECTS if d.is_available(served)]


def _dialect(gang: PodGang) -> Dialect:
    """The recorded dialect. Raises Refusal for one that another version of Grove recorded."""
    name = dialect_of(gang)
    dialect = _DIALECTS_BY_NAME.get(name)
    if dialect is None:
        raise Refusal(
            f"PodGang {gang.metadata.name} is written in the dialect {name or '(none)'}, which this version of Grove "
            "does not know",
            "use a version of Grove that does, or re-create the replica",
        )
    return dialect


def _links_as(gang: PodGang, pods: Sequence[Pod], dialect: Dialect) -> bool:
    """Whether all pods have the links that this dialect would give them."""
    groups = {g.name: g for g in gang.spec.pod_groups}
    return all(
        link_of(p) == _wanted_link(gang, group, p, dialect)
        for p in pods
        if (group := groups.get(p.metadata.labels.get(POD_CLIQUE, ""))) is not None
    )


def _wanted_link(gang: PodGang, group: PodGroup, pod: Pod, dialect: Dialect) -> Json:
    surplus = dialect.separates_surplus(gang, group) and is_surplus(pod, group.min_replicas)
    return dialect.link(gang, group, surplus=surplus)
