"""The vocabulary of reasons is complete, short, and documented one by one."""

import inspect
import re
from pathlib import Path

import pytest

from grove.api.reasons import Actor, RunReason, Step, Weight
from grove.controllers import podclique
from grove.plan.explain.parts import CLIQUE_ERRORS
from grove.plan.gangs.completion import POD_NOT_CREATED

PAGE = Path(__file__).parents[4] / "docs" / "troubleshooting.md"
SECTIONS = dict(
    re.findall(
        r"^### ([^\n]+)\n\n(.+?)(?=\n#|\Z)", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )
)


@pytest.mark.parametrize("reason", RunReason)
def test_every_reason_has_its_section(reason: RunReason) -> None:
    assert SECTIONS[reason].strip()


def test_the_page_explains_no_reason_that_does_not_exist() -> None:
    words = {s for s in SECTIONS if " " not in s}
    assert words == {r.value for r in RunReason}


def test_every_error_of_a_clique_has_a_reason() -> None:
    folder = Path(inspect.getfile(podclique)).parent
    source = "".join(file.read_text(encoding="utf-8") for file in folder.glob("*.py"))
    assert {*re.findall(r'"(ERR_[A-Z_]+)"', source), POD_NOT_CREATED} == set(CLIQUE_ERRORS)


@pytest.mark.parametrize(
    "symptom",
    [
        "The wrong backend",
        "A gang is not scheduled",
        "Pods are stuck behind gates",
        "Several backends match",
    ],
)
def test_the_page_covers_the_symptoms_that_users_ask_about(symptom: str) -> None:
    linked = re.findall(r"\]\(#([^)]+)\)", SECTIONS[symptom])
    assert {r.lower() for r in RunReason} & set(linked)


def test_every_link_on_the_page_leads_somewhere() -> None:
    anchors = {s.lower().replace(" ", "-").replace(",", "") for s in SECTIONS}
    assert set(re.findall(r"\]\(#([^)]+)\)", PAGE.read_text(encoding="utf-8"))) <= anchors


@pytest.mark.parametrize("reason", RunReason)
def test_a_reason_fits_a_condition_and_a_line(reason: RunReason) -> None:
    assert re.fullmatch(r"[A-Z][A-Za-z]+", reason)
    for text in (reason.meaning, reason.remedy):
        assert text.endswith(".")
        assert len(text) <= 120


def test_reasons_stand_in_the_order_of_the_flow_and_every_step_can_fail() -> None:
    steps = list(Step)
    order = [steps.index(r.step) for r in RunReason]
    assert order == sorted(order)
    assert {r.step for r in RunReason if r.weight > Weight.FINE} == set(Step)


def test_every_actor_occurs_and_only_fine_reasons_wait_for_nobody() -> None:
    assert {r.actor for r in RunReason} == set(Actor)
    assert {r for r in RunReason if r.actor is Actor.NOBODY} == {
        r for r in RunReason if r.weight is Weight.FINE
    }
