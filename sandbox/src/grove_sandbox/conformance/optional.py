"""Tests of the optional methods that have no tests elsewhere: by their results, also where they keep the default."""

import json
import re
from typing import Any

import pytest
from grove.api.serialization import codec
from grove.api.validation.syntax import check_annotations, check_labels
from grove.plan.layout.set_layout import SetLayout
from grove.schedulers.recorded_dialect import dialect_of
from grove.schedulers.types import Observation
from grove.schema.name_syntax import is_dns_subdomain

from grove_sandbox.conformance.samples import SAMPLES, TOPOLOGY, Sample
from grove_sandbox.conformance.setup import (
    UNCONSTRAINED_SAMPLES,
    ConformanceSetup,
    every_sample,
    every_unconstrained_sample,
)


class OptionalMethodTests(ConformanceSetup):
    def test_annotations_of_gangs_always_have_the_same_keys(self) -> None:
        backend = self.backend()
        annotations = [backend.gang_annotations(s.pcs, [*SetLayout(s.pcs).cliques.values()]) for s in SAMPLES]
        assert len({frozenset(a) for a in annotations}) == 1
        for a in annotations:
            assert check_annotations((), a) == []
            assert all(isinstance(v, str) for v in a.values())

    @every_sample
    def test_claims_get_valid_labels(self, sample: Sample) -> None:
        assert check_labels((), dict(self.backend().claim_labels(sample.pcs))) == []

    @every_unconstrained_sample
    def test_a_set_whose_gangs_are_translated_is_valid(self, sample: Sample) -> None:
        before = codec.encode(sample.pcs)
        problems = list(self.backend().validate(SetLayout(sample.pcs).pcs))
        assert [p for p in problems if not p.warning] == []
        assert codec.encode(sample.pcs) == before

    @every_sample
    def test_problems_say_where_what_and_what_to_do(self, sample: Sample) -> None:
        for problem in self.backend().validate(SetLayout(sample.pcs).pcs):
            assert problem.path
            assert problem.detail
            assert problem.remedy

    @every_sample
    def test_the_same_gang_has_the_same_shortfall(self, sample: Sample) -> None:
        backend = self.backend()
        for gang in self.accepted_gangs(sample.pcs):
            shortfall = backend.shortfall(gang, self.served)
            assert isinstance(shortfall, str)
            assert backend.shortfall(gang, self.served) == shortfall

    def test_it_observes_nothing_without_objects_and_accepts_objects_without_status(self) -> None:
        backend = self.backend()
        for sample in UNCONSTRAINED_SAMPLES:
            for gang in self.gangs(sample.pcs):
                assert backend.observe(gang, ()) in (None, Observation())
                fresh = [o.owned_by(gang) for o in backend.translate(gang, self.served)]
                assert isinstance(backend.observe(gang, fresh), Observation | None)

    @every_unconstrained_sample
    def test_a_dialect_is_one_word_and_stays(self, sample: Sample) -> None:
        backend = self.backend()
        for gang in self.gangs(sample.pcs):
            if not backend.has_dialects:
                assert backend.dialect(gang, (), self.served) == "", "without has_dialects nobody records it"
                continue
            assert re.fullmatch("[A-Z][A-Za-z0-9]*", dialect_of(gang)), "it is the reason of a condition"
            assert backend.dialect(gang, (), self.served) == dialect_of(gang)

    def test_a_topology_object_is_of_the_topology_kind(self) -> None:
        backend = self.backend()
        if backend.topology_kind is None:
            pytest.skip("topology_kind is None: the backend writes no topologies")
        made = backend.topology_object(TOPOLOGY)
        assert made.kind == backend.topology_kind
        assert not made.kind.namespaced
        assert is_dns_subdomain(made.name)

    def test_probes_ask_about_a_field_that_they_send(self) -> None:
        probes = self.backend().probes
        assert len({p.name for p in probes}) == len(probes)
        for probe in probes:
            value: Any = json.loads(json.dumps(probe.body))
            for step in probe.path.split("."):
                value = value[step]
