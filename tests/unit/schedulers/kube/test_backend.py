"""Which dialect a gang gets, and how its pods are tied to it."""

import msgspec
import pytest

from grove.api import labels
from grove.api.pod_view import Pod
from grove.plan.objects.pod_draft import PodDraft
from grove.schedulers.kube import Kubernetes
from grove.schedulers.registry import ConfigurationError, Registry
from grove.schedulers.types import Refusal, Served
from tests.unit.schedulers.gangs import gang as plain_gang
from tests.unit.schedulers.gangs import group
from tests.unit.schedulers.kube.gangs import NAMES, TWO, Json, chat, cluster, gang, in_group, pod


@pytest.mark.parametrize(
    ("settings", "named"),
    [({"queue": "a"}, "queue"), ({"disruption": "node"}, "disruption"), ({"strict": "yes"}, "strict")],
)
def test_an_error_names_the_wrong_setting(settings: Json, named: str) -> None:
    from grove.api.config import SchedulerProfile, Schedulers

    profile = SchedulerProfile(name="default-scheduler", config=msgspec.Raw(msgspec.json.encode(settings)))
    with pytest.raises(ConfigurationError, match=named):
        Registry(Schedulers(profiles=[profile]), {"default": Kubernetes})


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
def test_a_new_gang_gets_the_best_available_dialect(served: Served, chosen: str) -> None:
    assert Kubernetes({}).dialect(plain_gang(group("a", 1)), [], served) == chosen


def test_a_rejected_probe_does_not_rule_out_a_dialect() -> None:
    """An admission policy may reject the pod of the probe. Links of pods are checked in any case."""
    served = cluster("CompositePodGroup", without=("schedulingGroup",))
    served = Served(served.fields, served.kept)
    assert Kubernetes({}).dialect(plain_gang(group("a", 1)), [], served) == "CompositePodGroup"


MERGED = [pod("a-0", "a", 0, in_group("demo-0.pg")), pod("b-0", "b", 0, in_group("demo-0.pg"))]


TREE = [pod("a-0", "a", 0, in_group("demo-0.pg.a")), pod("b-0", "b", 0, in_group("demo-0.pg.b"))]


ALONE = [pod("a-0", "a", 0), pod("b-0", "b", 0)]


@pytest.mark.parametrize(
    ("current", "pods", "served", "chosen"),
    [
        # It keeps its dialect, even if a better one is available.
        ("PodGroupV1beta1", MERGED, cluster(*NAMES), "PodGroupV1beta1"),
        ("NoGangAPI", ALONE, cluster(*NAMES), "NoGangAPI"),
        # An upgrade: its API is not served any more, and another one ties pods in the same way.
        ("PodGroupV1alpha2", MERGED, cluster("CompositePodGroup"), "PodGroupV1beta1"),
        # The API server dropped the field, as 1.36 does with that of 1.35.
        ("WorkloadV1alpha1", ALONE, cluster("PodGroupV1alpha2"), "NoGangAPI"),
        # A gang that was deleted by hand and recreated finds its pods.
        ("", TREE, cluster(*NAMES), "CompositePodGroup"),
        ("", MERGED, cluster("CompositePodGroup"), "PodGroupV1beta1"),
        # Pods that were never released can be recreated.
        ("PodGroupV1alpha2", [], cluster("CompositePodGroup"), "CompositePodGroup"),
        (
            "PodGroupV1alpha2",
            [pod("a-0", "a", 0, in_group("demo-0.pg"), gated=True)],
            cluster("CompositePodGroup"),
            "CompositePodGroup",
        ),
        # The links of the pods decide, not the recorded dialect.
        ("CompositePodGroup", MERGED, cluster("CompositePodGroup"), "PodGroupV1beta1"),
    ],
)
def test_a_gang_with_released_pods_keeps_the_dialect_of_their_links(
    current: str, pods: list[Pod], served: Served, chosen: str
) -> None:
    found = gang(current, *TWO) if current else plain_gang(*TWO)
    assert Kubernetes({}).dialect(found, pods, served) == chosen


def test_a_gang_is_refused_if_no_available_dialect_has_the_links_of_its_pods() -> None:
    with pytest.raises(Refusal, match=r"does not serve any more.*scaling the set in and out"):
        Kubernetes({}).dialect(gang("CompositePodGroup", *TWO), TREE, cluster("PodGroupV1beta1"))


def test_a_surplus_pod_needs_no_link() -> None:
    pods = [*MERGED, pod("a-1", "a", 1)]
    assert Kubernetes({}).dialect(gang("PodGroupV1alpha2", *TWO), pods, cluster("PodGroupV1alpha2")) == (
        "PodGroupV1alpha2"
    )


def test_an_unknown_dialect_is_refused() -> None:
    with pytest.raises(Refusal, match="dialect PodGroupV2"):
        Kubernetes({}).translate(gang("PodGroupV2", group("a", 1)), Served())


@pytest.mark.parametrize("dialect", NAMES)
def test_the_link_of_a_pod_without_the_right_fields_is_broken(dialect: str) -> None:
    backend, found = Kubernetes({}), gang(dialect, *TWO)
    draft = PodDraft("default-scheduler", labels.Gate.KUBERNETES)
    backend.prepare_pod(found, found.spec.pod_groups[0], draft)
    draft.spec.pop("priorityClassName", None)
    a = found.spec.pod_groups[0]
    assert backend.broken_link(found, a, pod("a-0", "a", 0, draft.spec)) == ""
    why = backend.broken_link(found, a, pod("a-0", "a", 0))
    assert ("GenericWorkload" in why) == (dialect != "NoGangAPI")
    other = backend.broken_link(found, a, pod("a-0", "a", 0, in_group("another")))
    assert "created for another gang API" in other


@pytest.mark.parametrize("dialect", NAMES)
def test_surplus_pods_stay_out_of_a_gang_of_several_groups(dialect: str) -> None:
    backend, found = Kubernetes({}), gang(dialect, *TWO)
    part = found.spec.pod_groups[0]
    assert backend.separates_surplus(found, part) == (dialect != "NoGangAPI")
    draft = PodDraft("default-scheduler", labels.Gate.KUBERNETES)
    backend.prepare_surplus_pod(found, part, draft)
    assert not draft.spec.keys() & {"schedulingGroup", "workloadRef"}
    assert backend.broken_link(found, part, pod("a-1", "a", 1)) == ""


def test_surplus_pods_stay_in_a_tree_with_constraints() -> None:
    found = chat("CompositePodGroup")
    assert not Kubernetes({}).separates_surplus(found, found.spec.pod_groups[2])


def test_surplus_pods_stay_in_a_gang_of_one_group() -> None:
    for name in NAMES:
        found = gang(name, group("a", 1))
        assert not Kubernetes({}).separates_surplus(found, found.spec.pod_groups[0])


def test_a_gang_without_a_dialect_separates_no_surplus() -> None:
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
