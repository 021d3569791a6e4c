"""Resource claims: which exist, who owns them, who uses them."""

from typing import Any

import pytest

from grove.plan.layout.set_layout import SetLayout
from grove.plan.objects.claims import (
    TemplateRef,
    claims_of_pod,
    clique_claims,
    external_templates,
    group_claims,
    replica_claims,
    set_claims,
)
from tests.unit.api.sets import clique
from tests.unit.plan.samples import DEVICE, alone, group, layout, member, share, template

BOTH = [share("each", "PerReplica"), share("one", "AllReplicas")]
OWN = {"app.kubernetes.io/managed-by": "grove-operator", "app.kubernetes.io/part-of": "train"}
CLAIM = OWN | {"app.kubernetes.io/component": "resource-claim"}


@pytest.fixture
def found() -> SetLayout:
    return layout(
        clique("solo", resourceSharing=BOTH),
        clique("w", resourceSharing=BOTH),
        podCliqueScalingGroups=[
            {"name": "g", "cliqueNames": ["w"], "replicas": 2, "resourceSharing": BOTH},
        ],
        resourceClaimTemplates=[template("each"), template("one")],
        resourceSharing=BOTH,
    )


def facts(claims: list[dict[str, Any]]) -> list[tuple[str, str, dict[str, str]]]:
    return [
        (
            c["metadata"]["name"],
            c["metadata"]["ownerReferences"][0]["kind"],
            {k: v for k, v in c["metadata"]["labels"].items() if k not in CLAIM},
        )
        for c in claims
    ]


def test_a_set_owns_one_claim_for_all_and_one_for_each_replica(found: SetLayout) -> None:
    assert facts(set_claims(found, {})) == [("train-all-one", "PodCliqueSet", {})]
    assert facts(replica_claims(found, 3, {})) == [
        ("train-3-each", "PodCliqueSet", {"grove.io/podcliqueset-replica-index": "3"})
    ]
    (claim,) = set_claims(found, {})
    assert (claim["apiVersion"], claim["kind"], claim["spec"]) == (
        "resource.k8s.io/v1",
        "ResourceClaim",
        DEVICE,
    )
    assert claim["metadata"]["labels"] == CLAIM


def test_a_group_owns_the_claims_of_its_copies(found: SetLayout) -> None:
    own = {"grove.io/podcliquescalinggroup": "train-1-g"}
    index = "grove.io/podcliquescalinggroup-replica-index"
    assert facts(group_claims(found, group(found, "g", i=1), {})) == [
        ("train-1-g-all-one", "PodCliqueScalingGroup", own),
        ("train-1-g-0-each", "PodCliqueScalingGroup", own | {index: "0"}),
        ("train-1-g-1-each", "PodCliqueScalingGroup", own | {index: "1"}),
    ]


def test_a_clique_owns_the_claims_of_its_pods(found: SetLayout) -> None:
    own, index = {"grove.io/podclique": "train-0-solo"}, "grove.io/podclique-pod-index"
    assert facts(clique_claims(found, alone(found, "solo"), [0, 5], {})) == [
        ("train-0-solo-all-one", "PodClique", own),
        ("train-0-solo-0-each", "PodClique", own | {index: "0"}),
        ("train-0-solo-5-each", "PodClique", own | {index: "5"}),
    ]


def test_a_pod_uses_the_claims_of_all_levels_and_all_of_them_exist(found: SetLayout) -> None:
    worker = member(found, "w", i=1, j=1)
    used = claims_of_pod(found, worker, 1)
    assert used == [
        "train-all-one",
        "train-1-each",
        "train-1-g-all-one",
        "train-1-g-1-each",
        "train-1-g-1-w-all-one",
        "train-1-g-1-w-1-each",
    ]
    made = [
        *set_claims(found, {}),
        *replica_claims(found, 1, {}),
        *group_claims(found, group(found, "g", i=1), {}),
        *clique_claims(found, worker, range(2), {}),
    ]
    assert {*used} <= {c["metadata"]["name"] for c in made}


@pytest.mark.parametrize(
    ("only", "users"),
    [
        (None, ["a", "b", "c"]),
        ({"childCliqueNames": ["a"]}, ["a"]),
        ({"childScalingGroupNames": ["g"]}, ["b", "c"]),
        ({"childCliqueNames": ["a"], "childScalingGroupNames": ["g"]}, ["a", "b", "c"]),
        ({"childCliqueNames": ["b"]}, ["b"]),
    ],
)
def test_a_filter_of_the_set_names_cliques_or_groups(only: dict[str, Any] | None, users: list[str]) -> None:
    entry = share("t", "AllReplicas") | ({"filter": only} if only else {})
    found = layout(
        *(clique(n) for n in "abc"),
        podCliqueScalingGroups=[{"name": "g", "cliqueNames": ["b", "c"]}],
        resourceClaimTemplates=[template("t")],
        resourceSharing=[entry],
    )
    cliques = {"a": alone(found, "a"), "b": member(found, "b"), "c": member(found, "c")}
    assert [n for n, c in cliques.items() if claims_of_pod(found, c, 0)] == users
    assert len(set_claims(found, {})) == 1


def test_a_filter_of_a_group_names_cliques() -> None:
    entry = share("t", "AllReplicas", filter={"childCliqueNames": ["b"]})
    found = layout(
        clique("b"),
        clique("c"),
        podCliqueScalingGroups=[{"name": "b", "cliqueNames": ["b", "c"], "resourceSharing": [entry]}],
        resourceClaimTemplates=[template("t")],
    )
    assert claims_of_pod(found, member(found, "b"), 0) == ["train-0-b-all-t"]
    assert claims_of_pod(found, member(found, "c"), 0) == []


def test_a_claim_waits_for_its_template_in_the_cluster() -> None:
    found = layout(
        clique("w", resourceSharing=[share("far", "AllReplicas", namespace="shared")]),
        resourceClaimTemplates=[template("own")],
        resourceSharing=[share("near", "AllReplicas"), share("own", "AllReplicas")],
    )
    assert external_templates(found) == [TemplateRef("default", "near"), TemplateRef("shared", "far")]
    assert [c["metadata"]["name"] for c in set_claims(found, {})] == ["train-all-own"]
    near: dict[str, Any] = {"devices": {"requests": []}}
    made = {
        c["metadata"]["name"]: c["spec"] for c in set_claims(found, {TemplateRef("default", "near"): near})
    }
    assert made == {"train-all-own": DEVICE, "train-all-near": near}
