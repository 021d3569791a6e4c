"""How gangs, quotas and topologies are translated for Koordinator."""

import json
from typing import Any

import msgspec
import pytest

from grove.api import ClusterTopologyBinding, labels
from grove.api.conditions import Reason
from grove.api.pod_view import Pod, PodMetadata, PodSpec, PodStatus, SchedulingGate
from grove.api.podgang import PodGang
from grove.api.serialization import codec
from grove.plan.objects.pod_draft import PodDraft
from grove.schedulers.koordinator import Koordinator
from grove.schedulers.koordinator.backend import (
    KOORDINATOR_POD_GROUPS,
    LINK,
    MEMBERS_GATED,
    MEMBERS_UNGATED,
    POD_GROUPS,
)
from grove.schedulers.koordinator.topology import TOPOLOGIES
from grove.schedulers.types import Refusal, Served
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
PREFIX = "gang.scheduling.koordinator.sh"
QUOTA = "quota.scheduling.koordinator.sh/name"
GATED_STATUS = {
    "phase": "Pending",
    "conditions": [
        {
            "type": "SchedulerDialect",
            "status": "True",
            "reason": MEMBERS_GATED,
            "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }
    ],
}
TREE: Json = {
    "spec": {
        "networkTopologySpec": [
            {"topologyLayer": "ZoneLayer", "labelKey": [ZONE]},
            {"topologyLayer": "RackLayer", "parentTopologyLayer": "ZoneLayer", "labelKey": [RACK]},
            {"topologyLayer": "NodeTopologyLayer", "parentTopologyLayer": "RackLayer"},
        ]
    }
}

koordinator = Koordinator({})
aware = Koordinator({"networkTopology": "existing"})
with_tree = served(aware, clusternetworktopologies={"default": TREE})

GANGS: dict[str, PodGang] = {
    "flat": gang(group("demo-0-worker", 4)),
    "groups": gang(
        group("demo-0-worker", 3),
        group("demo-0-router", 1),
        tags={QUOTA: "team-a", "quota.scheduling.koordinator.sh/tree-id": "tree-1", "team": "a"},
        priorityClassName="inference",
    ),
    "groups-gated": gang(group("demo-0-worker", 3), group("demo-0-router", 1), status=GATED_STATUS),
    "minimum-zero": gang(group("demo-0-spare", 0), group("demo-0-worker", 2)),
    "user-annotations": gang(
        group("demo-0-worker", 2),
        annotations={
            f"{PREFIX}/mode": "NonStrict",
            f"{PREFIX}/match-policy": "once-satisfied",
            f"{PREFIX}/waiting-time": "90s",
        },
    ),
}
CONSTRAINED: dict[str, PodGang] = {
    "required-and-preferred": gang(
        group("demo-0-worker", 2),
        group("demo-0-router", 1),
        topologyConstraint=packed(required=ZONE, preferred=HOST),
    ),
    "constraint-on-the-only-group": gang(group("demo-0-worker", 2, {"required": RACK})),
    "constraint-on-all-groups": gang(
        group("demo-0-a", 2),
        group("demo-0-b", 2),
        topologyConstraint=packed(required=ZONE),
        topologyConstraintGroupConfigs=[
            together("demo-0-u-0", "demo-0-a", "demo-0-b", pack={"required": RACK})
        ],
    ),
}


@pytest.mark.parametrize("name", GANGS)
def test_a_gang_becomes_pod_groups_that_are_tied_together(name: str) -> None:
    check_golden(f"koordinator/{name}", translated(koordinator, GANGS[name], served(koordinator)))


@pytest.mark.parametrize("name", CONSTRAINED)
def test_a_constraint_on_the_whole_gang_becomes_a_network_topology(name: str) -> None:
    check_golden(f"koordinator/{name}", translated(aware, CONSTRAINED[name], with_tree))


def test_the_binding_becomes_the_cluster_network_topology_if_grove_manages_it() -> None:
    levels = [
        {"domain": "zone", "key": ZONE},
        {"domain": "rack", "key": RACK},
        {"domain": "host", "key": HOST},
    ]
    binding = {"metadata": {"name": "floor"}, "spec": {"levels": levels}}
    managing = Koordinator({"networkTopology": "managed"})
    assert [b.topology_kind for b in (managing, aware, koordinator)] == [TOPOLOGIES, None, None]
    made = managing.topology_object(codec.decode(codec.encode(binding), ClusterTopologyBinding))
    check_golden("koordinator/topology", [{"kind": made.kind.kind, **made.body}])


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        ([], POD_GROUPS),
        ([POD_GROUPS], POD_GROUPS),
        ([KOORDINATOR_POD_GROUPS], KOORDINATOR_POD_GROUPS),
        ([KOORDINATOR_POD_GROUPS, POD_GROUPS], POD_GROUPS),
    ],
)
def test_the_pod_group_kind_is_served_and_preferably_the_one_that_the_scheduler_watches(
    kinds: Any, expected: Any
) -> None:
    cluster = Served(fields=dict.fromkeys(kinds, frozenset()))
    assert {o.kind for o in koordinator.translate(GANGS["groups"], cluster)} == {expected}


