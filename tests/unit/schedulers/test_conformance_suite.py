"""The conformance suite passes a good backend and fails bad ones, each in the test that is meant for it."""

import random
from collections.abc import Sequence
from typing import Any, ClassVar

import msgspec
import pytest
from grove_sandbox.conformance import SAMPLES, BackendConformance

from grove.api.pod_view import Pod
from grove.api.podcliqueset import Clique, PodCliqueSet
from grove.api.podgang import PodGang, PodGroup
from grove.api.topology import ClusterTopologyBinding
from grove.plan.objects.pod_draft import PodDraft
from grove.schedulers.backend import Backend
from grove.schedulers.registry import Factory
from grove.schedulers.types import Json, ObjectKind, Observation, Probe, Refusal, SchedulerObject, Served

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
    """Loses priority and topology, and does not report it."""

    def shortfall(self, gang: PodGang, served: Served) -> str:
        return ""


class Lenient(Good):
    def __init__(self, settings: dict[str, Any]) -> None:
        """Accepts any settings."""


class Nondeterministic(Good):
    def body(self, gang: PodGang) -> dict[str, Any]:
        return super().body(gang) | {"spec": {"n": next(COUNT)}}


class Random(Good):
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


class WithoutMinimums(Forgetful):
    """Does not tell its scheduler the minimums."""

    def body(self, gang: PodGang) -> dict[str, Any]:
        return super().body(gang) | {"spec": {"gang": True}}


class NotJson(Good):
    def body(self, gang: PodGang) -> dict[str, Any]:
        return super().body(gang) | {"spec": {"groups": tuple(g.name for g in gang.spec.pod_groups)}}


class SetsNamespace(Good):
    def body(self, gang: PodGang) -> dict[str, Any]:
        return super().body(gang) | {"metadata": {"name": gang.metadata.name, "namespace": "mine"}}


class SecretDialect(Good):
    """Has a dialect, but not has_dialects, so that the framework does not record it."""

    def dialect(self, gang: PodGang, pods: Sequence[Pod], served: Served) -> str:
        return "V1"


class InvalidDialect(SecretDialect):
    has_dialects = True

    def dialect(self, gang: PodGang, pods: Sequence[Pod], served: Served) -> str:
        return "version one"


class AlwaysOutdated(Good):
    def is_outdated(self, gang: PodGang, pod: Pod) -> bool:
        return True


class AddsAnnotationOnRelease(Good):
    """Adds an annotation on release that its pods do not have before."""

    def release_annotations(self, gang: PodGang, waited_seconds: float) -> dict[str, str]:
        return {"example.com/waited": str(waited_seconds)}


class NeverLinked(Good):
    def broken_link(self, gang: PodGang, group: PodGroup, pod: Pod) -> str:
        return "broken"


class AlwaysLinked(Good):
    """Finds no link broken, not even that of a pod without the label."""

    def broken_link(self, gang: PodGang, group: PodGroup, pod: Pod) -> str:
        return ""


class PauseWithoutStart(Good):
    def release_pause_seconds(self, gang: PodGang) -> float:
        return 1.0


class UnsteadyAnnotations(Good):
    """Has a key only for sets with a priority class."""

    def gang_annotations(self, pcs: PodCliqueSet, members: Sequence[Clique]) -> dict[str, str]:
        name = pcs.spec.template.priority_class_name
        return {"example.com/priority": name} if name else {}


class BadClaimLabels(Good):
    def claim_labels(self, pcs: PodCliqueSet) -> dict[str, str]:
        return {"example.com/set": f"{pcs.metadata.namespace}/{pcs.metadata.name}"}


class ObservesWithoutObjects(Good):
    def observe(self, gang: PodGang, objects: Sequence[Json]) -> Observation:
        return Observation("Unschedulable", "no room")


class RefusesAll(Good):
    def translate(self, gang: PodGang, served: Served) -> list[SchedulerObject]:
        raise Refusal("no gangs today")


class OtherTopologyKind(Good):
    """Returns a topology object of another kind than it announces."""

    topology_kind = ObjectKind("example.com", "v1", "topologies", "Topology", namespaced=False)

    def topology_object(self, binding: ClusterTopologyBinding) -> SchedulerObject:
        return SchedulerObject(KIND, {"metadata": {"name": binding.metadata.name}, "spec": {}})


