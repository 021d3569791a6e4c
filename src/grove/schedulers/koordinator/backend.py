"""Koordinator: a PodGroup per pod group, all PodGroups of a gang tied into one gang group.

    gang                     the annotation `groups` of its PodGroups: none of them is placed without all the others
    pod group                PodGroup of the same name: minMember; the label of its first pods names it
    pods beyond the minimum  in no PodGroup, released when the gang is scheduled
    constraint on the gang   network-topology-spec, see `topology`
    quota                    label of the pods; the ElasticQuota must exist, if Grove can read them

Behaviour of Koordinator that this translation takes into account:

- koord-scheduler 1.8 watches PodGroups of `scheduling.sigs.k8s.io`. Grove uses the served kind, and prefers that one.
- Koordinator counts gated pods as members. Any ungated member starts an attempt that includes gated ones: the API
  server rejects their binding, and the gang is placed in part. Therefore, while members have gates, one PodGroup
  demands more members than there can be, which blocks the whole gang. When the last gate is gone, the true minimum is
  written, which starts the attempt. The dialect of the gang records which of the two applies.
- An attempt tries all pods of one PodGroup before those of the next, and ends with the first pod that fits nowhere: a
  pod beyond the minimum could block its gang. Therefore such pods are no members.
- With the match policy `once-satisfied`, Koordinator's default, a gang whose pods are all replaced is no gang any more.
  Therefore the default here is `waiting-and-running`.
- The status of a PodGroup has stale numbers and no reasons. Therefore `observe` keeps its default: the framework reads
  the pods.
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
    TOPOLOGY_NAME,
    GatherRules,
    NetworkLayers,
    check_constraints,
    gather_rules,
    layers_of,
    topology_object,
)
from grove.schedulers.queues import check_queue_exists, conflicting_queues, queue_of
from grove.schedulers.recorded_dialect import dialect_of
from grove.schedulers.types import Json, ObjectKind, SchedulerObject, Served

POD_GROUPS = ObjectKind("scheduling.sigs.k8s.io", "v1alpha1", "podgroups", "PodGroup")
QUOTAS = ObjectKind("scheduling.sigs.k8s.io", "v1alpha1", "elasticquotas", "ElasticQuota")
KOORDINATOR_POD_GROUPS = ObjectKind("scheduling.koordinator.sh", "v1alpha1", "podgroups", "PodGroup")

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
MEMBERS_GATED = "MembersGated"
MEMBERS_UNGATED = "MembersUngated"

UNREACHABLE_MINIMUM = 1_000_000

MAX_WAIT_SECONDS = 900
"""kube-scheduler, on which Koordinator is built, lets no pod wait longer for others."""

OWNED_FIELDS = ("spec.scheduleTimeoutSeconds", f"metadata.annotations.{NETWORK_TOPOLOGY}")


class KoordinatorSettings(msgspec.Struct, rename="camel", forbid_unknown_fields=True, frozen=True):
    """The `config` of the profile."""

    quota: str = ""
    mode: Literal["Strict", "NonStrict"] = "Strict"
    match_policy: Literal["only-waiting", "waiting-and-running", "once-satisfied"] = "waiting-and-running"
    # If missing, the scheduler's own applies: 600 unless configured otherwise.
    schedule_timeout_seconds: Annotated[int, msgspec.Meta(ge=1, le=MAX_WAIT_SECONDS)] | None = None
    # Whether koord-scheduler is set up for network topology; `managed` if Grove writes the ClusterNetworkTopology.
    network_topology: Literal["off", "existing", "managed"] = "off"


class Koordinator(Backend):
    name = "koordinator"
    scheduler_name = "koord-scheduler"
    gate = Gate.KOORDINATOR
    kinds: Sequence[ObjectKind] = (POD_GROUPS, KOORDINATOR_POD_GROUPS)
    pins_priority = True
    has_dialects = True
    depends_on_gates = True
    variants = (
        SchedulerVariant(
            "koordinator",
            "Koordinator",
            {
                Guarantee.ALL_OR_NOTHING: "yes",
                Guarantee.MINIMUM_BELOW_REPLICAS: "the others follow the gang, outside of it",
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
        self._settings = msgspec.convert(settings, KoordinatorSettings)
        mode = self._settings.network_topology
        self.reads = (QUOTAS, TOPOLOGIES) if mode != "off" else (QUOTAS,)
        # The cluster has one ClusterNetworkTopology, so Grove writes it only if the profile says so.
        self.topology_kind = TOPOLOGIES if mode == "managed" else None

    def matches(self, scheduler_name: str) -> bool:
        return "koord" in scheduler_name

    def gang_annotations(self, pcs: PodCliqueSet, members: Sequence[Clique]) -> Mapping[str, str]:
        """A clique may name the quota, and a gang does not have the metadata of cliques."""
        return {labels.QUEUE: queue_of(pcs, _quota_in) or self._settings.quota}

    def dialect(self, gang: PodGang, pods: Sequence[Pod], served: Served) -> str:
        members = [p for p in pods if is_present(p) and LINK in p.metadata.labels]
        waiting = [p for p in members if not p.spec.node_name]
        # A pod that waits alone, such as a replacement, starts an attempt without others.
        gated = len(waiting) > 1 and any(has_gate(p, self.gate) for p in waiting)
        return MEMBERS_GATED if gated or not members else MEMBERS_UNGATED

    def translate(self, gang: PodGang, served: Served) -> Sequence[SchedulerObject]:
        if quota := self._quota(gang):
            check_queue_exists(quota, "ElasticQuota", QUOTAS, served, f"label {QUOTA}")
        kind = next((k for k in self.kinds if k in served), POD_GROUPS)
        members = sorted((g for g in gang.spec.pod_groups if g.min_replicas > 0), key=_pod_group_name)
        annotations = self._annotations(gang, members, served)
        timeout = self._timeout(gang)
        blocked = dialect_of(gang) == MEMBERS_GATED
        return [
            SchedulerObject(
                kind,
                {
                    "metadata": {
                        "name": _pod_group_name(group),
                        "labels": _pod_group_labels(gang),
                        "annotations": dict(annotations),
                    },
                    "spec": {
                        "minMember": UNREACHABLE_MINIMUM if blocked and i == 0 else group.min_replicas,
                        **({"scheduleTimeoutSeconds": timeout} if timeout else {}),
                    },
                },
                OWNED_FIELDS,
            )
            for i, group in enumerate(members)
        ]

    def prepare_pod(self, gang: PodGang, group: PodGroup, pod: PodDraft) -> None:
        self.prepare_surplus_pod(gang, group, pod)
        if group.min_replicas > 0:
            pod.labels[LINK] = _pod_group_name(group)

    def separates_surplus(self, gang: PodGang, group: PodGroup) -> bool:
        return True

    def prepare_surplus_pod(self, gang: PodGang, group: PodGroup, pod: PodDraft) -> None:
        if quota := self._quota(gang):
            pod.labels[QUOTA] = quota
        if tree := gang.metadata.labels.get(QUOTA_TREE):
            pod.labels[QUOTA_TREE] = tree
        # A PodGroup has no priority class, so the pods carry that of the gang.
        if gang.spec.priority_class_name:
            pod.spec["priorityClassName"] = gang.spec.priority_class_name

    def broken_link(self, gang: PodGang, group: PodGroup, pod: Pod) -> str:
        wanted = _pod_group_name(group)
        if is_surplus(pod, group.min_replicas) or pod.metadata.labels.get(LINK) == wanted:
            return ""
        return (
            f"pod {pod.metadata.name} has lost its label {LINK}: {wanted}, and Koordinator would place it alone; "
            "find out which admission webhook changes it"
        )

    def topology_object(self, binding: ClusterTopologyBinding) -> SchedulerObject:
        return topology_object(binding)

    def validate(self, pcs: PodCliqueSet) -> Iterable[Problem]:
        yield from conflicting_queues(pcs, _quota_in)
        for key, supported in ((MODE, MODES), (MATCH_POLICY, MATCH_POLICIES)):
            chosen = pcs.metadata.annotations.get(key, supported[0])
            if chosen not in supported:
                path = ("metadata", "annotations", key)
                yield unsupported(path, chosen, list(supported), "correct it, or remove it")
        yield from _check_waiting_time(pcs.metadata.annotations.get(WAITING_TIME, ""))
        yield from check_constraints(pcs, off=self._settings.network_topology == "off")

    def shortfall(self, gang: PodGang, served: Served) -> str:
        return "; ".join(self._gather_rules(gang, served).shortfalls)

    def _quota(self, gang: PodGang) -> str:
        """Empty if Koordinator decides."""
        meta = gang.metadata
        named = meta.annotations.get(labels.QUEUE) or _quota_in(meta.labels, meta.annotations)
        return named or self._settings.quota

    def _annotations(self, gang: PodGang, members: Sequence[PodGroup], served: Served) -> dict[str, str]:
        own = gang.metadata.annotations
        namespace = gang.metadata.namespace or ""
        annotations = {
            GROUPS: _json([f"{namespace}/{_pod_group_name(g)}" for g in members]),
            MODE: _one_of(MODES, own.get(MODE), self._settings.mode),
            MATCH_POLICY: _one_of(MATCH_POLICIES, own.get(MATCH_POLICY), self._settings.match_policy),
        }
        if rules := self._gather_rules(gang, served).rules:
            annotations[NETWORK_TOPOLOGY] = _json({"gatherStrategy": rules})
        return annotations

    def _gather_rules(self, gang: PodGang, served: Served) -> GatherRules:
        return gather_rules(gang, self._layers(served))

    def _layers(self, served: Served) -> NetworkLayers:
        if self._settings.network_topology == "off":
            return NetworkLayers({}, "network topology is not set up for Koordinator")
        if TOPOLOGIES not in served.objects:
            return NetworkLayers(
                {}, f"the cluster does not serve {TOPOLOGIES.kind}, or Grove has no permission to read it"
            )
        return layers_of(served.objects[TOPOLOGIES].get(TOPOLOGY_NAME))

    def _timeout(self, gang: PodGang) -> int | None:
        """In whole seconds, as in the field; None for Koordinator's own."""
        text = gang.metadata.annotations.get(WAITING_TIME, "")
        if not text or [*_check_waiting_time(text)]:
            return self._settings.schedule_timeout_seconds
        return ceil(Duration(text).seconds)


def _quota_in(object_labels: Mapping[str, str], annotations: Mapping[str, str]) -> str:
    return object_labels.get(QUOTA) or annotations.get(QUOTA, "")


def _pod_group_name(group: PodGroup) -> str:
    """At most 63 characters, because the name is the value of a label."""
    if len(group.name) <= 63:
        return group.name
    return f"{group.name[:54]}-{hashlib.sha256(group.name.encode()).hexdigest()[:8]}"


def _pod_group_labels(gang: PodGang) -> dict[str, str]:
    """The labels that identify the workload; not all labels of the user's set."""
    prefixes = ("app.kubernetes.io/", labels.GROVE_PREFIX)
    return {k: v for k, v in gang.metadata.labels.items() if k.startswith(prefixes)}


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
    if not 0 < seconds <= MAX_WAIT_SECONDS:
        yield invalid(path, text, "must be more than 0 and at most 15 minutes", remedy)


def _one_of(supported: Sequence[str], asked: str | None, otherwise: str) -> str:
    return asked if asked is not None and asked in supported else otherwise


def _json(value: Json | list[str]) -> str:
    return msgspec.json.encode(value).decode()
