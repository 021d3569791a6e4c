"""Tests of `translate`: it is deterministic and stateless, and its objects are valid."""

import copy
import json
from collections import Counter
from contextlib import suppress
from typing import Any

from grove.api.podgang import PodGang
from grove.api.serialization import codec
from grove.api.serialization.model import replace
from grove.api.validation.syntax import check_annotations, check_labels
from grove.schedulers.types import Refusal, Served
from grove.schema.name_syntax import is_dns_subdomain

from grove_sandbox.conformance.outputs import all_outputs, corrupt, drafts, object_names
from grove_sandbox.conformance.samples import SAMPLES, Sample, gangs_of
from grove_sandbox.conformance.setup import ConformanceSetup, every_sample, every_unconstrained_sample


class TranslationTests(ConformanceSetup):
    @every_unconstrained_sample
    def test_it_translates_every_gang_without_topology(self, sample: Sample) -> None:
        outputs = self.outputs_of_set(sample.pcs)
        assert outputs, "no gang was translated"
        assert [o["refused"] for o in outputs if "refused" in o] == []

    @every_sample
    def test_the_same_gang_gives_the_same_outputs(self, sample: Sample) -> None:
        backend = self.backend()
        first = self.outputs_of_set(sample.pcs, backend)
        assert self.outputs_of_set(sample.pcs, backend) == first
        assert self.outputs_of_set(sample.pcs, self.backend()) == first

    def test_it_remembers_nothing_of_other_gangs(self) -> None:
        backend = self.backend()
        alone = {s.name: self.outputs_of_set(s.pcs) for s in SAMPLES}
        assert {s.name: self.outputs_of_set(s.pcs, backend) for s in reversed(SAMPLES)} == alone

    @every_sample
    def test_the_order_of_labels_and_annotations_does_not_matter(self, sample: Sample) -> None:
        backend = self.backend()
        for gang in self.gangs(sample.pcs):
            reordered = _with_metadata_reversed(gang)
            assert _text(self.outputs(backend, gang)) == _text(self.outputs(backend, reordered))

    @every_sample
    def test_it_does_not_change_its_arguments(self, sample: Sample) -> None:
        backend = self.backend()
        served = copy.deepcopy(self.served)
        for gang in self.gangs(sample.pcs):
            before = codec.encode(gang)
            self.outputs(backend, gang)
            assert codec.encode(gang) == before
        assert served == self.served

    @every_sample
    def test_it_does_not_reuse_what_it_has_returned(self, sample: Sample) -> None:
        backend = self.backend()
        for gang in self.gangs(sample.pcs):
            before = self.outputs(backend, gang)
            if "refused" in before:
                continue
            for made in backend.translate(gang, self.served):
                corrupt(made.body)
            for draft in drafts(backend, gang).values():
                for part in (draft.labels, draft.annotations, draft.spec):
                    corrupt(part)
            assert self.outputs(backend, gang) == before

    @every_sample
    def test_all_outputs_are_json(self, sample: Sample) -> None:
        for outputs in self.outputs_of_set(sample.pcs):
            for body in (o["body"] for o in outputs["objects"]):
                assert json.loads(json.dumps(body, allow_nan=False)) == body
            for draft in outputs["pods"].values():
                assert json.loads(json.dumps(draft, allow_nan=False)) == draft

    @every_sample
    def test_objects_are_valid_and_leave_the_rest_to_the_framework(self, sample: Sample) -> None:
        backend = self.backend()
        order = {kind: i for i, kind in enumerate(backend.kinds)}
        for gang in self.accepted_gangs(sample.pcs):
            objects = list(backend.translate(gang, self.served))
            assert [o.kind for o in objects if o.kind not in order] == [], "not in `kinds`"
            assert objects == sorted(objects, key=lambda o: order[o.kind]), "not in the order of `kinds`"
            for made in objects:
                assert made.body.keys().isdisjoint({"apiVersion", "kind", "status"})
                metadata = made.body["metadata"]
                assert metadata.keys() <= {"name", "labels", "annotations"}
                assert is_dns_subdomain(metadata["name"])
                assert check_labels((), metadata.get("labels", {})) == []
                assert check_annotations((), metadata.get("annotations", {})) == []
                assert all(isinstance(v, str) for v in metadata.get("annotations", {}).values())
                assert not any(p.startswith("status") for p in (*made.owned_fields, *made.immutable_fields))

    def test_no_two_gangs_share_an_object(self) -> None:
        counts = Counter(
            name
            for sample in SAMPLES
            for outputs in self.outputs_of_set(sample.pcs)
            for name in object_names(outputs)
        )
        assert {name: n for name, n in counts.items() if n > 1} == {}

    @every_sample
    def test_objects_keep_their_names_when_the_gang_names_its_pods(self, sample: Sample) -> None:
        backend = self.backend()
        for early, named in zip(self.gangs(sample.pcs), self.gangs(sample.pcs, named=True), strict=True):
            before, after = self.outputs(backend, early), self.outputs(backend, named)
            assert before.get("refused") == after.get("refused")
            if "refused" not in before:
                assert object_names(before) == object_names(after)
                assert before["pods"] == after["pods"], (
                    "pods must be tied to their gang alike, early and late"
                )

    @every_sample
    def test_a_refusal_says_why(self, sample: Sample) -> None:
        for outputs in self.outputs_of_set(sample.pcs):
            assert outputs.get("refused", "not refused")

    def test_a_cluster_without_the_scheduler_causes_no_exception(self) -> None:
        """The framework reports that the scheduler is not installed. A backend may refuse, too."""
        backend = self.backend()
        for sample in SAMPLES:
            with suppress(Refusal):
                for gang in gangs_of(backend, sample.pcs, Served()):
                    all_outputs(backend, gang, Served())


def _with_metadata_reversed(gang: PodGang) -> PodGang:
    meta = gang.metadata
    labels, annotations = (dict(reversed(list(d.items()))) for d in (meta.labels, meta.annotations))
    return replace(gang, metadata=replace(meta, labels=labels, annotations=annotations))


def _text(outputs: Any) -> str:
    return json.dumps(outputs, sort_keys=True)
