"""The suite that backends pass fails for backends that it should fail for."""

import random
from collections.abc import Sequence
from typing import Any, ClassVar

import msgspec
import pytest
from grove_sandbox.conformance import SAMPLES, BackendConformance

from grove.api.pod_view import Pod
from grove.api.podcliqueset import Clique, PodCliqueSet
from grove.api.podgang import PodGang, PodGroup
from grove.plan.objects.pod_draft import PodDraft
from grove.schedulers.backend import Backend
from grove.schedulers.registry import Factory
from grove.schedulers.types import Json, ObjectKind, Observation, SchedulerObject, Served

KIND = ObjectKind("example.com", "v1", "gangs", "Gang")
COUNT = iter(range(10**9))


class Settings(msgspec.Struct, forbid_unknown_fields=True):
    pass


class Good(Backend):
    name = "good"
    scheduler_name = "good"
    gate = "example.com/gang"
    kinds: Sequence[ObjectKind] = (KIND,)

    def __init__(self, settings: dict[str, Any]) -> None:
        msgspec.convert(settings, Settings)

    def translate(self, gang: PodGang, served: Served) -> list[SchedulerObject]:
        return [SchedulerObject(KIND, self.body(gang))]

    def body(self, gang: PodGang) -> dict[str, Any]:
        spec = {"groups": [{"name": g.name, "min": g.min_replicas} for g in gang.spec.pod_groups]}
        return {"metadata": {"name": gang.metadata.name}, "spec": spec}

    def prepare_pod(self, gang: PodGang, group: PodGroup, pod: PodDraft) -> None:
        pod.labels["example.com/gang"] = gang.metadata.name or ""

    def shortfall(self, gang: PodGang, served: Served) -> str:
        return "no topology, no priority"


class Forgetful(Good):
    """Loses priority and topology, and does not say so."""

    def shortfall(self, gang: PodGang, served: Served) -> str:
        return ""


class Lenient(Good):
    def __init__(self, settings: dict[str, Any]) -> None:
        """Takes any settings."""


class Undetermined(Good):
    def body(self, gang: PodGang) -> dict[str, Any]:
        return super().body(gang) | {"spec": {"n": next(COUNT)}}


class OfChance(Good):
    def body(self, gang: PodGang) -> dict[str, Any]:
        return super().body(gang) | {"spec": {"n": random.random()}}


class Meddling(Good):
    def body(self, gang: PodGang) -> dict[str, Any]:
        gang.metadata.annotations["example.com/seen"] = "yes"
        return super().body(gang)


class Sharing(Good):
    shared: ClassVar[dict[str, Any]] = {"mode": "gang"}

    def body(self, gang: PodGang) -> dict[str, Any]:
        body = super().body(gang)
        body["spec"]["policy"] = self.shared
        return body


class OneName(Good):
    def body(self, gang: PodGang) -> dict[str, Any]:
        return super().body(gang) | {"metadata": {"name": "gang"}}


class BadLabel(Good):
    def prepare_pod(self, gang: PodGang, group: PodGroup, pod: PodDraft) -> None:
        pod.labels["example.com/gang"] = f"{gang.metadata.namespace}/{gang.metadata.name}"


class Ungated(Good):
    def prepare_pod(self, gang: PodGang, group: PodGroup, pod: PodDraft) -> None:
        super().prepare_pod(gang, group, pod)
        pod.gate = ""


class Fixed(Forgetful):
    """Does not tell its scheduler the minimums."""

    def body(self, gang: PodGang) -> dict[str, Any]:
        return super().body(gang) | {"spec": {"gang": True}}


class NotJson(Good):
    def body(self, gang: PodGang) -> dict[str, Any]:
        return super().body(gang) | {"spec": {"groups": tuple(g.name for g in gang.spec.pod_groups)}}


class Owning(Good):
    def body(self, gang: PodGang) -> dict[str, Any]:
        return super().body(gang) | {"metadata": {"name": gang.metadata.name, "namespace": "mine"}}


class SecretDialect(Good):
    """Has a dialect and does not announce it, so that nobody records it."""

    def dialect(self, gang: PodGang, pods: Sequence[Pod], served: Served) -> str:
        return "V1"


class WordyDialect(SecretDialect):
    has_dialects = True

    def dialect(self, gang: PodGang, pods: Sequence[Pod], served: Served) -> str:
        return "version one"


class NeverContent(Good):
    """Calls every pod outdated."""

    def is_outdated(self, gang: PodGang, pod: Pod) -> bool:
        return True


class Surprising(Good):
    """Adds an annotation on release that pods do not have before."""

    def release_annotations(self, gang: PodGang, waited_seconds: float) -> dict[str, str]:
        return {"example.com/waited": str(waited_seconds)}


