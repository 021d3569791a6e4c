"""The cache: newer wins, UIDs tell objects apart, the dead stay dead."""

import pytest

from grove.runtime.cache.cache import Cache, Change
from grove.runtime.client.objects import ObjectKey, PartialObject
from tests.unit.runtime.scripted import Pod

A = ObjectKey("default", "a")


def names(cache: Cache[PartialObject]) -> dict[str, str]:
    return {o.metadata.name or "": o.metadata.resource_version or "" for o in cache}


@pytest.fixture
def cache() -> Cache[PartialObject]:
    return Cache({"label": lambda o: o.metadata.labels.values()})


@pytest.fixture
def changes(cache: Cache[PartialObject]) -> list[tuple[str | None, str | None]]:
    seen: list[tuple[str | None, str | None]] = []

    def name(obj: PartialObject | None) -> str | None:
        return None if obj is None else f"{obj.metadata.uid}@{obj.metadata.resource_version}"

    cache.subscribe(lambda change: seen.append((name(change.old), name(change.new))))
    return seen


Changes = list[tuple[str | None, str | None]]


def test_the_answer_to_a_write_is_read_back_at_once(cache: Cache[PartialObject]) -> None:
    cache.observe(Pod("a", 5).read)
    found = cache.get(A)
    assert found is not None
    assert found.metadata.resource_version == "5"
    assert cache.by_uid("uid-a") is found


def test_an_event_that_comes_late_changes_nothing(cache: Cache[PartialObject], changes: Changes) -> None:
    cache.observe(Pod("a", 5).read)
    cache.observe(Pod("a", 4).read)
    cache.observe(Pod("a", 5).read)
    assert names(cache) == {"a": "5"}
    assert changes == [(None, "uid-a@5")]


def test_versions_are_compared_as_numbers(cache: Cache[PartialObject]) -> None:
    cache.observe(Pod("a", 9).read)
    cache.observe(Pod("a", 10).read)
    assert names(cache) == {"a": "10"}


def test_a_newer_version_replaces_an_older_one(cache: Cache[PartialObject]) -> None:
    cache.observe(Pod("a", 5).read)
    cache.observe(Pod("a", 6).read)
    cache.observe(Pod("a", 4).read)
    cache.forget("uid-a", 7)


def test_a_late_event_does_not_bring_back_a_deleted_object(
    cache: Cache[PartialObject], changes: Changes
) -> None:
    cache.observe(Pod("a", 5).read)
    cache.forget("uid-a", 7)
    cache.observe(Pod("a", 6).read)
    assert names(cache) == {}
    assert changes == [(None, "uid-a@5"), ("uid-a@5", None)]


def test_a_deletion_that_is_known_before_the_object_still_counts(cache: Cache[PartialObject]) -> None:
    cache.forget("uid-a", 7)
    cache.observe(Pod("a", 6).read)
    assert names(cache) == {}


def test_an_object_deleted_without_a_version_never_comes_back(cache: Cache[PartialObject]) -> None:
    cache.forget("uid-a")
    cache.observe(Pod("a", 10**12).read)
    assert names(cache) == {}


def test_a_recreated_object_takes_the_place_of_its_predecessor(
    cache: Cache[PartialObject], changes: Changes
) -> None:
    cache.observe(Pod("a", 5, uid="first").read)
    cache.observe(Pod("a", 9, uid="second").read)
    found = cache.get(A)
    assert found is not None
    assert found.metadata.uid == "second"
    assert len(cache) == 1
    assert changes == [(None, "first@5"), ("first@5", None), (None, "second@9")]


def test_the_late_answer_about_a_predecessor_does_not_displace_its_successor(
    cache: Cache[PartialObject],
) -> None:
    cache.observe(Pod("a", 9, uid="second").read)
    cache.observe(Pod("a", 5, uid="first").read)
    found = cache.get(A)
    assert found is not None
    assert found.metadata.uid == "second"
    cache.forget("second", 12)
    cache.observe(Pod("a", 6, uid="first").read)
    assert names(cache) == {}


