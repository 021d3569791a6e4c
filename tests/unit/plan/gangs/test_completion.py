"""A gang names its pods all at once when all exist, and afterwards renews each group when that is complete again."""

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from grove.api import PodClique, PodGang
from grove.api.meta import LastError, ObjectMeta
from grove.api.pod_view import Pod
from grove.api.podclique import PodCliqueSpec, PodCliqueStatus
from grove.api.podgang import NamespacedName, PodGangSpec, PodGroup
from grove.api.scalars import Time
from grove.plan.gangs.completion import GangCompletion, cannot_create_pods, plan_completion
from tests.unit.plan import observed
from tests.unit.plan.observed import NOW, STATES

A, B = "train-0-a", "train-0-b"
MINIMUM = {A: 2, B: 1}


def gang(**named: Sequence[str]) -> PodGang:
    """A gang of the groups a, with a minimum of 2, and b, with a minimum of 1, that names these pods."""
    return PodGang(
        metadata=ObjectMeta(name="train-0"),
        spec=PodGangSpec(
            pod_groups=[
                PodGroup(name=A, pod_references=references(named.get("a", ())), min_replicas=2),
                PodGroup(name=B, pod_references=references(named.get("b", ())), min_replicas=1),
            ]
        ),
    )


def references(names: Sequence[str]) -> list[NamespacedName]:
    return [NamespacedName(namespace="default", name=n) for n in names]


def clique(name: str, replicas: int, *, deleting: bool = False, error: str = "") -> PodClique:
    """`error` are the codes of its errors, separated by spaces."""
    errors = [LastError(code=c, description="", observed_at=Time.at(NOW)) for c in error.split()]
    return PodClique(
        metadata=ObjectMeta(name=name, deletion_timestamp=Time.at(NOW) if deleting else None),
        spec=PodCliqueSpec(role_name="r", pod_spec=Raw(b"{}"), replicas=replicas),
        status=PodCliqueStatus(last_errors=errors) if error else None,
    )


def pods(clique: str, *names: str, state: str = "gated", terminating: bool = False) -> list[Pod]:
    found = [
        observed.pod(n, state, name=f"{clique}-{t}", terminating=terminating) for n, t in enumerate(names)
    ]
    for pod in found:
        pod.metadata.namespace = "default"
    return found


FULL_CLIQUES = {A: clique(A, 3), B: clique(B, 1)}
FULL_PODS = {A: pods(A, "x", "y", "z"), B: pods(B, "x")}


def named(done: GangCompletion) -> list[list[str]]:
    return [[r.name for r in group] for group in done.pod_references]


def plan(
    found: PodGang,
    cliques: Mapping[str, PodClique] = FULL_CLIQUES,
    observed_pods: Mapping[str, Sequence[Pod]] = FULL_PODS,
    *,
    initialized: bool = True,
) -> tuple[list[list[str]], dict[str, int]]:
    done = plan_completion(found, cliques, observed_pods, initialized=initialized)
    assert done.complete == (not done.missing)
    return named(done), done.missing


# Before the gang is initialized.


def test_a_gang_with_all_its_pods_names_them_in_order() -> None:
    shuffled = {A: pods(A, "z", "x", "y"), B: pods(B, "x")}
    done = plan_completion(gang(), FULL_CLIQUES, shuffled, initialized=False)
    assert named(done) == [[f"{A}-x", f"{A}-y", f"{A}-z"], [f"{B}-x"]]
    assert {r.namespace for group in done.pod_references for r in group} == {"default"}
    assert done.complete


@pytest.mark.parametrize(
    ("cliques", "found", "missing"),
    [
        (FULL_CLIQUES, {A: pods(A, "x", "y"), B: pods(B, "x")}, {A: 1}),
        (FULL_CLIQUES, {A: pods(A, "x", "y", "z")}, {B: 1}),
        (FULL_CLIQUES, {}, {A: 3, B: 1}),
        ({A: clique(A, 3)}, FULL_PODS, {B: 1}),
        ({B: clique(B, 1)}, FULL_PODS, {A: 2}),
        (FULL_CLIQUES | {A: clique(A, 3, deleting=True)}, FULL_PODS, {A: 2}),
        (FULL_CLIQUES | {A: clique(A, 1)}, {A: pods(A, "x"), B: pods(B, "x")}, {A: 1}),
        (
            FULL_CLIQUES | {A: clique(A, 3, error="ERR_CREATE_POD")},
            {A: pods(A, "x", "y"), B: pods(B, "x")},
            {A: 1},
        ),
    ],
    ids=[
        "a pod is missing",
        "a clique without pods",
        "no pods at all",
        "a clique is missing",
        "a clique with a larger minimum is missing",
        "a clique is being deleted",
        "a clique is scaled below its minimum",
        "a clique cannot create its pods, which is no excuse yet",
    ],
)
def test_an_incomplete_gang_names_no_pods_and_says_what_is_missing(
    cliques: dict[str, PodClique], found: dict[str, list[Pod]], missing: dict[str, int]
) -> None:
    assert plan(gang(), cliques, found, initialized=False) == ([[], []], missing)


