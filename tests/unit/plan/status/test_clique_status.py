"""The status of a PodClique follows from its pods."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grove.api import labels
from grove.api.pod_view import Pod
from grove.api.podclique import PodClique, PodCliqueStatus, PodCliqueUpdateProgress
from grove.api.scalars import Time
from grove.api.serialization.model import replace
from grove.plan.layout.set_layout import SetLayout
from grove.plan.objects.cliques import member_clique, scaling_group
from grove.plan.status.clique_status import clique_status, is_updated
from grove.plan.status.conditions import find
from tests.unit.api.sets import clique
from tests.unit.plan.observed import LATER, NOW, condition, layout, pod, pods, stored, worker

SHAPE = layout(clique(replicas=3, minAvailable=2))
HASH = SHAPE.hashes["worker"]
WORKER = worker(SHAPE)


def status(*found: Pod, of: PodClique = WORKER, **options: Any) -> PodCliqueStatus:
    return clique_status(of, found, SHAPE, NOW, **options)


def says(found: PodCliqueStatus, kind: str) -> tuple[str, str]:
    said = find(found.conditions, kind)
    assert said is not None
    return said.status, said.reason


def current(state: str, **how: Any) -> Pod:
    return pod(0, state, template=HASH, **how)


def updating(**changes: Any) -> PodCliqueUpdateProgress:
    return PodCliqueUpdateProgress(
        **{
            "update_started_at": Time.at(NOW),
            "pod_clique_set_generation_hash": "set-2",
            "pod_template_hash": "pod-2",
        }
        | changes
    )


def test_pods_are_counted_by_their_state() -> None:
    found = status(current("ready"), current("starting"), current("gated"), pod(0, "pending", template="old"))
    assert (found.replicas, found.ready_replicas, found.scheduled_replicas) == (4, 1, 2)
    assert (found.schedule_gated_replicas, found.updated_replicas) == (1, 3)


def test_terminating_and_dead_pods_do_not_count() -> None:
    found = status(current("ready", terminating=True), current("failed"), current("succeeded"))
    assert found == replace(status(), conditions=found.conditions)
    assert (found.replicas, found.ready_replicas, found.scheduled_replicas) == (None, 0, 0)


def test_finished_pods_breach_no_minimum() -> None:
    found = status(current("finished"), current("finished"))
    assert (found.replicas, found.ready_replicas, found.scheduled_replicas) == (2, 0, 2)
    assert says(found, "MinAvailableBreached") == ("False", "SufficientReadyPods")


def test_no_pods_means_no_replicas_field() -> None:
    assert status().replicas is None


def test_a_standalone_clique_can_be_autoscaled() -> None:
    assert status().hpa_pod_selector == (
        "app.kubernetes.io/managed-by=grove-operator,app.kubernetes.io/part-of=train,"
        "grove.io/podclique=train-0-worker"
    )


def test_a_member_of_a_scaling_group_is_scaled_with_its_group_only() -> None:
    grouped = layout(clique("a"), podCliqueScalingGroups=[{"name": "g", "cliqueNames": ["a"]}])
    group = grouped.groups[0]
    member = member_clique(grouped, group, group.cliques[0], 0, 0, scaling_group(grouped, group, 0))
    pods = [pod(0, "ready", template=grouped.hashes["a"])]
    found = clique_status(stored(member), pods, grouped, NOW)
    assert found.hpa_pod_selector is None
    assert found.current_pod_template_hash == grouped.hashes["a"]


def test_the_hashes_are_current_once_all_pods_follow() -> None:
    assert status(current("gated"), pod(1, template="old")).current_pod_template_hash is None
    found = status(current("gated"))
    assert found.current_pod_template_hash == HASH
    assert found.current_pod_clique_set_generation_hash == SHAPE.generation_hash


def test_the_hashes_stay_while_the_clique_is_behind_its_set() -> None:
    behind = replace(
        WORKER,
        metadata=replace(WORKER.metadata, labels=WORKER.metadata.labels | {labels.POD_TEMPLATE_HASH: "old"}),
    )
    behind = stored(behind, current_pod_template_hash="old", current_pod_clique_set_generation_hash="set-1")
    found = status(pod(0, template="old"), of=behind)
    assert (found.current_pod_template_hash, found.updated_replicas) == ("old", 1)
    assert found.current_pod_clique_set_generation_hash == "set-1"


def test_without_its_set_the_hashes_stay() -> None:
    had = stored(WORKER, current_pod_template_hash="a", current_pod_clique_set_generation_hash="b")
    found = clique_status(had, [current("ready")], None, NOW)
    assert (found.current_pod_template_hash, found.current_pod_clique_set_generation_hash) == ("a", "b")


def test_an_update_that_runs_is_left_alone() -> None:
    progress = updating()
    found = status(pod(0, template="pod-2"), of=stored(WORKER, update_progress=progress))
    assert found.update_progress == progress
    assert (found.updated_replicas, found.current_pod_template_hash) == (1, None)
    assert says(found, "MinAvailableBreached") == ("Unknown", "UpdateInProgress")


def test_an_update_that_ended_gives_the_current_hashes() -> None:
    progress = updating(update_ended_at=Time.at(NOW))
    found = status(pod(0, template="pod-2"), of=stored(WORKER, update_progress=progress))
    assert found.current_pod_template_hash == "pod-2"
    assert found.current_pod_clique_set_generation_hash == "set-2"


def test_the_observed_generation_advances_only_after_a_full_sync() -> None:
    assert status().observed_generation == 1
    assert status(synced=False).observed_generation is None
    assert status(synced=False).conditions == []
    assert says(status(synced=False, of=stored(WORKER, observed_generation=1)), "PodCliqueScheduled")


@pytest.mark.parametrize(
    ("states", "scheduled", "breached"),
    [
        ([], "InsufficientScheduledPods", ("True", "ScheduledReplicasBelowMinAvailable")),
        (["ready", "gated"], "InsufficientScheduledPods", ("True", "ScheduledReplicasBelowMinAvailable")),
        (["ready", "starting"], "SufficientScheduledPods", ("False", "SufficientReadyPods")),
        (["ready", "unready"], "SufficientScheduledPods", ("True", "InsufficientReadyPods")),
        (["ready", "failing"], "SufficientScheduledPods", ("True", "InsufficientReadyPods")),
        (["ready", "ready", "failing"], "SufficientScheduledPods", ("False", "SufficientReadyPods")),
        (["ready", "failed"], "InsufficientScheduledPods", ("True", "ScheduledReplicasBelowMinAvailable")),
    ],
)
def test_conditions(states: list[str], scheduled: str, breached: tuple[str, str]) -> None:
    found = status(*(current(s) for s in states))
    assert [c.type for c in found.conditions] == ["PodCliqueScheduled", "MinAvailableBreached"]
    assert says(found, "PodCliqueScheduled")[1] == scheduled
    assert says(found, "MinAvailableBreached") == breached


def test_messages_say_what_is_missing() -> None:
    one = status(current("ready"), current("gated"))
    assert [c.message for c in one.conditions] == [
        "1 of 2 pods have a node; the gang needs 2; 1 still wait behind a scheduling gate",
        "1 pods have a node; the gang needs 2",
    ]
    two = find(
        status(current("ready"), current("unready"), current("failing")).conditions, "MinAvailableBreached"
    )
    assert two is not None
    assert two.message == (
        "1 of 3 pods with a node are ready or starting; the gang needs 2; "
        "1 failed and restart, 1 run without being ready"
    )


def test_fields_and_conditions_of_others_stay() -> None:
    had = stored(WORKER, conditions=[condition("Theirs")], observed_generation=1)
    assert status(of=had).conditions[0] == condition("Theirs")


def test_a_clique_is_updated_when_its_minimum_of_new_pods_is_ready() -> None:
    def updated(*found: Pod) -> bool:
        return is_updated(replace(WORKER, status=status(*found)), HASH, SHAPE.generation_hash)

    assert updated(current("ready"), current("ready"))
    assert not updated(current("ready"), current("gated"))
    assert not updated(current("ready"), current("ready"), pod(2, template="old"))
    assert not is_updated(WORKER, HASH, SHAPE.generation_hash)


@given(
    pods(),
    st.sampled_from([None, SHAPE]),
    st.sampled_from([None, updating(), updating(update_ended_at=Time.at(NOW))]),
    st.booleans(),
)
def test_computing_the_status_again_changes_nothing(
    found: list[Pod], known: SetLayout | None, progress: PodCliqueUpdateProgress | None, synced: bool
) -> None:
    first = clique_status(stored(WORKER, update_progress=progress), found, known, NOW, synced=synced)
    again = clique_status(replace(WORKER, status=first), found, known, LATER, synced=synced)
    assert again == first
