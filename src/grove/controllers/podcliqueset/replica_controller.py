"""The replicas of PodCliqueSets, one by one: what each consists of is made, kept as it should be, and removed.

Working on one replica at a time keeps the cost of a change to that replica, however many the set has. A replica that
is no longer wanted goes in an order that never makes a running gang look broken: first its cliques and groups, and
with them the pods; its gangs, Services and the rest only when no pod is left.
"""

from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import Any, NamedTuple

import orjson

from grove.api import PodClique, PodCliqueScalingGroup, PodCliqueSet, PodGang, labels, names
from grove.api.conditions import EventReason
from grove.api.podcliqueset import Clique
from grove.api.serialization import codec
from grove.controllers.podcliqueset.set_judgement import SetJudgements
from grove.controllers.shared.apply import Applier, key_of_json
from grove.controllers.shared.claims import CLAIM_FIXED, KIND, Claims
from grove.controllers.shared.companions import COMPUTE_DOMAINS, Companion
from grove.controllers.shared.context import OperatorContext
from grove.controllers.shared.deletion import PATIENCE, delete_all, gone_at
from grove.controllers.shared.finalizers import remove_finalizer
from grove.controllers.shared.indexes import ReplicaKey, label, replica_index, replica_of
from grove.controllers.shared.informers import Informers
from grove.controllers.shared.predicates import described_anew, touched, went
from grove.controllers.shared.status_writer import describe
from grove.plan.gangs.membership import gang_members, gang_names
from grove.plan.layout.clique_position import find_position
from grove.plan.layout.set_layout import SetLayout
from grove.plan.objects.autoscaling import autoscalers
from grove.plan.objects.claims import replica_claims
from grove.plan.objects.cliques import CLIQUE_OURS, as_scaled, scaling_group, standalone_clique
from grove.plan.objects.mnnvl import compute_domains
from grove.plan.objects.podgangs import pod_gang
from grove.plan.objects.services import headless_service
from grove.runtime.cache.cache import Change
from grove.runtime.cache.informer import Informer
from grove.runtime.client.objects import ObjectKey, key_of
from grove.runtime.controller.concurrently import for_each
from grove.runtime.controller.controller import Controller
from grove.runtime.controller.triggers import Trigger

Json = dict[str, Any]


class _Work(NamedTuple):
    """An object to make or keep. `body` is asked for when its turn comes, to keep what others have decided by then."""

    code: str
    informer: Informer[Any]
    key: ObjectKey
    body: Callable[[], bytes]
    ours: tuple[str, ...]


# What Grove alone decides about a gang.
GANG_OURS = (
    "spec.podgroups",
    "spec.priorityClassName",
    "spec.topologyConstraint",
    "spec.topologyConstraintGroupConfigs",
)


