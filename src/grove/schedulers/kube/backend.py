"""The backend for plain kube-scheduler: which dialect a gang is written in, and what holds in all of them.

A gang is written in the best dialect that the cluster offers. Its released pods are tied to that for good, so it keeps
it; when the cluster stops offering it, as in an upgrade, the gang moves to one in which its pods are tied in the same
way.
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
from grove.schedulers.kube.composite import Composite
from grove.schedulers.kube.dialect import Dialect, Json, Settings, link_of
from grove.schedulers.kube.flat import Flat
from grove.schedulers.kube.none import NoGangApi
from grove.schedulers.kube.priorities import agreed
from grove.schedulers.kube.v135 import V135
from grove.schedulers.kube.v136 import V136
from grove.schedulers.kube.variants import VARIANTS, WITHOUT_GANGS
from grove.schedulers.kube.warnings import warnings_of
from grove.schedulers.kube.words import scheduler_words
from grove.schedulers.recorded_dialect import dialect_of
from grove.schedulers.types import ObjectKind, Observation, Probe, Refusal, SchedulerObject, Served

# The best first; the last is always offered.
DIALECTS: Sequence[Dialect] = (Composite(), Flat(), V136(), V135(), NoGangApi())


class Kubernetes(Backend):
    name = "default"
    scheduler_name = DEFAULT_SCHEDULER
    gate = Gate.KUBERNETES
    kinds: Sequence[ObjectKind] = tuple(dict.fromkeys(k for d in DIALECTS for k in d.kinds))
    pins_priority = True
    has_dialects = True
    probes: Sequence[Probe] = tuple({p.name: p for d in DIALECTS for p in d.probes}.values())
    variants = VARIANTS

    def __init__(self, settings: dict[str, Any]) -> None:
        self._settings = msgspec.convert(settings, Settings)
        self.strict = self._settings.strict

    def matches(self, scheduler_name: str) -> bool:
        return scheduler_name in ("", DEFAULT_SCHEDULER)

    def detected_variant(self, served: Served) -> SchedulerVariant:
        best = next(d for d in DIALECTS if d.offered(served))
        return next((v for v in VARIANTS if v.key == best.name), WITHOUT_GANGS)

    def dialect(self, gang: PodGang, pods: Sequence[Pod], served: Served) -> str:
        released = [p for p in pods if is_present(p) and not has_gate(p, self.gate)]
        if not released:
            return next(d for d in DIALECTS if d.offered(served)).name
        offered = [d for d in DIALECTS if d.offered(served)]
        current = dialect_of(gang)
        offered.sort(key=lambda d: d.name != current)
        fitting = next((d for d in offered if _are_tied(gang, released, d)), None)
        if fitting is not None:
            return fitting.name
        if offered[0].name == current:
            return current
        raise Refusal(
            f"PodGang {gang.metadata.name} was made for another gang API of kube-scheduler, which this cluster does "
            "not serve any more, and its pods are tied to that: they run on, but new ones stay gated",
            "re-create the replica, by scaling the set in and out again",
        )

    def translate(self, gang: PodGang, served: Served) -> Sequence[SchedulerObject]:
        return _of(gang).objects(gang, served, self._settings)

    def prepare_pod(self, gang: PodGang, group: PodGroup, pod: PodDraft) -> None:
        self._prepare(gang, group, pod, surplus=False)

    def separates_surplus(self, gang: PodGang, group: PodGroup) -> bool:
        return bool(dialect_of(gang)) and _of(gang).splits(gang, group)

    def prepare_surplus_pod(self, gang: PodGang, group: PodGroup, pod: PodDraft) -> None:
        self._prepare(gang, group, pod, surplus=True)

    def broken_link(self, gang: PodGang, group: PodGroup, pod: Pod) -> str:
        wanted, found = _link(gang, group, pod, _of(gang)), link_of(pod)
        if wanted == found:
            return ""
        name = pod.metadata.name
        if found or not wanted:
            return (
                f"pod {name} was made for another gang API of kube-scheduler and stays gated; it is made anew "
                "within minutes, or at once if you delete it"
            )
        field = next(iter(wanted))
        return (
            f"pod {name} stays gated: the API server dropped spec.{field} from it, so it would be scheduled outside "
            "its gang; switch on the feature gate GenericWorkload in every kube-apiserver; the pod is then made anew "
            "within minutes, or at once if you delete it"
        )

    def shortfall(self, gang: PodGang, served: Served) -> str:
        return _of(gang).shortfall(gang, served)

    def observe(self, gang: PodGang, objects: Sequence[Json]) -> Observation:
        return scheduler_words(gang, objects)

    def default_priority_class(self, members: Sequence[Clique]) -> str | None:
        return agreed(members)

    def validate(self, pcs: PodCliqueSet) -> Iterable[Problem]:
        return warnings_of(pcs)

    def _prepare(self, gang: PodGang, group: PodGroup, pod: PodDraft, *, surplus: bool) -> None:
        dialect = _of(gang)
        pod.spec |= dialect.link(gang, group, surplus=surplus)
        priority = gang.spec.priority_class_name
        if priority or dialect.one_priority:
            pod.spec["priorityClassName"] = priority


_BY_NAME = {d.name: d for d in DIALECTS}


def _of(gang: PodGang) -> Dialect:
    name = dialect_of(gang)
    found = _BY_NAME.get(name)
    if found is None:
        raise Refusal(
            f"PodGang {gang.metadata.name} is written in the dialect {name or '(none)'}, which this version of Grove "
            "does not know",
            "use a version of Grove that does, or re-create the replica",
        )
    return found


def _are_tied(gang: PodGang, pods: Sequence[Pod], dialect: Dialect) -> bool:
    """Whether the pods are tied to the gang as the dialect would do it."""
    groups = {g.name: g for g in gang.spec.pod_groups}
    return all(
        link_of(p) == _link(gang, group, p, dialect)
        for p in pods
        if (group := groups.get(_clique(p))) is not None
    )


def _link(gang: PodGang, group: PodGroup, pod: Pod, dialect: Dialect) -> Json:
    surplus = dialect.splits(gang, group) and is_surplus(pod, group.min_replicas)
    return dialect.link(gang, group, surplus=surplus)


def _clique(pod: Pod) -> str:
    return pod.metadata.labels.get(POD_CLIQUE, "")
