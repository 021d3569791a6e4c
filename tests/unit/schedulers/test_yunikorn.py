"""What the pods of a gang tell YuniKorn."""

import json
import re
from typing import Any

import msgspec
import pytest

from grove.api import labels
from grove.api.pod_view import Pod, PodMetadata, PodOwner, PodSpec, PodStatus
from grove.api.podcliqueset import PodCliqueSet
from grove.api.podgang import PodGang
from grove.api.serialization import codec
from grove.plan.gangs.membership import gang_members
from grove.plan.layout.set_layout import SetLayout
from grove.plan.objects.pod_draft import PodDraft
from grove.plan.objects.podgangs import pod_gang
from grove.schedulers.registry import Selection
from grove.schedulers.types import Refusal, Served
from grove.schedulers.yunikorn.applications import APPLICATION_ID
from grove.schedulers.yunikorn.backend import QUEUE, TASK_GROUP, TASK_GROUPS, YuniKorn
from grove.schedulers.yunikorn.placeholders import PLACEHOLDERS
from grove.schedulers.yunikorn.policy_parameters import PARAMETERS
from tests.unit.api.sets import clique, pcs
from tests.unit.schedulers.gangs import Json, check_golden, gang, group, packed, together, translated

yunikorn = YuniKorn({})
PLAIN = {PLACEHOLDERS: '[{"minResource":{"cpu":"1"}}]'}


def containers(*requests: Json, **more: Any) -> Json:
    made = [{"name": f"c{i}", "image": "app:1", "resources": {"requests": r}} for i, r in enumerate(requests)]
    return {"podSpec": {"containers": made, **more}}


def gang_of(found: PodCliqueSet, backend: YuniKorn = yunikorn) -> PodGang:
    """As the operator makes it."""
    found.metadata.namespace = "team-a"
    layout = SetLayout(found)
    base, *_ = gang_members(layout, 0, {})
    made = pod_gang(layout, base, Selection(backend, "yunikorn").scheduling(layout, base, None))
    made.metadata.uid = "5d1c7a52-0000-4000-8000-000000000001"
    made.metadata.owner_references = []
    return made