@pytest.mark.parametrize("name", ["koord-scheduler", "my-koord-scheduler-2", "koordinator"])
def test_it_matches_any_name_with_koord_in_it(name: str) -> None:
    assert koordinator.matches(name)
    assert not koordinator.matches("default-scheduler")


def test_surplus_pods_have_quota_and_priority_and_no_pod_group() -> None:
    found = GANGS["groups"]
    draft = PodDraft("koord-scheduler", koordinator.gate)
    koordinator.prepare_surplus_pod(found, found.spec.pod_groups[0], draft)
    assert LINK not in draft.labels
    assert draft.labels[QUOTA] == "team-a"
    assert draft.spec == {"priorityClassName": "inference"}


def test_a_quota_that_does_not_exist_is_refused_if_quotas_can_be_read() -> None:
    with pytest.raises(Refusal, match="no ElasticQuota 'team-a'") as refused:
        koordinator.translate(GANGS["groups"], served(koordinator, elasticquotas={"other": {}}))
    assert refused.value.reason == Reason.QUEUE_MISSING
    assert koordinator.translate(GANGS["groups"], served(koordinator, elasticquotas={"team-a": {}}))
    assert koordinator.translate(GANGS["groups"], served(koordinator))
    assert koordinator.translate(GANGS["flat"], served(koordinator, elasticquotas={}))


def test_a_name_that_is_too_long_for_a_label_is_shortened_and_stays_unique() -> None:
    long = ["x" * 63 + c for c in "ab"]
    found = gang(*(group(name, 1) for name in long))
    made = [o.name for o in koordinator.translate(found, served(koordinator))]
    assert len(set(made)) == 2
    assert all(len(name) <= 63 for name in made)
    for part, name in zip(found.spec.pod_groups, sorted(made), strict=True):
        draft = PodDraft("koord-scheduler", koordinator.gate)
        koordinator.prepare_pod(found, part, draft)
        assert draft.labels[LINK] in made, name


def pod(
    index: int, *, gated: bool = False, node: str = "", linked: bool = True, phase: str = "Pending"
) -> Pod:
    return Pod(
        metadata=PodMetadata(
            name=f"demo-0-worker-{index}", labels={LINK: "demo-0-worker"} if linked else {"other": "1"}
        ),
        spec=PodSpec(
            node_name=node or None,
            hostname=f"demo-0-worker-{index}",
            scheduling_gates=(SchedulingGate(name=koordinator.gate),) if gated else (),
        ),
        status=PodStatus(phase=phase),
    )


