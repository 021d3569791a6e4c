"""Tests that what a set asks for reaches the scheduler, or that the backend reports that it does not."""

import dataclasses
import json
from typing import Any

import pytest
from grove.api.conditions import Reason
from grove.api.podcliqueset import PodCliqueSet
from grove.api.podgang import PodGang
from grove.api.serialization.model import replace
from grove.plan.layout.set_layout import SetLayout
from grove.schedulers.types import Refusal

from grove_sandbox.conformance.outputs import object_names
from grove_sandbox.conformance.samples import CONSTRAINED, UNCONSTRAINED, clique, pod_clique_set
from grove_sandbox.conformance.setup import ConformanceSetup


class UserIntentTests(ConformanceSetup):
    def test_a_minimum_reaches_the_scheduler_or_is_reported(self) -> None:
        four = pod_clique_set("demo", clique("router", 2), clique("worker", 6, 4))
        three = pod_clique_set("demo", clique("router", 2), clique("worker", 6, 3))
        (before,), (after,) = self.outputs_of_set(four), self.outputs_of_set(three)
        assert object_names(before) == object_names(after)
        if before == after:
            (gang,) = self.gangs(three)
            assert self._is_reported(three, gang), "the minimum is lost silently"

    def test_another_group_reaches_the_scheduler_or_is_reported(self) -> None:
        two = pod_clique_set("demo", clique("router", 2), clique("worker", 4))
        three = pod_clique_set("demo", clique("router", 2), clique("cache", 1), clique("worker", 4))
        backend = self.backend()
        (before,), (after,) = self.outputs_of_set(two, backend), self.outputs_of_set(three, backend)
        others = {name: after["pods"][name] for name in before["pods"]}
        if before == {**after, "pods": others}:
            (gang,) = self.gangs(three)
            assert self._is_reported(three, gang), "the additional group is lost silently"
        assert self.outputs_of_set(two, backend) == [before], "nothing of the group may remain without it"

    def test_a_priority_reaches_the_scheduler_or_is_reported(self) -> None:
        low, high = (
            pod_clique_set("demo", clique("worker", 2), priorityClassName=c) for c in ("low", "high")
        )
        of_low, of_high = self.outputs_of_set(low), self.outputs_of_set(high)
        if of_low == of_high:
            (gang,) = self.gangs(high)
            assert self._is_reported(high, gang), "the priority class is lost silently"
        elif not self.backend().pins_priority:
            assert [object_names(o) for o in of_low] == [object_names(o) for o in of_high]

    def test_a_queue_reaches_the_scheduler(self) -> None:
        if self.queue_tag is None:
            pytest.skip("queue_tag is None: the scheduler has no queues")
        first, second, without = (
            self.outputs_of_set(self._set_in_queue(queue)) for queue in (*self.queues, "")
        )
        assert "refused" not in first[0], first
        assert first != second != without != first
        assert (
            [object_names(o) for o in first]
            == [object_names(o) for o in second]
            == [object_names(o) for o in without]
        )
        assert self.queues[0] in _text(first)
        assert self.queues[1] in _text(second)

    def test_a_queue_that_does_not_exist_is_refused(self) -> None:
        backend, served = self.backend(), self.served
        queue = self.queues[0]
        kinds = [k for k in backend.reads if queue in served.objects.get(k, {})]
        if self.queue_tag is None or not kinds:
            pytest.skip("the backend does not read queues")
        without = dataclasses.replace(served, objects={**served.objects, **{k: {} for k in kinds}})
        for gang in self.gangs(self._set_in_queue(queue)):
            with pytest.raises(Refusal, match=queue) as refused:
                backend.translate(gang, without)
            assert refused.value.reason == Reason.QUEUE_MISSING

    @pytest.mark.parametrize("constraint", CONSTRAINED)
    def test_a_topology_reaches_the_scheduler_or_is_refused_or_reported(self, constraint: str) -> None:
        backend, pcs = self.backend(), CONSTRAINED[constraint]
        for gang, free in zip(self.gangs(pcs), self.gangs(UNCONSTRAINED), strict=True):
            is_constrained = gang.spec != free.spec
            if is_constrained and self.outputs(backend, gang) == self.outputs(backend, free):
                assert self._is_reported(pcs, gang), "the constraint is lost silently"

    def _is_reported(self, pcs: PodCliqueSet, gang: PodGang) -> bool:
        """Whether the backend reports that it cannot do something that the set or the gang asks for."""
        backend = self.backend()
        return bool(list(backend.validate(SetLayout(pcs).pcs)) or backend.shortfall(gang, self.served))

    def _set_in_queue(self, queue: str) -> PodCliqueSet:
        """A set that names this queue; none if it is empty."""
        assert self.queue_tag is not None
        where, key = self.queue_tag
        pcs = pod_clique_set("demo", clique("worker", 2))
        return replace(pcs, metadata=replace(pcs.metadata, **{where: {key: queue} if queue else {}}))


def _text(outputs: Any) -> str:
    return json.dumps(outputs, sort_keys=True)
