"""How gangs, queues and topologies are translated for KAI."""

from typing import Any

import pytest

from grove.api import ClusterTopologyBinding, labels, names
from grove.api.conditions import Reason
from grove.api.config import SchedulerProfile, Schedulers
from grove.api.podgang import PodGang
from grove.api.serialization import codec
from grove.plan.gangs.membership import gang_members
from grove.plan.layout.set_layout import SetLayout
from grove.plan.objects.pod_draft import PodDraft
from grove.plan.objects.podgangs import pod_gang
from grove.schedulers.kai import Kai
from grove.schedulers.registry import ConfigurationError, Registry, Selection
from grove.schedulers.types import Observation, Refusal
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

ZONE, RACK, HOST = "topology.kubernetes.io/zone", "example.com/rack", "kubernetes.io/hostname"
TOPOLOGY = {labels.TOPOLOGY_NAME: "floor"}
LEVELS = [{"domain": "zone", "key": ZONE}, {"domain": "rack", "key": RACK}, {"domain": "host", "key": HOST}]

kai = Kai({})

GANGS: dict[str, PodGang] = {
    "flat": gang(group("demo-0-worker", 4)),
    "groups": gang(
        group("demo-0-router", 1),
        group("demo-0-worker", 3),
        tags={"kai.scheduler/queue": "team-a", "team": "a"},
        priorityClassName="inference",
    ),
    "nested": gang(
        group("demo-0-router", 1),
        group("demo-0-pd-0-prefill", 2),
        group("demo-0-pd-0-decode", 4, {"preferred": HOST}),
        annotations=TOPOLOGY,
        topologyConstraint=packed(required=ZONE),
        topologyConstraintGroupConfigs=[
            together("demo-0-pd-0", "demo-0-pd-0-prefill", "demo-0-pd-0-decode", pack={"required": RACK})
        ],
    ),
    "preferred-only": gang(
        group("demo-0-worker", 2), annotations=TOPOLOGY, topologyConstraint=packed(preferred=RACK)
    ),
    "empty-and-equal-constraints": gang(
        group("demo-0-a", 2, {}),
        group("demo-0-b", 2, {"required": RACK, "preferred": RACK}),
        annotations={labels.TOPOLOGY_NAME: "floor", labels.SCHEDULER_TOPOLOGY: "theirs"},
    ),
    "name-collision": gang(
        group("demo-0-pd-0", 1),
        group("demo-0-pd-0-x", 1),
        annotations=TOPOLOGY,
        topologyConstraintGroupConfigs=[together("demo-0-pd-0", "demo-0-pd-0-x", pack={"required": RACK})],
    ),
    "user-annotations": gang(
        group("demo-0-worker", 2),
        tags={"kai.scheduler/preemptibility": "preemptible", "kai.scheduler/node-pool": "blue"},
        annotations={
            "kai.scheduler/queue": "team-b",
            "kai.scheduler/preemption-delay": "30s",
            "kai.scheduler/staleness-grace-period": "10m",
        },
    ),
}


@pytest.mark.parametrize("name", GANGS)
def test_a_gang_becomes_a_pod_group(name: str) -> None:
    check_golden(f"kai/{name}", translated(kai, GANGS[name], served(kai)))


def test_an_old_kai_gets_only_the_fields_that_it_has() -> None:
    old = (
        "spec.minSubGroup",
        "spec.subGroups.minSubGroup",
        "spec.preemptionDelay",
        "spec.stalenessGracePeriod",
    )
    cluster = served(kai, *old)
    check_golden("kai/nested-0.12", translated(kai, GANGS["nested"], cluster))
    assert "podgrouper" in kai.shortfall(GANGS["nested"], cluster)
    assert kai.shortfall(GANGS["nested"], served(kai)) == ""


