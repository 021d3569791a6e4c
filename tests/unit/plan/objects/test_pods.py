"""The pods of a clique differ only in their name and index, and keep everything that the user wrote."""

from typing import Any

import msgspec
import pytest

from grove.api import PodClique
from grove.plan.objects.pod_draft import GroupDrafts
from grove.plan.objects.pods import PodBuilder
from tests.unit.api.sets import CONTAINER, clique
from tests.unit.plan.samples import (
    GATE,
    INIT_IMAGE,
    alone,
    draft,
    gang_of,
    layout,
    member,
    pod,
    share,
    template,
)

TRICKY = {
    "nul": "\0",
    "escaped": r"printf '\u0000' \0",
    "quotes": '"\\"',
    "text": "0 is an index, 1 as well\n\t",
    "unicode": "ü \U0001f600 \u2028",
}


def test_pods_of_a_clique_differ_only_in_label_and_hostname() -> None:
    found = layout(clique("w"))
    first, second = (pod(found, alone(found, "w"), i) for i in (0, 17))
    assert second["metadata"]["labels"].pop("grove.io/podclique-pod-index") == "17"
    assert second["spec"].pop("hostname") == "train-0-w-17"
    assert first["metadata"]["labels"].pop("grove.io/podclique-pod-index") == "0"
    assert first["spec"].pop("hostname") == "train-0-w-0"
    assert first == second


def test_a_pod_has_the_name_that_the_caller_chose() -> None:
    found = layout(clique("w"))
    metadata = pod(found, alone(found, "w"))["metadata"]
    assert (metadata["name"], metadata["generateName"]) == ("train-0-w-abcde", "train-0-w-")


def test_pods_beyond_the_minimum_get_the_surplus_draft() -> None:
    found = layout(clique("w", replicas=3, minAvailable=2))
    of_set = alone(found, "w")
    drafts = GroupDrafts(draft(labels={"part": "gang"}), draft(labels={"part": "surplus"}, gate="other"))
    builder = PodBuilder(
        found, of_set, gang_of(found, of_set), drafts, init_image=INIT_IMAGE, gates=frozenset()
    )
    pods = [msgspec.json.decode(builder.body(p, "any")) for p in range(3)]
    assert [p["metadata"]["labels"]["part"] for p in pods] == ["gang", "gang", "surplus"]
    assert [p["spec"]["schedulingGates"] for p in pods] == [[{"name": g}] for g in (GATE, GATE, "other")]


def test_the_strings_of_the_user_arrive_unchanged() -> None:
    containers = [CONTAINER | {"command": [*TRICKY.values()]}]
    found = layout(clique("w", podSpec={"containers": containers}, annotations=TRICKY))
    made = pod(found, alone(found, "w"), 3)
    assert made["spec"]["containers"][0]["command"] == [*TRICKY.values()]
    assert made["metadata"]["annotations"] == TRICKY


def test_unknown_fields_of_a_pod_are_kept() -> None:
    found = layout(
        clique("w", podSpec={"containers": [CONTAINER | {"novel": [1.5, None]}], "novel": {"a": {}}})
    )
    made = pod(found, alone(found, "w"))
    assert (made["spec"]["novel"], made["spec"]["containers"][0]["novel"]) == ({"a": {}}, [1.5, None])


def test_gates_of_the_user_stay_in_front_of_the_backends_gate() -> None:
    gates = [{"name": "example.com/quota"}, {"name": GATE}]
    found = layout(clique("w", podSpec={"containers": [CONTAINER], "schedulingGates": gates}))
    assert pod(found, alone(found, "w"))["spec"]["schedulingGates"] == [
        {"name": "example.com/quota"},
        {"name": GATE},
    ]


def test_gates_of_other_backends_that_the_user_wrote_are_left_out() -> None:
    gates = [{"name": "example.com/other-backend"}, {"name": "example.com/quota"}]
    found = layout(clique("w", podSpec={"containers": [CONTAINER], "schedulingGates": gates}))
    own = alone(found, "w")
    known = frozenset({GATE, "example.com/other-backend"})
    builder = PodBuilder(
        found, own, gang_of(found, own), GroupDrafts(draft()), init_image=INIT_IMAGE, gates=known
    )
    made = msgspec.json.decode(builder.body(0, "any"))
    assert made["spec"]["schedulingGates"] == [{"name": "example.com/quota"}, {"name": GATE}]


def test_the_backend_has_the_last_word_on_labels_annotations_and_spec() -> None:
    found = layout(clique("w", labels={"queue": "a"}, annotations={"note": "a", "kept": "x"}))
    made = pod(
        found,
        alone(found, "w"),
        labels={"queue": "b"},
        annotations={"note": "b"},
        spec={"schedulingGroup": {"podGroupName": "g"}},
        scheduler_name="other",
    )
    assert made["metadata"]["labels"]["queue"] == "b"
    assert made["metadata"]["annotations"] == {"note": "b", "kept": "x"}
    assert (made["spec"]["schedulingGroup"], made["spec"]["schedulerName"]) == (
        {"podGroupName": "g"},
        "other",
    )