class NeverLinked(Good):
    def broken_link(self, gang: PodGang, group: PodGroup, pod: Pod) -> str:
        return "broken"


class AlwaysLinked(Good):
    """Looks at links and finds every one whole."""

    def broken_link(self, gang: PodGang, group: PodGroup, pod: Pod) -> str:
        return ""


class Hasty(Good):
    """Wants a pause and cannot tell when it starts."""

    def release_pause_seconds(self, gang: PodGang) -> float:
        return 1.0


class Moody(Good):
    """Forgets a key of its annotations for sets with a priority class."""

    def gang_annotations(self, pcs: PodCliqueSet, members: Sequence[Clique]) -> dict[str, str]:
        found = pcs.spec.template.priority_class_name
        return {"example.com/priority": found} if found else {}


class BadClaims(Good):
    def claim_labels(self, pcs: PodCliqueSet) -> dict[str, str]:
        return {"example.com/set": f"{pcs.metadata.namespace}/{pcs.metadata.name}"}


class SeesGhosts(Good):
    """Observes something where there are no objects."""

    def observe(self, gang: PodGang, objects: Sequence[Json]) -> Observation:
        return Observation("Unschedulable", "no room")


def suite(backend: Factory) -> Any:
    class Suite(BackendConformance):
        factory: ClassVar[Factory] = backend
        served = Served({KIND: frozenset()})

    return Suite()


def failing(backend: Factory) -> set[str]:
    """The tests of the suite that fail, each on the samples that it takes."""
    found: set[str] = set()
    for name in (n for n in dir(BackendConformance) if n.startswith("test_")):
        test = getattr(suite(backend), name)
        arguments = _arguments(test)
        for argument in arguments:
            try:
                test(*argument)
            except pytest.skip.Exception:
                pass
            except (AssertionError, pytest.fail.Exception, KeyError, TypeError):
                found.add(name)
    return found


def _arguments(test: Any) -> list[tuple[Any, ...]]:
    marks = [m for m in getattr(test, "pytestmark", ()) if m.name == "parametrize"]
    return [(value,) for value in marks[0].args[1]] if marks else [()]


def test_a_good_backend_passes_but_for_what_its_module_imports() -> None:
    """This one imports `random`."""
    assert failing(Good) == {"test_it_reaches_no_network_no_clock_and_no_chance"}


@pytest.mark.parametrize(
    ("backend", "expected"),
    [
        (Forgetful, "test_a_topology_is_kept_or_refused_or_said_to_be_dropped"),
        (Forgetful, "test_a_priority_reaches_the_scheduler_or_is_said_not_to"),
        (Lenient, "test_it_refuses_settings_that_it_does_not_know_and_names_them"),
        (Undetermined, "test_it_makes_the_same_of_the_same_gang"),
        (OfChance, "test_it_makes_the_same_of_the_same_gang"),
        (Meddling, "test_it_leaves_its_input_alone"),
        (Sharing, "test_nothing_that_it_gives_away_is_used_again"),
        (OneName, "test_no_two_gangs_share_an_object"),
        (BadLabel, "test_pods_get_valid_tags_and_keep_their_gate"),
        (Ungated, "test_pods_get_valid_tags_and_keep_their_gate"),
        (Fixed, "test_another_minimum_reaches_the_scheduler_or_is_said_not_to"),
        (NotJson, "test_all_that_it_makes_is_json"),
        (SecretDialect, "test_a_dialect_is_one_word_and_stays"),
        (WordyDialect, "test_a_dialect_is_one_word_and_stays"),
        (NeverContent, "test_a_new_pod_belongs_to_the_dialect_of_its_gang"),
        (Surprising, "test_the_release_only_changes_annotations_that_pods_have"),
        (NeverLinked, "test_the_link_of_a_pod_that_was_made_as_drafted_is_whole"),
        (AlwaysLinked, "test_the_link_of_a_pod_that_was_made_as_drafted_is_whole"),
        (Hasty, "test_the_pause_before_a_release_is_no_negative_time"),
        (Moody, "test_annotations_of_gangs_always_have_the_same_keys"),
        (BadClaims, "test_claims_get_valid_labels"),
        (SeesGhosts, "test_it_observes_nothing_in_objects_that_say_nothing"),
        (Owning, "test_objects_have_what_an_object_needs_and_nothing_of_the_framework"),
    ],
)
def test_a_bad_backend_fails(backend: Factory, expected: str) -> None:
    assert expected in failing(backend)


def test_the_samples_cover_what_they_promise() -> None:
    assert {s.about for s in SAMPLES} >= {"one-pod", "scaled", "many-groups", "long-names", "nested"}