@pytest.mark.parametrize("state", ["failed", "succeeded"])
def test_dead_pods_do_not_count(state: str) -> None:
    found = FULL_PODS | {B: pods(B, "x", state=state)}
    assert plan(gang(), FULL_CLIQUES, found, initialized=False) == ([[], []], {B: 1})


def test_terminating_pods_do_not_count() -> None:
    found = FULL_PODS | {B: pods(B, "x", terminating=True)}
    assert plan(gang(), FULL_CLIQUES, found, initialized=False) == ([[], []], {B: 1})


def test_a_group_that_is_scaled_to_zero_is_complete_without_pods() -> None:
    cliques = FULL_CLIQUES | {B: clique(B, 0)}
    found = {A: FULL_PODS[A]}
    assert plan(gang(), cliques, found, initialized=False) == ([[f"{A}-x", f"{A}-y", f"{A}-z"], []], {})


def test_more_pods_than_asked_for_are_all_named() -> None:
    found = {A: pods(A, "x", "y", "z", "zz"), B: pods(B, "x")}
    assert plan(gang(), FULL_CLIQUES, found, initialized=False)[0][0] == [
        f"{A}-x",
        f"{A}-y",
        f"{A}-z",
        f"{A}-zz",
    ]


def test_a_missing_clique_without_a_minimum_still_counts_as_missing() -> None:
    found = gang()
    found.spec.pod_groups[1].min_replicas = 0
    assert plan(found, {A: clique(A, 3)}, FULL_PODS, initialized=False) == ([[], []], {B: 1})


# Once the gang is initialized.

# One of the pods that it names is still there.
BEFORE = gang(a=[f"{A}-x", "old-2"], b=["old-3"])


def test_a_complete_group_is_renewed_while_another_keeps_its_pods() -> None:
    found = {A: pods(A, "x", "y"), B: pods(B, "x")}
    assert plan(BEFORE, FULL_CLIQUES, found) == ([[f"{A}-x", "old-2"], [f"{B}-x"]], {A: 1})


def test_a_group_whose_clique_is_gone_drops_its_pods_with_the_last_of_them() -> None:
    cliques = {A: clique(A, 3)}
    still_there = plan(BEFORE, cliques, FULL_PODS)
    assert still_there == ([[f"{A}-x", f"{A}-y", f"{A}-z"], ["old-3"]], {B: 1})
    assert plan(BEFORE, cliques, {A: FULL_PODS[A]}) == ([[f"{A}-x", f"{A}-y", f"{A}-z"], []], {B: 1})


def test_a_group_whose_clique_exists_keeps_its_pods_even_if_all_are_lost() -> None:
    assert plan(BEFORE, FULL_CLIQUES, {A: FULL_PODS[A]}) == (
        [[f"{A}-x", f"{A}-y", f"{A}-z"], ["old-3"]],
        {B: 1},
    )


def test_groups_that_name_no_pods_wait_for_each_other() -> None:
    only_b = {B: pods(B, "x")}
    assert plan(gang(), FULL_CLIQUES, only_b) == ([[], []], {A: 3})
    assert plan(gang(), FULL_CLIQUES, FULL_PODS) == ([[f"{A}-x", f"{A}-y", f"{A}-z"], [f"{B}-x"]], {})


def test_a_group_that_names_pods_does_not_wait_for_one_that_names_none() -> None:
    found = {A: FULL_PODS[A]}
    assert plan(gang(a=["old-1"]), FULL_CLIQUES, found) == ([[f"{A}-x", f"{A}-y", f"{A}-z"], []], {B: 1})


def test_a_group_that_names_none_does_not_wait_for_one_that_names_pods() -> None:
    found = {A: pods(A, "x"), B: pods(B, "x")}
    assert plan(gang(a=[f"{A}-x"]), FULL_CLIQUES, found) == ([[f"{A}-x"], [f"{B}-x"]], {A: 2})


def test_a_group_may_shrink_below_its_minimum_but_not_start_below_it() -> None:
    cliques, found = FULL_CLIQUES | {A: clique(A, 1)}, {A: pods(A, "x"), B: pods(B, "x")}
    assert plan(gang(a=["old-1"], b=["old-3"]), cliques, found) == ([[f"{A}-x"], [f"{B}-x"]], {})
    assert plan(gang(b=["old-3"]), cliques, found) == ([[], [f"{B}-x"]], {A: 1})


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        (1, ([f"{A}-x", "old-2"], {A: 1})),
        (2, ([f"{A}-x", f"{A}-y"], {})),
        (3, ([f"{A}-x", f"{A}-y", f"{A}-z"], {})),
    ],
)
def test_the_minimum_is_enough_for_a_clique_that_cannot_create_its_pods(
    count: int, expected: tuple[list[str], dict[str, int]]
) -> None:
    cliques = FULL_CLIQUES | {A: clique(A, 5, error="ERR_CREATE_POD")}
    found = {A: pods(A, *"xyz"[:count]), B: pods(B, "x")}
    references, missing = plan(BEFORE, cliques, found)
    assert (references[0], missing) == expected