def test_the_binding_becomes_a_topology() -> None:
    binding = {"metadata": {"name": "floor"}, "spec": {"levels": LEVELS}}
    made = kai.topology_object(codec.decode(codec.encode(binding), ClusterTopologyBinding))
    check_golden("kai/topology", [{"kind": made.kind.kind, **made.body}])
    assert made.immutable_fields == ("spec.levels",)


def test_gangs_of_one_name_in_two_namespaces_do_not_share_a_pod_group() -> None:
    one, other = names.kai_pod_group("demo-0", "uid-1"), names.kai_pod_group("demo-0", "uid-2")
    assert one != other


@pytest.mark.parametrize(
    ("tags", "annotations", "settings", "queue"),
    [
        ({}, {}, {}, "default-queue"),
        ({}, {}, {"queue": "house"}, "house"),
        ({}, {"kai.scheduler/queue": "b"}, {"queue": "house"}, "b"),
        ({"kai.scheduler/queue": "a"}, {"kai.scheduler/queue": "b"}, {}, "a"),
        ({"kai.scheduler/queue": "a"}, {labels.QUEUE: "resolved"}, {}, "resolved"),
    ],
)
def test_label_annotation_or_profile_name_the_queue(
    tags: Json, annotations: Json, settings: Json, queue: str
) -> None:
    backend = Kai(settings)
    found = gang(group("demo-0-worker", 1), tags=tags, annotations=annotations)
    (made,) = backend.translate(found, served(backend))
    assert made.body["spec"]["queue"] == queue


@pytest.mark.parametrize(
    ("of_set", "of_cliques", "queue"),
    [("", ("", ""), "default-queue"), ("a", ("", ""), "a"), ("a", ("a", ""), "a"), ("", ("", "b"), "b")],
)
def test_a_queue_on_cliques_reaches_all_gangs(of_set: str, of_cliques: tuple[str, str], queue: str) -> None:
    found = tagged(
        of_set, of_cliques, podCliqueScalingGroups=[{"name": "g", "cliqueNames": ["c0"], "replicas": 2}]
    )
    assert list(kai.validate(found)) == []
    layout, selection = SetLayout(found), Selection(kai, "kai-scheduler")
    gangs = [pod_gang(layout, m, selection.scheduling(layout, m, None)) for m in gang_members(layout, 0, {})]
    assert [g.metadata.annotations[labels.QUEUE] for g in gangs] == [queue, queue]
    assert kai.claim_labels(found) == {"kai.scheduler/queue": queue}


@pytest.mark.parametrize(("of_set", "of_cliques"), [("a", ("b", "")), ("", ("a", "b"))])
def test_cliques_that_name_different_queues_are_a_problem(of_set: str, of_cliques: tuple[str, str]) -> None:
    (problem,) = kai.validate(tagged(of_set, of_cliques))
    assert not problem.warning
    assert "one queue" in problem.detail


@pytest.mark.parametrize(
    ("metadata", "field"),
    [
        ({"labels": {"kai.scheduler/preemptibility": "perhaps"}}, "kai.scheduler/preemptibility"),
        ({"annotations": {"kai.scheduler/preemption-delay": "soon"}}, "kai.scheduler/preemption-delay"),
        ({"annotations": {"kai.scheduler/preemption-delay": "-1s"}}, "kai.scheduler/preemption-delay"),
        (
            {"annotations": {"kai.scheduler/staleness-grace-period": "x"}},
            "kai.scheduler/staleness-grace-period",
        ),
    ],
)
def test_values_that_kai_does_not_support_are_problems(metadata: Json, field: str) -> None:
    found = pcs()
    for kind, tags in metadata.items():
        getattr(found.metadata, kind).update(tags)
    (problem,) = kai.validate(found)
    assert problem.path[-1] == field


def test_a_negative_staleness_means_never_and_is_valid() -> None:
    found = pcs()
    found.metadata.annotations["kai.scheduler/staleness-grace-period"] = "-1s"
    assert list(kai.validate(found)) == []