def test_identifying_labels_override_those_of_the_user() -> None:
    lies = {
        "grove.io/podclique": "x",
        "grove.io/podgang": "x",
        "app.kubernetes.io/part-of": "x",
        "tier": "gpu",
    }
    found = layout(clique("w", labels=lies))
    own = pod(found, alone(found, "w", i=4), 2)["metadata"]["labels"]
    assert (own["grove.io/podclique"], own["grove.io/podgang"]) == ("train-4-w", "train-4")
    assert (own["app.kubernetes.io/part-of"], own["tier"]) == ("train", "gpu")


def test_a_label_of_the_user_cannot_change_the_position_of_a_clique() -> None:
    lies = {
        "grove.io/podcliquescalinggroup": "x",
        "grove.io/podcliquescalinggroup-replica-index": "3",
        "grove.io/base-podgang": "x",
    }
    group = {"name": "g", "cliqueNames": ["m"], "replicas": 2, "minAvailable": 1}
    found = layout(clique("w", labels=lies), clique("m", labels=lies), podCliqueScalingGroups=[group])

    def place(made: PodClique) -> dict[str, str]:
        return {k: v for k, v in pod(found, made)["metadata"]["labels"].items() if k in lies}

    own = {"grove.io/podcliquescalinggroup": "train-0-g", "grove.io/podcliquescalinggroup-replica-index": "0"}
    assert place(alone(found, "w")) == {}
    assert place(member(found, "m")) == own


def test_a_backend_can_remove_a_field_of_the_spec() -> None:
    found = layout(clique("w", podSpec={"containers": [{"name": "c"}], "priorityClassName": "mine"}))
    made = pod(found, alone(found, "w"), spec={"priorityClassName": None})
    assert "priorityClassName" not in made["spec"]


def names(container: dict[str, Any]) -> list[str]:
    return [v["name"] for v in container.get("env", [])]


def test_variables_come_in_order_and_ours_win() -> None:
    env = [{"name": "A", "value": "1"}, {"name": "GROVE_PCS_NAME", "value": "mine"}, {"name": "B"}]
    containers = [CONTAINER | {"env": env}, {"name": "side"}]
    found = layout(
        clique("w", podSpec={"containers": containers, "initContainers": [{"name": "init"}]}),
        podCliqueScalingGroups=[{"name": "g", "cliqueNames": ["w"]}],
    )
    spec = pod(found, member(found, "w"))["spec"]
    ours = [
        "GROVE_PCS_NAME",
        "GROVE_PCS_INDEX",
        "GROVE_PCLQ_NAME",
        "GROVE_HEADLESS_SERVICE",
        "GROVE_PCLQ_POD_INDEX",
        "GROVE_PCSG_NAME",
        "GROVE_PCSG_TEMPLATE_NUM_PODS",
        "GROVE_PCSG_INDEX",
    ]
    assert names(spec["containers"][0]) == [*ours, "A", "B"]
    assert names(spec["containers"][1]) == names(spec["initContainers"][0]) == ours
    assert spec["containers"][0]["env"][0] == {"name": "GROVE_PCS_NAME", "value": "train"}


def test_claims_of_the_pod_carry_its_index_in_the_pod_and_in_every_container() -> None:
    pod_spec = {
        "containers": [CONTAINER | {"resources": {"claims": [{"name": "mine"}], "limits": {"cpu": "1"}}}],
        "initContainers": [{"name": "init"}],
        "resourceClaims": [{"name": "mine", "resourceClaimTemplateName": "mine"}],
    }
    found = layout(
        clique("w", podSpec=pod_spec, resourceSharing=[share("t", "PerReplica"), share("u", "AllReplicas")]),
        resourceClaimTemplates=[template("t"), template("u")],
    )
    spec = pod(found, alone(found, "w"), 12)["spec"]
    ours = ["train-0-w-all-u", "train-0-w-12-t"]
    assert spec["resourceClaims"] == [
        {"name": "mine", "resourceClaimTemplateName": "mine"},
        *({"name": c, "resourceClaimName": c} for c in ours),
    ]
    used = [{"name": c} for c in ours]
    assert spec["containers"][0]["resources"] == {
        "claims": [{"name": "mine"}, *used],
        "limits": {"cpu": "1"},
    }
    assert spec["initContainers"][0]["resources"] == {"claims": used}


def test_an_unknown_clique_is_an_error_that_names_it() -> None:
    found, other = layout(clique("w")), layout(clique("x"))
    with pytest.raises(LookupError, match="PodCliqueSet train describes no clique that PodClique train-0-x"):
        pod(found, alone(other, "x"))
