"""Snapshot and gangs: which node a pod fits on, and which gangs fit."""

from typing import Any

import pytest
from grove_sandbox.schedulers.amounts import request_of
from grove_sandbox.schedulers.gangs import Gang, place
from grove_sandbox.schedulers.snapshot import Snapshot, label_domains

from tests.unit.sandbox.schedulers.builders import node, pod


def on(pod_name: str, **more: Any) -> Any:
    return pod(pod_name, "s", **more)


def test_a_pod_needs_all_its_containers_or_the_hungriest_init_container_beside_the_sidecars() -> None:
    hungry = on(
        "p",
        cpu="",
        containers=[
            {"resources": {"requests": {"cpu": "100m"}}},
            {"resources": {"requests": {"cpu": "0.2"}}},
        ],
        initContainers=[
            {"resources": {"requests": {"cpu": "50m"}}, "restartPolicy": "Always"},
            {"resources": {"requests": {"cpu": "1", "memory": "1Gi"}}},
        ],
        overhead={"cpu": "10m"},
    )
    assert request_of(hungry) == {"cpu": 1060, "memory": 1 << 30, "pods": 1}


def test_amounts_are_exact() -> None:
    snapshot = Snapshot([node("n", "1")], [(on(f"p{i}", cpu="100m"), "n") for i in range(9)])
    assert snapshot.find(on("last", cpu="0.1")) == "n"
    assert snapshot.find(on("more", cpu="0.1001")) is None


@pytest.mark.parametrize(
    ("spec", "obstacle"),
    [
        ({"cpu": "5"}, "Insufficient cpu"),
        ({"nodeSelector": {"a": "b"}}, "node(s) didn't match Pod's node affinity/selector"),
        (
            {
                "affinity": {
                    "nodeAffinity": {
                        "requiredDuringSchedulingIgnoredDuringExecution": {
                            "nodeSelectorTerms": [
                                {
                                    "matchExpressions": [
                                        {"key": "example.com/rack", "operator": "NotIn", "values": ["r1"]}
                                    ]
                                }
                            ]
                        }
                    }
                }
            },
            "node(s) didn't match Pod's node affinity/selector",
        ),
        ({}, None),
        ({"nodeSelector": {"example.com/rack": "r1"}}, None),
    ],
)
def test_the_reason_why_a_pod_does_not_fit_is_named(spec: dict[str, Any], obstacle: str | None) -> None:
    snapshot = Snapshot([node("n", rack="r1")], [])
    assert snapshot.obstacle(on("p", **spec), snapshot.node_infos["n"]) == obstacle


def test_a_taint_rejects_pods_that_do_not_tolerate_it() -> None:
    snapshot = Snapshot([node("n", taints=[{"key": "k", "value": "v", "effect": "NoSchedule"}])], [])
    assert snapshot.find(on("p")) is None
    assert "untolerated taint {k: v}" in snapshot.explain(on("p"))
    assert snapshot.find(on("q", tolerations=[{"key": "k", "operator": "Exists"}])) == "n"
    assert snapshot.find(on("r", tolerations=[{"key": "k", "value": "other"}])) is None


def test_pod_affinity_and_anti_affinity_are_kept() -> None:
    term = {"topologyKey": "example.com/rack", "labelSelector": {"matchLabels": {"app": "x"}}}
    near = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    away = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    nodes = [node("a", rack="r1"), node("b", rack="r2")]
    snapshot = Snapshot(nodes, [(on("x", labels={"app": "x"}), "b")])
    assert snapshot.find(on("p", affinity=near)) == "b"
    assert snapshot.find(on("q", affinity=away)) == "a"
    assert Snapshot(nodes, []).find(on("first", affinity=near, labels={"app": "x"})) == "a"
    assert Snapshot(nodes, []).find(on("lonely", affinity=near)) is None


def test_a_gang_that_does_not_fit_leaves_the_cluster_as_it_was() -> None:
    snapshot = Snapshot([node("n", "2")], [])
    outcome = place(snapshot, Gang("g", 3, [on(f"p{i}") for i in range(3)]))
    assert not outcome.ok
    assert "minCount (3) cannot be satisfied: 2 scheduled, 0 remaining" in outcome.failure
    assert snapshot.node_infos["n"].free["cpu"] == 2000


def test_a_gang_takes_the_one_domain_that_holds_all_of_it() -> None:
    nodes = [node("a", "2", rack="r1"), node("b", "2", rack="r2"), node("c", "2", rack="r2")]
    snapshot = Snapshot(nodes, [])
    gang = Gang("g", 3, [on(f"p{i}") for i in range(3)], domains=label_domains(nodes, ["example.com/rack"]))
    outcome = place(snapshot, gang)
    assert {name for _, name in outcome.placement} == {"b", "c"}


def test_nested_domains_narrow_each_other() -> None:
    nodes = [
        node("a", "1", zone="z1", rack="r1"),
        node("b", "2", zone="z1", rack="r2"),
        node("c", "2", zone="z2", rack="r3"),
        node("d", "2", zone="z2", rack="r4"),
    ]
    snapshot = Snapshot(nodes, [])
    racks = label_domains(nodes, ["example.com/rack"])
    children = [Gang(name, 2, [on(f"{name}{i}") for i in range(2)], domains=racks) for name in "xy"]
    zones = label_domains(nodes, ["topology.kubernetes.io/zone"])
    outcome = place(snapshot, Gang("root", 2, children=children, domains=zones))
    assert outcome.ok
    assert {name for _, name in outcome.placement} == {"c", "d"}


def test_a_child_that_fails_is_undone_but_its_siblings_stay() -> None:
    snapshot = Snapshot([node("n", "2")], [])
    children = [
        Gang("big", 3, [on(f"b{i}") for i in range(3)]),
        Gang("small", 2, [on(f"s{i}") for i in range(2)]),
    ]
    outcome = place(snapshot, Gang("root", 1, children=children))
    assert outcome.ok
    assert [p.metadata.name for p, _ in outcome.placement] == ["s0", "s1"]