@pytest.mark.parametrize(
    ("pods", "word"),
    [
        ([], MEMBERS_GATED),
        ([pod(0, gated=True), pod(1, gated=True)], MEMBERS_GATED),
        ([pod(0), pod(1, gated=True)], MEMBERS_GATED),
        ([pod(0), pod(1)], MEMBERS_UNGATED),
        ([pod(0, node="a"), pod(1, node="a")], MEMBERS_UNGATED),
        # A replacement that waits alone starts an attempt without others.
        ([pod(0, node="a"), pod(1, gated=True)], MEMBERS_UNGATED),
        # Two that wait start one together.
        ([pod(0), pod(1, gated=True), pod(2, node="a")], MEMBERS_GATED),
        # Surplus pods and dead pods are no members.
        ([pod(0), pod(1), pod(2, gated=True, linked=False)], MEMBERS_UNGATED),
        ([pod(0), pod(1), pod(2, gated=True, phase="Failed")], MEMBERS_UNGATED),
    ],
)
def test_a_gang_is_blocked_while_an_attempt_would_include_gated_members(pods: list[Pod], word: str) -> None:
    assert koordinator.dialect(GANGS["flat"], pods, Served()) == word


def test_the_link_of_a_member_without_its_label_is_broken() -> None:
    found = GANGS["flat"]
    part = found.spec.pod_groups[0]
    assert koordinator.broken_link(found, part, pod(0)) == ""
    assert "lost its label" in koordinator.broken_link(found, part, pod(0, linked=False))
    assert koordinator.broken_link(found, part, pod(4, linked=False)) == ""


def without_tree(**more: Json) -> Served:
    return served(aware, clusternetworktopologies=more)


@pytest.mark.parametrize(
    ("backend", "cluster", "found", "expected"),
    [
        (
            koordinator,
            served(koordinator),
            CONSTRAINED["constraint-on-the-only-group"],
            "not set up for Koordinator",
        ),
        (aware, served(aware), CONSTRAINED["constraint-on-the-only-group"], "no permission to read it"),
        (
            aware,
            without_tree(),
            CONSTRAINED["constraint-on-the-only-group"],
            "there is no ClusterNetworkTopology 'default'",
        ),
        (
            aware,
            without_tree(default={"spec": {"networkTopologySpec": TREE["spec"]["networkTopologySpec"][1:]}}),
            CONSTRAINED["constraint-on-the-only-group"],
            "not one chain",
        ),
        (aware, with_tree, gang(group("a", 1), topologyConstraint=packed(required="no/such")), "no layer"),
        (aware, with_tree, gang(group("a", 1, {"required": RACK}), group("b", 1)), "only whole gangs"),
        (
            aware,
            with_tree,
            gang(
                group("a", 1),
                group("b", 1),
                topologyConstraintGroupConfigs=[together("u", "a", pack={"required": RACK})],
            ),
            "only whole gangs",
        ),
    ],
)
def test_a_required_constraint_that_koordinator_cannot_keep_is_refused(
    backend: Koordinator, cluster: Served, found: PodGang, expected: str
) -> None:
    with pytest.raises(Refusal, match=expected):
        backend.translate(found, cluster)


def test_a_preference_that_koordinator_cannot_keep_is_dropped_and_reported() -> None:
    found = gang(group("a", 1, {"preferred": RACK}), group("b", 1), topologyConstraint=packed(preferred=ZONE))
    (one, _) = aware.translate(found, with_tree)
    spec = json.loads(one.body["metadata"]["annotations"][f"{PREFIX}/network-topology-spec"])
    assert spec == {"gatherStrategy": [{"layer": "ZoneLayer", "strategy": "PreferGather"}]}
    assert aware.shortfall(found, with_tree).startswith("the preference to pack pod group 'a'")
    (one, _) = koordinator.translate(found, served(koordinator))
    assert f"{PREFIX}/network-topology-spec" not in one.body["metadata"]["annotations"]
    assert koordinator.shortfall(found, served(koordinator)).count("is dropped") == 2


