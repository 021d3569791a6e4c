"""What is written so that an object is as desired."""

from grove.plan.difference import difference


def test_what_is_as_desired_is_not_written() -> None:
    found = {"spec": {"queue": "a", "minMember": 2}, "status": {"phase": "Pending"}}
    assert difference(found, {"spec": {"queue": "a"}}) is None


def test_what_others_added_is_left_alone() -> None:
    found = {"metadata": {"labels": {"theirs": "1"}}, "spec": {"theirs": True, "queue": "a"}}
    wanted = {"metadata": {"labels": {"ours": "1"}}, "spec": {"queue": "b"}}
    assert difference(found, wanted) == {"metadata": {"labels": {"ours": "1"}}, "spec": {"queue": "b"}}


def test_inside_a_path_of_ours_what_is_not_desired_is_removed() -> None:
    found = {"spec": {"queue": "a", "limits": {"cpu": 1, "memory": 2}}}
    assert difference(found, {"spec": {"limits": {"cpu": 1}}}, ["spec.limits"]) == {
        "spec": {"limits": {"memory": None}}
    }


def test_a_path_of_ours_that_is_not_desired_at_all_is_removed() -> None:
    found = {"spec": {"queue": "a", "priorityClassName": "high", "theirs": True}}
    assert difference(found, {"spec": {"queue": "a"}}, ["spec.priorityClassName"]) == {
        "spec": {"priorityClassName": None}
    }