@pytest.mark.parametrize(
    ("found", "missing", "message"),
    [
        (gang(group("a", 0)), (), "minimum of 0"),
        (gang(group("a", 1), topologyConstraint=packed(required=RACK)), (), "names no topology"),
        (
            gang(group("a", 1), topologyConstraintGroupConfigs=[together("g", "a"), together("h", "a")]),
            (),
            "is also in 'g'",
        ),
        (gang(group("a", 1), topologyConstraintGroupConfigs=[together("g", "b")]), (), "does not exist"),
        (gang(group("a", 1)), ("spec.subGroups",), "upgrade KAI"),
        (
            gang(group("a", 1), topologyConstraintGroupConfigs=[together("g", "a")]),
            ("spec.subGroups.parent",),
            "no spec.subGroups.parent",
        ),
    ],
)
def test_a_gang_that_kai_cannot_serve_is_refused(
    found: PodGang, missing: tuple[str, ...], message: str
) -> None:
    with pytest.raises(Refusal, match=message):
        kai.translate(found, served(kai, *missing))


def test_a_queue_that_does_not_exist_is_refused_if_queues_can_be_read() -> None:
    with pytest.raises(Refusal, match="no KAI queue 'default-queue'") as refused:
        kai.translate(GANGS["flat"], served(kai, queues={"other": {}}))
    assert refused.value.reason == Reason.QUEUE_MISSING
    assert kai.translate(GANGS["flat"], served(kai, queues={"default-queue": {}}))


def test_some_fields_of_a_pod_group_are_not_owned() -> None:
    (made,) = kai.translate(GANGS["flat"], served(kai))
    assert not any(
        p == "spec" or "markUnschedulable" in p or "schedulingBackoff" in p for p in made.owned_fields
    )


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        ([], Observation()),
        (
            [condition := {"type": "UnschedulableOnNodePool", "status": "True", "reason": "Unschedulable"}],
            Observation("Unschedulable", ""),
        ),
        (
            [
                condition | {"transitionID": "9", "reasons": [{"reason": "Old", "message": "old"}]},
                condition
                | {
                    "transitionID": "10",
                    "reasons": [
                        {"reason": "OverLimit", "message": "queue is full"},
                        {"reason": "PodSchedulingErrors", "message": "no node"},
                    ],
                },
            ],
            Observation("OverLimit", "queue is full; no node"),
        ),
    ],
)
def test_the_observation_is_the_latest_condition_of_the_pod_group(
    conditions: list[Json], expected: Observation
) -> None:
    found: Any = {"status": {"schedulingConditions": conditions}}
    assert kai.observe(GANGS["flat"], [found]) == expected
    assert kai.observe(GANGS["flat"], [{}]) == Observation()


def test_an_error_names_the_unknown_setting() -> None:
    profile = SchedulerProfile(name="kai-scheduler", config=codec.raw({"que": "a"}))
    with pytest.raises(ConfigurationError, match=r"kai-scheduler.*que"):
        Registry(Schedulers(profiles=[profile]), {"kai": Kai})


def test_it_matches_both_scheduler_names() -> None:
    assert [n for n in ("kai-scheduler", "grove-scheduler", "default-scheduler", "") if kai.matches(n)] == [
        "kai-scheduler",
        "grove-scheduler",
    ]
    draft = PodDraft("grove-scheduler", kai.gate)
    kai.prepare_pod(GANGS["flat"], GANGS["flat"].spec.pod_groups[0], draft)
    assert draft.scheduler_name == "kai-scheduler"


def tagged(of_set: str, of_cliques: tuple[str, str], **template: Any) -> Any:
    key = "kai.scheduler/queue"
    cliques = [clique(f"c{i}", labels={key: q} if q else {}) for i, q in enumerate(of_cliques)]
    found = pcs(*cliques, **template)
    if of_set:
        found.metadata.annotations[key] = of_set
    return found
