"""kube-scheduler: what gangs become in each dialect, which dialect they are written in, and what is refused."""

from typing import Any

import msgspec
import pytest
from grove_sandbox.conformance.outputs import all_outputs
from grove_sandbox.conformance.samples import clique, gangs_of, pod_clique_set

from grove.api import labels
from grove.api.pod_view import Pod
from grove.api.podcliqueset import PodCliqueSet
from grove.api.podgang import PodGang
from grove.api.serialization import codec
from grove.plan.objects.pod_draft import PodDraft
from grove.schedulers.kube import Kubernetes
from grove.schedulers.kube.backend import DIALECTS
from grove.schedulers.kube.dialect import Dialect
from grove.schedulers.registry import ConfigurationError, Registry
from grove.schedulers.types import Refusal, Served
from tests.unit.schedulers.gangs import check_golden, group, packed, together, translated
from tests.unit.schedulers.gangs import gang as plain_gang

Json = dict[str, Any]

ZONE, RACK = "topology.kubernetes.io/zone", "example.com/rack"
BY_NAME: dict[str, Dialect] = {d.name: d for d in DIALECTS}
NAMES = list(BY_NAME)


def gang(dialect: str, *groups: Json, **more: Any) -> PodGang:
    said = {
        "type": "SchedulerDialect",
        "status": "True",
        "reason": dialect,
        "message": "",
        "lastTransitionTime": "2030-01-01T00:00:00Z",
    }
    return plain_gang(*groups, status={"phase": "Pending", "conditions": [said]}, **more)


def cluster(*dialects: str, without: tuple[str, ...] = ()) -> Served:
    """A cluster that offers some dialects, whose probes are kept but for some."""
    wanted = [BY_NAME[d] for d in dialects]
    kept = frozenset(p.name for d in wanted for p in d.probes) - frozenset(without)
    return Served(
        dict.fromkeys([k for d in wanted for k in d.kinds], frozenset()),
        kept,
        frozenset(p.name for d in DIALECTS for p in d.probes) - kept,
    )


def chat(dialect: str, **more: Any) -> PodGang:
    """A router, and a prefill group in one rack, all in one zone."""
    return gang(
        dialect,
        group("chat-0-router", 1),
        group("chat-0-prefill-0-leader", 1),
        group("chat-0-prefill-0-worker", 2),
        name="chat-0",
        topologyConstraint=packed(required=ZONE),
        topologyConstraintGroupConfigs=[
            together(
                "chat-0-prefill-0",
                "chat-0-prefill-0-leader",
                "chat-0-prefill-0-worker",
                pack={"required": RACK},
            )
        ],
        priorityClassName="serving",
        **more,
    )


def objects(backend: Kubernetes, found: PodGang, served: Served) -> dict[str, Json]:
    return {f"{o.kind.kind} {o.name}": o.body["spec"] for o in backend.translate(found, served)}


@pytest.mark.parametrize("dialect", NAMES)
def test_a_gang_with_constraints_at_two_levels(dialect: str) -> None:
    made = translated(Kubernetes({}), chat(dialect), cluster(dialect))
    check_golden(f"kube/{dialect}-chat", made)


@pytest.mark.parametrize("dialect", NAMES)
def test_a_gang_of_two_groups(dialect: str) -> None:
    found = gang(dialect, group("demo-0-a", 2), group("demo-0-b", 3))
    check_golden(f"kube/{dialect}-two", translated(Kubernetes({}), found, cluster(dialect)))


@pytest.mark.parametrize("dialect", NAMES)
def test_a_gang_of_one_group(dialect: str) -> None:
    found = gang(dialect, group("demo-0-a", 4, {"required": RACK}), topologyConstraint=packed(required=RACK))
    check_golden(f"kube/{dialect}-one", translated(Kubernetes({}), found, cluster(dialect)))


