"""YuniKorn."""

import json
from typing import Any

import pytest
from grove_sandbox.schedulers.objects import SchedulerPod
from grove_sandbox.schedulers.yunikorn.scheduler import YuniKornScheduler

from tests.unit.sandbox.schedulers.builders import bound, look, node, pod

PREFIX = "yunikorn.apache.org/"
GROUPS = [
    {"name": "a", "minMember": 1, "minResource": {"cpu": "1"}},
    {"name": "b", "minMember": 2, "minResource": {"cpu": "1"}},
]
HARD = "placeholderTimeoutInSeconds=60 gangSchedulingStyle=Hard"


def member(
    name: str, group: str, *, app: str = "app", groups: Any = None, style: str = HARD, **more: Any
) -> SchedulerPod:
    groups = GROUPS if groups is None else groups
    annotations = {
        f"{PREFIX}task-group-name": group,
        f"{PREFIX}task-groups": groups if isinstance(groups, str) else json.dumps(groups),
        f"{PREFIX}schedulingPolicyParameters": style,
    }
    return pod(name, "yunikorn", labels={f"{PREFIX}app-id": app}, annotations=annotations, **more)


def members(**more: Any) -> list[SchedulerPod]:
    return [member("a0", "a", **more), member("b0", "b", **more), member("b1", "b", **more)]


def test_an_application_is_bound_when_all_its_placeholders_have_a_place() -> None:
    assert bound(look(YuniKornScheduler(), [node("n")], members())) == ["a0", "b0", "b1"]


def test_an_application_that_does_not_fit_keeps_its_placeholders_and_binds_nothing() -> None:
    scheduler = YuniKornScheduler()
    result = look(scheduler, [node("n", "2")], members())
    assert bound(result) == []
    assert result.again_in == 60
    plain = pod("plain", "yunikorn")
    assert bound(look(scheduler, [node("n", "2")], [*members(), plain], after=1)) == []
    assert bound(look(scheduler, [node("n", "2"), node("m", "1")], members(), after=2)) == ["a0", "b0", "b1"]


def test_placeholders_reserve_room_for_pods_that_do_not_exist_yet() -> None:
    scheduler = YuniKornScheduler()
    first, *rest = members()
    assert bound(look(scheduler, [node("n", "3")], [first, pod("plain", "yunikorn")])) == ["a0"]
    bound_first = member("a0", "a", on="n")
    assert bound(look(scheduler, [node("n", "3")], [bound_first, *rest], after=1)) == ["b0", "b1"]


def test_gated_pods_are_ignored() -> None:
    result = look(YuniKornScheduler(), [node("n")], members(gated=True))
    assert (bound(result), result.events) == ([], [])


def test_hard_applications_fail_their_pods_when_time_is_up() -> None:
    scheduler = YuniKornScheduler()
    look(scheduler, [node("n", "2")], members())
    late = look(scheduler, [node("n", "2")], members(), after=60)
    assert [(p.metadata.name, reason) for p, reason, _ in late.failed] == [
        ("a0", "ResourceReservationTimeout"),
        ("b0", "ResourceReservationTimeout"),
        ("b1", "ResourceReservationTimeout"),
    ]
    newcomer = [*members(), member("b2", "b")]
    assert bound(look(scheduler, [node("n", "9")], newcomer, after=61)) == []
    fresh = members(app="app-2")
    assert len(bound(look(scheduler, [node("n", "9")], [*members(), *fresh], after=62))) == 3


def test_soft_applications_become_ordinary_ones_when_time_is_up() -> None:
    scheduler = YuniKornScheduler()
    soft = members(style="placeholderTimeoutInSeconds=60")
    look(scheduler, [node("n", "2")], soft)
    assert bound(look(scheduler, [node("n", "2")], soft, after=60)) == ["a0", "b0"]


def test_time_behind_a_gate_counts_against_the_timeout() -> None:
    scheduler = YuniKornScheduler()
    old = members(age=300)
    look(scheduler, [node("n", "2")], old)
    assert len(look(scheduler, [node("n", "2")], old, after=1).failed) == 3


def test_without_any_placeholder_placed_the_clock_does_not_run() -> None:
    scheduler = YuniKornScheduler()
    huge = [{"name": "a", "minMember": 1, "minResource": {"cpu": "99"}}]
    pods = [member("a0", "a", groups=huge)]
    for seconds in (0, 100, 1000):
        result = look(scheduler, [node("n")], pods, after=seconds)
        assert (bound(result), result.failed) == ([], [])


@pytest.mark.parametrize(
    "groups",
    ["no json", [{"name": "a", "minMember": 0, "minResource": {}}], [{"name": "a", "minMember": 1}]],
)
def test_malformed_task_groups_disable_the_gang_and_record_an_event(groups: Any) -> None:
    pods = [member("a0", "a", groups=groups), member("a1", "a", groups=groups, cpu="9")]
    result = look(YuniKornScheduler(), [node("n")], pods)
    assert bound(result) == ["a0"]
    assert [event.reason for event in result.events] == ["TaskGroupsError"]


def test_a_wrong_task_group_name_gets_no_placeholder() -> None:
    pods = [member("a0", "a"), member("b0", "b"), member("x", "typo")]
    result = look(YuniKornScheduler(), [node("n", "3")], pods)
    assert bound(result) == ["a0", "b0"]


def test_a_pod_larger_than_its_placeholder_gives_up_its_place() -> None:
    pods = [member("a0", "a", cpu="2"), member("b0", "b"), member("b1", "b")]
    assert bound(look(YuniKornScheduler(), [node("n", "4")], pods)) == ["a0", "b0", "b1"]
    assert bound(look(YuniKornScheduler(), [node("n", "3")], pods)) == ["b0", "b1"]


def test_pods_without_an_application_id_share_one_that_is_no_gang() -> None:
    pods = [pod("p0", "yunikorn"), pod("p1", "yunikorn", cpu="9")]
    assert bound(look(YuniKornScheduler(), [node("n")], pods)) == ["p0"]


def test_a_gang_recreated_at_once_with_the_same_application_id_is_no_gang() -> None:
    scheduler = YuniKornScheduler()
    look(scheduler, [node("n")], members())
    look(scheduler, [node("n")], [], after=10)
    assert bound(look(scheduler, [node("n", "2")], members(), after=20)) == ["a0", "b0"]


def test_after_half_a_minute_the_id_is_new() -> None:
    scheduler = YuniKornScheduler()
    look(scheduler, [node("n")], members())
    look(scheduler, [node("n")], [], after=10)
    look(scheduler, [node("n")], [], after=40)
    assert bound(look(scheduler, [node("n", "2")], members(), after=50)) == []


def test_unused_placeholders_are_released_after_the_timeout() -> None:
    scheduler = YuniKornScheduler()
    pods = [member("a0", "a")]
    other = pod("plain", "yunikorn", cpu="3")
    look(scheduler, [node("n", "4")], pods)
    pods = [member("a0", "a", on="n")]
    assert bound(look(scheduler, [node("n", "4")], [*pods, other], after=59)) == []
    look(scheduler, [node("n", "4")], [*pods, other], after=60)
    assert bound(look(scheduler, [node("n", "4")], [*pods, other], after=61)) == ["plain"]
