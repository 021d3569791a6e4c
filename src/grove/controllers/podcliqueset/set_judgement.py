"""Judges a PodCliqueSet: whether it is valid, what it consists of, and which backend schedules it.

A pure function of the set, the configuration and the enabled backends. Whether the topology exists that a set names is
not judged here: it may be created or deleted while the set runs, and has a condition of its own.
"""

from dataclasses import dataclass

from grove.api import PodCliqueSet
from grove.api.config import OperatorConfiguration
from grove.api.validation import Problem, ValidationContext, validate
from grove.plan.layout.set_layout import SetLayout
from grove.schedulers.registry import Registry, Selection, SelectionError


@dataclass(frozen=True)
class SetJudgement:
    """A set that is valid has a layout and no problems; one that is invalid has problems and no layout.

    `selection` is there as soon as a backend was selected, even if that backend then finds problems. `warnings` are
    about parts of a valid set that will not have the effect that they seem to have.
    """

    layout: SetLayout | None = None
    selection: Selection | None = None
    problems: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def judge_set(pcs: PodCliqueSet, configuration: OperatorConfiguration, registry: Registry) -> SetJudgement:
    problems = validate(pcs, None, ValidationContext(configuration, serves=registry.serves))
    if errors := _errors(problems):
        return SetJudgement(problems=errors)
    layout = SetLayout(pcs)
    try:
        selection = registry.select(layout)
    except SelectionError as e:
        return SetJudgement(problems=(str(e),))
    problems += selection.backend.validate(layout.pcs)
    if errors := _errors(problems):
        return SetJudgement(selection=selection, problems=errors)
    return SetJudgement(layout, selection, warnings=tuple(_sentence(p) for p in problems))


def _errors(problems: list[Problem]) -> tuple[str, ...]:
    return tuple(_sentence(p) for p in problems if not p.warning)


def _sentence(problem: Problem) -> str:
    return f"{problem} ({problem.remedy})" if problem.remedy else str(problem)
