"""A set is judged by the rules of the API, then by the enabled backends, then by the backend that it is for."""

from collections.abc import Iterable

import pytest
from grove_sandbox.flow.bystander import Bystander

from grove.api import PodCliqueSet, labels
from grove.api.config import OperatorConfiguration, SchedulerProfile, Schedulers
from grove.api.serialization.model import replace
from grove.api.validation import Problem
from grove.api.validation.problem import invalid, warning
from grove.controllers.podcliqueset.set_judgement import SetJudgement, judge_set
from grove.schedulers.registry import Registry
from tests.unit.api.sets import clique, pcs

SPEC = ("spec",)
ERROR = invalid(SPEC, 1, "is odd", "make it even")
WARNING = warning(SPEC, 1, "has no effect", "remove it")


class Picky(Bystander):
    """The backend of the default scheduler; it finds the given problems in every set."""

    scheduler_name = "default-scheduler"

    def __init__(self, problems: Iterable[Problem]) -> None:
        super().__init__({})
        self._problems = problems

    def validate(self, pcs: PodCliqueSet) -> Iterable[Problem]:
        return self._problems


def judged(found: PodCliqueSet, *problems: Problem) -> SetJudgement:
    """With one enabled backend, which finds these problems."""
    schedulers = Schedulers(profiles=[SchedulerProfile(name=Picky.scheduler_name)])
    registry = Registry(schedulers, {Picky.name: lambda _: Picky(problems)})
    return judge_set(found, OperatorConfiguration(scheduler=schedulers), registry)


VALID = pcs(clique("w"))


def test_a_valid_set_has_a_layout_and_a_backend_and_no_problems() -> None:
    judgement = judged(VALID)
    assert judgement.layout is not None
    assert judgement.layout.name == "train"
    assert judgement.selection is not None
    assert judgement.selection.backend.name == Bystander.name
    assert (judgement.problems, judgement.warnings) == ((), ())


@pytest.mark.parametrize(
    ("found", "problem"),
    [
        (pcs(clique("Not_A_Name")), "spec.template.cliques[0].name"),
        (pcs(clique("w", podSpec={"schedulerName": "unheard-of"})), "schedulerName"),
    ],
    ids=["breaks a rule of the API", "names a scheduler that no enabled backend serves"],
)
def test_a_set_that_breaks_a_rule_has_problems_and_nothing_else(found: PodCliqueSet, problem: str) -> None:
    judgement = judged(found, WARNING)
    assert any(problem in text for text in judgement.problems)
    assert judgement == SetJudgement(problems=judgement.problems)


def test_a_set_whose_annotation_names_no_enabled_backend_has_that_problem() -> None:
    found = replace(VALID, metadata=replace(VALID.metadata, annotations={labels.SCHEDULER_BACKEND: "other"}))
    judgement = judged(found)
    (problem,) = judgement.problems
    assert "asks for the backend 'other'" in problem
    assert judgement == SetJudgement(problems=(problem,))


def test_a_set_that_its_backend_rejects_has_the_problems_and_the_backend_but_no_layout() -> None:
    judgement = judged(VALID, ERROR, WARNING)
    assert judgement.problems == ("spec: Invalid value: 1: is odd (make it even)",)
    assert judgement.selection is not None
    assert (judgement.layout, judgement.warnings) == (None, ())


def test_warnings_do_not_make_a_set_invalid() -> None:
    judgement = judged(VALID, WARNING)
    assert judgement.warnings == ("spec: Invalid value: 1: has no effect (remove it)",)
    assert judgement.layout is not None
    assert judgement.problems == ()


def test_a_problem_without_a_remedy_ends_with_its_detail() -> None:
    assert judged(VALID, invalid(SPEC, 1, "is odd", "")).problems == ("spec: Invalid value: 1: is odd",)


def test_warnings_of_the_api_come_before_those_of_the_backend() -> None:
    found = pcs(clique("w", startsAfter=["v"]), clique("v"))
    of_api, of_backend = judged(found, WARNING).warnings
    assert "startsAfter" in of_api
    assert of_backend == "spec: Invalid value: 1: has no effect (remove it)"
