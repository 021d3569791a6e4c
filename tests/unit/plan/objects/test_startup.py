"""A pod waits for exactly the cliques before it; a pod without such cliques gets no init container."""

from typing import Any

from tests.unit.api.sets import CONTAINER, clique
from tests.unit.plan.samples import INIT_IMAGE, alone, layout, member, pod, share, template

IN_ORDER = "CliqueStartupTypeInOrder"
EXPLICIT = "CliqueStartupTypeExplicit"


def waits(made: dict[str, Any]) -> list[str]:
    found = [c for c in made["spec"].get("initContainers", []) if c["name"] == "grove-initc"]
    return [a for c in found for a in c["args"]]


def test_the_first_clique_has_no_parents() -> None:
    found = layout(clique("a"), clique("b"), cliqueStartupType=IN_ORDER)
    made = pod(found, alone(found, "a"))
    assert "initContainers" not in made["spec"]
    assert "volumes" not in made["spec"]
    assert waits(pod(found, alone(found, "b"))) == ["--podcliques=train-0-a:2"]


def test_a_parent_is_not_mistaken_for_a_clique_whose_name_ends_alike() -> None:
    found = layout(
        clique("worker", replicas=3, minAvailable=3),
        clique("decode-worker", replicas=2, minAvailable=1),
        clique("last", startsAfter=["decode-worker"]),
        cliqueStartupType=EXPLICIT,
    )
    assert waits(pod(found, alone(found, "last"))) == ["--podcliques=train-0-decode-worker:1"]


def test_a_base_gang_waits_for_every_copy_in_it_and_a_scaled_one_for_its_own() -> None:
    found = layout(
        clique("a"),
        clique("b", minAvailable=1, startsAfter=["a"]),
        clique("c", startsAfter=["a", "b"]),
        podCliqueScalingGroups=[{"name": "g", "cliqueNames": ["b", "c"], "replicas": 5, "minAvailable": 2}],
        cliqueStartupType=EXPLICIT,
    )
    assert waits(pod(found, member(found, "c", j=0))) == [
        "--podcliques=train-0-a:2",
        "--podcliques=train-0-g-0-b:1",
        "--podcliques=train-0-g-1-b:1",
    ]
    assert waits(pod(found, member(found, "c", j=4))) == ["--podcliques=train-0-g-4-b:1"]
    assert waits(pod(found, member(found, "b", j=4))) == []


def test_the_waiting_container_comes_last_and_has_neither_variables_nor_claims() -> None:
    pod_spec = {
        "containers": [CONTAINER],
        "initContainers": [{"name": "init"}],
        "volumes": [{"name": "v", "emptyDir": {}}],
    }
    found = layout(
        clique("a"),
        clique("b", podSpec=pod_spec, resourceSharing=[share("t", "PerReplica")]),
        cliqueStartupType=IN_ORDER,
        resourceClaimTemplates=[template("t")],
    )
    spec = pod(found, alone(found, "b"), 1)["spec"]
    assert [c["name"] for c in spec["initContainers"]] == ["init", "grove-initc"]
    assert spec["initContainers"][1].keys() == {"name", "image", "args", "volumeMounts"}
    assert spec["initContainers"][1]["image"] == INIT_IMAGE
    assert "claims" in spec["initContainers"][0]["resources"]
    assert [v["name"] for v in spec["volumes"]] == ["v", "sa-token-secret-vol", "pod-info-vol"]
    assert spec["volumes"][1]["secret"] == {"secretName": "train-ic-sat", "defaultMode": 420}
