"""What happens to the pods of a clique: the first rule that applies decides."""

from datetime import timedelta

import msgspec
import pytest

from grove.api import PodClique, labels
from grove.api.pod_view import Pod, PodOwner, SchedulingGate
from grove.plan.clique_pods import (
    UNLINKED_POD_LIFETIME,
    CliquePodPlan,
    PodFindings,
    plan_clique_pods,
    pods_to_adopt,
    pods_with_edited_labels,
    unlinked_pods_to_recreate,
)
from grove.plan.objects.pods import identifying_labels
from tests.unit.plan.observed import NOW, layout, pod, stored
from tests.unit.plan.samples import alone

OTHER_GATE = "example.com/other"
CLIQUE = alone(layout(), "worker")  # of two pods


def with_gate(found: Pod, *gates: str) -> Pod:
    spec = msgspec.structs.replace(found.spec, scheduling_gates=tuple(SchedulingGate(name=g) for g in gates))
    return msgspec.structs.replace(found, spec=spec)


def with_uid(found: Pod, uid: str) -> Pod:
    return msgspec.structs.replace(found, metadata=msgspec.structs.replace(found.metadata, uid=uid))


def plan(
    *pods: Pod, findings: PodFindings | None = None, may_create: bool = True, may_replace: bool = True
) -> CliquePodPlan:
    return plan_clique_pods(
        CLIQUE,
        pods,
        findings or PodFindings(),
        other_gates={OTHER_GATE},
        may_create=may_create,
        may_replace=may_replace,
    )


def test_pods_behind_the_gate_of_another_backend_are_deleted_before_anything_else_happens() -> None:
    stray, other = with_gate(pod(0, "gated"), OTHER_GATE), with_uid(pod(1), "old")
    found = plan(stray, other, findings=PodFindings(gave_up=True, outdated=frozenset({"old"})))
    assert found == CliquePodPlan(delete=[stray], proceed=False)


def test_a_stray_pod_that_is_being_deleted_is_not_deleted_again() -> None:
    stray = with_gate(pod(0, "gated", terminating=True), OTHER_GATE)
    assert plan(stray).proceed


def test_nothing_happens_while_a_gang_that_was_given_up_needs_a_new_dialect() -> None:
    found = plan(with_uid(pod(0), "old"), findings=PodFindings(gave_up=True, outdated=frozenset({"old"})))
    assert found == CliquePodPlan(proceed=False)


def test_pods_of_an_earlier_dialect_are_deleted_before_others_are_created() -> None:
    old, dying = with_uid(pod(0), "old"), with_uid(pod(1, terminating=True), "dying")
    found = plan(old, dying, findings=PodFindings(outdated=frozenset({"old", "dying"})))
    assert found == CliquePodPlan(delete=[old], proceed=False)


def test_missing_pods_are_created_once_they_may_be() -> None:
    assert plan(pod(0)) == CliquePodPlan([1], [], [])
    assert plan(pod(0), may_create=False) == CliquePodPlan((), [], [])


def test_surplus_pods_are_deleted_even_if_none_may_be_created() -> None:
    found = plan(pod(0), pod(1), pod(2), may_create=False)
    assert [p.metadata.name for p in found.delete] == [pod(2).metadata.name]


def test_a_dead_pod_is_replaced_unless_replacements_are_in_backoff() -> None:
    dead = pod(1, "failed")
    assert plan(pod(0), dead) == CliquePodPlan([1], [dead], [dead])
    assert plan(pod(0), dead, may_replace=False) == CliquePodPlan([], [], [])


def in_gang(clique: str = "train-0-worker", *, owned: bool = False, terminating: bool = False) -> Pod:
    found = pod(0, terminating=terminating)
    owners = (PodOwner(kind="PodClique", name=clique, uid="u", controller=True),) if owned else ()
    metadata = msgspec.structs.replace(
        found.metadata, labels={labels.POD_CLIQUE: clique}, owner_references=owners
    )
    return msgspec.structs.replace(found, metadata=metadata)


NEW = CLIQUE
KNOWN = stored(CLIQUE, observed_generation=1)


@pytest.mark.parametrize(
    ("clique", "own", "candidate", "adopted"),
    [
        (NEW, 0, in_gang(), True),
        (stored(CLIQUE, replicas=1), 1, in_gang(), True),
        (KNOWN, 0, in_gang(), False),
        (NEW, 2, in_gang(), False),
        (NEW, 0, in_gang(owned=True), False),
        (NEW, 0, in_gang("train-0-other"), False),
        (NEW, 0, in_gang(terminating=True), False),
    ],
    ids=["orphan", "no spec observed", "not new", "complete", "owned", "of another clique", "terminating"],
)
def test_a_new_clique_adopts_orphans(clique: PodClique, own: int, candidate: Pod, adopted: bool) -> None:
    assert pods_to_adopt(clique, [pod(n) for n in range(own)], [candidate]) == [candidate] * adopted


def test_pods_whose_identifying_labels_were_edited_are_found() -> None:
    own = identifying_labels(CLIQUE)
    intact, edited = pod(0), pod(1)
    intact.metadata.labels |= own
    edited.metadata.labels |= own | {labels.POD_GANG: "other"}
    assert pods_with_edited_labels(CLIQUE, [intact, edited]) == [edited]


def test_an_unlinked_pod_is_recreated_after_a_while() -> None:
    seconds = int(UNLINKED_POD_LIFETIME.total_seconds())
    young, old = pod(0, age=seconds - 1), pod(1, age=seconds)
    assert unlinked_pods_to_recreate([young, old], NOW) == [old]
    assert unlinked_pods_to_recreate([young], NOW + timedelta(seconds=1)) == [young]
