"""Tests of `prepare_pod`, of the links of pods, and of their release."""

import copy
from collections.abc import Iterator
from dataclasses import asdict

from grove.api.labels import GROVE_PREFIX
from grove.api.podgang import PodGang, PodGroup
from grove.api.validation.syntax import check_annotations, check_labels
from grove.plan.objects.pod_draft import PodDraft
from grove.schedulers.backend import Backend

from grove_sandbox.conformance.outputs import drafts, new_draft, pod_from
from grove_sandbox.conformance.samples import SAMPLES, Sample, sample_named
from grove_sandbox.conformance.setup import ConformanceSetup, every_sample, every_unconstrained_sample

_FIELDS_OF_THE_FRAMEWORK = {
    "containers",
    "hostname",
    "nodeName",
    "schedulerName",
    "schedulingGates",
    "subdomain",
}


class PodTests(ConformanceSetup):
    @every_sample
    def test_pods_get_valid_metadata_and_keep_their_gate(self, sample: Sample) -> None:
        backend = self.backend()
        for gang in self.accepted_gangs(sample.pcs):
            for draft in drafts(backend, gang).values():
                assert (draft.gate, draft.scheduler_name) == (backend.gate, backend.scheduler_name)
                assert check_labels((), draft.labels) == []
                assert check_annotations((), draft.annotations) == []
                assert [k for k in draft.labels if k.startswith(GROVE_PREFIX)] == [], "these are Grove's"
                assert draft.spec.keys().isdisjoint(_FIELDS_OF_THE_FRAMEWORK)

    @every_sample
    def test_preparing_a_pod_twice_changes_nothing(self, sample: Sample) -> None:
        backend = self.backend()
        for gang in self.accepted_gangs(sample.pcs):
            for group in gang.spec.pod_groups:
                draft = new_draft(backend)
                backend.prepare_pod(gang, group, draft)
                once = copy.deepcopy(asdict(draft))
                backend.prepare_pod(gang, group, draft)
                assert asdict(draft) == once

    def test_a_draft_keeps_what_it_already_has(self) -> None:
        backend = self.backend()
        for gang in self.accepted_gangs(SAMPLES[0].pcs):
            draft = PodDraft(backend.scheduler_name, backend.gate, {"a": "1"}, {"b": "2"}, {"c": "3"})
            backend.prepare_pod(gang, gang.spec.pod_groups[0], draft)
            assert (draft.labels["a"], draft.annotations["b"], draft.spec["c"]) == ("1", "2", "3")

    def test_pods_of_different_gangs_are_tied_to_different_things(self) -> None:
        backend = self.backend()
        first, second, *_ = self.accepted_gangs(sample_named("replicas").pcs)
        of_first, of_second = ([asdict(d) for d in drafts(backend, g).values()] for g in (first, second))
        untied = [asdict(new_draft(backend))] * len(of_first)
        assert of_first != of_second or of_first == untied

    @every_unconstrained_sample
    def test_the_link_of_a_pod_as_drafted_is_not_broken(self, sample: Sample) -> None:
        backend = self.backend()
        for gang, group, draft in self._drafts(backend, sample):
            assert backend.broken_link(gang, group, pod_from(gang, group, draft)) == ""

    @every_unconstrained_sample
    def test_the_link_of_a_pod_without_its_draft_is_broken(self, sample: Sample) -> None:
        """Only for a backend that checks links, and ties pods by labels or fields of the spec."""
        backend = self.backend()
        for gang, group, draft in self._drafts(backend, sample) if self.overrides("broken_link") else ():
            if draft.labels or draft.spec.keys() - {"priorityClassName"}:
                assert backend.broken_link(gang, group, pod_from(gang, group, new_draft(backend)))

    @every_unconstrained_sample
    def test_a_new_pod_belongs_to_the_dialect_of_its_gang(self, sample: Sample) -> None:
        backend = self.backend()
        for gang, group, draft in self._drafts(backend, sample):
            pod = pod_from(gang, group, draft)
            assert not backend.is_outdated(gang, pod), "it would be deleted and recreated for ever"
            assert not backend.needs_new_dialect(gang, pod), "its clique would wait for ever"

    @every_unconstrained_sample
    def test_the_release_changes_only_annotations_that_pods_have(self, sample: Sample) -> None:
        backend = self.backend()
        for gang in self.gangs(sample.pcs):
            added = backend.release_annotations(gang, 1.5)
            assert check_annotations((), dict(added)) == []
            for draft in drafts(backend, gang).values():
                assert added.keys() <= draft.annotations.keys()

    @every_unconstrained_sample
    def test_a_pause_before_the_release_has_a_start(self, sample: Sample) -> None:
        backend = self.backend()
        for gang in self.gangs(sample.pcs):
            pause = backend.release_pause_seconds(gang)
            assert pause >= 0
            assert pause == 0 or self.overrides("has_begun"), "the default has_begun starts no pause"

    def _drafts(self, backend: Backend, sample: Sample) -> Iterator[tuple[PodGang, PodGroup, PodDraft]]:
        for gang in self.gangs(sample.pcs):
            for group in gang.spec.pod_groups:
                draft = new_draft(backend)
                backend.prepare_pod(gang, group, draft)
                yield gang, group, draft