class ReplicaController:
    def __init__(self, context: OperatorContext, informers: Informers, judgements: SetJudgements) -> None:
        self._context = context
        self._informers = informers
        self._judgements = judgements
        self._applier = Applier()
        self._claims = Claims(context, informers)
        self._failures: dict[ReplicaKey, list[tuple[str, Exception]]] = {}
        self._wake: Callable[[ObjectKey], None] = lambda key: None

    def on_change(self, wake: Callable[[ObjectKey], None]) -> None:
        """Calls `wake` with a set of which something else fails now, or nothing any more."""
        self._wake = wake

    def failures_of(self, key: ObjectKey) -> list[tuple[str, Exception]]:
        """What failed in the last look at each replica of a set, for its status."""
        return [
            f for replica in sorted(self._failures) if replica.set == key for f in self._failures[replica]
        ]

    def controller(self) -> Controller[ReplicaKey]:
        informers = self._informers
        triggers: list[Trigger[Any, ReplicaKey]] = [
            Trigger(
                informers.sets,
                self._of_set,
                when=described_anew,
                why="it says which replicas there are, and of what",
            ),
            Trigger(
                informers.cliques,
                replica_of,
                when=described_anew,
                why="a clique that went or was edited is put back",
            ),
            Trigger(
                informers.groups,
                replica_of,
                when=described_anew,
                why="its copies decide which scaled gangs there are",
            ),
            Trigger(
                informers.gangs,
                replica_of,
                when=_gang_described_anew,
                why="a gang that went or was edited is put back",
            ),
            Trigger(
                informers.topologies,
                self._of_all,
                when=described_anew,
                why="gangs name the labels of its levels",
            ),
            Trigger(
                informers.pods,
                self._of_pod,
                when=went,
                why="the last pod of what is going away lets the rest go",
            ),
        ]
        triggers += [
            Trigger(
                informer, replica_of, when=touched, why="what Grove made and somebody changed is put back"
            )
            for informer in informers.companions.values()
        ]
        if informers.claim_templates is not None:
            why = "claims are made from it"
            triggers.append(Trigger(informers.claim_templates, self._of_all, when=described_anew, why=why))
        return Controller(
            "podcliqueset-replica",
            self.reconcile,
            triggers,
            workers=self._context.configuration.controllers.pod_clique_set.concurrent_syncs,
        )

    async def reconcile(self, key: ReplicaKey) -> float | None:
        """Returns when to look again, at what should have gone by then."""
        await self._release_domains(key)
        pcs = self._informers.sets.cache.get(key.set)
        if pcs is None or pcs.metadata.deletion_timestamp is not None:
            self._failures.pop(key, None)
            return None
        layout = self._judgements.get(key.set)
        if layout is None:
            return None
        if key.replica >= layout.replicas:
            failures = await self._remove(key, layout)
        else:
            failures = await self._ensure(key, layout)
        before = self._failures.pop(key, [])
        if failures:
            self._failures[key] = failures
        if (before or failures) and _described(before) != _described(failures):
            self._wake(key.set)
        if failures:
            raise ExceptionGroup(f"PodCliqueSet {key}", [e for _, e in failures])
        return self._say_what_is_left(key, pcs, layout)

    async def _ensure(self, key: ReplicaKey, layout: SetLayout) -> list[tuple[str, Exception]]:
        """Gangs first: pods are made only once their gang exists."""
        i, informers = key.replica, self._informers
        cliques = informers.cliques.cache.by_index("replica", key)
        minimums = {c.metadata.name or "": m for c in cliques if (m := c.spec.min_available) is not None}
        gangs = [
            pod_gang(layout, members, self._judgements.scheduling(layout, members))
            for members in gang_members(layout, i, self._copies(layout, i), minimums)
        ]
        work: list[_Work] = []
        for gang in gangs:
            body, code = partial(self._gang_body, gang), "ERR_CREATE_OR_PATCH_PODGANG"
            work.append(_Work(code, informers.gangs, key_of(gang), body, GANG_OURS))
        for clique in layout.standalone:
            wanted = standalone_clique(layout, clique, i)
            body, code = partial(self._clique_body, layout, clique, wanted), "ERR_CREATE_OR_UPDATE_PODCLIQUE"
            work.append(_Work(code, informers.cliques, key_of(wanted), body, CLIQUE_OURS))
        for group in layout.groups:
            wanted_group = scaling_group(layout, group, i)
            body, code = partial(self._group_body, wanted_group), "ERR_CREATE_PODCLIQUESCALINGGROUP"
            work.append(_Work(code, informers.groups, key_of(wanted_group), body, ("spec.cliqueNames",)))
        companions = self._companions(layout, i)
        for obj in companions:
            informer, body = informers.companions[obj["kind"]], partial(orjson.dumps, obj)
            ours = _OURS.get(obj["kind"], ())
            work.append(_Work(_CODES[obj["kind"]], informer, key_of_json(obj), body, ours))

        async def ensure(item: _Work) -> None:
            await self._applier.ensure(
                item.informer,
                item.key,
                item.body(),
                owner_uid=layout.owner.uid,
                ours=item.ours,
                fixed=CLAIM_FIXED if item.informer.resource.kind == KIND else (),
                all_but_fixed=True,
            )

        outcomes = await for_each(work, ensure)
        failures = [(o.item.code, o.error) for o in outcomes if o.error is not None]
        failures += await self._prune_parts(key, layout, {(w.informer, w.key) for w in work})
        failures += await self._prune_gangs(key, {key_of(g) for g in gangs})
        failures += await self._prune_companions(
            key, {(o["kind"], o["metadata"]["name"]) for o in companions}
        )
        self._report(key, failures)
        return failures

    def _companions(self, layout: SetLayout, i: int) -> list[Json]:
        found = [headless_service(layout, i), *autoscalers(layout, i)]
        if self._context.configuration.network.auto_mnnvl_enabled:
            found += compute_domains(layout, i)
        if layout.shares_claims:
            found += replica_claims(layout, i, self._claims.templates(layout), self._claims.tags(layout))
        return [o for o in found if o["kind"] in self._informers.companions]

    def _gang_body(self, gang: PodGang) -> bytes:
        """A gang that exists keeps the pods that it names: they are filled in by another controller.

        With some schedulers it keeps its priority too.
        """
        known = self._informers.gangs.cache.get(key_of(gang))
        if known is not None:
            backend = self._context.registry.get(label(known, labels.SCHEDULER_BACKEND))
            if backend is not None and backend.pins_priority:
                gang.spec.priority_class_name = known.spec.priority_class_name
            named = {g.name: g.pod_references for g in known.spec.pod_groups}
            for group in gang.spec.pod_groups:
                group.pod_references = named.get(group.name, [])
        return codec.encode(gang)

    def _clique_body(self, layout: SetLayout, clique: Clique, wanted: PodClique) -> bytes:
        return codec.encode(
            as_scaled(layout, clique, wanted, self._informers.cliques.cache.get(key_of(wanted)))
        )

    def _group_body(self, wanted: PodCliqueScalingGroup) -> bytes:
        known = self._informers.groups.cache.get(key_of(wanted))
        if known is not None:
            wanted.spec.replicas = known.spec.replicas
        return codec.encode(wanted)

    async def _remove(self, key: ReplicaKey, layout: SetLayout) -> list[tuple[str, Exception]]:
        informers = self._informers
        failures = await self._prune_parts(key, layout, set())
        if informers.cliques.cache.by_index("replica", key) or informers.pods.cache.by_index("replica", key):
            return failures
        failures += await self._prune_gangs(key, set())
        failures += await self._prune_companions(key, set())
        return failures

    async def _prune_parts(
        self, key: ReplicaKey, layout: SetLayout, expected: set[tuple[Informer[Any], ObjectKey]]
    ) -> list[tuple[str, Exception]]:
        """Cliques and scaling groups that the set does not describe, also a predecessor's. Members go with a group."""
        failures: list[tuple[str, Exception]] = []
        parts: tuple[tuple[Informer[Any], str], ...] = (
            (self._informers.groups, "ERR_DELETE_PODCLIQUESCALINGGROUP"),
            (self._informers.cliques, "ERR_DELETE_PODCLIQUE"),
        )
        for informer, code in parts:
            surplus = [
                part
                for part in informer.cache.by_index("replica", key)
                if (informer, key_of(part)) not in expected
                and _is_of(key, part)
                and all(o.uid == layout.owner.uid for o in part.metadata.owner_references if o.controller)
                and not self._is_awaited(part, layout, expected)
            ]
            failures += await delete_all(informer, surplus, code)
        return failures

    def _is_awaited(
        self,
        part: PodClique | PodCliqueScalingGroup,
        layout: SetLayout,
        expected: set[tuple[Informer[Any], ObjectKey]],
    ) -> bool:
        """Whether it is a member that its group will take up: `kubectl delete --cascade=orphan` took the old one."""
        groups = self._informers.groups
        key = ObjectKey(part.metadata.namespace or "", label(part, labels.SCALING_GROUP))
        if (groups, key) not in expected or not isinstance(part, PodClique):
            return False
        group, position = groups.cache.get(key), find_position(layout, part)
        if position is None or position.j is None:
            return False
        return group is None or position.j < group.spec.replicas  # None: the old one went a moment ago

    async def _prune_gangs(self, key: ReplicaKey, expected: set[ObjectKey]) -> list[tuple[str, Exception]]:
        """Gangs of this replica that are no longer wanted go when no pod of theirs is left."""
        surplus = [
            g
            for g in self._informers.gangs.cache.by_index("replica", key)
            if key_of(g) not in expected
            and _is_of(key, g)
            and g.metadata.deletion_timestamp is None
            and not self._informers.pods.cache.by_index("gang", key_of(g))
        ]
        return await delete_all(self._informers.gangs, surplus, "ERR_DELETE_EXCESS_PODGANG")

    async def _release_domains(self, key: ReplicaKey) -> None:
        """ComputeDomains that are going away, also those of a set that is gone. One that is wanted is made again."""
        if (informer := self._informers.companions.get(COMPUTE_DOMAINS.kind)) is None:
            return
        for found in informer.cache.by_index("replica", key):
            if found.metadata.deletion_timestamp is not None:
                finalizers = found.metadata.finalizers
                await remove_finalizer(informer, found, finalizers, labels.Finalizer.COMPUTE_DOMAIN)

    async def _prune_companions(
        self, key: ReplicaKey, expected: set[tuple[str, str]]
    ) -> list[tuple[str, Exception]]:
        failures: list[tuple[str, Exception]] = []
        for kind in _CODES:
            if (informer := self._informers.companions.get(kind)) is None:
                continue
            surplus = [
                c
                for c in informer.cache.by_index("replica", key)
                if label(c, labels.COMPONENT) in _PER_REPLICA
                and (kind, c.metadata.name) not in expected
                and _is_of(key, c)
                and c.metadata.deletion_timestamp is None
            ]
            failures += await delete_all(informer, surplus, f"ERR_DELETE_{kind.upper()}")
        return failures

    def _copies(self, layout: SetLayout, i: int) -> dict[str, int]:
        """How many copies each scaling group has now."""
        found: dict[str, int] = {}
        for group in layout.groups:
            name = names.scaling_group(layout.name, i, group.name)
            known = self._informers.groups.cache.get(ObjectKey(layout.namespace, name))
            found[group.name] = known.spec.replicas if known is not None else group.template.replicas
        return found

    def _report(self, key: ReplicaKey, failures: list[tuple[str, Exception]]) -> None:
        if failures and (pcs := self._informers.sets.cache.get(key.set)) is not None:
            note = f"replica {key.replica}: {describe(failures[0][1])}"
            reason = EventReason.GANG_CREATE_OR_UPDATE_FAILED
            self._context.warning_event(pcs, reason, note, "EnsureReplica")

    def _say_what_is_left(self, key: ReplicaKey, pcs: PodCliqueSet, layout: SetLayout) -> float | None:
        """An event for what does not go with its replica or copy. Returns when to look again at what is going."""
        informers, i = self._informers, key.replica
        wanted = gang_names(layout, i, self._copies(layout, i)) if i < layout.replicas else set()
        unwanted = [
            g for g in informers.gangs.cache.by_index("replica", key) if g.metadata.name not in wanted
        ]
        going: list[tuple[datetime, Any]] = [
            (gone_at(part) or self._context.now(), part)
            for gang in unwanted
            for part in (
                *informers.cliques.cache.by_index("gang", key_of(gang)),
                *informers.pods.cache.by_index("gang", key_of(gang)),
            )
        ]
        if not going:
            return None
        when, part = min(going, key=lambda found: found[0])
        wait = (when + PATIENCE - self._context.now()).total_seconds()
        if wait > 0:
            return wait
        held = ", ".join(part.metadata.finalizers) or "its node, which does not say that it ended"
        note = f"replica {i} waits for what is no longer wanted: {part.metadata.name} is held by {held}"
        self._context.warning_event(pcs, EventReason.SET_REPLICA_DELETE_FAILED, note, "RemoveReplica")
        return None

    def _of_set(self, pcs: PodCliqueSet) -> list[ReplicaKey]:
        """All that the set asks for, and all that it has."""
        key = key_of(pcs)
        children: list[Informer[Any]] = [
            self._informers.cliques,
            self._informers.gangs,
            *self._informers.companions.values(),
        ]
        found = {replica_index(c) for informer in children for c in informer.cache.by_index("set", key)}
        indices = set(range(pcs.spec.replicas)) | {i for i in found if i is not None}
        return [ReplicaKey(*key, i) for i in sorted(indices)]

    def _of_all(self, _: object) -> list[ReplicaKey]:
        return [k for pcs in self._informers.sets.cache for k in self._of_set(pcs)]

    def _of_pod(self, pod: Any) -> list[ReplicaKey]:
        """Only where something waits for the last pod to go."""
        key = ObjectKey(pod.metadata.namespace or "", label(pod, labels.PART_OF))
        index = label(pod, labels.REPLICA_INDEX)
        gang = ObjectKey(key.namespace, label(pod, labels.POD_GANG))
        waits = not self._informers.pods.cache.by_index("gang", gang)
        return [ReplicaKey(*key, int(index))] if waits and index.isdigit() else []