def number(found: PodGang, text: str) -> PodGang:
    """The gang with this dialect recorded."""
    said = {
        "type": "SchedulerDialect",
        "status": "True",
        "reason": text,
        "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    body = codec.to_builtins(found) | {"status": {"phase": "Pending", "conditions": [said]}}
    return codec.decode(codec.encode(body), PodGang)


def draft_of(found: PodGang, backend: YuniKorn = yunikorn, index: int = 0) -> PodDraft:
    draft = PodDraft("yunikorn", backend.gate)
    backend.prepare_pod(found, found.spec.pod_groups[index], draft)
    return draft


SETS: dict[str, PodCliqueSet] = {
    "flat": pcs(clique("worker", replicas=4, **containers({"cpu": "1"}))),
    "groups": pcs(
        clique(
            "router",
            **containers({"cpu": "500m", "memory": "1Gi"}, {"cpu": "250m"}),
        ),
        clique(
            "worker",
            replicas=6,
            minAvailable=4,
            labels={"app": "worker"},
            **containers(
                {"cpu": "4", "memory": "8Gi", "nvidia.com/gpu": "1"},
                nodeSelector={"pool": "gpu"},
                tolerations=[{"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}],
                initContainers=[
                    {"name": "load", "image": "app:1", "resources": {"requests": {"memory": "16Gi"}}}
                ],
            ),
        ),
        priorityClassName="inference",
    ),
    "apart-from-each-other": pcs(
        clique(
            "worker",
            replicas=2,
            labels={"app": "worker"},
            **containers(
                {"cpu": "1"},
                affinity={
                    "podAntiAffinity": {
                        "requiredDuringSchedulingIgnoredDuringExecution": [
                            {
                                "labelSelector": {"matchLabels": {"app": "worker"}},
                                "topologyKey": "kubernetes.io/hostname",
                            }
                        ]
                    }
                },
            ),
        )
    ),
    "copies": pcs(
        clique("leader", replicas=1, **containers({"cpu": "1"})),
        clique("worker", replicas=2, **containers({"cpu": "2"})),
        podCliqueScalingGroups=[
            {"name": "unit", "cliqueNames": ["leader", "worker"], "replicas": 3, "minAvailable": 2}
        ],
    ),
    "asks-for-nothing": pcs(clique("worker")),
}


@pytest.mark.parametrize("name", SETS)
def test_the_pods_of_a_gang_form_an_application(name: str) -> None:
    check_golden(f"yunikorn/{name}", translated(yunikorn, gang_of(SETS[name]), Served()))


def test_every_pod_says_the_same_of_the_application() -> None:
    found = gang_of(SETS["groups"])
    one, other = draft_of(found), draft_of(found, index=1)
    assert one.annotations[TASK_GROUPS] == other.annotations[TASK_GROUPS]
    assert one.annotations[PARAMETERS] == other.annotations[PARAMETERS]
    assert one.labels == other.labels
    assert one.annotations[TASK_GROUP] != other.annotations[TASK_GROUP]


def test_a_group_that_needs_nobody_has_no_placeholders() -> None:
    shapes = '[{"minResource":{"cpu":"1"}},{"minResource":{}}]'
    found = gang(group("a", 1), group("b", 0), annotations={PLACEHOLDERS: shapes})
    draft = draft_of(found, index=1)
    assert TASK_GROUP not in draft.annotations
    assert [g["name"] for g in json.loads(draft.annotations[TASK_GROUPS])] == ["a"]


@pytest.mark.parametrize(
    ("namespace", "name"),
    [("team-a", "demo-0"), ("team.a", "d.e"), ("n" * 63, "g" * 63), ("n", "g" * 47 + "-x")],
)
def test_an_application_id_is_fit_for_a_label_and_for_names_of_pods(namespace: str, name: str) -> None:
    found = gang(group("a", 1), name=name, annotations=PLAIN)
    found.metadata.namespace = namespace
    assert re.fullmatch(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", draft_of(found).labels[APPLICATION_ID])


def test_gangs_of_one_name_and_attempts_of_one_gang_are_different_applications() -> None:
    found = gang(group("a", 1), annotations=PLAIN)
    other = gang(group("a", 1), annotations=PLAIN)
    other.metadata.uid = "another"
    ids = [draft_of(g).labels[APPLICATION_ID] for g in (found, other, number(found, "Application2"))]
    assert len(set(ids)) == 3
    assert draft_of(number(found, "Application1")).labels[APPLICATION_ID] == ids[0]


def pod(
    found: PodGang,
    *,
    uid: str = "first",
    phase: str = "Pending",
    reason: str = "",
    node: str = "",
    going: bool = False,
) -> Pod:
    return Pod(
        metadata=PodMetadata(
            name="p",
            uid=uid,
            labels={APPLICATION_ID: draft_of(found).labels[APPLICATION_ID]},
            deletion_timestamp="2026-01-01T00:00:00Z" if going else None,
        ),
        spec=PodSpec(node_name=node or None),
        status=PodStatus(phase=phase, reason=reason or None),
    )


def placeholder(found: PodGang, node: str) -> Pod:
    made = pod(found, node=node)
    made.metadata.labels[labels.STAND_IN_FOR] = found.metadata.name or ""
    made.metadata.owner_references = (PodOwner(uid="first", kind="Pod", name="p", controller=False),)
    return made


FOUND = gang(group("a", 1), annotations=PLAIN)
TIMED_OUT = pod(FOUND, phase="Failed", reason="ResourceReservationTimeout")
REJECTED = pod(FOUND, phase="Failed", reason="ApplicationRejected")
EVICTED = pod(FOUND, phase="Failed", reason="Evicted")
WAITS, RUNS, GOES = pod(FOUND), pod(FOUND, phase="Running", node="n"), pod(FOUND, going=True)
PLACE = placeholder(FOUND, "n")


@pytest.mark.parametrize(
    ("recorded", "pods", "word"),
    [
        ("", [], "Application1"),
        ("Application1", [WAITS, WAITS], "Application1"),
        ("Application1", [WAITS, TIMED_OUT], "Application2"),
        ("Application1", [RUNS, TIMED_OUT], "Application2"),
        ("Application1", [WAITS, REJECTED], "Application2"),
        ("Application1", [EVICTED, GOES], "Application2"),
        ("Application1", [RUNS, WAITS], "Application1Placed"),
        ("Application1Placed", [RUNS, EVICTED], "Application1Placed"),
        ("Application1Placed", [RUNS, GOES], "Application1Placed"),
        ("Application1Placed", [WAITS, GOES], "Application2"),
        ("Application1Placed", [WAITS, WAITS], "Application2"),
        ("Application1", [WAITS, PLACE, PLACE], "Application1"),
        ("Application1", [pod(FOUND, uid="another"), PLACE], "Application2"),
    ],
)
def test_an_application_that_is_over_is_followed_by_another(
    recorded: str, pods: list[Pod], word: str
) -> None:
    assert yunikorn.dialect(number(FOUND, recorded), pods, Served()) == word
    if word == "Application2":
        following = number(FOUND, word)
        assert yunikorn.dialect(following, pods, Served()) == word, "those pods are no reason for a third one"


def test_gangs_that_gave_up_together_do_not_do_so_again() -> None:
    def timeouts(dialect: str) -> list[int]:
        found = []
        for uid in "abcdefgh":
            one = gang_of(pcs(clique("worker", **containers({"cpu": "1"}))))
            one.metadata.uid = uid
            said = draft_of(number(one, dialect)).annotations[PARAMETERS]
            found.append(int(said.split()[0].removeprefix("placeholderTimeoutInSeconds=")))
        return found

    assert set(timeouts("Application1")) == {900}
    again = timeouts("Application2")
    assert len(set(again)) > 4
    assert all(900 <= t < 1800 for t in again)
    assert timeouts("Application3") != again == timeouts("Application2")


def test_gangs_are_released_one_after_another_and_pods_that_join_one_that_runs_at_once() -> None:
    assert [
        yunikorn.release_pause_seconds(number(FOUND, d)) for d in ("Application1", "Application2Placed")
    ] == [1.0, 0]
    assert YuniKorn({"secondsBetweenGangs": 0}).release_pause_seconds(FOUND) == 0


def test_a_gang_has_begun_when_its_first_placeholder_is_made_or_yunikorn_has_rejected_it() -> None:
    assert not yunikorn.has_begun(FOUND, [WAITS])
    assert yunikorn.has_begun(FOUND, [WAITS, PLACE])
    assert yunikorn.has_begun(FOUND, [REJECTED])
    assert not yunikorn.has_begun(number(FOUND, "Application2"), [PLACE, REJECTED])


def test_placeholders_say_which_gang_they_are_for() -> None:
    (told,) = json.loads(draft_of(FOUND).annotations[TASK_GROUPS])
    assert told["labels"] == {labels.STAND_IN_FOR: "demo-0"}


def test_a_pod_that_was_given_up_waits_for_the_gang_and_then_all_of_its_application_are_outdated() -> None:
    assert yunikorn.needs_new_dialect(FOUND, TIMED_OUT)
    assert not yunikorn.needs_new_dialect(FOUND, EVICTED)
    following = number(FOUND, "Application2")
    assert not yunikorn.needs_new_dialect(following, TIMED_OUT)
    assert [yunikorn.is_outdated(following, p) for p in (WAITS, RUNS)] == [True, True], "a part runs alone"
    assert not yunikorn.is_outdated(FOUND, WAITS)
    part = FOUND.spec.pod_groups[0]
    assert yunikorn.broken_link(FOUND, part, WAITS) == ""
    assert "without the gang" in yunikorn.broken_link(following, part, WAITS)


def test_pods_that_run_stay_when_the_gang_was_made_anew_or_is_placed() -> None:
    again = gang(group("a", 1), annotations=PLAIN)
    again.metadata.uid = "another"
    assert [yunikorn.is_outdated(again, p) for p in (WAITS, RUNS)] == [True, False]
    assert not yunikorn.is_outdated(number(FOUND, "Application2Placed"), RUNS)


@pytest.mark.parametrize(
    ("settings", "own", "written"),
    [
        ({}, "", "placeholderTimeoutInSeconds=900 gangSchedulingStyle=Hard"),
        (
            {"gangSchedulingStyle": "Soft", "placeholderTimeoutInSeconds": 60},
            "",
            "placeholderTimeoutInSeconds=60 gangSchedulingStyle=Soft",
        ),
        ({}, "gangSchedulingStyle=Soft", "placeholderTimeoutInSeconds=900 gangSchedulingStyle=Soft"),
        (
            {},
            "gangSchedulingStyle=Soft  placeholderTimeoutInSeconds=9",
            "placeholderTimeoutInSeconds=9 gangSchedulingStyle=Soft",
        ),
    ],
)
def test_style_and_time_out_are_those_of_the_set_or_of_the_profile(
    settings: Json, own: str, written: str
) -> None:
    backend = YuniKorn(settings)
    found = gang(group("a", 1), annotations=PLAIN | {PARAMETERS: own})
    assert draft_of(found, backend).annotations[PARAMETERS] == written
    assert ("no gang any more" in backend.shortfall(found, Served())) == ("Soft" in written)


def test_time_behind_the_gate_is_added_to_the_time_out_when_the_gate_is_removed() -> None:
    assert yunikorn.release_annotations(FOUND, 99.5) == {
        PARAMETERS: "placeholderTimeoutInSeconds=1000 gangSchedulingStyle=Hard"
    }


@pytest.mark.parametrize(
    "text", ["gangSchedulingStyle=Medium", "placeholderTimeoutInSeconds=0", "timeout=9", "Hard"]
)
def test_parameters_that_yunikorn_would_ignore_are_invalid(text: str) -> None:
    found = pcs(clique())
    found.metadata.annotations[PARAMETERS] = text
    (problem,) = yunikorn.validate(found)
    assert problem.path == ("metadata", "annotations", PARAMETERS)
    with pytest.raises(Refusal, match=PARAMETERS):
        draft_of(gang(group("a", 1), annotations=PLAIN | {PARAMETERS: text}))


@pytest.mark.parametrize(
    ("queue", "good"),
    [
        ("team-a", True),
        ("root.team-a", True),
        ("root.research.nlp_2", True),
        ("research.nlp", False),
        ("root.", False),
        ("root..a", False),
        ("a b", False),
    ],
)
def test_a_queue_is_one_name_or_a_path_from_the_root(queue: str, good: bool) -> None:
    found = pcs(clique(annotations={QUEUE: queue}))
    assert ([*yunikorn.validate(found)] == []) is good
    assert gang_of(found).metadata.annotations[labels.QUEUE] == queue


def test_the_queue_of_the_profile_is_for_sets_that_name_none() -> None:
    house = YuniKorn({"queue": "root.house"})
    found = gang_of(pcs(clique()), house)
    assert draft_of(found, house).labels[QUEUE] == "root.house"
    assert QUEUE not in draft_of(gang_of(pcs(clique()))).labels


@pytest.mark.parametrize(
    "found",
    [
        gang(group("a", 1), annotations=PLAIN, topologyConstraint=packed(required="rack")),
        gang(group("a", 1, {"required": "rack"}), annotations=PLAIN),
        gang(
            group("a", 1),
            annotations=PLAIN,
            topologyConstraintGroupConfigs=[together("u", "a", pack={"required": "rack"})],
        ),
    ],
)
def test_a_required_topology_is_refused(found: PodGang) -> None:
    with pytest.raises(Refusal, match="does not support topology"):
        yunikorn.translate(found, Served())


def test_a_preferred_topology_is_dropped_and_said() -> None:
    found = gang(group("a", 1), annotations=PLAIN, topologyConstraint=packed(preferred="rack"))
    assert yunikorn.translate(found, Served()) == ()
    assert "is dropped" in yunikorn.shortfall(found, Served())


@pytest.mark.parametrize(("pack", "is_warning"), [("required", False), ("preferred", True)])
def test_a_set_with_topology_is_told_so(pack: str, is_warning: bool) -> None:
    found = pcs(clique(), topologyConstraint={"topologyName": "floor", "pack": {pack: "rack"}})
    (problem,) = yunikorn.validate(found)
    assert problem.warning is is_warning


def test_affinity_to_labels_that_placeholders_lack_is_warned_of() -> None:
    spread = [
        {
            "maxSkew": 1,
            "topologyKey": "zone",
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {labels.POD_CLIQUE: "x"}},
        }
    ]
    (problem,) = yunikorn.validate(pcs(clique(**containers({}, topologySpreadConstraints=spread))))
    assert problem.warning


def test_requests_that_cannot_be_read_make_a_set_invalid() -> None:
    (problem,) = yunikorn.validate(pcs(clique(**containers({"cpu": "much"}))))
    assert not problem.warning


def test_a_gang_that_does_not_say_what_its_pods_need_is_refused() -> None:
    with pytest.raises(Refusal, match=PLACEHOLDERS):
        yunikorn.translate(gang(group("a", 1)), Served())


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"queu": "a"}, "queu"),
        ({"gangSchedulingStyle": "Medium"}, "gangSchedulingStyle"),
        ({"placeholderTimeoutInSeconds": 0}, "placeholderTimeoutInSeconds"),
    ],
)
def test_a_setting_that_is_wrong_is_named(settings: Json, said: str) -> None:
    with pytest.raises(msgspec.ValidationError, match=said):
        YuniKorn(settings)
