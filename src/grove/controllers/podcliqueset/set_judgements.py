"""A cache of judgements, one per version of a set, for all controllers that work on parts of sets.

It also remembers how each set was when it was last valid. A set that an edit made invalid keeps running like that: what
it loses is replaced, and nothing new is created. After a restart nothing is remembered; the operator then leaves the
parts of an invalid set as they are.
"""

from dataclasses import dataclass

from grove.api import PodCliqueSet
from grove.controllers.podcliqueset.set_judgement import SetJudgement, judge_set
from grove.controllers.shared.context import OperatorContext
from grove.controllers.shared.informers import Informers
from grove.plan.gangs.membership import GangMembers
from grove.plan.layout.set_layout import SetLayout
from grove.plan.objects.podgangs import GangScheduling
from grove.plan.rollout.rollout import Rollout, rollout_of
from grove.runtime.client.objects import ObjectKey, uid_of
from grove.schedulers.registry import Selection


@dataclass(frozen=True)
class SetVersion:
    """Everything that a judgement depends on, except the configuration. The status is not part of it."""

    generation: int | None
    labels: dict[str, str]
    annotations: dict[str, str]


def version_of_set(pcs: PodCliqueSet) -> SetVersion:
    meta = pcs.metadata
    return SetVersion(meta.generation, meta.labels, meta.annotations)


class SetJudgements:
    """Reading has no side effects: no events, no metrics. The set controller reports what a judgement says."""

    def __init__(self, context: OperatorContext, informers: Informers) -> None:
        self._context = context
        self._informers = informers
        self._judged: dict[str, tuple[SetVersion, SetJudgement]] = {}
        self._last_valid: dict[str, tuple[SetLayout, Selection]] = {}

    def judge(self, pcs: PodCliqueSet) -> SetJudgement:
        """The set as it is now."""
        uid, version = uid_of(pcs), version_of_set(pcs)
        known = self._judged.get(uid)
        if known is not None and known[0] == version:
            return known[1]
        judgement = judge_set(pcs, self._context.configuration, self._context.registry)
        self._judged[uid] = (version, judgement)
        if judgement.layout is not None and judgement.selection is not None:
            self._last_valid[uid] = (judgement.layout, judgement.selection)
        return judgement

    def layout(self, key: ObjectKey) -> SetLayout | None:
        """The layout that a set is to have: of the set as it is, or while it is invalid, as it last was when valid.

        None if the set does not exist, or this process never saw it valid.
        """
        pcs = self._informers.sets.cache.get(key)
        if pcs is None:
            return None
        self.judge(pcs)
        valid = self._last_valid.get(uid_of(pcs))
        return valid[0] if valid is not None else None

    def rollout(self, layout: SetLayout) -> Rollout:
        """How far the update of a set may go now. `layout` must come from `layout` or `judge`."""
        pcs = self._informers.sets.cache.get(ObjectKey(layout.namespace, layout.name))
        return rollout_of(layout, pcs.status if pcs is not None else None)

    def scheduling(self, layout: SetLayout, members: GangMembers) -> GangScheduling:
        """How a gang of a set is to be scheduled. `layout` must come from `layout` or `judge`."""
        _, selection = self._last_valid[uid_of(layout.pcs)]
        topology = None
        if self._context.configuration.topology_aware_scheduling.enabled and (name := layout.topology_name):
            topology = self._informers.topologies.cache.get(ObjectKey("", name))
        return selection.scheduling(layout, members, topology)

    def forget(self, uid: str) -> None:
        self._judged.pop(uid, None)
        self._last_valid.pop(uid, None)
