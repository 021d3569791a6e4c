"""The status of a PodGang follows from its pods."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grove.api import PodGang
from grove.api.meta import ObjectMeta
from grove.api.pod_view import Pod
from grove.api.podgang import PodGangSpec, PodGangStatus, PodGroup
from grove.api.serialization.model import replace
from grove.plan.status.conditions import find
from grove.plan.status.gang_status import gang_status
from tests.unit.plan.observed import LATER, NOW, PREEMPTED, condition, pod, pods

GANG = PodGang(
    metadata=ObjectMeta(name="llama-0"),
    spec=PodGangSpec(
        pod_groups=[
            PodGroup(name="llama-0-router", pod_references=[], min_replicas=1),
            PodGroup(name="llama-0-decode", pod_references=[], min_replicas=3),
        ]
    ),
    status=PodGangStatus(
        phase="Pending",
        conditions=[condition("Initialized"), condition("BackendSynced")],
        placement_score=0.5,
    ),
)
Found = dict[str, list[Pod]]


def gang_pods(router: list[str], decode: list[str]) -> Found:
    return {
        "llama-0-router": [pod(n, s, clique="llama-0-router") for n, s in enumerate(router)],
        "llama-0-decode": [pod(n, s, clique="llama-0-decode") for n, s in enumerate(decode)],
    }


WELL = gang_pods(["ready"], ["ready"] * 3)
PLACED = gang_pods(["starting"], ["starting"] * 3)
GATED = gang_pods(["gated"], ["gated"] * 3)


def after(*steps: Found) -> PodGangStatus:
    """The status after these observations, one after the other."""
    gang = GANG
    for found in steps:
        gang = replace(gang, status=gang_status(gang, found, NOW))
    assert gang.status is not None
    return gang.status


def says(status: PodGangStatus, kind: str) -> tuple[str, str] | None:
    found = find(status.conditions, kind)
    return (found.status, found.reason) if found else None


def message(status: PodGangStatus, kind: str) -> str:
    found = find(status.conditions, kind)
    assert found is not None
    return found.message


def test_a_new_gang_is_pending() -> None:
    found = after({})
    assert found.phase == "Pending"
    assert says(found, "Scheduled") == ("False", "PodsNotScheduled")
    assert says(found, "Ready") == ("False", "PodsNotReady")
    assert (says(found, "Unhealthy"), says(found, "DisruptionTarget")) == (None, None)


def test_a_gang_goes_from_pending_to_running() -> None:
    assert after(GATED).phase == "Pending"
    placed = after(GATED, PLACED)
    assert placed.phase == "Starting"
    assert says(placed, "Scheduled") == ("True", "PodsScheduled")
    assert says(placed, "Unhealthy") == ("False", "PodGroupsAtMinimum")
    well = after(GATED, PLACED, WELL)
    assert well.phase == "Running"
    assert says(well, "Ready") == ("True", "PodsReady")


def test_a_partly_placed_gang_is_not_scheduled() -> None:
    found = after(gang_pods(["ready"], ["ready", "ready", "pending", "gated"]))
    assert (found.phase, says(found, "Scheduled")) == ("Pending", ("False", "PodsNotScheduled"))
    assert message(found, "Scheduled") == "llama-0-decode has 2 of 3 pods on nodes"
    assert message(found, "Ready") == "llama-0-decode has 2 of 3 pods ready"


def test_a_gang_does_not_wait_for_pods_beyond_its_minimum() -> None:
    assert after(gang_pods(["ready"], ["ready", "ready", "ready", "pending"])).phase == "Running"


def test_slow_pods_do_not_make_a_gang_unhealthy() -> None:
    found = after(PLACED, gang_pods(["unready"], ["unready"] * 3))
    assert (found.phase, says(found, "Unhealthy")) == ("Starting", ("False", "PodGroupsAtMinimum"))


def test_pods_that_fail_before_the_gang_was_ready_make_it_unhealthy() -> None:
    found = after(PLACED, gang_pods(["ready"], ["ready", "ready", "failing"]))
    assert (found.phase, says(found, "Unhealthy")) == ("Starting", ("True", "PodGroupsBelowMinimum"))
    assert message(found, "Unhealthy") == "llama-0-decode has 2 of 3 pods that are on a node and not failing"


def test_a_gang_that_lost_a_pod_is_unhealthy() -> None:
    found = after(WELL, gang_pods(["ready"], ["ready", "ready", "gated"]))
    assert found.phase == "Pending"
    assert says(found, "Scheduled") == ("False", "ScheduledPodsLost")
    assert says(found, "Ready") == ("False", "ReadyPodsLost")
    assert says(found, "Unhealthy") == ("True", "PodGroupsBelowMinimum")
    assert says(after(WELL, GATED, GATED, PLACED), "Unhealthy") == ("True", "PodGroupsBelowMinimum")
    assert says(after(WELL, GATED, PLACED, WELL), "Unhealthy") == ("False", "PodGroupsAtMinimum")


def test_a_gang_that_stopped_being_ready_is_unhealthy() -> None:
    found = after(WELL, gang_pods(["unready"], ["ready"] * 3))
    assert (found.phase, says(found, "Unhealthy")) == ("Starting", ("True", "PodGroupsBelowMinimum"))
    assert says(found, "Scheduled") == ("True", "PodsScheduled")
    assert message(found, "Unhealthy") == "llama-0-router has 0 of 1 pods ready"


def test_a_gang_fails_when_required_pods_die() -> None:
    assert after(WELL, gang_pods(["ready"], ["ready", "ready", "failed"])).phase == "Failed"
    assert after(WELL, gang_pods(["ready"], ["ready"] * 3 + ["failed"])).phase == "Running"


def test_a_gang_whose_pods_finished_has_succeeded() -> None:
    found = after(WELL, gang_pods(["finished"], ["finished"] * 3))
    assert (found.phase, says(found, "Ready")) == ("Succeeded", ("False", "PodsFinished"))
    assert says(found, "Unhealthy") == ("False", "PodGroupsAtMinimum")


def test_a_gang_runs_until_its_last_pod_finished() -> None:
    found = after(WELL, gang_pods(["ready"], ["finished"] * 3))
    assert (found.phase, says(found, "Unhealthy")) == ("Running", ("False", "PodGroupsAtMinimum"))


def test_pods_that_are_going_away_do_not_count() -> None:
    going = gang_pods(["ready"], ["ready"] * 2)
    going["llama-0-decode"].append(pod(2, terminating=True))
    assert says(after(WELL, going), "Scheduled") == ("False", "ScheduledPodsLost")


@pytest.mark.parametrize("terminating", [False, True])
def test_a_gang_with_a_disrupted_pod_reports_the_reason(terminating: bool) -> None:
    found = gang_pods(["ready"], ["ready"] * 3)
    found["llama-0-decode"][1] = pod(1, name="p", conditions=(PREEMPTED,), terminating=terminating)
    status = after(WELL, found)
    assert says(status, "DisruptionTarget") == ("True", "PodDisrupted")
    assert (
        message(status, "DisruptionTarget")
        == "p of llama-0-decode: PreemptionByScheduler made room for another"
    )
    assert says(after(WELL, found, WELL), "DisruptionTarget") is None


def test_conditions_of_others_and_the_score_stay() -> None:
    found = after(WELL)
    assert GANG.status is not None
    assert found.conditions[:2] == GANG.status.conditions
    assert found.placement_score == 0.5


def test_messages_about_many_groups_stay_short() -> None:
    groups = [PodGroup(name=f"{'n' * 60}-{i}", pod_references=[], min_replicas=1) for i in range(500)]
    gang = replace(GANG, spec=PodGangSpec(pod_groups=groups))
    chatty = replace_message(pod(conditions=(PREEMPTED,)), "x" * 10_000)
    found = gang_status(gang, {g.name: [chatty] * 2 for g in groups}, NOW)
    assert max(len(c.message) for c in found.conditions) < 1200
    found = gang_status(gang, {}, NOW)
    assert message(found, "Scheduled").endswith("and 495 more")
    assert max(len(c.message) for c in found.conditions) < 1200


def replace_message(found: Pod, text: str) -> Pod:
    found.status.conditions = tuple(
        type(c)(type=c.type, status=c.status, reason=c.reason, message=text) for c in found.status.conditions
    )
    return found


OBSERVATIONS = st.fixed_dictionaries({"llama-0-router": pods(3), "llama-0-decode": pods(5)})


@given(st.lists(OBSERVATIONS, min_size=1, max_size=3))
def test_computing_the_status_again_changes_nothing(seen: list[Found]) -> None:
    first = after(*seen)
    assert gang_status(replace(GANG, status=first), seen[-1], LATER) == first


@given(st.lists(OBSERVATIONS, min_size=1, max_size=3))
def test_phase_and_conditions_agree(seen: list[Found]) -> None:
    found = after(*seen)
    ready, scheduled = says(found, "Ready"), says(found, "Scheduled")
    assert ready is not None
    assert scheduled is not None
    assert (found.phase == "Running") == (ready[0] == "True")
    assert found.phase not in ("Running", "Starting", "Succeeded") or scheduled[0] == "True"
    assert scheduled[0] == "False" or says(found, "Unhealthy") is not None