def test_copies_of_a_scaling_group_share_a_template() -> None:
    copies = [f"demo-0-g-{j}" for j in range(3)]
    found = gang(
        "CompositePodGroup",
        *(group(f"{c}-{role}", n) for c in copies for role, n in (("leader", 1), ("worker", 4))),
        topologyConstraintGroupConfigs=[
            together(c, f"{c}-leader", f"{c}-worker", pack={"required": RACK}) for c in copies
        ],
    )
    check_golden(
        "kube/CompositePodGroup-copies", translated(Kubernetes({}), found, cluster("CompositePodGroup"))
    )


def test_one_group_with_another_constraint_than_its_gang_keeps_both() -> None:
    found = gang(
        "CompositePodGroup", group("a", 2, {"required": RACK}), topologyConstraint=packed(required=ZONE)
    )
    made = objects(Kubernetes({}), found, cluster("CompositePodGroup"))
    assert made["CompositePodGroup demo-0"]["schedulingConstraints"] == {"topology": [{"key": ZONE}]}
    assert made["PodGroup demo-0.pg.a"]["schedulingConstraints"] == {"topology": [{"key": RACK}]}
    assert made["PodGroup demo-0.pg.a"]["parentCompositePodGroupName"] == "demo-0"


@pytest.mark.parametrize("shapes", [8, 9, 17, 64])
def test_no_node_lists_more_than_eight_templates(shapes: int) -> None:
    found = gang("CompositePodGroup", *(group(f"g{n}", n + 1) for n in range(shapes)))
    made = objects(Kubernetes({}), found, cluster("CompositePodGroup"))
    (root,) = made["Workload demo-0"]["compositePodGroupTemplates"]
    names: list[str] = []
    _check_templates(root, names, depth=1)
    assert len(names) == len(set(names))
    branches = {k: v for k, v in made.items() if k.startswith("Composite")}
    leaves = {k: v for k, v in made.items() if k.startswith("PodGroup ")}
    assert len(leaves) == shapes
    for title, spec in branches.items():
        name = title.partition(" ")[2]
        children = [s for s in made.values() if s.get("parentCompositePodGroupName") == name]
        assert spec["schedulingPolicy"]["gang"]["minGroupCount"] == len(children)
        assert spec["workloadRef"]["templateName"] in names
    for number in range(shapes):
        assert leaves[f"PodGroup demo-0.pg.g{number}"]["schedulingPolicy"]["gang"]["minCount"] == number + 1


def _check_templates(template: Json, names: list[str], depth: int) -> None:
    assert depth <= 3
    names.append(template["name"])
    plain = template.get("podGroupTemplates", [])
    inner = template.get("compositePodGroupTemplates", [])
    assert plain or inner
    assert max(len(plain), len(inner)) <= 8
    names += [t["name"] for t in plain]
    for child in inner:
        _check_templates(child, names, depth + 1)


def test_more_shapes_than_a_tree_can_list_are_refused() -> None:
    found = gang("CompositePodGroup", *(group(f"g{n}", n + 1) for n in range(65)))
    with pytest.raises(Refusal, match=r"kinds of groups.*minAvailable"):
        Kubernetes({}).translate(found, cluster("CompositePodGroup"))


def test_constraints_that_form_no_tree_are_refused() -> None:
    found = gang(
        "CompositePodGroup",
        group("a", 1),
        group("b", 1),
        topologyConstraintGroupConfigs=[
            together("left", "a", "b", pack={"required": RACK}),
            together("right", "b", pack={"required": ZONE}),
        ],
    )
    with pytest.raises(Refusal, match="the group b is in the constraints left and right"):
        Kubernetes({}).translate(found, cluster("CompositePodGroup"))


def test_pods_may_be_disrupted_one_by_one() -> None:
    made = objects(Kubernetes({"disruption": "pod"}), chat("CompositePodGroup"), cluster("CompositePodGroup"))
    assert all("disruptionMode" not in spec for spec in made.values())


@pytest.mark.parametrize(
    ("settings", "named"),
    [({"queue": "a"}, "queue"), ({"disruption": "node"}, "disruption"), ({"strict": "yes"}, "strict")],
)
def test_a_setting_that_is_wrong_is_named(settings: Json, named: str) -> None:
    from grove.api.config import SchedulerProfile, Schedulers

    profile = SchedulerProfile(name="default-scheduler", config=msgspec.Raw(msgspec.json.encode(settings)))
    with pytest.raises(ConfigurationError, match=named):
        Registry(Schedulers(profiles=[profile]), {"default": Kubernetes})


