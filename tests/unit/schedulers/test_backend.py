"""The contract of a backend: a small core, harmless defaults for the rest, and a page that lists all of it."""

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from grove.api.pod_view import Pod, PodMetadata
from grove.api.podgang import PodGang, PodGroup
from grove.plan.objects.pod_draft import PodDraft
from grove.schedulers.backend import Backend
from grove.schedulers.types import ObjectKind, SchedulerObject, Served
from tests.unit.api.sets import clique, pcs
from tests.unit.schedulers.gangs import gang, group

PAGE = Path(__file__).parents[3] / "docs" / "writing-a-backend.md"
CORE = {"name", "scheduler_name", "gate", "kinds", "translate", "prepare_pod"}


class Smallest(Backend):
    name = "smallest"
    scheduler_name = "smallest-scheduler"
    gate = "example.com/gang"
    kinds: Sequence[ObjectKind] = ()

    def translate(self, gang: PodGang, served: Served) -> Sequence[SchedulerObject]:
        return ()

    def prepare_pod(self, gang: PodGang, group: PodGroup, pod: PodDraft) -> None:
        pod.labels["example.com/gang"] = gang.metadata.name or ""


BACKEND = Smallest()
GANG = gang(group("demo-0-worker", 2))
GROUP = GANG.spec.pod_groups[0]
POD = Pod(PodMetadata(name="demo-0-worker-abcde"))


def test_the_core_is_two_methods() -> None:
    assert Backend.__abstractmethods__ == {"translate", "prepare_pod"}
    with pytest.raises(TypeError, match="abstract"):
        Backend()  # type: ignore[abstract]


def test_a_backend_matches_only_its_scheduler_name_by_default() -> None:
    assert [n for n in ("", "smallest", "smallest-scheduler") if BACKEND.matches(n)] == ["smallest-scheduler"]


def test_the_defaults_add_nothing_and_refuse_nothing() -> None:
    found = pcs(clique("worker"))
    members = found.spec.template.cliques
    assert list(BACKEND.validate(found)) == []
    assert BACKEND.gang_annotations(found, members) == {}
    assert BACKEND.claim_labels(found) == {}
    assert BACKEND.default_priority_class(members) is None
    assert BACKEND.shortfall(GANG, Served()) == ""
    assert BACKEND.release_annotations(GANG, 3.0) == {}
    assert not BACKEND.strict
    assert not BACKEND.pins_priority


def test_by_default_every_pod_is_linked_up_to_date_and_part_of_the_gang() -> None:
    assert BACKEND.broken_link(GANG, GROUP, POD) == ""
    assert not BACKEND.is_outdated(GANG, POD)
    assert not BACKEND.needs_new_dialect(GANG, POD)
    assert not BACKEND.separates_surplus(GANG, GROUP)


def test_by_default_surplus_pods_are_tied_to_nothing() -> None:
    draft = PodDraft(BACKEND.scheduler_name, BACKEND.gate)
    BACKEND.prepare_surplus_pod(GANG, GROUP, draft)
    assert draft == PodDraft(BACKEND.scheduler_name, BACKEND.gate)


def test_by_default_a_gang_has_no_dialect_and_is_released_at_once() -> None:
    assert not BACKEND.has_dialects
    assert BACKEND.dialect(GANG, (), Served()) == ""
    assert not BACKEND.depends_on_gates
    assert BACKEND.release_pause_seconds(GANG) == 0
    assert BACKEND.has_begun(GANG, ())


def test_by_default_the_framework_observes_the_pods_and_writes_no_topology() -> None:
    assert BACKEND.observe(GANG, ()) is None
    assert BACKEND.topology_kind is None
    assert not BACKEND.creates_stand_ins


def test_the_page_for_authors_lists_every_optional_method_and_attribute() -> None:
    members = {n for n in (*vars(Backend), *Backend.__annotations__) if not n.startswith("_")}
    _, _, section = PAGE.read_text().partition("## 3.")
    section, _, _ = section.partition("## 4.")
    listed = set(re.findall(r"`(\w+)`", section)) & members
    assert listed - CORE == members - CORE