def _described(failures: list[tuple[str, Exception]]) -> list[tuple[str, str]]:
    return [(code, describe(error)) for code, error in failures]


def _is_of(key: ReplicaKey, obj: PodClique | PodCliqueScalingGroup | PodGang | Companion) -> bool:
    """Whether its name too says that it is of this replica: labels may have been changed and not yet put back."""
    stem = f"{key.name}-{key.replica}"
    return obj.metadata.name == stem or (obj.metadata.name or "").startswith(f"{stem}-")


def _gang_described_anew(change: Change[PodGang]) -> bool:
    """Not when only the pods that it names changed: those are another controller's."""
    if not described_anew(change):
        return False
    old, new = change.old, change.new
    return old is None or new is None or _without_references(old) != _without_references(new)


def _without_references(gang: PodGang) -> list[Any]:
    meta, spec = gang.metadata, gang.spec
    groups = [(g.name, g.min_replicas, g.topology_constraint) for g in spec.pod_groups]
    return [
        meta.labels,
        meta.annotations,
        meta.owner_references,
        meta.deletion_timestamp,
        groups,
        spec.topology_constraint,
        spec.topology_constraint_group_configs,
        spec.priority_class_name,
    ]


# The kinds of companions that a replica has of its own; the others are the set's.
_CODES = {
    "Service": "ERR_SYNC_PODCLIQUESET_SERVICE",
    "HorizontalPodAutoscaler": "ERR_SYNC_HPA",
    "ResourceClaim": "ERR_SYNC_PCS_RESOURCE_CLAIM",
    "ComputeDomain": "ERR_SYNC_COMPUTEDOMAIN",
}
_OURS = {"Service": ("spec.selector",), "HorizontalPodAutoscaler": ("spec.scaleTargetRef",)}
_PER_REPLICA = {
    labels.ComponentLabel.HEADLESS_SERVICE,
    labels.ComponentLabel.HPA,
    labels.ComponentLabel.COMPUTE_DOMAIN,
    labels.ComponentLabel.RESOURCE_CLAIM,
}