# --- which dialect ---


def pod(name: str, clique: str, index: int, spec: Json | None = None, *, gated: bool = False) -> Pod:
    gates = [{"name": labels.Gate.KUBERNETES}] if gated else []
    body = {
        "metadata": {
            "name": name,
            "uid": name,
            "labels": {labels.POD_CLIQUE: clique, labels.POD_INDEX: str(index)},
        },
        "spec": {"schedulingGates": gates, **(spec or {})},
    }
    return msgspec.json.decode(msgspec.json.encode(body), type=Pod)


def in_group(name: str) -> Json:
    return {"schedulingGroup": {"podGroupName": name}}


@pytest.mark.parametrize(
    ("served", "chosen"),
    [
        (cluster(*NAMES), "CompositePodGroup"),
        (cluster("CompositePodGroup"), "CompositePodGroup"),
        (cluster("CompositePodGroup", without=("parent",)), "PodGroupV1beta1"),
        (cluster("PodGroupV1beta1"), "PodGroupV1beta1"),
        (cluster("PodGroupV1alpha2"), "PodGroupV1alpha2"),
        (cluster("WorkloadV1alpha1"), "WorkloadV1alpha1"),
        (cluster("PodGroupV1alpha2", without=("schedulingGroup",)), "NoGangAPI"),
        (cluster("WorkloadV1alpha1", without=("workloadRef",)), "NoGangAPI"),
        (Served(), "NoGangAPI"),
    ],
)
def test_a_new_gang_gets_the_best_that_the_cluster_offers(served: Served, chosen: str) -> None:
    assert Kubernetes({}).dialect(plain_gang(group("a", 1)), [], served) == chosen


def test_a_probe_that_is_refused_says_nothing_against_a_dialect() -> None:
    """A policy may forbid the pod of the probe; every pod's own link is looked at in any case."""
    served = cluster("CompositePodGroup", without=("schedulingGroup",))
    served = Served(served.fields, served.kept)
    assert Kubernetes({}).dialect(plain_gang(group("a", 1)), [], served) == "CompositePodGroup"


TWO = (group("a", 1), group("b", 1))
MERGED = [pod("a-0", "a", 0, in_group("demo-0.pg")), pod("b-0", "b", 0, in_group("demo-0.pg"))]
TREE = [pod("a-0", "a", 0, in_group("demo-0.pg.a")), pod("b-0", "b", 0, in_group("demo-0.pg.b"))]
ALONE = [pod("a-0", "a", 0), pod("b-0", "b", 0)]


@pytest.mark.parametrize(
    ("current", "pods", "served", "chosen"),
    [
        # It keeps what it has, whatever else is offered.
        ("PodGroupV1beta1", MERGED, cluster(*NAMES), "PodGroupV1beta1"),
        ("NoGangAPI", ALONE, cluster(*NAMES), "NoGangAPI"),
        # An upgrade: the API is gone, and another ties pods in the same way.
        ("PodGroupV1alpha2", MERGED, cluster("CompositePodGroup"), "PodGroupV1beta1"),
        # A server that forgot the field, as the next release does with that of 1.35.
        ("WorkloadV1alpha1", ALONE, cluster("PodGroupV1alpha2"), "NoGangAPI"),
        # A gang that was deleted by hand and made again finds its pods.
        ("", TREE, cluster(*NAMES), "CompositePodGroup"),
        ("", MERGED, cluster("CompositePodGroup"), "PodGroupV1beta1"),
        # Pods that were never released can be made anew.
        ("PodGroupV1alpha2", [], cluster("CompositePodGroup"), "CompositePodGroup"),
        (
            "PodGroupV1alpha2",
            [pod("a-0", "a", 0, in_group("demo-0.pg"), gated=True)],
            cluster("CompositePodGroup"),
            "CompositePodGroup",
        ),
        # The pods decide, not what is recorded.
        ("CompositePodGroup", MERGED, cluster("CompositePodGroup"), "PodGroupV1beta1"),
    ],
)
def test_a_gang_with_pods_keeps_what_they_are_tied_to(
    current: str, pods: list[Pod], served: Served, chosen: str
) -> None:
    found = gang(current, *TWO) if current else plain_gang(*TWO)
    assert Kubernetes({}).dialect(found, pods, served) == chosen


