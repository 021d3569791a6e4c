"""A PodGang carries the user's metadata, the topology in node labels, and the decisions of its backend."""

from typing import Any

import pytest

from grove.api import ClusterTopologyBinding, PodGang, labels
from grove.api.meta import ObjectMeta
from grove.api.podgang import GangTopologyConstraint, NamespacedName
from grove.api.serialization.model import replace
from grove.api.topology import ClusterTopologyBindingSpec, TopologyLevel
from grove.plan.gangs.membership import gang_members
from grove.plan.layout.set_layout import SetLayout
from grove.plan.objects.podgangs import GangScheduling, keep_decided, pod_gang
from tests.unit.api.sets import clique
from tests.unit.plan.samples import Json, layout, with_uid

BINDING = ClusterTopologyBinding(
    metadata=ObjectMeta(name="floor"),
    spec=ClusterTopologyBindingSpec(
        levels=[
            TopologyLevel(domain="zone", key="example.com/zone"),
            TopologyLevel(domain="rack", key="example.com/rack"),
        ]
    ),
)
PLAIN = GangScheduling("kube", "default")
AWARE = GangScheduling("kube", "default", BINDING)


def constraint(**pack: str) -> Json:
    return {"topologyName": "floor", "pack": pack}


def grouped(
    of_set: Json | None = None, of_group: Json | None = None, of_clique: Json | None = None
) -> SetLayout:
    """A router, and a scaling group with one copy in the base gang and one scaled gang."""
    group: Json = {"name": "g", "cliqueNames": ["worker"], "replicas": 2, "minAvailable": 1}
    template: Json = {
        "podCliqueScalingGroups": [group | ({"topologyConstraint": of_group} if of_group else {})]
    }
    if of_set:
        template["topologyConstraint"] = of_set
    own = {"topologyConstraint": of_clique} if of_clique else {}
    return layout(
        clique("router", replicas=1), clique("worker", replicas=3, minAvailable=2, **own), **template
    )


def gangs(of: SetLayout, scheduling: GangScheduling = PLAIN) -> list[PodGang]:
    return [pod_gang(of, members, scheduling) for members in gang_members(of, 0, {})]


def packed(found: GangTopologyConstraint | None) -> tuple[str | None, str | None] | None:
    pack = found.pack_constraint if found is not None else None
    return (pack.required, pack.preferred) if pack is not None else None


def test_a_gang_has_a_group_for_each_clique_with_its_minimum_and_names_no_pods() -> None:
    base, scaled = gangs(grouped())
    assert [(g.name, g.min_replicas, g.pod_references) for g in base.spec.pod_groups] == [
        ("train-0-router", 1, []),
        ("train-0-g-0-worker", 2, []),
    ]
    assert [(g.name, g.min_replicas) for g in scaled.spec.pod_groups] == [("train-0-g-1-worker", 2)]
    assert scaled.metadata.owner_references == base.metadata.owner_references == [grouped().owner]


def test_labels_and_annotations_of_the_user_pass_to_the_gang_but_those_of_grove_do_not() -> None:
    of = grouped()
    metadata = replace(
        of.pcs.metadata,
        labels={"team": "a", "grove.io/mine": "x", labels.PART_OF: "lie"},
        annotations={"note": "b", "grove.io/mine": "x", labels.GANG_GUARANTEE: "strict"},
    )
    gang, *_ = gangs(SetLayout(with_uid(replace(of.pcs, metadata=metadata))))
    assert gang.metadata.labels == of.labels | {
        "team": "a",
        labels.COMPONENT: labels.ComponentLabel.POD_GANG,
        labels.SCHEDULER_NAME: "kube",
        labels.SCHEDULER_BACKEND: "default",
    }
    assert gang.metadata.annotations == {"note": "b", labels.GANG_GUARANTEE: "strict"}


def test_annotations_of_the_backend_override_those_of_the_user() -> None:
    scheduling = GangScheduling("kube", "default", annotations={"queue": "of the backend"})
    gang, *_ = gangs(grouped(), scheduling)
    assert gang.metadata.annotations == {"queue": "of the backend"}


@pytest.mark.parametrize(
    ("of_set", "of_backend", "expected"), [("high", "low", "high"), ("", "low", "low"), ("", None, None)]
)
def test_the_priority_class_of_the_set_comes_before_that_of_the_backend(
    of_set: str, of_backend: str | None, expected: str | None
) -> None:
    of = layout(clique("w"), **({"priorityClassName": of_set} if of_set else {}))
    (gang,) = gangs(of, GangScheduling("kube", "default", priority_class=of_backend))
    assert gang.spec.priority_class_name == expected


