"""How gangs, queues and topologies are translated for Volcano."""

from typing import Any

import pytest

from grove.api import PodCliqueSet, labels
from grove.api.config import SchedulerProfile, Schedulers
from grove.api.podgang import PodGang
from grove.api.serialization import codec
from grove.plan.gangs.membership import gang_members
from grove.plan.layout.set_layout import SetLayout
from grove.schedulers.registry import ConfigurationError, Registry
from grove.schedulers.types import Observation, Refusal
from grove.schedulers.volcano import Volcano
from tests.unit.api.sets import clique, pcs
from tests.unit.schedulers.gangs import (
    Json,
    check_golden,
    gang,
    group,
    packed,
    served,
    together,
    translated,
)

ZONE, RACK = "topology.kubernetes.io/zone", "example.com/rack"
QUEUE = "scheduling.grove.io/volcano-queue"
RACKS = {f"rack-{i}": {"spec": {"tier": 1, "tierName": RACK}} for i in range(2)}
TREE = RACKS | {"zone-a": {"spec": {"tier": 2, "tierName": ZONE}}}
REQUESTS = {
    "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1500m", "memory": "1Gi"}}}]
}

volcano = Volcano({})
admitting = Volcano({"minResources": True})

GANGS: dict[str, PodGang] = {
    "flat": gang(group("demo-0-worker", 4)),
    "groups": gang(
        group("demo-0-router", 1),
        group("demo-0-worker", 3),
        annotations={QUEUE: "team-a"},
        priorityClassName="inference",
    ),
    "nested": gang(
        group("demo-0-router", 1),
        group("demo-0-prefill", 2),
        group("demo-0-decode", 4),
        topologyConstraint=packed(required=ZONE),
        topologyConstraintGroupConfigs=[
            together("demo-0-pd-0", "demo-0-prefill", "demo-0-decode", pack={"required": RACK})
        ],
    ),
    "constraint-on-a-group": gang(group("demo-0-router", 1), group("demo-0-worker", 3, {"required": RACK})),
    "preferred": gang(group("demo-0-worker", 2), topologyConstraint=packed(preferred=RACK)),
    "minimum-zero": gang(group("demo-0-worker", 0)),
}


@pytest.mark.parametrize("name", GANGS)
def test_a_gang_becomes_a_pod_group(name: str) -> None:
    check_golden(f"volcano/{name}", translated(volcano, GANGS[name], served(volcano, hypernodes=TREE)))


def test_the_profile_decides_whether_a_pod_group_has_min_resources() -> None:
    found = gang(
        group("demo-0-worker", 2), annotations={labels.MIN_RESOURCES: '{"cpu":"3","memory":"2147483648"}'}
    )
    check_golden("volcano/min-resources", translated(admitting, found, served(admitting)))
    (without,) = volcano.translate(found, served(volcano))
    assert "minResources" not in without.body["spec"]


def test_an_annotation_of_a_gang_has_the_requests_of_its_minimum() -> None:
    found = pcs(
        clique("router", replicas=1, podSpec=REQUESTS),
        clique("worker", replicas=4, minAvailable=2, podSpec=REQUESTS),
        podCliqueScalingGroups=[
            {"name": "unit", "cliqueNames": ["worker"], "replicas": 2, "minAvailable": 1}
        ],
    )
    annotations = [
        admitting.gang_annotations(found, list(members.cliques.values()))[labels.MIN_RESOURCES]
        for members in gang_members(SetLayout(found), 0, {})
    ]
    gi = 2**30
    assert annotations == [f'{{"cpu":"4500m","memory":"{3 * gi}"}}', f'{{"cpu":"3","memory":"{2 * gi}"}}']
    assert list(volcano.gang_annotations(found, [])) == [labels.QUEUE]


@pytest.mark.parametrize(
    ("annotations", "settings", "queue"),
    [
        ({}, {}, "default"),
        ({}, {"queue": "house"}, "house"),
        ({QUEUE: " a "}, {"queue": "house"}, "a"),
        ({"scheduling.volcano.sh/queue-name": "b"}, {}, "b"),
        ({QUEUE: "a", "scheduling.volcano.sh/queue-name": "b"}, {}, "a"),
        ({QUEUE: "a", labels.QUEUE: "resolved"}, {}, "resolved"),
    ],
)
def test_annotation_or_profile_name_the_queue(annotations: Json, settings: Json, queue: str) -> None:
    backend = Volcano(settings)
    (made,) = backend.translate(gang(group("a", 1), annotations=annotations), served(backend))
    assert made.body["spec"]["queue"] == queue


def test_tiers_of_the_profile_take_precedence_over_hyper_nodes() -> None:
    backend = Volcano({"tiers": {RACK: 7}})
    found = gang(group("a", 1), topologyConstraint=packed(required=RACK))
    (made,) = backend.translate(found, served(backend, hypernodes=RACKS))
    assert made.body["spec"]["networkTopology"] == {"mode": "hard", "highestTierAllowed": 7}


IN_RACK = gang(group("a", 1), topologyConstraint=packed(required=RACK))
A_IN_RACK = gang(group("a", 1, {"required": RACK}))