def test_a_gang_whose_pods_are_tied_to_what_is_gone_is_refused() -> None:
    with pytest.raises(Refusal, match=r"does not serve any more.*scaling the set in and out"):
        Kubernetes({}).dialect(gang("CompositePodGroup", *TWO), TREE, cluster("PodGroupV1beta1"))


def test_a_surplus_pod_counts_as_tied_without_a_link() -> None:
    pods = [*MERGED, pod("a-1", "a", 1)]
    assert Kubernetes({}).dialect(gang("PodGroupV1alpha2", *TWO), pods, cluster("PodGroupV1alpha2")) == (
        "PodGroupV1alpha2"
    )


def test_a_dialect_that_this_version_does_not_know_is_refused() -> None:
    with pytest.raises(Refusal, match="dialect PodGroupV2"):
        Kubernetes({}).translate(gang("PodGroupV2", group("a", 1)), Served())


# --- pods ---


@pytest.mark.parametrize("dialect", NAMES)
def test_a_pod_with_the_link_of_its_group_may_go_and_one_without_may_not(dialect: str) -> None:
    backend, found = Kubernetes({}), gang(dialect, *TWO)
    draft = PodDraft("default-scheduler", labels.Gate.KUBERNETES)
    backend.prepare_pod(found, found.spec.pod_groups[0], draft)
    draft.spec.pop("priorityClassName", None)
    a = found.spec.pod_groups[0]
    assert backend.broken_link(found, a, pod("a-0", "a", 0, draft.spec)) == ""
    said = backend.broken_link(found, a, pod("a-0", "a", 0))
    assert ("GenericWorkload" in said) == (dialect != "NoGangAPI")
    other = backend.broken_link(found, a, pod("a-0", "a", 0, in_group("another")))
    assert "created for another gang API" in other


@pytest.mark.parametrize("dialect", NAMES)
def test_pods_beyond_the_minimum_follow_a_gang_of_several_groups(dialect: str) -> None:
    backend, found = Kubernetes({}), gang(dialect, *TWO)
    part = found.spec.pod_groups[0]
    assert backend.separates_surplus(found, part) == (dialect != "NoGangAPI")
    draft = PodDraft("default-scheduler", labels.Gate.KUBERNETES)
    backend.prepare_surplus_pod(found, part, draft)
    assert not draft.spec.keys() & {"schedulingGroup", "workloadRef"}
    assert backend.broken_link(found, part, pod("a-1", "a", 1)) == ""


def test_pods_beyond_the_minimum_stay_in_a_tree_that_says_where_they_belong() -> None:
    found = chat("CompositePodGroup")
    assert not Kubernetes({}).separates_surplus(found, found.spec.pod_groups[2])


def test_a_gang_of_one_group_is_not_split() -> None:
    for name in NAMES:
        found = gang(name, group("a", 1))
        assert not Kubernetes({}).separates_surplus(found, found.spec.pod_groups[0])


def test_a_gang_without_a_dialect_is_not_split() -> None:
    found = plain_gang(*TWO)
    assert not Kubernetes({}).separates_surplus(found, found.spec.pod_groups[0])


@pytest.mark.parametrize(
    ("dialect", "asked", "given"),
    [
        ("CompositePodGroup", "serving", {"priorityClassName": "serving"}),
        ("CompositePodGroup", None, {"priorityClassName": None}),
        ("PodGroupV1beta1", None, {"priorityClassName": None}),
        ("PodGroupV1alpha2", None, {}),
        ("WorkloadV1alpha1", "serving", {"priorityClassName": "serving"}),
        ("NoGangAPI", None, {}),
    ],
)
def test_pods_have_the_priority_of_their_gang(dialect: str, asked: str | None, given: Json) -> None:
    more = {"priorityClassName": asked} if asked else {}
    found = gang(dialect, *TWO, **more)
    draft = PodDraft("default-scheduler", labels.Gate.KUBERNETES)
    Kubernetes({}).prepare_pod(found, found.spec.pod_groups[0], draft)
    assert {k: v for k, v in draft.spec.items() if k == "priorityClassName"} == given


