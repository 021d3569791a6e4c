"""Which changes wake whom."""

import pytest

from grove.api import PodGang, Time
from grove.api.meta import Condition, ObjectMeta
from grove.api.pod_view import Pod, PodMetadata, PodSpec, PodStatus, SchedulingGate
from grove.api.podgang import NamespacedName, PodGangSpec, PodGangStatus, PodGroup
from grove.controllers.shared.predicates import gate_could_open, pod_changed, pod_changed_beyond_its_gates
from grove.runtime.cache.cache import Change


def gang(
    *,
    minimum: int = 2,
    named: int = 0,
    generation: int = 1,
    synced: int = 1,
    labels: dict[str, str] | None = None,
) -> PodGang:
    pods = [NamespacedName(namespace="default", name=f"demo-0-worker-{i}") for i in range(named)]
    said = Condition(
        type="BackendSynced",
        status="True",
        reason="InSyncWithScheduler",
        message="",
        last_transition_time=Time("2030-01-01T00:00:00Z"),
        observed_generation=synced,
    )
    return PodGang(
        metadata=ObjectMeta(name="demo-0", namespace="default", generation=generation, labels=labels or {}),
        spec=PodGangSpec(
            pod_groups=[PodGroup(name="demo-0-worker", pod_references=pods, min_replicas=minimum)]
        ),
        status=PodGangStatus(phase="Pending", conditions=[said]),
    )


@pytest.mark.parametrize(
    ("after", "matters"),
    [
        (gang(named=2, generation=2), False),  # the backend's word on it comes next, and opens the gate
        (gang(named=2, generation=2, synced=2), True),
        (gang(minimum=1, generation=2), True),
        (gang(labels={"grove.io/scheduler-backend": "kai"}), True),
        (None, True),
    ],
)
def test_a_gang_wakes_its_cliques_when_a_gate_could_open(after: PodGang | None, matters: bool) -> None:
    assert gate_could_open(Change(gang(), after)) is matters


def pod(*gates: str, node: str | None = None, phase: str = "Pending") -> Pod:
    found = tuple(SchedulingGate(name=g) for g in gates)
    return Pod(
        metadata=PodMetadata(name="demo-0-worker-x"),
        spec=PodSpec(scheduling_gates=found, node_name=node),
        status=PodStatus(phase=phase),
    )


@pytest.mark.parametrize(
    ("before", "after", "matters"),
    [
        (pod("ours"), pod(), False),
        (pod("theirs", "ours"), pod("ours"), True),  # the place of our gate has changed
        (pod("ours"), pod(node="node-1"), True),
        (pod("ours"), pod(phase="Failed"), True),
        (pod(), pod(phase="Failed"), True),
        (pod("ours"), None, True),
        (None, pod(), True),
    ],
)
def test_a_pod_that_merely_lost_its_last_gate_does_not_wake_its_clique(
    before: Pod | None, after: Pod | None, matters: bool
) -> None:
    change = Change(before, after)
    assert pod_changed(change)
    assert pod_changed_beyond_its_gates(change) is matters