@pytest.mark.parametrize(
    ("found", "missing", "objects", "message"),
    [
        (IN_RACK, (), {}, "do not exist"),
        (IN_RACK, (), {"hypernodes": {}}, "do not exist"),
        (
            IN_RACK,
            (),
            {"hypernodes": RACKS | {"x": {"spec": {"tier": 3, "tierName": RACK}}}},
            "are on the tiers 1, 3",
        ),
        (IN_RACK, ("spec.networkTopology",), {"hypernodes": RACKS}, "no spec.networkTopology"),
        (A_IN_RACK, ("spec.subGroupPolicy",), {"hypernodes": RACKS}, "no spec.subGroupPolicy"),
        (gang(group("a", 1)), (), {"queues": {"other": {}}}, "no Volcano queue 'default'"),
        (
            gang(
                group("a", 1),
                topologyConstraintGroupConfigs=[
                    together("g", "a", pack={"required": RACK}),
                    together("h", "a", pack={"required": RACK}),
                ],
            ),
            (),
            {"hypernodes": RACKS},
            "constraint groups 'g' and 'h'",
        ),
        (
            gang(
                group("a", 1, {"required": RACK}),
                topologyConstraintGroupConfigs=[together("g", "a", pack={"required": ZONE})],
            ),
            (),
            {"hypernodes": TREE},
            "only one for each pod",
        ),
    ],
)
def test_a_required_topology_that_volcano_cannot_keep_is_refused(
    found: PodGang, missing: tuple[str, ...], objects: Any, message: str
) -> None:
    with pytest.raises(Refusal, match=message):
        volcano.translate(found, served(volcano, *missing, **objects))


@pytest.mark.parametrize(
    ("found", "missing", "shortfall"),
    [
        (GANGS["nested"], (), ""),
        (GANGS["preferred"], (), ""),
        (GANGS["preferred"], ("spec.networkTopology",), "preferred topology levels have no effect"),
        (
            gang(
                group("a", 1, {"preferred": RACK}),
                topologyConstraintGroupConfigs=[together("g", "a", pack={"required": RACK})],
            ),
            (),
            "that of a itself has no effect",
        ),
    ],
)
def test_the_shortfall_names_preferences_without_effect(
    found: PodGang, missing: tuple[str, ...], shortfall: str
) -> None:
    cluster = served(volcano, *missing, hypernodes=TREE)
    assert volcano.translate(found, cluster)
    actual = volcano.shortfall(found, cluster)
    assert shortfall in actual if shortfall else actual == ""


def test_pods_without_requests_are_a_problem() -> None:
    (problem,) = volcano.validate(pcs())
    assert not problem.warning
    assert problem.path[-1] == "requests"


def test_an_invalid_quantity_is_a_problem() -> None:
    (problem,) = volcano.validate(with_resources({"requests": {"cpu": "lots"}}))
    assert "lots" in problem.detail


def test_limits_count_as_requests() -> None:
    assert list(volcano.validate(with_resources({"limits": {"cpu": "1"}}))) == []


def test_a_minimum_below_replicas_under_a_required_topology_gives_a_warning() -> None:
    near = {"topologyName": "floor", "pack": {"required": "rack"}}
    (problem,) = volcano.validate(
        pcs(clique(replicas=3, minAvailable=2, podSpec=REQUESTS, topologyConstraint=near))
    )
    assert problem.warning
    assert list(volcano.validate(pcs(clique(replicas=3, podSpec=REQUESTS, topologyConstraint=near)))) == []


UNSCHEDULABLE = {
    "type": "Unschedulable",
    "reason": "NotEnoughResources",
    "message": "2/4 tasks in gang unschedulable",
    "lastTransitionTime": "2026-01-01T00:00:02Z",
}
SCHEDULED = {"type": "Scheduled", "lastTransitionTime": "2026-01-01T00:00:01Z"}
INITIALIZED = [
    {
        "type": "Initialized",
        "status": "True",
        "reason": "PodGangPodsCreated",
        "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
]


@pytest.mark.parametrize(
    ("conditions", "status", "reason"),
    [
        ([], {"phase": "Inqueue", "conditions": [UNSCHEDULABLE]}, ""),
        (INITIALIZED, {"phase": "Inqueue", "conditions": [UNSCHEDULABLE]}, "NotEnoughResources"),
        (INITIALIZED, {"phase": "Unknown", "conditions": [SCHEDULED, UNSCHEDULABLE]}, "NotEnoughResources"),
        (
            INITIALIZED,
            {
                "phase": "Running",
                "conditions": [UNSCHEDULABLE, SCHEDULED | {"lastTransitionTime": "2026-01-01T00:00:03Z"}],
            },
            "",
        ),
        (INITIALIZED, {"phase": "Pending"}, "WaitingForAdmission"),
        (INITIALIZED, {}, "WaitingForAdmission"),
    ],
)
def test_the_observation_is_the_newest_condition_of_an_initialized_gang(
    conditions: list[Json], status: Json, reason: str
) -> None:
    found = gang(group("a", 1), status={"phase": "Pending", "conditions": conditions})
    assert volcano.observe(found, [{"spec": {"queue": "q"}, "status": status}]).reason == reason
    assert volcano.observe(found, []) == Observation()


def test_an_error_names_the_unknown_setting() -> None:
    profile = SchedulerProfile(name="volcano", config=codec.raw({"tier": {}}))
    with pytest.raises(ConfigurationError, match=r"volcano.*tier"):
        Registry(Schedulers(profiles=[profile]), {"volcano": Volcano})


def with_resources(resources: Json) -> PodCliqueSet:
    return pcs(clique(podSpec={"containers": [{"name": "c", "image": "i", "resources": resources}]}))
