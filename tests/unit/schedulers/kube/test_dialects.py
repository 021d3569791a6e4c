"""The objects of a gang in each dialect, and what a dialect does not guarantee."""

from typing import Any

import pytest

from grove.schedulers.kube import Kubernetes
from tests.unit.schedulers.gangs import check_golden, group, packed, translated
from tests.unit.schedulers.kube.gangs import (
    NAMES,
    RACK,
    TWO,
    ZONE,
    chat,
    cluster,
    gang,
    objects,
)


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


def test_a_setting_lets_preemption_evict_single_pods() -> None:
    made = objects(Kubernetes({"disruption": "pod"}), chat("CompositePodGroup"), cluster("CompositePodGroup"))
    assert all("disruptionMode" not in spec for spec in made.values())


@pytest.mark.parametrize(
    ("dialect", "without", "found", "expected"),
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
def test_the_shortfall_says_what_a_cluster_does_not_guarantee(
    dialect: str, without: tuple[str, ...], found: Any, expected: list[str]
) -> None:
    shortfall = Kubernetes({}).shortfall(found(dialect), cluster(dialect, without=without))
    assert bool(shortfall) == bool(expected)
    for text in expected:
        assert text in shortfall


def test_a_constraint_that_the_server_drops_is_not_sent() -> None:
    made = objects(Kubernetes({}), chat("PodGroupV1beta1"), cluster("PodGroupV1beta1", without=("topology",)))
    assert "schedulingConstraints" not in made["PodGroup chat-0.pg"]


def test_priority_and_disruption_need_their_feature_gate_in_1_36() -> None:
    served = cluster("PodGroupV1alpha2", without=("disruption-v1alpha2",))
    made = objects(Kubernetes({}), chat("PodGroupV1alpha2"), served)
    assert not made["PodGroup chat-0.pg"].keys() & {"disruptionMode", "priorityClassName"}