def test_the_deletion_of_a_predecessor_does_not_touch_its_successor(cache: Cache[PartialObject]) -> None:
    cache.observe(Pod("a", 5, uid="first").read)
    cache.observe(Pod("a", 9, uid="second").read)
    cache.forget("first", 8)
    assert names(cache) == {"a": "9"}


def test_an_object_that_left_the_selection_comes_back_with_a_newer_version(
    cache: Cache[PartialObject],
) -> None:
    cache.observe(Pod("a", 5).read)
    cache.forget("uid-a", 6)
    cache.observe(Pod("a", 7).read)
    assert names(cache) == {"a": "7"}


def test_a_deletion_older_than_the_known_version_is_ignored(cache: Cache[PartialObject]) -> None:
    cache.observe(Pod("a", 9).read)
    cache.forget("uid-a", 6)
    assert names(cache) == {"a": "9"}


def test_a_complete_list_removes_what_it_lacks_but_not_what_was_written_after_it(
    cache: Cache[PartialObject], changes: Changes
) -> None:
    for pod in (Pod("a", 5), Pod("b", 6), Pod("written-later", 11)):
        cache.observe(pod.read)
    changes.clear()
    cache.retain({"uid-b"}, 10)
    assert names(cache) == {"b": "6", "written-later": "11"}
    assert changes == [("uid-a@5", None)]


def test_indexes_follow_every_change(cache: Cache[PartialObject]) -> None:
    cache.observe(Pod("a", 1, more={"labels": {"k": "x", "l": "y"}}).read)
    cache.observe(Pod("b", 2, more={"labels": {"k": "x"}}).read)
    assert [o.metadata.name for o in cache.by_index("label", "x")] == ["a", "b"]
    cache.observe(Pod("a", 3, more={"labels": {"k": "z", "l": "y"}}).read)
    assert [o.metadata.resource_version for o in cache.by_index("label", "y")] == ["3"]
    assert [o.metadata.name for o in cache.by_index("label", "x")] == ["b"]
    cache.forget("uid-a", 4)
    assert cache.by_index("label", "z") == []


def test_an_index_returns_the_newest_state_in_insertion_order(
    cache: Cache[PartialObject],
) -> None:
    for version, name in enumerate(("a", "b", "a"), start=1):
        cache.observe(Pod(name, version, more={"labels": {"k": "x"}}).read)
    assert [o.metadata.resource_version for o in cache.by_index("label", "x")] == ["3", "2"]


def test_an_object_that_cannot_be_indexed_changes_nothing() -> None:
    cache: Cache[PartialObject] = Cache({"label": lambda o: [o.metadata.labels["k"]]})
    cache.observe(Pod("a", 1, more={"labels": {"k": "x"}}).read)
    for name in ("a", "b"):
        with pytest.raises(KeyError):
            cache.observe(Pod(name, 2).read)
    assert names(cache) == {"a": "1"}
    assert cache.get(ObjectKey("default", "b")) is None
    assert [o.metadata.resource_version for o in cache.by_index("label", "x")] == ["1"]


def test_a_late_subscriber_gets_every_object_in_the_cache(cache: Cache[PartialObject]) -> None:
    cache.observe(Pod("a", 1).read)
    seen: list[Change[PartialObject]] = []
    cache.subscribe(seen.append)
    assert [(c.old, c.object.metadata.name) for c in seen] == [(None, "a")]


def test_a_subscriber_that_raises_does_not_stop_the_others(
    cache: Cache[PartialObject], changes: Changes
) -> None:
    def broken(change: Change[PartialObject]) -> None:
        raise RuntimeError("broken")

    cache._handlers.insert(0, broken)
    cache.observe(Pod("a", 1).read)
    assert changes == [(None, "uid-a@1")]


def test_deletions_are_not_remembered_for_ever(
    cache: Cache[PartialObject], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    for i in range(100):
        cache.forget(f"uid-{i}", i)
    now = 10_000.0
    cache.forget("last", 200)
    assert list(cache._deletions) == ["last"]