class ProbesWithoutField(Good):
    """Asks about a field that its probe does not send."""

    probes = (Probe("minimum", KIND, {"spec": {}}, "spec.minimum"),)


class NotABackend:
    """Has the two methods, and is no subclass of Backend."""

    name = scheduler_name = "good"
    gate = "example.com/gang"
    kinds = (KIND,)

    def __init__(self, settings: dict[str, Any]) -> None:
        """Without settings."""


def suite(backend: Factory) -> Any:
    class Suite(BackendConformance):
        factory: ClassVar[Factory] = backend
        served = Served({KIND: frozenset()})

    return Suite()


def failing(backend: Factory) -> set[str]:
    """The names of the tests that fail, with any of their parameters."""
    failed: set[str] = set()
    for name in (n for n in dir(BackendConformance) if n.startswith("test_")):
        test = getattr(suite(backend), name)
        arguments = _arguments(test)
        for argument in arguments:
            try:
                test(*argument)
            except pytest.skip.Exception:
                pass
            except (Exception, pytest.fail.Exception):
                failed.add(name)
    return failed


def _arguments(test: Any) -> list[tuple[Any, ...]]:
    marks = [m for m in getattr(test, "pytestmark", ()) if m.name == "parametrize"]
    return [(value,) for value in marks[0].args[1]] if marks else [()]


def test_a_good_backend_passes_except_for_the_imports_of_this_module() -> None:
    """This module imports `random`."""
    assert failing(Good) == {"test_it_imports_no_network_no_clock_and_no_randomness"}


@pytest.mark.parametrize(
    ("backend", "expected"),
    [
        (Forgetful, "test_a_topology_reaches_the_scheduler_or_is_refused_or_reported"),
        (Forgetful, "test_a_priority_reaches_the_scheduler_or_is_reported"),
        (Lenient, "test_it_rejects_unknown_settings_and_names_them"),
        (Nondeterministic, "test_the_same_gang_gives_the_same_outputs"),
        (Random, "test_the_same_gang_gives_the_same_outputs"),
        (Meddling, "test_it_does_not_change_its_arguments"),
        (Sharing, "test_it_does_not_reuse_what_it_has_returned"),
        (OneName, "test_no_two_gangs_share_an_object"),
        (BadLabel, "test_pods_get_valid_metadata_and_keep_their_gate"),
        (Ungated, "test_pods_get_valid_metadata_and_keep_their_gate"),
        (WithoutMinimums, "test_a_minimum_reaches_the_scheduler_or_is_reported"),
        (NotJson, "test_all_outputs_are_json"),
        (RefusesAll, "test_it_translates_every_gang_without_topology"),
        (OtherTopologyKind, "test_a_topology_object_is_of_the_topology_kind"),
        (ProbesWithoutField, "test_probes_ask_about_a_field_that_they_send"),
        (NotABackend, "test_it_has_a_name_a_scheduler_name_and_a_gate"),
        (SecretDialect, "test_a_dialect_is_one_word_and_stays"),
        (InvalidDialect, "test_a_dialect_is_one_word_and_stays"),
        (AlwaysOutdated, "test_a_new_pod_belongs_to_the_dialect_of_its_gang"),
        (AddsAnnotationOnRelease, "test_the_release_changes_only_annotations_that_pods_have"),
        (NeverLinked, "test_the_link_of_a_pod_as_drafted_is_not_broken"),
        (AlwaysLinked, "test_the_link_of_a_pod_without_its_draft_is_broken"),
        (PauseWithoutStart, "test_a_pause_before_the_release_has_a_start"),
        (UnsteadyAnnotations, "test_annotations_of_gangs_always_have_the_same_keys"),
        (BadClaimLabels, "test_claims_get_valid_labels"),
        (
            ObservesWithoutObjects,
            "test_it_observes_nothing_without_objects_and_accepts_objects_without_status",
        ),
        (SetsNamespace, "test_objects_are_valid_and_leave_the_rest_to_the_framework"),
    ],
)
def test_a_bad_backend_fails(backend: Any, expected: str) -> None:
    assert expected in failing(backend)


def test_the_samples_cover_small_scaled_large_and_nested_sets() -> None:
    assert {s.name for s in SAMPLES} >= {"one-pod", "scaled", "many-groups", "long-names", "nested"}
