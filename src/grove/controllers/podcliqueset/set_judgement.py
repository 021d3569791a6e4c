"""The layout of each set, worked out once per version of the set, and whether it can be acted on.

A set that an edit made invalid is run on as it was before, as long as the process lives that saw it valid: what it
loses is replaced, and nothing new is made of it. A process that never saw it valid leaves alone what there is.
"""

from dataclasses import dataclass

from grove.api import PodCliqueSet
from grove.api.conditions import EventReason
from grove.api.validation import Problem, ValidationContext, validate
from grove.controllers.shared.context import OperatorContext
from grove.controllers.shared.informers import Informers
from grove.plan.gangs.membership import GangMembers
from grove.plan.layout.set_layout import SetLayout
from grove.plan.objects.podgangs import GangScheduling
from grove.runtime.client.objects import ObjectKey, uid_of
from grove.schedulers.registry import Selection, SelectionError

_Version = tuple[int | None, dict[str, str], dict[str, str]]


@dataclass(frozen=True)
class Judged:
    """A set with its layout and its backend, or with what is wrong with it.

    `warnings` are about what will not have the effect that it seems to have; they are an event of the set, when a
    version of its spec is new.
    """

    layout: SetLayout | None
    problems: tuple[str, ...] = ()
    selection: Selection | None = None
    warnings: tuple[str, ...] = ()


class SetJudgements:
    """A cache, keyed by the version of the set. What it forgets it works out again, except how a set was when valid."""

    def __init__(self, context: OperatorContext, informers: Informers) -> None:
        self._context = context
        self._informers = informers
        self._judged: dict[str, tuple[_Version, Judged]] = {}
        self._valid: dict[str, tuple[SetLayout, Selection]] = {}

    def get(self, key: ObjectKey) -> SetLayout | None:
        """The layout of a set that exists: as it is, or while it is invalid, as it was when it was last seen valid."""
        pcs = self._informers.sets.cache.get(key)
        if pcs is None:
            return None
        self.judge(pcs)
        valid = self._valid.get(uid_of(pcs))
        return valid[0] if valid is not None else None

    def judge(self, pcs: PodCliqueSet) -> Judged:
        """The set as it is now."""
        uid, version = uid_of(pcs), _version(pcs)
        known = self._judged.get(uid)
        if known is None or known[0] != version:
            judged = self._judge(pcs)
            known = self._judged[uid] = (version, judged)
            if judged.layout is not None and judged.selection is not None:
                self._valid[uid] = (judged.layout, judged.selection)
            if judged.warnings and _is_new(pcs):
                note = "; ".join(judged.warnings)[:1000]
                self._context.warning_event(pcs, EventReason.VALIDATION_WARNING, note, "Validate")
        return known[1]

    def forget(self, uid: str) -> None:
        self._judged.pop(uid, None)
        self._valid.pop(uid, None)

    def scheduling(self, layout: SetLayout, members: GangMembers) -> GangScheduling:
        """How a gang of the set is to be scheduled. `layout` is the one that `get` returned."""
        _, selection = self._valid[uid_of(layout.pcs)]
        topology = None
        if self._context.configuration.topology_aware_scheduling.enabled and (name := layout.topology_name):
            topology = self._informers.topologies.cache.get(ObjectKey("", name))
        return selection.scheduling(layout, members, topology)

    def _judge(self, pcs: PodCliqueSet) -> Judged:
        # Whether its topology exists is not judged here: it may come and go while the set runs, and has a condition.
        known = ValidationContext(self._context.configuration, serves=self._context.registry.serves)
        problems = validate(pcs, None, known)
        if errors := _errors(problems):
            return Judged(None, errors)
        layout = SetLayout(pcs)
        try:
            selection = self._context.registry.select(layout)
        except SelectionError as e:
            return Judged(None, (str(e),))
        problems += selection.backend.validate(layout.pcs)
        if errors := _errors(problems):
            return Judged(None, errors)
        return Judged(layout, (), selection, tuple(_sentence(p) for p in problems))


def _is_new(pcs: PodCliqueSet) -> bool:
    """Whether its spec is not yet carried out, and is to be."""
    observed = pcs.status.observed_generation if pcs.status is not None else None
    return pcs.metadata.deletion_timestamp is None and observed != pcs.metadata.generation


def _errors(problems: list[Problem]) -> tuple[str, ...]:
    return tuple(_sentence(p) for p in problems if not p.warning)


def _sentence(problem: Problem) -> str:
    return f"{problem} ({problem.remedy})" if problem.remedy else str(problem)


def _version(pcs: PodCliqueSet) -> _Version:
    """Changes with everything that a layout depends on: spec, labels and annotations. The status is not part of it."""
    meta = pcs.metadata
    return meta.generation, meta.labels, meta.annotations
