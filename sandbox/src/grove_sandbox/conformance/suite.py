"""What every backend must keep to, as tests of the backend alone.

A scheduler that has no queues, or no objects at all, passes too: what is asked is that nothing is lost in silence. A
gang's minimum, priority, queue and topology must reach the scheduler, through objects or pods, or the backend must say
that they do not: by a Refusal, a shortfall or a Problem.
"""

import copy
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict
from dataclasses import replace as replace_served
from typing import Any, ClassVar

import msgspec
import pytest
from grove.api.conditions import Reason
from grove.api.labels import GROVE_PREFIX
from grove.api.podcliqueset import PodCliqueSet
from grove.api.podgang import PodGang
from grove.api.serialization import codec
from grove.api.serialization.model import replace
from grove.api.validation.syntax import check_annotations, check_labels
from grove.plan.layout.set_layout import SetLayout
from grove.plan.objects.pod_draft import PodDraft
from grove.schedulers.backend import Backend
from grove.schedulers.recorded_dialect import dialect_of
from grove.schedulers.registry import Factory
from grove.schedulers.types import Json, ObjectKind, Observation, Refusal, Served
from grove.schema.name_syntax import is_dns_label, is_dns_subdomain

from grove_sandbox.conformance.made import (
    drafts,
    everything,
    names,
    new_draft,
    objects,
    pod_of,
    spoil,
)
from grove_sandbox.conformance.purity import impure_imports
from grove_sandbox.conformance.samples import (
    CONSTRAINED,
    SAMPLES,
    TOPOLOGY,
    UNCONSTRAINED,
    Sample,
    clique,
    gangs_of,
    pod_clique_set,
)

PLAIN = [s for s in SAMPLES if not s.constrained]

every_sample = pytest.mark.parametrize("sample", SAMPLES, ids=[s.about for s in SAMPLES])
every_plain_sample = pytest.mark.parametrize("sample", PLAIN, ids=[s.about for s in PLAIN])


