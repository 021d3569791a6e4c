"""What the fields of a pod mean."""

import pytest
from hypothesis import given

from grove.api import labels
from grove.api.pod_view import Pod, PodCondition, SchedulingGate
from grove.plan import pod_state
from tests.unit.plan.observed import PREEMPTED, STATES, pod, pods

# The states of `observed.pod` for which each predicate holds.
HOLDS = {
    "is_present": {"gated", "pending", "starting", "ready", "unready", "failing", "finished"},
    "is_dead": {"failed", "succeeded"},
    "is_finished": {"finished"},
    "is_terminating": set(),
    "is_scheduled": {"starting", "ready", "unready", "failing", "failed", "succeeded", "finished"},
    "is_gated": {"gated"},
    "is_ready": {"ready"},
    "is_failing": {"failing"},
    "is_unready": {"unready"},
}


@pytest.mark.parametrize("predicate", HOLDS)
def test_a_predicate_holds_for_the_states_that_it_names(predicate: str) -> None:
    assert {s for s in STATES if getattr(pod_state, predicate)(pod(0, s))} == HOLDS[predicate]


@pytest.mark.parametrize("state", STATES)
def test_a_terminating_pod_is_neither_present_nor_dead_nor_finished(state: str) -> None:
    found = pod(0, state, terminating=True)
    assert pod_state.is_terminating(found)
    others = (pod_state.is_present, pod_state.is_dead, pod_state.is_finished)
    assert not any(predicate(found) for predicate in others)


@given(pods())
def test_every_pod_is_either_terminating_or_dead_or_present(found: list[Pod]) -> None:
    for p in found:
        assert pod_state.is_terminating(p) + pod_state.is_dead(p) + pod_state.is_present(p) == 1


@pytest.mark.parametrize(
    ("policy", "finished"), [("Never", True), ("OnFailure", True), ("Always", False), (None, False)]
)
def test_a_succeeded_pod_is_finished_if_its_restart_policy_lets_it_end(
    policy: str | None, finished: bool
) -> None:
    found = pod(0, "succeeded")
    found.spec.restart_policy = policy
    assert (pod_state.is_finished(found), pod_state.is_dead(found)) == (finished, not finished)


@pytest.mark.parametrize(
    ("status", "reason", "gated"),
    [
        ("False", "SchedulingGated", True),
        ("False", "Unschedulable", False),
        ("True", "SchedulingGated", False),
    ],
)
def test_a_pod_is_gated_as_long_as_the_api_server_reports_it(status: str, reason: str, gated: bool) -> None:
    found = pod(0, "pending", conditions=(PodCondition(type="PodScheduled", status=status, reason=reason),))
    assert pod_state.is_gated(found) is gated


@pytest.mark.parametrize(
    ("hostname", "label", "index"),
    [
        ("train-0-w-12", "3", 12),
        ("train-0-w", "3", 3),
        (None, "3", 3),
        (None, "x", None),
        ("train-0-w-\u0663", "", None),
        (None, None, None),
    ],
)
def test_the_index_comes_from_the_hostname_and_then_from_the_label(
    hostname: str | None, label: str | None, index: int | None
) -> None:
    found = pod(0)
    found.spec.hostname = hostname
    found.metadata.labels = {} if label is None else {labels.POD_INDEX: label}
    assert pod_state.pod_index(found) == index


@pytest.mark.parametrize(("index", "surplus"), [(1, False), (2, True), (3, True)])
def test_a_pod_is_surplus_from_the_minimum_on(index: int, surplus: bool) -> None:
    assert pod_state.is_surplus(pod(index), 2) is surplus


def test_a_pod_without_an_index_is_not_surplus() -> None:
    found = pod(5)
    found.spec.hostname, found.metadata.labels = None, {}
    assert not pod_state.is_surplus(found, 1)


def test_a_gate_is_found_by_its_name_among_others() -> None:
    found = pod(0, "gated")
    assert not pod_state.has_gate(found, "a")
    found.spec.scheduling_gates = (SchedulingGate(name="b"), SchedulingGate(name="a"))
    assert pod_state.has_gate(found, "a")
    assert not pod_state.has_gate(found, "c")


def test_a_disruption_counts_only_while_its_condition_is_true() -> None:
    over = PodCondition(type="DisruptionTarget", status="False")
    assert pod_state.disruption(pod(0, conditions=(PREEMPTED,))) == PREEMPTED
    assert pod_state.disruption(pod(0, conditions=(over,))) is None
    assert pod_state.disruption(pod(0)) is None
