"""The status of a PodCliqueScalingGroup follows from its copies."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grove.api import PodCliqueScalingGroup, labels
from grove.api.meta import ConditionStatus
from grove.api.podclique import PodClique
from grove.api.scalars import Time
from grove.api.scalinggroup import PodCliqueScalingGroupStatus, ScalingGroupUpdateProgress
from grove.api.serialization.model import replace
from grove.plan.layout.set_layout import SetLayout
from grove.plan.objects.cliques import member_clique, scaling_group
from grove.plan.status.conditions import find
from grove.plan.status.group_status import group_status
from tests.unit.api.sets import clique
from tests.unit.plan.observed import LATER, NOW, condition, layout, stored

SHAPE = layout(
    clique("lead", replicas=1),
    clique("work", replicas=3, minAvailable=2),
    podCliqueScalingGroups=[{"name": "g", "cliqueNames": ["lead", "work"], "replicas": 3, "minAvailable": 2}],
)
TEMPLATE = SHAPE.groups[0]


def group(**status: Any) -> PodCliqueScalingGroup:
    made = scaling_group(SHAPE, TEMPLATE, 0)
    return replace(
        made,
        metadata=replace(made.metadata, generation=4),
        status=PodCliqueScalingGroupStatus(**status) if status else None,
    )


def member(
    j: int,
    name: str,
    *,
    scheduled: ConditionStatus = "True",
    breached: ConditionStatus = "False",
    ready: int = 3,
    updated: int = 3,
    template_hash: str | None = None,
    terminating: bool = False,
) -> PodClique:
    made = member_clique(SHAPE, TEMPLATE, SHAPE.cliques[name], 0, j, group())
    wanted = SHAPE.hashes[name]
    made = stored(
        made,
        conditions=[
            condition("PodCliqueScheduled", scheduled),
            condition("MinAvailableBreached", breached),
        ],
        ready_replicas=ready,
        updated_replicas=updated,
        current_pod_template_hash=template_hash or wanted,
        current_pod_clique_set_generation_hash=SHAPE.generation_hash,
    )
    gone = Time.at(NOW) if terminating else None
    return replace(made, metadata=replace(made.metadata, deletion_timestamp=gone))


def copy(j: int, **work: Any) -> list[PodClique]:
    """A healthy copy, except for the given status of its second clique."""
    return [member(j, "lead"), member(j, "work", **work)]


def status(*copies: list[PodClique], of: PodCliqueScalingGroup | None = None) -> PodCliqueScalingGroupStatus:
    return group_status(of or group(), [m for c in copies for m in c], SHAPE, NOW)


def breached(found: PodCliqueScalingGroupStatus) -> tuple[str, str, str]:
    said = find(found.conditions, "MinAvailableBreached")
    assert said is not None
    return said.status, said.reason, said.message


def counts(found: PodCliqueScalingGroupStatus) -> tuple[int, int, int]:
    return found.scheduled_replicas, found.available_replicas, found.updated_replicas


def test_a_group_without_cliques_yet() -> None:
    found = status()
    assert (found.replicas, found.observed_generation, counts(found)) == (3, 4, (0, 0, 0))
    assert found.selector == (
        "app.kubernetes.io/managed-by=grove-operator,app.kubernetes.io/part-of=train,"
        "grove.io/podcliquescalinggroup=train-0-g"
    )
    assert found.current_pod_clique_set_generation_hash is None
    assert breached(found) == (
        "True",
        "InsufficientAvailablePodCliqueScalingGroupReplicas",
        (
            "0 of 3 copies have their minimum; the gang needs 2; train-0-g-0-lead is missing; "
            "train-0-g-1-lead is missing; train-0-g-2-lead is missing"
        ),
    )


def test_a_healthy_group() -> None:
    found = status(copy(0), copy(1), copy(2))
    assert counts(found) == (3, 3, 3)
    assert found.current_pod_clique_set_generation_hash == SHAPE.generation_hash
    assert breached(found)[:2] == ("False", "SufficientAvailablePodCliqueScalingGroupReplicas")


@pytest.mark.parametrize(
    ("work", "expected"),
    [
        ({"scheduled": "False"}, (2, 2, 2)),
        ({"ready": 1}, (3, 2, 2)),
        ({"updated": 1}, (3, 3, 2)),
        ({"template_hash": "old"}, (3, 3, 2)),
        ({"terminating": True}, (2, 2, 2)),
    ],
)
def test_a_copy_counts_only_if_all_its_cliques_do(
    work: dict[str, Any], expected: tuple[int, int, int]
) -> None:
    assert counts(status(copy(0), copy(1, **work), copy(2))) == expected


def test_a_copy_that_lacks_a_clique_does_not_count() -> None:
    assert counts(status(copy(0), copy(1)[:1], copy(2))) == (2, 2, 2)


def test_copies_beyond_the_replicas_do_not_count() -> None:
    assert counts(status(copy(0), copy(3), copy(4))) == (1, 1, 1)


def test_a_group_is_breached_when_too_few_copies_work() -> None:
    assert breached(status(copy(0), copy(1, breached="True"), copy(2)))[0] == "False"
    found = breached(status(copy(0), copy(1, breached="True"), copy(2, terminating=True)))
    assert found[0] == "True"
    assert "train-0-g-1-work is below its minimum; train-0-g-2-work is being deleted" in found[2]


def test_a_clique_that_is_being_updated_breaches_nothing() -> None:
    assert breached(status(copy(0, breached="Unknown"), copy(1)))[0] == "False"


def test_a_message_about_many_copies_stays_short() -> None:
    many = group()
    many = replace(many, spec=replace(many.spec, replicas=1000))
    said = breached(group_status(many, [], SHAPE, NOW))[2]
    assert said.endswith("train-0-g-4-lead is missing; and 995 more")


def test_a_group_that_recovered_may_be_terminated_again() -> None:
    flag = condition("GangTerminationInProgress")
    before = group(conditions=[flag])
    assert find(status(of=before).conditions, "GangTerminationInProgress") == flag
    assert find(status(copy(0), copy(1), of=before).conditions, "GangTerminationInProgress") is None


def progress(ended: bool) -> ScalingGroupUpdateProgress:
    return ScalingGroupUpdateProgress(
        update_started_at=Time.at(NOW),
        update_ended_at=Time.at(NOW) if ended else None,
        pod_clique_set_generation_hash=SHAPE.generation_hash,
    )


def test_while_an_update_runs_the_breach_of_a_group_is_unknown() -> None:
    found = status(copy(0), copy(1), copy(2, updated=0), of=group(update_progress=progress(ended=False)))
    assert breached(found)[:2] == ("Unknown", "UpdateInProgress")
    assert found.current_pod_clique_set_generation_hash is None
    assert found.update_progress is not None
    assert found.update_progress.updated_pod_cliques_count == 5
    assert found.update_progress.total_pod_cliques_count == 6


def test_without_its_set_a_group_still_counts_its_copies() -> None:
    before = group(updated_replicas=2, selector="s", current_pod_clique_set_generation_hash="h")
    found = group_status(before, [*copy(0), *copy(1)], None, NOW)
    assert counts(found) == (2, 2, 2)
    assert (found.selector, found.current_pod_clique_set_generation_hash) == ("s", "h")


def test_a_group_that_left_the_template_cannot_be_autoscaled() -> None:
    without = layout(clique("lead"), clique("work"))
    assert group_status(group(), [], without, NOW).selector is None


def test_a_group_without_copies_is_complete() -> None:
    none = replace(group(), spec=replace(group().spec, replicas=0))
    found = group_status(none, copy(0), SHAPE, NOW)
    assert (found.replicas, counts(found)) == (None, (0, 0, 0))
    assert found.current_pod_clique_set_generation_hash == SHAPE.generation_hash


def test_the_observed_generation_advances_only_after_a_full_sync() -> None:
    assert group_status(group(), [], SHAPE, NOW, synced=False).observed_generation is None


MEMBERS = st.lists(
    st.builds(
        member,
        st.integers(0, 3),
        st.sampled_from(["lead", "work"]),
        scheduled=st.sampled_from(["True", "False"]),
        breached=st.sampled_from(["True", "False", "Unknown"]),
        ready=st.integers(0, 3),
        updated=st.integers(0, 3),
        template_hash=st.sampled_from([None, "old"]),
        terminating=st.booleans(),
    ),
    max_size=8,
    unique_by=lambda m: m.metadata.labels[labels.NAME],
)


@given(
    MEMBERS,
    st.sampled_from([SHAPE, None]),
    st.sampled_from([None, progress(ended=False), progress(ended=True)]),
)
def test_computing_the_status_again_changes_nothing(
    members: list[PodClique], known: SetLayout | None, update: ScalingGroupUpdateProgress | None
) -> None:
    before = group(update_progress=update, conditions=[condition("GangTerminationInProgress")])
    first = group_status(before, members, known, NOW)
    assert group_status(replace(before, status=first), members, known, LATER) == first


@given(MEMBERS)
def test_updated_copies_are_available_and_available_ones_scheduled(members: list[PodClique]) -> None:
    scheduled, available, updated = counts(status(members))
    assert updated <= available <= scheduled <= 3