RACK, ZONE = constraint(required="rack"), constraint(preferred="zone")


@pytest.mark.parametrize(
    ("given", "base", "copies", "scaled"),
    [
        ((None, None, None), None, [], None),
        ((RACK, None, None), ("example.com/rack", None), [], ("example.com/rack", None)),
        ((None, RACK, None), None, [("example.com/rack", None)], ("example.com/rack", None)),
        (
            (ZONE, RACK, None),
            (None, "example.com/zone"),
            [("example.com/rack", None)],
            ("example.com/rack", None),
        ),
        ((constraint(required="row"), None, None), None, [], None),
        ((None, constraint(required="row"), None), None, [None], None),
    ],
    ids=["none", "set", "group", "set and group", "unknown level", "unknown level of a group"],
)
def test_constraints_of_set_and_group_become_node_labels(
    given: tuple[Json | None, ...], base: Any, copies: list[Any], scaled: Any
) -> None:
    of_base, of_copy = gangs(grouped(*given), AWARE)
    assert packed(of_base.spec.topology_constraint) == base
    assert [packed(c.topology_constraint) for c in of_base.spec.topology_constraint_group_configs] == copies
    assert packed(of_copy.spec.topology_constraint) == scaled
    assert of_copy.spec.topology_constraint_group_configs == []


def test_a_constraint_of_a_clique_is_on_its_group() -> None:
    base, scaled = gangs(grouped(of_clique=RACK), AWARE)
    assert [packed(g.topology_constraint) for g in base.spec.pod_groups] == [None, ("example.com/rack", None)]
    assert [packed(g.topology_constraint) for g in scaled.spec.pod_groups] == [("example.com/rack", None)]


def test_a_constrained_copy_names_its_cliques() -> None:
    base, _ = gangs(grouped(of_group=RACK), AWARE)
    (copy,) = base.spec.topology_constraint_group_configs
    assert (copy.name, copy.pod_group_names) == ("train-0-g-0", ["train-0-g-0-worker"])


@pytest.mark.parametrize("level", range(3))
def test_without_a_topology_there_are_no_constraints(level: int) -> None:
    given = [RACK if n == level else None for n in range(3)]
    for gang in gangs(grouped(*given), PLAIN):
        assert gang.spec.topology_constraint is None
        assert gang.spec.topology_constraint_group_configs == []
        assert [g.topology_constraint for g in gang.spec.pod_groups if g.topology_constraint] == []
        assert labels.TOPOLOGY_NAME not in gang.metadata.annotations


@pytest.mark.parametrize(
    ("given", "base", "scaled"),
    [
        ((None, None, None), False, False),
        ((RACK, None, None), True, True),
        ((None, RACK, None), True, True),
        ((None, None, RACK), True, True),
        ((constraint(required="row"), None, None), False, False),
    ],
)
def test_only_a_gang_with_a_constraint_names_its_topology(
    given: tuple[Json | None, ...], base: bool, scaled: bool
) -> None:
    named = [labels.TOPOLOGY_NAME in g.metadata.annotations for g in gangs(grouped(*given), AWARE)]
    assert named == [base, scaled]


@pytest.mark.parametrize(("own", "expected"), [("", "floor"), ("racks", "racks")])
def test_the_topology_object_of_the_scheduler_may_have_another_name(own: str, expected: str) -> None:
    gang, *_ = gangs(grouped(RACK), GangScheduling("kube", "default", BINDING, own))
    assert gang.metadata.annotations == {labels.TOPOLOGY_NAME: "floor", labels.SCHEDULER_TOPOLOGY: expected}


@pytest.mark.parametrize(("pins_priority", "priority"), [(True, "old"), (False, "new")])
def test_an_existing_gang_keeps_the_pods_that_it_names_and_its_pinned_priority(
    pins_priority: bool, priority: str
) -> None:
    """The existing gang names pods of one group that it still has, and of one that is gone."""
    existing, *_ = gangs(grouped(), GangScheduling("kube", "default", priority_class="old"))
    references = [NamespacedName(namespace="default", name="pod-0")]
    existing.spec.pod_groups[0].name = "train-0-gone"
    existing.spec.pod_groups[1].pod_references = references
    gang, *_ = gangs(grouped(), GangScheduling("kube", "default", priority_class="new"))
    kept = keep_decided(gang, existing, pins_priority=pins_priority)
    assert [(g.name, g.pod_references) for g in kept.spec.pod_groups] == [
        ("train-0-router", []),
        ("train-0-g-0-worker", references),
    ]
    assert kept.spec.priority_class_name == priority