class BackendConformance:
    """Subclass it as `class TestMine(BackendConformance)` and say what is yours."""

    factory: ClassVar[Factory]
    """What the entry point names: a class, or a function wrapped in `staticmethod`."""

    served: ClassVar[Served]
    """A cluster that has the scheduler, best made by `served_by` from its definitions."""

    settings: ClassVar[Mapping[str, Any]] = {}
    """The `config` of a profile that uses what the backend can do."""

    queue_tag: ClassVar[tuple[str, str] | None] = None
    """How a set names its queue: `("labels", key)` or `("annotations", key)`; None if the scheduler knows no queues."""

    queues: ClassVar[tuple[str, str]] = ("team-a", "team-b")
    """Two queues that exist in `served`."""

    # --- what it is ---

    def test_it_has_a_name_a_scheduler_and_a_gate(self) -> None:
        backend = self.backend()
        assert isinstance(backend, Backend), "a backend is a subclass of grove.schedulers.backend.Backend"
        assert is_dns_label(backend.name), "the name is the value of a label"
        assert is_dns_subdomain(backend.scheduler_name)
        assert "/" in backend.gate, "a gate has a domain, as in example.com/gang"
        assert check_labels((), {backend.gate: ""}) == [], "a gate is spelled like the key of a label"
        assert len(set(backend.kinds)) == len(backend.kinds)
        assert all(isinstance(k, ObjectKind) for k in backend.kinds)

    def test_it_serves_its_own_scheduler_name_and_not_any(self) -> None:
        backend = self.backend()
        assert backend.matches(backend.scheduler_name)
        assert not backend.matches("no-such-scheduler")

    def test_it_starts_without_settings(self) -> None:
        assert type(self).factory({}).name == self.backend().name

    def test_it_refuses_settings_that_it_does_not_know_and_names_them(self) -> None:
        with pytest.raises(msgspec.ValidationError, match="noSuchSetting"):
            type(self).factory({**self.settings, "noSuchSetting": 1})

    def test_it_reaches_no_network_no_clock_and_no_chance(self) -> None:
        assert impure_imports(self.backend()) == []

    # --- what it makes ---

    @every_plain_sample
    def test_it_serves_every_gang_without_topology(self, sample: Sample) -> None:
        assert self.made(sample.pcs), "no gang was translated"

    @every_sample
    def test_it_makes_the_same_of_the_same_gang(self, sample: Sample) -> None:
        backend = self.backend()
        first = self.made(sample.pcs, backend)
        assert self.made(sample.pcs, backend) == first
        assert self.made(sample.pcs, self.backend()) == first

    def test_it_remembers_nothing_of_other_gangs(self) -> None:
        backend = self.backend()
        alone = {s.about: self.made(s.pcs) for s in SAMPLES}
        assert {s.about: self.made(s.pcs, backend) for s in reversed(SAMPLES)} == alone

    @every_sample
    def test_the_order_of_labels_and_annotations_says_nothing(self, sample: Sample) -> None:
        backend = self.backend()
        for gang in self.gangs(sample.pcs):
            other = _with_tags_reversed(gang)
            assert _text(self._everything(backend, gang)) == _text(self._everything(backend, other))

    @every_sample
    def test_it_leaves_its_input_alone(self, sample: Sample) -> None:
        backend = self.backend()
        served = copy.deepcopy(self.served)
        for gang in self.gangs(sample.pcs):
            before = codec.encode(gang)
            self._everything(backend, gang)
            assert codec.encode(gang) == before
        assert served == self.served

    @every_sample
    def test_nothing_that_it_gives_away_is_used_again(self, sample: Sample) -> None:
        backend = self.backend()
        for gang in self.gangs(sample.pcs):
            before = self._everything(backend, gang)
            if "refused" in before:
                continue
            for made in objects(backend, gang, self.served):
                spoil(made.body)
            for draft in drafts(backend, gang).values():
                for part in (draft.labels, draft.annotations, draft.spec):
                    spoil(part)
            assert self._everything(backend, gang) == before

    @every_sample
    def test_all_that_it_makes_is_json(self, sample: Sample) -> None:
        for made in self.made(sample.pcs):
            for body in (o["body"] for o in made.get("objects", ())):
                assert json.loads(json.dumps(body, allow_nan=False)) == body
            for draft in made.get("pods", {}).values():
                assert json.loads(json.dumps(draft, allow_nan=False)) == draft

    @every_sample
    def test_objects_have_what_an_object_needs_and_nothing_of_the_framework(self, sample: Sample) -> None:
        backend = self.backend()
        order = {kind: i for i, kind in enumerate(backend.kinds)}
        for gang in self._served_gangs(sample.pcs):
            found = objects(backend, gang, self.served)
            assert [o.kind for o in found if o.kind not in order] == [], "not in `kinds`"
            assert found == sorted(found, key=lambda o: order[o.kind]), "not in the order of `kinds`"
            for made in found:
                assert made.body.keys().isdisjoint({"apiVersion", "kind", "status"})
                metadata = made.body["metadata"]
                assert metadata.keys() <= {"name", "labels", "annotations"}
                assert is_dns_subdomain(metadata["name"])
                assert check_labels((), metadata.get("labels", {})) == []
                assert check_annotations((), metadata.get("annotations", {})) == []
                assert all(isinstance(v, str) for v in metadata.get("annotations", {}).values())
                assert not any(
                    path.startswith("status") for path in (*made.owned_fields, *made.immutable_fields)
                )

    def test_no_two_gangs_share_an_object(self) -> None:
        found = Counter(name for s in SAMPLES for made in self.made(s.pcs) for name in names(made))
        assert {name: n for name, n in found.items() if n > 1} == {}

    @every_sample
    def test_objects_keep_their_names_when_the_gang_names_its_pods(self, sample: Sample) -> None:
        backend = self.backend()
        for early, named in zip(self.gangs(sample.pcs), self.gangs(sample.pcs, named=True), strict=True):
            before, after = self._everything(backend, early), self._everything(backend, named)
            assert before.get("refused") == after.get("refused")
            if "refused" not in before:
                assert names(before) == names(after)
                assert before["pods"] == after["pods"], (
                    "pods made early and late are tied to their gang alike"
                )

    def test_a_cluster_without_the_scheduler_is_no_defect(self) -> None:
        """The framework reports what is missing; a backend may refuse, too."""
        backend = self.backend()
        for sample in SAMPLES:
            with suppress(Refusal):
                for gang in gangs_of(backend, sample.pcs, Served()):
                    everything(backend, gang, Served())

    # --- what pods get ---

    @every_sample
    def test_pods_get_valid_tags_and_keep_their_gate(self, sample: Sample) -> None:
        backend = self.backend()
        for gang in self._served_gangs(sample.pcs):
            for draft in drafts(backend, gang).values():
                assert (draft.gate, draft.scheduler_name) == (backend.gate, backend.scheduler_name)
                assert check_labels((), draft.labels) == []
                assert check_annotations((), draft.annotations) == []
                assert [k for k in draft.labels if k.startswith(GROVE_PREFIX)] == [], "these are Grove's"
                assert draft.spec.keys().isdisjoint(_NOT_FOR_BACKENDS)

    @every_sample
    def test_preparing_pods_twice_changes_nothing(self, sample: Sample) -> None:
        backend = self.backend()
        for gang in self._served_gangs(sample.pcs):
            for group in gang.spec.pod_groups:
                draft = new_draft(backend)
                backend.prepare_pod(gang, group, draft)
                once = copy.deepcopy(asdict(draft))
                backend.prepare_pod(gang, group, draft)
                assert asdict(draft) == once

    def test_what_pods_have_already_stays(self) -> None:
        backend = self.backend()
        for gang in self._served_gangs(SAMPLES[0].pcs):
            draft = PodDraft(backend.scheduler_name, backend.gate, {"a": "1"}, {"b": "2"}, {"c": "3"})
            backend.prepare_pod(gang, gang.spec.pod_groups[0], draft)
            assert (draft.labels["a"], draft.annotations["b"], draft.spec["c"]) == ("1", "2", "3")

    def test_the_pods_of_two_gangs_are_tied_to_different_things(self) -> None:
        backend = self.backend()
        first, second, *_ = self._served_gangs(_sample("replicas").pcs)
        tied = [[asdict(d) for d in drafts(backend, g).values()] for g in (first, second)]
        assert tied[0] != tied[1] or tied == [[asdict(new_draft(backend))] * len(tied[0])] * 2

    # --- what changes ---

    def test_another_minimum_reaches_the_scheduler_or_is_said_not_to(self) -> None:
        four = pod_clique_set("demo", clique("router", 2), clique("worker", 6, 4))
        three = pod_clique_set("demo", clique("router", 2), clique("worker", 6, 3))
        (before,), (after,) = self.made(four), self.made(three)
        assert names(before) == names(after)
        if before == after:
            (gang,) = self.gangs(three)
            assert self._is_said(three, gang), "the minimum is lost in silence"

    def test_a_group_that_comes_or_goes_reaches_the_scheduler_or_is_said_not_to(self) -> None:
        two = pod_clique_set("demo", clique("router", 2), clique("worker", 4))
        three = pod_clique_set("demo", clique("router", 2), clique("cache", 1), clique("worker", 4))
        backend = self.backend()
        (before,), (after,) = self.made(two, backend), self.made(three, backend)
        others = {name: after["pods"][name] for name in before["pods"]}
        if before == {**after, "pods": others}:
            (gang,) = self.gangs(three)
            assert self._is_said(three, gang), "nothing says that the gang has one more group"
        assert self.made(two, backend) == [before], "when the group is gone, so is all that was for it"

    def test_a_priority_reaches_the_scheduler_or_is_said_not_to(self) -> None:
        low, high = (
            pod_clique_set("demo", clique("worker", 2), priorityClassName=c) for c in ("low", "high")
        )
        if self.made(low) == self.made(high):
            (gang,) = self.gangs(high)
            assert self._is_said(high, gang), "the priority class is lost in silence"
        elif not self.backend().pins_priority:
            assert [names(m) for m in self.made(low)] == [names(m) for m in self.made(high)]

    def test_a_queue_reaches_the_scheduler(self) -> None:
        if self.queue_tag is None:
            pytest.skip("queue_tag is None: the scheduler knows no queues")
        where, key = self.queue_tag
        free = pod_clique_set("demo", clique("worker", 2))
        first, second, without = (
            self.made(replace(free, metadata=replace(free.metadata, **{where: tags})))
            for tags in ({key: self.queues[0]}, {key: self.queues[1]}, {})
        )
        assert "refused" not in first[0], first
        assert first != second != without != first
        assert [names(m) for m in first] == [names(m) for m in second] == [names(m) for m in without]
        assert self.queues[0] in _text(first)
        assert self.queues[1] in _text(second)

    def test_a_queue_that_does_not_exist_is_said_to_be_missing(self) -> None:
        backend, served = self.backend(), self.served
        known = [k for k in backend.reads if self.queues[0] in served.objects.get(k, {})]
        if self.queue_tag is None or not known:
            pytest.skip("it does not read its queues")
        where, key = self.queue_tag
        free = pod_clique_set("demo", clique("worker", 2))
        pcs = replace(free, metadata=replace(free.metadata, **{where: {key: self.queues[0]}}))
        without = replace_served(served, objects={**served.objects, **{k: {} for k in known}})
        for gang in self.gangs(pcs):
            with pytest.raises(Refusal, match=self.queues[0]) as refused:
                backend.translate(gang, without)
            assert refused.value.reason == Reason.QUEUE_MISSING

    @pytest.mark.parametrize("place", CONSTRAINED)
    def test_a_topology_is_kept_or_refused_or_said_to_be_dropped(self, place: str) -> None:
        backend, pcs = self.backend(), CONSTRAINED[place]
        for gang, free in zip(self.gangs(pcs), self.gangs(UNCONSTRAINED), strict=True):
            asks = gang.spec != free.spec
            if asks and self._everything(backend, gang) == self._everything(backend, free):
                assert self._is_said(pcs, gang), "the constraint is lost in silence"

    # --- what it may do beside ---

    def test_annotations_of_gangs_always_have_the_same_keys(self) -> None:
        backend = self.backend()
        found = [backend.gang_annotations(s.pcs, [*SetLayout(s.pcs).cliques.values()]) for s in SAMPLES]
        assert len({frozenset(f) for f in found}) == 1
        for annotations in found:
            assert check_annotations((), annotations) == []
            assert all(isinstance(v, str) for v in annotations.values())

    @every_sample
    def test_claims_get_valid_labels(self, sample: Sample) -> None:
        assert check_labels((), dict(self.backend().claim_labels(sample.pcs))) == []

    @every_plain_sample
    def test_a_set_that_is_served_is_valid(self, sample: Sample) -> None:
        backend = self.backend()
        before = codec.encode(sample.pcs)
        problems = list(backend.validate(SetLayout(sample.pcs).pcs))
        assert [p for p in problems if not p.warning] == []
        assert codec.encode(sample.pcs) == before

    @every_sample
    def test_problems_say_where_what_and_what_to_do(self, sample: Sample) -> None:
        backend = self.backend()
        for problem in backend.validate(SetLayout(sample.pcs).pcs):
            assert problem.path
            assert problem.detail
            assert problem.remedy

    @every_sample
    def test_what_is_refused_says_why(self, sample: Sample) -> None:
        for made in self.made(sample.pcs):
            assert made.get("refused", "said")

    @every_sample
    def test_a_shortfall_is_said_the_same_each_time(self, sample: Sample) -> None:
        backend = self.backend()
        for gang in self._served_gangs(sample.pcs):
            said = backend.shortfall(gang, self.served)
            assert isinstance(said, str)
            assert backend.shortfall(gang, self.served) == said

    def test_it_observes_nothing_in_objects_that_say_nothing(self) -> None:
        backend = self.backend()
        for sample in PLAIN:
            for gang in self.gangs(sample.pcs):
                assert backend.observe(gang, ()) in (None, Observation())
                fresh = [o.owned_by(gang) for o in objects(backend, gang, self.served)]
                assert isinstance(backend.observe(gang, fresh), Observation | None)

    @every_plain_sample
    def test_a_dialect_is_one_word_and_stays(self, sample: Sample) -> None:
        backend = self.backend()
        for gang in self.gangs(sample.pcs):
            if not backend.has_dialects:
                assert backend.dialect(gang, (), self.served) == "", "set has_dialects"
                continue
            assert re.fullmatch("[A-Z][A-Za-z0-9]*", dialect_of(gang)), "it is the reason of a condition"
            assert backend.dialect(gang, (), self.served) == dialect_of(gang)

    @every_plain_sample
    def test_the_link_of_a_pod_that_was_made_as_drafted_is_whole(self, sample: Sample) -> None:
        backend = self.backend()
        for gang in self.gangs(sample.pcs):
            for group in gang.spec.pod_groups:
                draft = new_draft(backend)
                backend.prepare_pod(gang, group, draft)
                assert backend.broken_link(gang, group, pod_of(gang, group, draft)) == ""
                if self._overrides("broken_link") and (
                    draft.labels or draft.spec.keys() - {"priorityClassName"}
                ):
                    assert backend.broken_link(gang, group, pod_of(gang, group, new_draft(backend)))

    @every_plain_sample
    def test_a_new_pod_belongs_to_the_dialect_of_its_gang(self, sample: Sample) -> None:
        backend = self.backend()
        for gang in self.gangs(sample.pcs):
            for group in gang.spec.pod_groups:
                draft = new_draft(backend)
                backend.prepare_pod(gang, group, draft)
                pod = pod_of(gang, group, draft)
                assert not backend.is_outdated(gang, pod), "it would be deleted and recreated for ever"
                assert not backend.needs_new_dialect(gang, pod), "its clique would wait for ever"

    @every_plain_sample
    def test_the_release_only_changes_annotations_that_pods_have(self, sample: Sample) -> None:
        backend = self.backend()
        for gang in self.gangs(sample.pcs):
            added = backend.release_annotations(gang, 1.5)
            assert check_annotations((), dict(added)) == []
            for draft in drafts(backend, gang).values():
                assert added.keys() <= draft.annotations.keys()

    @every_plain_sample
    def test_the_pause_before_a_release_is_no_negative_time(self, sample: Sample) -> None:
        backend = self.backend()
        for gang in self.gangs(sample.pcs):
            assert backend.release_pause_seconds(gang) >= 0
            if backend.release_pause_seconds(gang):
                assert self._overrides("has_begun"), "with the default the pause starts at the release"

    def test_a_topology_object_is_of_its_kind(self) -> None:
        backend = self.backend()
        if backend.topology_kind is None:
            pytest.skip(f"{backend.name} writes no topologies by default")
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

    # --- how ---

    def backend(self) -> Backend:
        return type(self).factory(dict(self.settings))

    def gangs(self, pcs: PodCliqueSet, *, named: bool = False) -> list[PodGang]:
        return gangs_of(self.backend(), pcs, self.served, named=named)

    def made(self, pcs: PodCliqueSet, backend: Backend | None = None) -> list[Json]:
        """What is made of each gang of a set, or why it is refused."""
        backend = backend or self.backend()
        return [self._everything(backend, g) for g in gangs_of(backend, pcs, self.served)]

    def _everything(self, backend: Backend, gang: PodGang) -> Json:
        try:
            return everything(backend, gang, self.served)
        except Refusal as e:
            return {"refused": str(e), "objects": [], "pods": {}}

    def _served_gangs(self, pcs: PodCliqueSet) -> Iterator[PodGang]:
        backend = self.backend()
        for gang in self.gangs(pcs):
            if "refused" not in self._everything(backend, gang):
                yield gang

    def _is_said(self, pcs: PodCliqueSet, gang: PodGang) -> bool:
        """Whether the backend says that it cannot do what a gang of a set asks for."""
        backend = self.backend()
        return bool(list(backend.validate(SetLayout(pcs).pcs)) or backend.shortfall(gang, self.served))

    def _overrides(self, method: str) -> bool:
        """Whether the backend has a method of its own in place of the default."""
        return getattr(type(self.backend()), method) is not getattr(Backend, method)


_NOT_FOR_BACKENDS = {"containers", "hostname", "nodeName", "schedulerName", "schedulingGates", "subdomain"}


def _sample(about: str) -> Sample:
    return next(s for s in SAMPLES if s.about == about)


def _with_tags_reversed(gang: PodGang) -> PodGang:
    meta = gang.metadata
    tags, annotations = (dict(reversed(list(d.items()))) for d in (meta.labels, meta.annotations))
    return replace(gang, metadata=replace(meta, labels=tags, annotations=annotations))


def _text(made: Any) -> str:
    return json.dumps(made, sort_keys=True)