# --- what is said ---


@pytest.mark.parametrize(
    ("dialect", "without", "found", "words"),
    [
        ("CompositePodGroup", (), chat, []),
        (
            "PodGroupV1beta1",
            (),
            chat,
            ["example.com/rack of chat-0-prefill-0", "another topology.kubernetes.io/zone"],
        ),
        ("PodGroupV1alpha2", (), chat, ["example.com/rack of chat-0-prefill-0"]),
        ("PodGroupV1beta1", ("topology",), chat, ["TopologyAwareWorkloadScheduling", ZONE]),
        ("PodGroupV1alpha2", ("topology-v1alpha2",), chat, ["TopologyAwareWorkloadScheduling", ZONE]),
        ("WorkloadV1alpha1", (), chat, [ZONE, "example.com/rack"]),
        ("NoGangAPI", (), chat, ["one by one", "GenericWorkload"]),
        ("PodGroupV1alpha2", (), lambda d: gang(d, *TWO), []),
        ("WorkloadV1alpha1", (), lambda d: gang(d, *TWO), []),
    ],
)
def test_what_a_cluster_cannot_promise_is_said(
    dialect: str, without: tuple[str, ...], found: Any, words: list[str]
) -> None:
    said = Kubernetes({}).shortfall(found(dialect), cluster(dialect, without=without))
    assert bool(said) == bool(words)
    for word in words:
        assert word in said


def test_a_constraint_that_the_server_would_drop_is_not_sent() -> None:
    made = objects(Kubernetes({}), chat("PodGroupV1beta1"), cluster("PodGroupV1beta1", without=("topology",)))
    assert "schedulingConstraints" not in made["PodGroup chat-0.pg"]


def test_priority_and_disruption_need_their_feature_gate_in_1_36() -> None:
    served = cluster("PodGroupV1alpha2", without=("disruption-v1alpha2",))
    made = objects(Kubernetes({}), chat("PodGroupV1alpha2"), served)
    assert not made["PodGroup chat-0.pg"].keys() & {"disruptionMode", "priorityClassName"}


def native(name: str, kind: str, status: str, reason: str, message: str) -> Json:
    said = {"type": kind, "status": status, "reason": reason, "message": message}
    return {"kind": "PodGroup", "metadata": {"name": name}, "status": {"conditions": [said]}}


def test_the_scheduler_s_words_are_said_once_and_with_the_user_s_names() -> None:
    kind = "PodGroupInitiallyScheduled"
    said = Kubernetes({}).observe(
        chat("CompositePodGroup"),
        [
            native("chat-0.pg.chat-0-router", kind, "False", "Unschedulable", "root failed"),
            native("chat-0.pg.chat-0-prefill-0-leader", kind, "False", "Unschedulable", "root failed"),
            native(
                "chat-0.pg.chat-0-prefill-0-worker",
                kind,
                "False",
                "Unschedulable",
                "minCount (2): 1 scheduled",
            ),
            {"kind": "Workload", "metadata": {"name": "chat-0"}},
        ],
    )
    assert said.reason == "Unschedulable"
    assert said.message == (
        "chat-0-prefill-0-leader, chat-0-router: root failed; chat-0-prefill-0-worker: minCount (2): 1 scheduled"
    )


def test_a_scheduler_that_is_content_says_nothing() -> None:
    objects = [native("chat-0.pg", "PodGroupScheduled", "True", "Scheduled", "done")]
    assert Kubernetes({}).observe(chat("PodGroupV1alpha2"), objects).message == ""


