"""Koordinator: a PodGroup per pod group, all PodGroups of a gang tied into one gang group.

    gang                     the annotation `groups` of its PodGroups: none of them is placed without all the others
    pod group                PodGroup of the same name: minMember; its first pods have the label that names it
    pods beyond the minimum  no member of anything: released when the gang has its place
    constraint on the gang   network-topology-spec, see `topology`
    quota                    label of the pods; the ElasticQuota must exist, where Grove can tell

What shapes this translation, beside the fields themselves:

- koord-scheduler 1.8 watches PodGroups of `scheduling.sigs.k8s.io`; the one that is served is used, that one first.
- It counts gated pods as members, and an attempt that any ungated member starts takes gated ones along: their binding
  is refused, and the gang is placed in part. So while members have gates, one PodGroup asks for more members than
  there can be, which holds back the whole gang group. The true minimum, written when the last gate is gone, is what
  starts the attempt. Which of the two it is now is the dialect of the gang.
- In an attempt the pods of one PodGroup are all tried before those of the next, and the first that fits nowhere ends
  it: a pod beyond the minimum could keep a gang from its place. So such pods are no members.
- With the match policy `once-satisfied`, Koordinator's default, a gang that is restarted as a whole is no gang any
  more. So the default here is `waiting-and-running`.
- The status of a PodGroup has numbers that go stale and no reasons: what is observed is observed of the pods.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import ceil
from typing import Annotated, Any, Literal

import msgspec

from grove.api import labels
from grove.api.labels import Gate
from grove.api.pod_view import Pod
from grove.api.podcliqueset import Clique, PodCliqueSet
from grove.api.podgang import PodGang, PodGroup
from grove.api.scalars import Duration
from grove.api.topology import ClusterTopologyBinding
from grove.api.validation.problem import Problem, invalid, unsupported
from grove.plan.objects.pod_draft import PodDraft
from grove.plan.pod_state import has_gate, is_present, is_surplus
from grove.schedulers.backend import Backend
from grove.schedulers.guarantees import Guarantee, SchedulerVariant
from grove.schedulers.koordinator.topology import (
    TOPOLOGIES,
    TREE,
    Gathering,
    Layers,
    check_constraints,
    gathering,
    layers,
    tree_of,
)
from grove.schedulers.queues import check_exists, disagreements, queue_of
from grove.schedulers.recorded_dialect import dialect_of
from grove.schedulers.types import Json, ObjectKind, SchedulerObject, Served

POD_GROUPS = ObjectKind("scheduling.sigs.k8s.io", "v1alpha1", "podgroups", "PodGroup")
QUOTAS = ObjectKind("scheduling.sigs.k8s.io", "v1alpha1", "elasticquotas", "ElasticQuota")
POD_GROUPS_OF_KOORDINATOR = ObjectKind("scheduling.koordinator.sh", "v1alpha1", "podgroups", "PodGroup")

LINK = "pod-group.scheduling.sigs.k8s.io"
GROUPS = "gang.scheduling.koordinator.sh/groups"
MODE = "gang.scheduling.koordinator.sh/mode"
MATCH_POLICY = "gang.scheduling.koordinator.sh/match-policy"
WAITING_TIME = "gang.scheduling.koordinator.sh/waiting-time"
NETWORK_TOPOLOGY = "gang.scheduling.koordinator.sh/network-topology-spec"
QUOTA = "quota.scheduling.koordinator.sh/name"
QUOTA_TREE = "quota.scheduling.koordinator.sh/tree-id"

MODES = ("Strict", "NonStrict")
MATCH_POLICIES = ("only-waiting", "waiting-and-running", "once-satisfied")

# Dialects: whether members of the gang may still have gates.
GATED = "MembersGated"
UNGATED = "MembersUngated"

MORE_THAN_THERE_ARE = 1_000_000
"""A minimum that no PodGroup reaches."""

LONGEST_WAIT = 900
"""Seconds: kube-scheduler, which Koordinator is built on, lets no pod wait for others any longer."""

OURS = ("spec.scheduleTimeoutSeconds", f"metadata.annotations.{NETWORK_TOPOLOGY}")


class Settings(msgspec.Struct, rename="camel", forbid_unknown_fields=True, frozen=True):
    """The `config` of the profile."""

    quota: str = ""
    mode: Literal["Strict", "NonStrict"] = "Strict"
    match_policy: Literal["only-waiting", "waiting-and-running", "once-satisfied"] = "waiting-and-running"
    # Without it the scheduler's own: 600 unless configured otherwise.
    schedule_timeout_seconds: Annotated[int, msgspec.Meta(ge=1, le=LONGEST_WAIT)] | None = None
    # Whether koord-scheduler is set up for network topology, and if so who writes the ClusterNetworkTopology.
    network_topology: Literal["off", "existing", "managed"] = "off"


class Koordinator(Backend):
    name = "koordinator"
    scheduler_name = "koord-scheduler"
    gate = Gate.KOORDINATOR
    kinds: Sequence[ObjectKind] = (POD_GROUPS, POD_GROUPS_OF_KOORDINATOR)
    pins_priority = True
    has_dialects = True
    depends_on_gates = True
    variants = (
        SchedulerVariant(
            "koordinator",
            "Koordinator",
            {
                Guarantee.ALL_OR_NOTHING: "yes",
                Guarantee.MINIMUM_BELOW_REPLICAS: "the others follow the gang, as no members of it",
                Guarantee.WAITING_HOLDS_NO_ROOM: "yes",
                Guarantee.RESCHEDULED_AS_GANG: "yes",
                Guarantee.TOPOLOGY_REQUIRED: "whole gangs; must be set up",
                Guarantee.TOPOLOGY_PREFERRED: "whole gangs; must be set up",
                Guarantee.QUEUES: "ElasticQuotas",
                Guarantee.PREEMPTION: "of single pods",
            },
        ),
    )

    def __init__(self, settings: dict[str, Any]) -> None:
        self._settings = msgspec.convert(settings, Settings)
        aware = self._settings.network_topology != "off"
        self.reads: Sequence[ObjectKind] = (QUOTAS, TOPOLOGIES) if aware else (QUOTAS,)
        # There is one tree for the whole cluster: Grove writes it only when told to.
        managed = self._settings.network_topology == "managed"
        self.topology_kind = TOPOLOGIES if managed else None

    def matches(self, scheduler_name: str) -> bool:
        return "koord" in scheduler_name

    def gang_annotations(self, pcs: PodCliqueSet, members: Sequence[Clique]) -> Mapping[str, str]:
        """A quota may be named by cliques, which a gang does not show."""
        return {labels.QUEUE: queue_of(pcs, _quota_in) or self._settings.quota}

    def dialect(self, gang: PodGang, pods: Sequence[Pod], served: Served) -> str:
        members = [p for p in pods if is_present(p) and LINK in p.metadata.labels]
        waiting = [p for p in members if not p.spec.node_name]
        # One that waits alone, such as a replacement, takes nobody along.
        gated = len(waiting) > 1 and any(has_gate(p, self.gate) for p in waiting)
        return GATED if gated or not members else UNGATED

    def translate(self, gang: PodGang, served: Served) -> Sequence[SchedulerObject]:
        if quota := self._quota(gang):
            check_exists(quota, "ElasticQuota", QUOTAS, served, f"label {QUOTA}")
        kind = next((k for k in self.kinds if k in served), POD_GROUPS)
        members = sorted((g for g in gang.spec.pod_groups if g.min_replicas > 0), key=_name)
        annotations = self._annotations(gang, members, served)
        timeout = self._timeout(gang)
        held = dialect_of(gang) == GATED
        return [
            SchedulerObject(
                kind,
                {
                    "metadata": {
                        "name": _name(group),
                        "labels": _labels(gang),
                        "annotations": dict(annotations),
                    },
                    "spec": {
                        "minMember": MORE_THAN_THERE_ARE if held and i == 0 else group.min_replicas,
                        **({"scheduleTimeoutSeconds": timeout} if timeout else {}),
                    },
                },
                OURS,
            )
            for i, group in enumerate(members)
        ]

    def prepare_pod(self, gang: PodGang, group: PodGroup, pod: PodDraft) -> None:
        self.prepare_surplus_pod(gang, group, pod)
        if group.min_replicas > 0:
            pod.labels[LINK] = _name(group)

    def separates_surplus(self, gang: PodGang, group: PodGroup) -> bool:
        return True

    def prepare_surplus_pod(self, gang: PodGang, group: PodGroup, pod: PodDraft) -> None:
        if quota := self._quota(gang):
            pod.labels[QUOTA] = quota
        if tree := gang.metadata.labels.get(QUOTA_TREE):
            pod.labels[QUOTA_TREE] = tree
        # A PodGroup has no priority: that of the gang is that of its pods.
        if gang.spec.priority_class_name:
            pod.spec["priorityClassName"] = gang.spec.priority_class_name

    def broken_link(self, gang: PodGang, group: PodGroup, pod: Pod) -> str:
        if is_surplus(pod, group.min_replicas) or pod.metadata.labels.get(LINK) == _name(group):
            return ""
        return (
            f"pod {pod.metadata.name} has lost its label {LINK}: {_name(group)}, and Koordinator would place it alone; "
            "find out which admission webhook changes it"
        )

    def topology_object(self, binding: ClusterTopologyBinding) -> SchedulerObject:
        return tree_of(binding)

    def validate(self, pcs: PodCliqueSet) -> Iterable[Problem]:
        yield from disagreements(pcs, _quota_in)
        for key, supported in ((MODE, MODES), (MATCH_POLICY, MATCH_POLICIES)):
            chosen = pcs.metadata.annotations.get(key, supported[0])
            if chosen not in supported:
                path = ("metadata", "annotations", key)
                yield unsupported(path, chosen, list(supported), "correct it, or remove it")
        yield from _check_waiting_time(pcs.metadata.annotations.get(WAITING_TIME, ""))
        yield from check_constraints(pcs, off=self._settings.network_topology == "off")

    def shortfall(self, gang: PodGang, served: Served) -> str:
        return "; ".join(self._gathering(gang, served).weaker)

    def _quota(self, gang: PodGang) -> str:
        """Empty when Koordinator is to decide."""
        meta = gang.metadata
        named = meta.annotations.get(labels.QUEUE) or _quota_in(meta.labels, meta.annotations)
        return named or self._settings.quota

    def _annotations(self, gang: PodGang, members: Sequence[PodGroup], served: Served) -> dict[str, str]:
        own = gang.metadata.annotations
        namespace = gang.metadata.namespace or ""
        found = {
            GROUPS: _json([f"{namespace}/{_name(g)}" for g in members]),
            MODE: _one_of(MODES, own.get(MODE), self._settings.mode),
            MATCH_POLICY: _one_of(MATCH_POLICIES, own.get(MATCH_POLICY), self._settings.match_policy),
        }
        if rules := self._gathering(gang, served).rules:
            found[NETWORK_TOPOLOGY] = _json({"gatherStrategy": rules})
        return found

    def _gathering(self, gang: PodGang, served: Served) -> Gathering:
        return gathering(gang, self._layers(served))

    def _layers(self, served: Served) -> Layers:
        if self._settings.network_topology == "off":
            return Layers({}, "network topology is not set up for Koordinator")
        if TOPOLOGIES not in served.objects:
            return Layers({}, f"the cluster does not serve {TOPOLOGIES.kind}, or Grove may not read it")
        return layers(served.objects[TOPOLOGIES].get(TREE))

    def _timeout(self, gang: PodGang) -> int | None:
        """Whole seconds, as the field has it."""
        text = gang.metadata.annotations.get(WAITING_TIME, "")
        if not text or [*_check_waiting_time(text)]:
            return self._settings.schedule_timeout_seconds
        return ceil(Duration(text).seconds)


def _quota_in(tags: Mapping[str, str], annotations: Mapping[str, str]) -> str:
    return tags.get(QUOTA) or annotations.get(QUOTA, "")


def _name(group: PodGroup) -> str:
    """The PodGroup's name is the value of a label."""
    if len(group.name) <= 63:
        return group.name
    return f"{group.name[:54]}-{hashlib.sha256(group.name.encode()).hexdigest()[:8]}"


def _labels(gang: PodGang) -> dict[str, str]:
    """What identifies the workload; not whatever else the user has on the set."""
    found = {
        k: v
        for k, v in gang.metadata.labels.items()
        if k.startswith(("app.kubernetes.io/", labels.GROVE_PREFIX))
    }
    return found | {labels.POD_GANG: gang.metadata.name or ""}


def _check_waiting_time(text: str) -> Iterator[Problem]:
    if not text:
        return
    path = ("metadata", "annotations", WAITING_TIME)
    remedy = "write it as in 90s or 10m, at most 15m"
    try:
        seconds = Duration(text).seconds
    except ValueError as e:
        yield invalid(path, text, str(e), remedy)
        return
    if not 0 < seconds <= LONGEST_WAIT:
        yield invalid(path, text, "no pod waits for others longer than 15 minutes, or no time at all", remedy)


def _one_of(supported: Sequence[str], asked: str | None, otherwise: str) -> str:
    return asked if asked is not None and asked in supported else otherwise


def _json(value: Json | list[str]) -> str:
    return msgspec.json.encode(value).decode()
