"""A gate opens when every rule holds, and stays closed when a single one does not."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grove.api import PodGang
from grove.api.meta import Condition, ConditionStatus, ObjectMeta
from grove.api.pod_view import Pod, SchedulingGate
from grove.api.podgang import NamespacedName, PodGangSpec, PodGangStatus, PodGroup
from grove.api.scalars import Time
from grove.plan.gangs.gates import GatePlan, plan_gates
from tests.unit.plan import observed
from tests.unit.plan.observed import NOW, condition

GATE = "example.com/gang"
CLIQUE = "train-0-worker"
INITIALIZED = condition("Initialized")
SCHEDULED = condition("Scheduled")


def synced(status: ConditionStatus = "True", generation: int | None = 3, message: str = "") -> Condition:
    return Condition(
        type="BackendSynced",
        status=status,
        reason="Because",
        message=message,
        last_transition_time=Time.at(NOW),
        observed_generation=generation,
    )


def gang(
    *conditions: Condition,
    name: str = "train-0",
    generation: int | None = 3,
    deleting: bool = False,
    named: tuple[int, ...] = (0, 1),
    group: str = CLIQUE,
    status: bool = True,
) -> PodGang:
    """A gang whose groups are the clique with the pods that it names, and another one that names strangers."""
    references = [NamespacedName(namespace="default", name=f"pod-{n}") for n in named]
    strangers = [NamespacedName(namespace="default", name=f"stranger-{n}") for n in range(3)]
    return PodGang(
        metadata=ObjectMeta(
            name=name, generation=generation, deletion_timestamp=Time.at(NOW) if deleting else None
        ),
        spec=PodGangSpec(
            pod_groups=[
                PodGroup(name="train-0-other", pod_references=strangers, min_replicas=1),
                PodGroup(name=group, pod_references=references, min_replicas=1),
            ]
        ),
        status=PodGangStatus(phase="Pending", conditions=list(conditions)) if status else None,
    )


def pod(index: int, *, gates: tuple[str, ...] = (GATE,), terminating: bool = False, name: str = "") -> Pod:
    found = observed.pod(index, "gated", clique=CLIQUE, name=name or f"pod-{index}", terminating=terminating)
    found.spec.scheduling_gates = tuple(SchedulingGate(name=g) for g in gates)
    return found


PODS = [pod(0), pod(1)]
GOOD = gang(INITIALIZED, synced())


def opened(plan: GatePlan) -> list[str | None]:
    return [p.metadata.name for p in plan.open]


def test_gates_open_when_every_rule_holds() -> None:
    assert plan_gates(CLIQUE, PODS, GATE, GOOD, GOOD) == GatePlan(PODS, "")


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        (None, "its PodGang to be created"),
        (gang(INITIALIZED, synced(), deleting=True), "PodGang train-0 to be created again"),
        (gang(status=False), "PodGang train-0 to be initialized, when all its pods exist"),
        (gang(synced()), "PodGang train-0 to be initialized, when all its pods exist"),
        (
            gang(condition("Initialized", "False"), synced()),
            "PodGang train-0 to be initialized, when all its pods exist",
        ),
        (gang(INITIALIZED), "the scheduler backend to accept PodGang train-0"),
        (
            gang(INITIALIZED, synced("False", message="no such queue")),
            "the scheduler backend to accept PodGang train-0: no such queue",
        ),
        (
            gang(INITIALIZED, synced("Unknown", message="starting")),
            "the scheduler backend to accept PodGang train-0: starting",
        ),
        (
            gang(INITIALIZED, synced(generation=2)),
            "the scheduler backend to follow the latest change of PodGang train-0",
        ),
        (
            gang(INITIALIZED, synced(generation=None)),
            "the scheduler backend to follow the latest change of PodGang train-0",
        ),
        (
            gang(INITIALIZED, synced(generation=None), generation=1),
            "the scheduler backend to follow the latest change of PodGang train-0",
        ),
    ],
)
def test_no_gate_opens_while_the_gang_is_not_ready_for_it(found: PodGang | None, reason: str) -> None:
    assert plan_gates(CLIQUE, PODS, GATE, found, found) == GatePlan([], reason)


@pytest.mark.parametrize(
    ("observed_generation", "generation"), [(4, 3), (3, 3), (0, None), (None, None), (None, 0)]
)
def test_a_backend_that_saw_the_current_generation_or_a_later_one_is_in_sync(
    observed_generation: int | None, generation: int | None
) -> None:
    found = gang(INITIALIZED, synced(generation=observed_generation), generation=generation)
    assert opened(plan_gates(CLIQUE, PODS, GATE, found, found)) == ["pod-0", "pod-1"]


@pytest.mark.parametrize(
    ("base", "opens", "reason"),
    [
        (None, False, "the base gang of train-0-g-1 to be created"),
        (gang(INITIALIZED, synced()), False, "the base gang train-0 to be scheduled"),
        (gang(condition("Scheduled", "False")), False, "the base gang train-0 to be scheduled"),
        (gang(status=False), False, "the base gang train-0 to be scheduled"),
        (gang(SCHEDULED), True, ""),
    ],
)
def test_a_scaled_gang_waits_until_its_base_gang_is_scheduled(
    base: PodGang | None, opens: bool, reason: str
) -> None:
    scaled = gang(INITIALIZED, synced(), name="train-0-g-1")
    assert plan_gates(CLIQUE, PODS, GATE, scaled, base) == GatePlan(PODS if opens else [], reason)


def test_a_base_gang_does_not_wait_for_itself() -> None:
    assert opened(plan_gates(CLIQUE, PODS, GATE, GOOD, GOOD)) == ["pod-0", "pod-1"]


def test_a_pod_that_the_gang_does_not_name_waits() -> None:
    found = gang(INITIALIZED, synced(), named=(1,))
    plan = plan_gates(CLIQUE, [*PODS, pod(2)], GATE, found, found)
    assert (opened(plan), plan.waiting_for) == (["pod-1"], "PodGang train-0 to name 2 new pods")


def test_a_pod_that_another_group_names_waits() -> None:
    """A pod of another clique may have had the name before."""
    plan = plan_gates(CLIQUE, [pod(0, name="stranger-0")], GATE, GOOD, GOOD)
    assert plan == GatePlan([], "PodGang train-0 to name 1 new pods")


def test_a_clique_that_the_gang_no_longer_has_waits() -> None:
    found = gang(INITIALIZED, synced(), group="train-0-elsewhere")
    assert plan_gates(CLIQUE, PODS, GATE, found, found).open == []


@pytest.mark.parametrize(
    "ignored",
    [pod(1, gates=()), pod(1, gates=("example.com/quota",)), pod(1, terminating=True)],
    ids=["without a gate", "with the gate of somebody else", "terminating"],
)
def test_pods_without_our_gate_and_terminating_pods_are_left_alone(ignored: Pod) -> None:
    assert plan_gates(CLIQUE, [ignored], GATE, None, None) == GatePlan([], "")
    assert opened(plan_gates(CLIQUE, [pod(0), ignored], GATE, GOOD, GOOD)) == ["pod-0"]


def test_our_gate_opens_beside_that_of_somebody_else() -> None:
    assert opened(plan_gates(CLIQUE, [pod(0, gates=("example.com/quota", GATE))], GATE, GOOD, GOOD)) == [
        "pod-0"
    ]


BEYOND = "PodGang train-0 to be scheduled, before pods beyond its minimum"


@pytest.mark.parametrize(
    ("surplus_from", "scheduled", "expected"),
    [
        (None, False, (["pod-0", "pod-1"], "PodGang train-0 to name 1 new pods")),
        (1, False, (["pod-0"], BEYOND)),
        (0, False, ([], BEYOND)),
        (1, True, (["pod-0", "pod-1"], "PodGang train-0 to name 1 new pods")),
        (2, False, (["pod-0", "pod-1"], "PodGang train-0 to name 1 new pods")),
    ],
)
def test_surplus_pods_that_are_kept_apart_wait_until_the_gang_is_scheduled(
    surplus_from: int | None, scheduled: bool, expected: tuple[list[str], str]
) -> None:
    found = gang(INITIALIZED, synced(), *([SCHEDULED] if scheduled else []))
    plan = plan_gates(CLIQUE, [*PODS, pod(2)], GATE, found, found, surplus_from=surplus_from)
    assert (opened(plan), plan.waiting_for) == expected


@st.composite
def situations(draw: st.DrawFn) -> dict[str, Any]:
    values: list[ConditionStatus | None] = ["True", "False", "Unknown", None]
    statuses = st.sampled_from(values)

    def one(name: str) -> PodGang | None:
        if draw(st.booleans()):
            return None
        kinds = [(k, s) for k in ("Initialized", "Scheduled") if (s := draw(statuses)) is not None]
        conditions = [condition(k, s) for k, s in kinds]
        if (status := draw(statuses)) is not None:
            conditions.append(synced(status, draw(st.sampled_from([None, 2, 3, 4]))))
        named = draw(st.frozensets(st.integers(0, 4)))
        return gang(*conditions, name=name, deleting=draw(st.booleans()), named=tuple(named))

    found, base = one("train-0-g-1"), one("train-0")
    pods = [
        pod(
            n,
            gates=draw(st.sampled_from([(), (GATE,), ("example.com/quota",)])),
            terminating=draw(st.booleans()),
        )
        for n in range(5)
    ]
    return {
        "pods": pods,
        "gang": found,
        "base": found if draw(st.booleans()) else base,
        "surplus_from": draw(st.none() | st.integers(0, 5)),
    }


@given(situations())
def test_no_gate_ever_opens_before_its_gang_allows_it(found: dict[str, Any]) -> None:
    """The rules once more, written from the other side: what must be true of every pod whose gate opens."""
    plan = plan_gates(
        CLIQUE, found["pods"], GATE, found["gang"], found["base"], surplus_from=found["surplus_from"]
    )
    for p in plan.open:
        of_gang, of_base = found["gang"], found["base"]
        true = {c.type: c for c in of_gang.status.conditions if c.status == "True"}
        assert of_gang.metadata.deletion_timestamp is None
        assert "Initialized" in true
        assert (true["BackendSynced"].observed_generation or 0) >= of_gang.metadata.generation
        assert p.metadata.name in {r.name for r in of_gang.spec.pod_groups[1].pod_references}
        if of_base is not of_gang:
            assert "Scheduled" in {c.type for c in of_base.status.conditions if c.status == "True"}
        if found["surplus_from"] is not None and int((p.spec.hostname or "")[-1]) >= found["surplus_from"]:
            assert "Scheduled" in true
    gated = [p for p in found["pods"] if p.spec.scheduling_gates and p.spec.scheduling_gates[0].name == GATE]
    waiting = [p for p in gated if p not in plan.open and p.metadata.deletion_timestamp is None]
    assert bool(plan.waiting_for) == bool(waiting)