def test_a_merged_group_is_called_the_gang() -> None:
    objects = [native("chat-0.pg", "PodGroupScheduled", "False", "SchedulerError", "no such priority")]
    said = Kubernetes({}).observe(chat("PodGroupV1alpha2"), objects)
    assert (said.reason, said.message) == ("SchedulerError", "the gang: no such priority")


def test_what_has_no_effect_is_warned_of() -> None:
    template = {
        "priorityClassName": "system-node-critical",
        "topologyConstraint": {"topologyName": "t", "pack": {"required": "zone", "preferred": "rack"}},
        "cliques": [
            {
                "name": "a",
                "spec": {
                    "roleName": "a",
                    "replicas": 1,
                    "podSpec": {"priorityClassName": "own", "containers": []},
                },
            }
        ],
    }
    manifest = {
        "apiVersion": "grove.io/v1alpha1",
        "kind": "PodCliqueSet",
        "metadata": {"name": "demo"},
        "spec": {"replicas": 1, "template": template},
    }
    problems = list(Kubernetes({}).validate(codec.decode(codec.encode(manifest), PodCliqueSet)))
    assert all(p.warning for p in problems)
    assert [p.path[-1] for p in problems] == ["priorityClassName", "priorityClassName", "preferred"]


def with_priorities(set_: str | None = None, **classes: str | None) -> PodCliqueSet:
    """A set of cliques that each name a class in their podSpec, or none; `b` and `c` form a group with two copies."""
    cliques = [clique(name, 1) for name in classes]
    for made, found in zip(cliques, classes.values(), strict=True):
        made["spec"]["podSpec"] |= {"priorityClassName": found} if found is not None else {}
    grouped = [n for n in classes if n in "bc"]
    group = {"name": "g", "cliqueNames": grouped, "replicas": 2}
    more: Json = {"priorityClassName": set_} if set_ else {}
    return pod_clique_set("demo", *cliques, **more, podCliqueScalingGroups=[group] if grouped else [])


@pytest.mark.parametrize(
    ("pcs", "base", "scaled"),
    [
        (with_priorities(a="high", b="high", c="high"), "high", "high"),
        (with_priorities(a="low", b="high", c="high"), None, "high"),
        (with_priorities(a=None, b="high", c="high"), None, "high"),
        (with_priorities(a="high", b="high", c="low"), None, None),
        (with_priorities(a="", b=None, c=None), None, None),
        (with_priorities("low", a="high", b="high", c="high"), "low", "low"),
        (with_priorities(a="system-node-critical", b="high", c="high"), None, "high"),
        (with_priorities(a="high", b="system-node-critical", c="system-node-critical"), None, None),
    ],
)
def test_a_gang_of_a_set_without_priority_has_that_on_which_its_cliques_agree(
    pcs: PodCliqueSet, base: str | None, scaled: str | None
) -> None:
    served = cluster("CompositePodGroup")
    gangs = gangs_of(Kubernetes({}), pcs, served)
    assert [g.spec.priority_class_name for g in gangs] == [base, scaled]
    for found in gangs:
        made = all_outputs(Kubernetes({}), found, served)
        wanted = found.spec.priority_class_name
        groups = [o["body"]["spec"] for o in made["objects"] if o["kind"] == "PodGroup"]
        assert {g.get("priorityClassName") for g in groups} == {wanted}
        assert {p["spec"].get("priorityClassName") for p in made["pods"].values()} == {wanted}


@pytest.mark.parametrize(
    ("pcs", "said"),
    [
        (with_priorities(a="high", b="high"), []),
        (with_priorities(a=None, b=None), []),
        (with_priorities("high", a="high", b=None), []),
        (with_priorities(a="high", b="low", c=None), ["a: high, b: low, c: none"]),
        (with_priorities("high", a="low", b="high"), ["low"]),
        (with_priorities(a="system-node-critical", b="system-node-critical"), ["a, b"]),
    ],
)
def test_priorities_on_which_a_gang_does_not_agree_are_warned_of(pcs: PodCliqueSet, said: list[str]) -> None:
    problems = list(Kubernetes({}).validate(pcs))
    assert [p.value for p in problems] == said
    assert all(p.warning and p.remedy for p in problems)