def test_other_errors_of_a_clique_are_no_reason_to_go_on_with_fewer_pods() -> None:
    cliques = FULL_CLIQUES | {A: clique(A, 3, error="ERR_DELETE_POD")}
    assert plan(BEFORE, cliques, {A: pods(A, "x", "y"), B: pods(B, "x")})[1] == {A: 1}


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        ("", False),
        ("ERR_DELETE_POD", False),
        ("ERR_CREATE_POD", True),
        ("ERR_DELETE_POD ERR_CREATE_POD", True),
    ],
)
def test_a_clique_reports_that_it_cannot_create_pods_by_the_code_of_an_error(
    error: str, expected: bool
) -> None:
    assert cannot_create_pods(clique(A, 1, error=error)) is expected


LOST = gang(a=["old-1", "old-2"], b=["old-3"])


@pytest.mark.parametrize(
    ("found", "missing"),
    [
        ({A: FULL_PODS[A]}, {B: 1}),
        ({A: FULL_PODS[A], B: pods(B, "x", terminating=True)}, {B: 1}),
        ({A: FULL_PODS[A], B: pods(B, "x", state="failed")}, {B: 1}),
        ({A: pods(A, "x", "y"), B: pods(B, "x")}, {A: 1}),
    ],
)
def test_a_gang_that_lost_all_its_pods_names_no_new_ones_before_all_exist(
    found: dict[str, list[Pod]], missing: dict[str, int]
) -> None:
    assert plan(LOST, FULL_CLIQUES, found) == ([["old-1", "old-2"], ["old-3"]], missing)
    assert plan(LOST) == ([[f"{A}-x", f"{A}-y", f"{A}-z"], [f"{B}-x"]], {})


def test_a_pod_that_is_terminating_is_lost() -> None:
    before, gone = gang(a=["old-1"], b=[f"{B}-old"]), pods(B, "old", terminating=True)
    found = {A: FULL_PODS[A], B: gone}
    assert plan(before, FULL_CLIQUES, found) == ([["old-1"], [f"{B}-old"]], {B: 1})


def test_a_gang_that_lost_all_its_pods_does_not_wait_for_a_removed_group() -> None:
    found = {A: FULL_PODS[A]}
    assert plan(LOST, {A: clique(A, 3)}, found) == ([[f"{A}-x", f"{A}-y", f"{A}-z"], []], {B: 1})


def test_a_group_that_names_no_pods_yet_waits_for_a_gang_that_lost_all_its_pods() -> None:
    found = {A: pods(A, "x"), B: pods(B, "x")}
    assert plan(gang(a=["old-1"]), FULL_CLIQUES, found) == ([["old-1"], []], {A: 2})


SITUATIONS = st.fixed_dictionaries(
    {
        name: st.tuples(
            st.none() | st.builds(clique, st.just(name), st.integers(0, 3), deleting=st.booleans()),
            st.lists(st.sampled_from(STATES), max_size=4),
            st.lists(st.sampled_from(["old-1", "old-2"]), max_size=2, unique=True),
        )
        for name in (A, B)
    }
)


@given(SITUATIONS, st.booleans())
def test_a_group_names_exactly_its_present_pods_or_what_it_named_or_nothing(
    found: dict[str, tuple[PodClique | None, list[str], list[str]]], initialized: bool
) -> None:
    cliques = {name: c for name, (c, _, _) in found.items() if c is not None}
    seen = {
        name: [p for n, s in enumerate(states) for p in pods(name, str(n), state=s)]
        for name, (_, states, _) in found.items()
    }
    before = gang(a=found[A][2], b=found[B][2])
    done = plan_completion(before, cliques, seen, initialized=initialized)
    for group, result in zip(before.spec.pod_groups, done.pod_references, strict=True):
        present = [p.metadata.name for p in seen[group.name] if p.status.phase not in ("Failed", "Succeeded")]
        present += [p.metadata.name for p in seen[group.name] if p.spec.restart_policy == "Never"]
        wanted = cliques[group.name].spec.replicas if group.name in cliques else MINIMUM[group.name]
        if group.name in done.missing:
            assert result in ([], group.pod_references)
        else:
            waits = result == group.pod_references and not done.complete
            assert waits or sorted(r.name for r in result) in (sorted(str(n) for n in present), [])
            assert len(present) >= wanted
    if not initialized and not done.complete:
        assert done.pod_references == [[], []]


@given(SITUATIONS)
def test_once_the_pods_are_named_nothing_changes_any_more(
    found: dict[str, tuple[PodClique | None, list[str], list[str]]],
) -> None:
    cliques = {name: c for name, (c, _, _) in found.items() if c is not None}
    seen = {
        name: [p for n, s in enumerate(states) for p in pods(name, str(n), state=s)]
        for name, (_, states, _) in found.items()
    }
    before = gang(a=found[A][2], b=found[B][2])
    first = plan_completion(before, cliques, seen, initialized=True)
    after = gang(a=named(first)[0], b=named(first)[1])
    assert plan_completion(after, cliques, seen, initialized=True).pod_references == first.pod_references
