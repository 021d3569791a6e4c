"""PodCliqueScalingGroups: the PodCliques of each copy, and the status of the group."""

from grove.api import (
    PodClique,
    PodCliqueScalingGroup,
    PodCliqueScalingGroupStatus,
    PodCliqueSet,
    labels,
    names,
)
from grove.api.conditions import EventReason
from grove.api.podcliqueset import Clique
from grove.api.serialization import codec
from grove.controllers.podcliqueset.set_judgement import SetJudgements
from grove.controllers.shared.apply import Applier
from grove.controllers.shared.claims import Claims
from grove.controllers.shared.context import OperatorContext
from grove.controllers.shared.finalizers import remove_finalizer
from grove.controllers.shared.indexes import label, replica_index
from grove.controllers.shared.informers import Informers
from grove.controllers.shared.predicates import described_anew, not_as_left
from grove.controllers.shared.status_writer import Reports, describe, last_errors
from grove.plan.layout.set_layout import Group, SetLayout
from grove.plan.objects.claims import group_claims
from grove.plan.objects.cliques import CLIQUE_OURS, as_scaled, member_clique
from grove.plan.status.group_status import group_status
from grove.runtime.client.objects import ObjectKey, key_of, uid_of
from grove.runtime.controller.concurrently import for_each
from grove.runtime.controller.controller import Controller
from grove.runtime.controller.triggers import Trigger, itself, owner


class ScalingGroupController:
    def __init__(self, context: OperatorContext, informers: Informers, judgements: SetJudgements) -> None:
        self._context = context
        self._informers = informers
        self._judgements = judgements
        self._applier = Applier()
        self._reports = Reports()
        self._claims = Claims(context, informers)

    def controller(self) -> Controller[ObjectKey]:
        informers = self._informers
        return Controller(
            "podcliquescalinggroup",
            self.reconcile,
            [
                Trigger(
                    informers.groups,
                    itself,
                    when=not_as_left,
                    why="its replicas say how many copies there are",
                ),
                Trigger(
                    informers.cliques,
                    owner("PodCliqueScalingGroup"),
                    why="a member that went must come back, and the status adds up the members' states",
                ),
                Trigger(
                    informers.sets,
                    self._of_set,
                    when=described_anew,
                    why="the members' template is in the set",
                ),
            ],
            workers=self._context.configuration.controllers.pod_clique_scaling_group.concurrent_syncs,
        )

    async def reconcile(self, key: ObjectKey) -> float | None:
        """Returns when to look again, to report."""
        group = self._informers.groups.cache.get(key)
        if group is None:
            return None
        if group.metadata.deletion_timestamp is not None:
            self._reports.forget(uid_of(group))
            finalizers = group.metadata.finalizers
            await remove_finalizer(self._informers.groups, group, finalizers, labels.Finalizer.SCALING_GROUP)
            return None
        layout = self._judgements.get(ObjectKey(key.namespace, label(group, labels.PART_OF)))
        failures: list[tuple[str, Exception]] = []
        if layout is not None:
            failures = await self._sync(group, layout)
        wait = await self._write_status(group, layout, failures)
        if failures:
            raise ExceptionGroup(f"PodCliqueScalingGroup {key}", [e for _, e in failures])
        return wait

    async def _write_status(
        self, group: PodCliqueScalingGroup, layout: SetLayout | None, failures: list[tuple[str, Exception]]
    ) -> float | None:
        """Returns when the report is due, if it is not yet."""
        now, old = self._context.now(), group.status
        known = old.last_errors if old else []

        def status() -> PodCliqueScalingGroupStatus:
            new = group_status(group, self._members(group), layout, now, synced=not failures)
            new.last_errors = last_errors(known, failures, now)
            return new

        at_once = bool(failures or known)
        wait, new = await self._reports.write(self._informers.groups, group, old, status, at_once=at_once)
        if old and old.scheduled_replicas and new and not new.scheduled_replicas:
            note = f"none of {old.scheduled_replicas} scheduled copies is left"
            reason = EventReason.ALL_SCHEDULED_REPLICAS_LOST
            self._context.warning_event(group, reason, note, "Observe")
        return wait

    async def _sync(self, group: PodCliqueScalingGroup, layout: SetLayout) -> list[tuple[str, Exception]]:
        i = replica_index(group)
        template = next((g for g in layout.groups if _is(group, layout, g, i)), None)
        if i is None or template is None:
            return []
        wanted = [
            (c, member_clique(layout, template, c, i, j, group))
            for j in range(group.spec.replicas)
            for c in template.cliques
        ]

        async def ensure(item: tuple[Clique, PodClique]) -> None:
            clique, member = item
            key = key_of(member)
            # As it is scaled when its turn comes: of many, the last are written when the first have been.
            body = codec.encode(as_scaled(layout, clique, member, self._informers.cliques.cache.get(key)))
            await self._applier.ensure(
                self._informers.cliques, key, body, owner_uid=uid_of(group), ours=CLIQUE_OURS
            )

        async def delete(clique: PodClique) -> None:
            await self._informers.cliques.objects.delete(key_of(clique), uid=uid_of(clique))

        claims = group_claims(layout, group, self._claims.templates(layout), self._claims.tags(layout))
        kept = await self._claims.keep(claims, uid_of(group), "ERR_SYNC_PCSG_RESOURCE_CLAIM")
        made = await for_each(wanted, ensure)
        expected = {key_of(member) for _, member in wanted}
        surplus = [
            c for c in self._members(group) if key_of(c) not in expected and not c.metadata.deletion_timestamp
        ]
        gone = await for_each(surplus, delete)
        failures = [("ERR_CREATE_PODCLIQUES", o.error) for o in made if o.error is not None]
        if failures:
            note = f"{len(failures)} PodCliques could not be created: {describe(failures[0][1])}"
            reason = EventReason.CLIQUE_CREATE_FAILED
            self._context.warning_event(group, reason, note, "CreatePodClique")
        return kept + failures + [("ERR_DELETE_PODCLIQUE", o.error) for o in gone if o.error is not None]

    def _members(self, group: PodCliqueScalingGroup) -> list[PodClique]:
        found = self._informers.cliques.cache.by_index("group", key_of(group))
        return [c for c in found if any(o.uid == group.metadata.uid for o in c.metadata.owner_references)]

    def _of_set(self, pcs: PodCliqueSet) -> list[ObjectKey]:
        return [key_of(g) for g in self._informers.groups.cache.by_index("set", key_of(pcs))]


def _is(group: PodCliqueScalingGroup, layout: SetLayout, template: Group, i: int | None) -> bool:
    return i is not None and group.metadata.name == names.scaling_group(layout.name, i, template.name)
