"""The status of a PodCliqueSet follows from its replicas and gangs."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grove.api import ClusterTopologyBinding, PodCliqueSet, PodGang
from grove.api.meta import Condition, ObjectMeta
from grove.api.podclique import PodClique
from grove.api.podcliqueset import PodCliqueSetStatus, PodCliqueSetUpdateProgress
from grove.api.podgang import PodGangSpec, PodGangStatus
from grove.api.scalars import Time
from grove.api.scalinggroup import PodCliqueScalingGroup, PodCliqueScalingGroupStatus
from grove.api.serialization import codec
from grove.api.serialization.model import replace
from grove.api.topology import ClusterTopologyBindingSpec, TopologyLevel
from grove.plan.layout.set_layout import SetLayout
from grove.plan.objects.cliques import scaling_group, standalone_clique
from grove.plan.status.conditions import find
from grove.plan.status.set_status import (
    ObservedTopology,
    ReplicaSummary,
    gang_summaries,
    replica_summary,
    set_status,
)
from tests.unit.api.sets import clique
from tests.unit.plan.observed import LATER, NOW, condition, layout, pcs, stored

SHAPE = layout(
    clique("router", replicas=2, minAvailable=1),
    clique("work"),
    replicas=2,
    podCliqueScalingGroups=[{"name": "g", "cliqueNames": ["work"], "replicas": 3, "minAvailable": 2}],
)
OFF = ObservedTopology(enabled=False)
GOOD = ReplicaSummary(available=True, updated=True, updated_cliques=1, updated_groups=1)
BAD = ReplicaSummary(available=False, updated=False, updated_cliques=0, updated_groups=1)


def router(
    i: int = 0, *, ready: int = 1, updated: int = 1, template_hash: str | None = None, going: bool = False
) -> PodClique:
    made = stored(
        standalone_clique(SHAPE, SHAPE.standalone[0], i),
        ready_replicas=ready,
        updated_replicas=updated,
        current_pod_template_hash=template_hash or SHAPE.hashes["router"],
        current_pod_clique_set_generation_hash=SHAPE.generation_hash,
    )
    gone = Time.at(NOW) if going else None
    return replace(made, metadata=replace(made.metadata, deletion_timestamp=gone))


def group(
    i: int = 0, *, available: int = 2, current: bool = True, going: bool = False
) -> PodCliqueScalingGroup:
    made = scaling_group(SHAPE, SHAPE.groups[0], i)
    return replace(
        made,
        metadata=replace(made.metadata, deletion_timestamp=Time.at(NOW) if going else None),
        status=PodCliqueScalingGroupStatus(
            available_replicas=available,
            current_pod_clique_set_generation_hash=SHAPE.generation_hash if current else "old",
        ),
    )


def summary(cliques: list[PodClique], groups: list[PodCliqueScalingGroup]) -> tuple[bool, bool]:
    found = replica_summary(SHAPE, 0, cliques, groups)
    return found.available, found.updated


def test_a_replica_is_available_when_cliques_and_groups_have_their_minimum() -> None:
    assert summary([router()], [group()]) == (True, True)
    assert summary([router(ready=0)], [group()]) == (False, False)
    assert summary([router()], [group(available=1)]) == (False, False)


@pytest.mark.parametrize(
    ("cliques", "groups"),
    [
        ([], [group()]),
        ([router()], []),
        ([router(going=True)], [group()]),
        ([router()], [group(going=True)]),
        ([router(1)], [group()]),
        ([replace(router(), status=None)], [group()]),
        ([router()], [replace(group(), status=None)]),
    ],
)
def test_a_replica_with_a_missing_part_is_not_available(
    cliques: list[PodClique], groups: list[PodCliqueScalingGroup]
) -> None:
    assert summary(cliques, groups) == (False, False)


def test_a_replica_is_updated_when_everything_in_it_follows_the_template() -> None:
    assert summary([router(updated=0)], [group()]) == (True, False)
    assert summary([router(template_hash="old")], [group()]) == (True, False)
    assert summary([router()], [group(current=False)]) == (True, False)


def test_objects_that_the_set_does_not_describe_make_no_difference() -> None:
    stray = replace(router(ready=0), metadata=ObjectMeta(name="train-0-other"))
    assert summary([router(), stray], [group()]) == (True, True)


def status(
    *summaries: ReplicaSummary,
    before: PodCliqueSetStatus | None = None,
    of: SetLayout = SHAPE,
    topology: ObservedTopology = OFF,
    **options: Any,
) -> PodCliqueSetStatus:
    now = replace(of.pcs, metadata=replace(of.pcs.metadata, generation=7), status=before)
    return set_status(now, of, summaries, options.pop("gangs", []), topology, NOW, **options)


def test_replicas_are_added_up() -> None:
    found = status(GOOD, BAD)
    assert (found.replicas, found.available_replicas, found.updated_replicas) == (2, 1, 1)
    assert found.observed_generation == 7
    assert found.current_generation_hash == SHAPE.generation_hash
    assert found.update_progress is None


def test_a_set_without_replicas_has_no_replicas_field_as_in_the_reference() -> None:
    none = layout(clique(), replicas=0)
    assert codec.to_builtins(status(of=none)) == {
        "observedGeneration": 7,
        "updatedReplicas": 0,
        "availableReplicas": 0,
        "hpaPodSelector": "app.kubernetes.io/managed-by=grove-operator,app.kubernetes.io/part-of=train",
        "currentGenerationHash": none.generation_hash,
    }


def test_a_new_generation_hash_is_left_to_the_update() -> None:
    assert status(before=PodCliqueSetStatus(current_generation_hash="old")).current_generation_hash == "old"


def test_the_observed_generation_advances_only_after_a_full_sync() -> None:
    before = PodCliqueSetStatus(observed_generation=6)
    assert status(before=before, synced=False).observed_generation == 6


def test_the_counts_of_an_update_are_kept_up_to_date() -> None:
    before = PodCliqueSetStatus(update_progress=PodCliqueSetUpdateProgress(update_started_at=Time.at(NOW)))
    found = status(GOOD, BAD, before=before).update_progress
    assert found is not None
    assert (found.updated_pod_cliques_count, found.total_pod_cliques_count) == (1, 2)
    assert found.updated_pod_clique_scaling_groups_count == 2
    assert found.total_pod_clique_scaling_groups_count == 2
    assert found.update_started_at == Time.at(NOW)


# Gangs


def gang(name: str, phase: str | None = "Running", *, going: bool = False) -> PodGang:
    return PodGang(
        metadata=ObjectMeta(name=name, deletion_timestamp=Time.at(NOW) if going else None),
        spec=PodGangSpec(pod_groups=[]),
        status=PodGangStatus(phase=phase, conditions=[condition("Scheduled")]) if phase else None,
    )


def test_gangs_are_listed_by_name_and_carry_conditions_unless_they_run() -> None:
    found = gang_summaries(
        [gang("b", "Pending"), gang("c", "Succeeded"), gang("a"), gang("d", None), gang("e", going=True)]
    )
    assert [(g.name, g.phase, len(g.conditions)) for g in found] == [
        ("a", "Running", 0),
        ("b", "Pending", 1),
        ("c", "Succeeded", 0),
        ("d", "Pending", 0),
    ]


def test_a_quick_status_updates_phases_and_keeps_conditions() -> None:
    old = gang_summaries([gang("a", "Pending"), gang("b", "Pending"), gang("c")])
    now = [gang("a", "Pending"), gang("b", "Starting"), gang("c"), gang("d", "Pending")]
    assert now[0].status is not None
    now[0].status.conditions = []
    found = gang_summaries(now, old)
    assert [(g.name, g.phase, len(g.conditions)) for g in found] == [
        ("a", "Pending", 1),
        ("b", "Starting", 0),
        ("c", "Running", 0),
        ("d", "Pending", 0),
    ]


def test_an_unknown_phase_counts_as_pending() -> None:
    assert gang_summaries([gang("a", "Odd")])[0].phase == "Pending"


def test_only_the_worst_of_many_gangs_carry_conditions() -> None:
    long = Condition(
        type="Scheduled", status="False", reason="R", message="m" * 800, last_transition_time=Time.at(NOW)
    )
    gangs = [gang(f"{'n' * 50}-{i}", "Starting" if i < 1990 else "Failed") for i in range(2000)]
    for g in gangs:
        assert g.status is not None
        g.status.conditions = [long] * 6
    found = gang_summaries(gangs)
    explained = [g for g in found if g.conditions]
    assert len(explained) == 20
    assert sum(g.phase == "Failed" for g in explained) == 10
    assert len(codec.encode(status(gangs=gangs))) < 400_000


# Topology


def constrained(domain: str = "rack", **constraint: Any) -> SetLayout:
    return layout(clique(topologyConstraint={"pack": {"required": domain}, **constraint}))


BINDING = ClusterTopologyBinding(
    metadata=ObjectMeta(name="dc"),
    spec=ClusterTopologyBindingSpec(levels=[TopologyLevel(domain="rack", key="example.com/rack")]),
)


@pytest.mark.parametrize(
    ("of", "topology", "expected"),
    [
        (SHAPE, OFF, None),
        (constrained(), OFF, ("Unknown", "TopologyAwareSchedulingDisabled")),
        (SHAPE, ObservedTopology(True), ("False", "AllClusterTopologyLevelsAvailable")),
        (constrained(), ObservedTopology(True), ("Unknown", "TopologyNameMissing")),
        (constrained(topologyName="dc"), ObservedTopology(True), ("Unknown", "ClusterTopologyNotFound")),
        (
            constrained("host", topologyName="dc"),
            ObservedTopology(True, BINDING),
            ("True", "ClusterTopologyLevelsUnavailable"),
        ),
        (
            constrained(topologyName="dc"),
            ObservedTopology(True, BINDING),
            ("False", "AllClusterTopologyLevelsAvailable"),
        ),
    ],
)
def test_topology_levels(of: SetLayout, topology: ObservedTopology, expected: tuple[str, str] | None) -> None:
    found = find(status(of=of, topology=topology).conditions, "TopologyLevelsUnavailable")
    assert (found and (found.status, found.reason)) == expected


def test_the_levels_that_are_missing_are_named() -> None:
    both = layout(
        clique("a", topologyConstraint={"pack": {"required": "host", "preferred": "numa"}}),
        topologyConstraint={"topologyName": "dc", "pack": {"required": "rack"}},
    )
    found = find(
        status(of=both, topology=ObservedTopology(True, BINDING)).conditions, "TopologyLevelsUnavailable"
    )
    assert found is not None
    assert found.message.startswith("ClusterTopologyBinding dc has no level host, numa:")


def test_the_topology_condition_is_removed_with_the_last_constraint() -> None:
    before = PodCliqueSetStatus(conditions=[condition("Theirs"), condition("TopologyLevelsUnavailable")])
    assert [c.type for c in status(before=before).conditions] == ["Theirs"]


@given(
    st.lists(st.sampled_from([GOOD, BAD]), max_size=3),
    st.lists(
        st.builds(gang, st.sampled_from("abcdef"), st.sampled_from(["Running", "Failed", None])), max_size=4
    ),
    st.sampled_from([OFF, ObservedTopology(True), ObservedTopology(True, BINDING)]),
    st.sampled_from([None, PodCliqueSetUpdateProgress()]),
)
def test_computing_the_status_again_changes_nothing(
    summaries: list[ReplicaSummary],
    gangs: list[PodGang],
    topology: ObservedTopology,
    progress: PodCliqueSetUpdateProgress | None,
) -> None:
    of = constrained(topologyName="dc")
    now: PodCliqueSet = replace(pcs(), status=PodCliqueSetStatus(update_progress=progress))
    first = set_status(now, of, summaries, gangs, topology, NOW)
    assert set_status(replace(now, status=first), of, summaries, gangs, topology, LATER) == first
