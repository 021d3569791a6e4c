"""Which backend a set gets, and what is reported if several match."""

import pytest
from grove_sandbox.flow.bystander import Bystander

from grove.api import labels
from grove.api.config import SchedulerProfile, Schedulers
from grove.api.validation import ValidationContext, validate
from grove.plan.layout.set_layout import SetLayout
from grove.schedulers.kai import Kai
from grove.schedulers.koordinator import Koordinator
from grove.schedulers.kube import Kubernetes
from grove.schedulers.registry import Factory, Registry, SelectionError
from tests.unit.api.sets import clique, pcs


class Greedy(Bystander):
    """Matches every schedulerName that begins with kai or greedy."""

    name = "greedy"
    scheduler_name = "greedy-scheduler"

    def matches(self, scheduler_name: str) -> bool:
        return scheduler_name.startswith(("kai", "greedy"))


FACTORIES: dict[str, Factory] = {
    "default": Kubernetes,
    "kai": Kai,
    "koordinator": Koordinator,
    "greedy": Greedy,
}


def registry(*profiles: str, default: str = "default-scheduler") -> Registry:
    found = [SchedulerProfile(name=name) for name in profiles]
    return Registry(Schedulers(profiles=found, default_profile_name=default), FACTORIES)


def layout(scheduler: str = "", backend: str = "") -> SetLayout:
    made = pcs(clique(podSpec={"schedulerName": scheduler} if scheduler else {}))
    if backend:
        made.metadata.annotations[labels.SCHEDULER_BACKEND] = backend
    return SetLayout(made)


@pytest.mark.parametrize(
    ("scheduler", "annotation", "chosen"),
    [
        ("", "", "default"),
        ("kai-scheduler", "", "kai"),
        ("grove-scheduler", "", "kai"),
        ("my-koord", "", "koordinator"),
        ("greedy-one", "", "greedy"),
        ("kai-scheduler", "greedy", "greedy"),
    ],
)
def test_the_annotation_decides_then_the_scheduler_name_then_the_default(
    scheduler: str, annotation: str, chosen: str
) -> None:
    found = registry("kai-scheduler", "koord-scheduler", "greedy-scheduler")
    assert found.select(layout(scheduler, annotation)).backend.name == chosen


@pytest.mark.parametrize(
    ("scheduler", "annotation", "of_pods"),
    [
        ("", "kai", "kai-scheduler"),
        ("default-scheduler", "kai", "kai-scheduler"),
        ("greedy-two", "greedy", "greedy-two"),
        ("kai-scheduler", "default", "default-scheduler"),
        ("", "default", "default-scheduler"),
        ("grove-scheduler", "", "grove-scheduler"),
        ("nobody-serves-this", "kai", "kai-scheduler"),
    ],
)
def test_pods_name_the_scheduler_of_the_backend_that_the_annotation_asks_for(
    scheduler: str, annotation: str, of_pods: str
) -> None:
    found = registry("default-scheduler", "kai-scheduler", "greedy-scheduler")
    asked = layout(scheduler, annotation)
    selection = found.select(asked)
    assert selection.scheduler_name == of_pods
    assert selection.backend.matches(of_pods)
    assert not [p for p in validate(asked.pcs, None, ValidationContext(serves=found.serves)) if not p.warning]


def test_a_scheduler_name_that_only_a_third_party_backend_matches_is_valid() -> None:
    found = registry("greedy-scheduler")
    known = ValidationContext(serves=found.serves)
    assert not [p for p in validate(layout("greedy-two").pcs, None, known) if not p.warning]
    [problem] = [p for p in validate(layout("other").pcs, None, known) if not p.warning]
    assert "schedulerName" in str(problem)
    with pytest.raises(SelectionError, match="enabled are"):
        found.select(layout("other"))


@pytest.mark.parametrize(
    ("profiles", "first"),
    [(("kai-scheduler", "greedy-scheduler"), "kai"), (("greedy-scheduler", "kai-scheduler"), "greedy")],
)
def test_if_several_match_the_first_profile_wins_and_the_ambiguity_names_all(
    profiles: tuple[str, ...], first: str
) -> None:
    found = registry(*profiles)
    selection = found.select(layout("kai-scheduler"))
    assert selection.backend.name == first
    for part in ("'kai-scheduler'", "greedy", f"{first} is used", labels.SCHEDULER_BACKEND, "reorder"):
        assert part in selection.ambiguity
    assert found.ambiguities() == [selection.ambiguity]


def test_nothing_is_ambiguous_if_one_matches_or_the_annotation_decides() -> None:
    found = registry("kai-scheduler", "greedy-scheduler")
    assert found.select(layout("grove-scheduler")).ambiguity == ""
    assert found.select(layout("kai-scheduler", "greedy")).ambiguity == ""
    assert registry("kai-scheduler").ambiguities() == []


def test_ambiguities_include_the_default_profile() -> None:
    [ambiguity] = registry("greedy-scheduler", "kai-scheduler", default="kai-scheduler").ambiguities()
    assert "greedy is used" in ambiguity