def test_the_shortfall_says_that_replacements_may_leave_a_required_domain() -> None:
    assert "replace lost ones" in aware.shortfall(CONSTRAINED["constraint-on-the-only-group"], with_tree)
    assert aware.shortfall(GANGS["groups"], with_tree) == ""


def test_an_annotation_of_a_removed_constraint_is_owned_and_so_removed() -> None:
    (made,) = koordinator.translate(GANGS["flat"], served(koordinator))
    assert f"metadata.annotations.{PREFIX}/network-topology-spec" in made.owned_fields


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"quta": "a"}, "quta"),
        ({"mode": "Loose"}, "mode"),
        ({"matchPolicy": "sometimes"}, "matchPolicy"),
        ({"scheduleTimeoutSeconds": 0}, "scheduleTimeoutSeconds"),
        ({"scheduleTimeoutSeconds": 901}, "scheduleTimeoutSeconds"),
        ({"networkTopology": True}, "networkTopology"),
    ],
)
def test_an_error_names_the_wrong_setting(settings: Json, expected: str) -> None:
    with pytest.raises(msgspec.ValidationError, match=expected):
        Koordinator(settings)


def test_settings_are_defaults_for_sets_without_annotations() -> None:
    house = Koordinator(
        {"quota": "house", "mode": "NonStrict", "matchPolicy": "only-waiting", "scheduleTimeoutSeconds": 60}
    )
    (made,) = house.translate(GANGS["flat"], served(house))
    assert made.body["metadata"]["annotations"][f"{PREFIX}/mode"] == "NonStrict"
    assert made.body["metadata"]["annotations"][f"{PREFIX}/match-policy"] == "only-waiting"
    assert made.body["spec"]["scheduleTimeoutSeconds"] == 60
    (own,) = house.translate(GANGS["user-annotations"], served(house))
    assert own.body["spec"]["scheduleTimeoutSeconds"] == 90
    assert house.gang_annotations(pcs(clique()), []) == {labels.QUEUE: "house"}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("mode", "Loose"),
        ("match-policy", "sometimes"),
        ("waiting-time", "soon"),
        ("waiting-time", "16m"),
        ("waiting-time", "0s"),
    ],
)
def test_an_annotation_that_koordinator_would_ignore_is_invalid(key: str, value: str) -> None:
    found = pcs(clique())
    found.metadata.annotations[f"{PREFIX}/{key}"] = value
    (problem,) = koordinator.validate(found)
    assert problem.path == ("metadata", "annotations", f"{PREFIX}/{key}")
    assert not problem.warning


def near(**more: Any) -> Json:
    return {"topologyConstraint": {"topologyName": "floor", "pack": {"required": "rack"}}, **more}


@pytest.mark.parametrize(
    ("cliques", "template", "backend", "path"),
    [
        ([clique("a")], near(), koordinator, ("spec", "template", "topologyConstraint")),
        ([clique("a")], near(), aware, None),
        ([clique("a", **near())], {}, aware, None),
        (
            [clique("a", **near()), clique("b")],
            {},
            aware,
            ("spec", "template", "cliques", 0, "topologyConstraint"),
        ),
        (
            [clique("a"), clique("b")],
            {"podCliqueScalingGroups": [near(name="g", cliqueNames=["a", "b"])]},
            aware,
            None,
        ),
        (
            [clique("a"), clique("b")],
            {"podCliqueScalingGroups": [near(name="g", cliqueNames=["a"])]},
            aware,
            ("spec", "template", "podCliqueScalingGroups", 0, "topologyConstraint"),
        ),
    ],
)
def test_a_set_with_a_constraint_that_koordinator_can_never_keep_is_invalid(
    cliques: list[Json], template: Json, backend: Koordinator, path: Any
) -> None:
    found = [p.path for p in backend.validate(pcs(*cliques, **template))]
    assert found == ([path] if path else [])
