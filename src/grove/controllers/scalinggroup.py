"""The controller of PodCliqueScalingGroups: the PodCliques of each copy, and the status of the group."""

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
from grove.controllers.podcliqueset.set_judgements import SetJudgements
from grove.controllers.shared.apply import Applier
from grove.controllers.shared.claims import Claims
from grove.controllers.shared.context import OperatorContext
from grove.controllers.shared.deletion import delete_all
from grove.controllers.shared.failures import Failure, describe, failed, last_errors, raise_failures
from grove.controllers.shared.finalizers import remove_finalizer
from grove.controllers.shared.indexes import label, replica_index
from grove.controllers.shared.informers import Informers
from grove.controllers.shared.predicates import spec_or_metadata_changed, spec_or_status_edited
from grove.controllers.shared.status_writer import StatusWriter
from grove.plan.layout.set_layout import Group, SetLayout
from grove.plan.objects.claims import group_claims
from grove.plan.objects.cliques import OWNED_CLIQUE_FIELDS, as_scaled, member_clique
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
        self._statuses = StatusWriter()
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
                    when=spec_or_status_edited,
                    why="its replicas say how many copies exist",
                ),
                Trigger(
                    informers.cliques,
                    owner("PodCliqueScalingGroup"),
                    why="a deleted member is recreated, and the status adds up the members' statuses",
                ),
                Trigger(
                    informers.sets,
                    self._groups_of_set,
                    when=spec_or_metadata_changed,
                    why="the set has the template of the members",
                ),
            ],
            workers=self._context.configuration.controllers.pod_clique_scaling_group.concurrent_syncs,
            metrics=self._context.metrics,
        )

    async def reconcile(self, key: ObjectKey) -> float | None:
        """Returns when to requeue, for a batched status."""
        group = self._informers.groups.cache.get(key)
        if group is None:
            return None
        if group.metadata.deletion_timestamp is not None:
            self._statuses.forget(uid_of(group))
            finalizers = group.metadata.finalizers
            await remove_finalizer(self._informers.groups, group, finalizers, labels.Finalizer.SCALING_GROUP)
            return None
        layout = self._judgements.layout(ObjectKey(key.namespace, label(group, labels.PART_OF)))
        failures = await self._sync(group, layout) if layout is not None else []
        requeue_after = await self._write_status(group, layout, failures)
        raise_failures(f"PodCliqueScalingGroup {key}", failures)
        return requeue_after

    async def _sync(self, group: PodCliqueScalingGroup, layout: SetLayout) -> list[Failure]:
        i = replica_index(group)
        template = next((g for g in layout.groups if _is_template_of(group, layout, g, i)), None)
        if i is None or template is None:
            return []
        claims = group_claims(layout, group, self._claims.templates(layout), self._claims.tags(layout))
        failures = await self._claims.keep(claims, uid_of(group), "ERR_SYNC_PCSG_RESOURCE_CLAIM")
        wanted = [
            (clique, member_clique(layout, template, clique, i, j, group))
            for j in range(group.spec.replicas)
            for clique in template.cliques
        ]
        failures += await self._ensure_members(group, layout, wanted)
        names_wanted = {key_of(member) for _, member in wanted}
        surplus = [c for c in self._members(group) if key_of(c) not in names_wanted]
        return failures + await delete_all(self._informers.cliques, surplus, "ERR_DELETE_PODCLIQUE")

    async def _ensure_members(
        self, group: PodCliqueScalingGroup, layout: SetLayout, wanted: list[tuple[Clique, PodClique]]
    ) -> list[Failure]:
        informer = self._informers.cliques

        async def ensure(item: tuple[Clique, PodClique]) -> None:
            clique, member = item
            key = key_of(member)
            # Read right before the write: by the time the last members are written, somebody may have scaled them.
            body = codec.encode(as_scaled(layout, clique, member, informer.cache.get(key)))
            owner_uid = uid_of(group)
            await self._applier.ensure(
                informer, key, body, owner_uid=owner_uid, owned_fields=OWNED_CLIQUE_FIELDS
            )

        failures = failed(await for_each(wanted, ensure), "ERR_CREATE_PODCLIQUES")
        if failures:
            note = f"{len(failures)} PodCliques could not be created: {describe(failures[0].error)}"
            reason = EventReason.CLIQUE_CREATE_FAILED
            self._context.warning_event(group, reason, note, "CreatePodClique")
        return failures

    async def _write_status(
        self, group: PodCliqueScalingGroup, layout: SetLayout | None, failures: list[Failure]
    ) -> float | None:
        """Returns when the batched status is due."""
        now, old = self._context.now(), group.status
        known = old.last_errors if old else []

        def status() -> PodCliqueScalingGroupStatus:
            new = group_status(group, self._members(group), layout, now, synced=not failures)
            new.last_errors = last_errors(known, failures, now)
            return new

        immediately = bool(failures or known)
        write = await self._statuses.write(
            self._informers.groups, group, old, status, immediately=immediately
        )
        if old and old.scheduled_replicas and write.written and not write.written.scheduled_replicas:
            note = f"none of {old.scheduled_replicas} scheduled copies is left"
            reason = EventReason.ALL_SCHEDULED_REPLICAS_LOST
            self._context.warning_event(group, reason, note, "Observe")
        return write.requeue_after

    def _members(self, group: PodCliqueScalingGroup) -> list[PodClique]:
        found = self._informers.cliques.cache.by_index("group", key_of(group))
        return [c for c in found if any(o.uid == uid_of(group) for o in c.metadata.owner_references)]

    def _groups_of_set(self, pcs: PodCliqueSet) -> list[ObjectKey]:
        return [key_of(g) for g in self._informers.groups.cache.by_index("set", key_of(pcs))]


def _is_template_of(group: PodCliqueScalingGroup, layout: SetLayout, template: Group, i: int | None) -> bool:
    return i is not None and group.metadata.name == names.scaling_group(layout.name, i, template.name)
