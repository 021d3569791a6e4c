"""The hash of a template changes if and only if its pods would."""

import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grove.api import Clique
from grove.api.serialization import codec
from grove.plan.layout.template_hash import generation_hash, template_hash
from tests.unit.api.sets import clique, pcs

ENV = [{"name": "B", "value": "1"}, {"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]
POD: dict[str, Any] = {
    "containers": [
        {
            "name": "c",
            "image": "registry.example/app:1",
            "ports": [{"containerPort": 80}],
            "env": ENV,
            "resources": {"requests": {"cpu": "1", "memory": "1Gi"}},
            "readinessProbe": {"httpGet": {"port": 80}},
        }
    ],
    "volumes": [{"name": "v", "configMap": {"name": "m"}}, {"name": "e"}],
}


def hash_of(pod: Any, **outer: Any) -> str:
    return template_hash(codec.decode(codec.encode(clique(podSpec=pod, **outer)), Clique))


def shuffled(value: Any, chance: random.Random) -> Any:
    """The same JSON with the keys of every object in another order. Lists keep their order, which matters."""
    if isinstance(value, dict):
        keys = list(value)
        chance.shuffle(keys)
        return {k: shuffled(value[k], chance) for k in keys}
    return [shuffled(v, chance) for v in value] if isinstance(value, list) else value


@given(st.randoms(use_true_random=False))
def test_the_order_of_keys_makes_no_difference(chance: random.Random) -> None:
    assert hash_of(shuffled(POD, chance), labels={"a": "1", "b": "2"}) == hash_of(
        POD, labels={"b": "2", "a": "1"}
    )


def changed(path: list[str | int], value: Any) -> Any:
    pod = json.loads(json.dumps(POD))
    at = pod
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = value
    return pod


C: list[str | int] = ["containers", 0]


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (["restartPolicy"], "Always"),
        (["terminationGracePeriodSeconds"], 30),
        (["terminationGracePeriodSeconds"], 30.0),
        (["dnsPolicy"], "ClusterFirst"),
        (["securityContext"], {}),
        (["tolerations"], []),
        (["tolerations"], None),
        ([*C, "imagePullPolicy"], "IfNotPresent"),
        ([*C, "terminationMessagePath"], "/dev/termination-log"),
        ([*C, "ports", 0, "protocol"], "TCP"),
        ([*C, "env", 1, "valueFrom", "fieldRef", "apiVersion"], "v1"),
        ([*C, "resources", "requests", "cpu"], "1000m"),
        ([*C, "resources", "requests", "cpu"], 1),
        ([*C, "resources", "requests", "memory"], "1024Mi"),
        ([*C, "readinessProbe", "periodSeconds"], 10),
        ([*C, "readinessProbe", "httpGet", "scheme"], "HTTP"),
        (["volumes", 0, "configMap", "defaultMode"], 420),
        (["volumes", 1, "emptyDir"], {}),
    ],
)
def test_explicit_defaults_of_kubernetes_make_no_difference(path: list[str | int], value: Any) -> None:
    assert hash_of(changed(path, value)) == hash_of(POD)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (["restartPolicy"], "Never"),
        (["terminationGracePeriodSeconds"], 0),
        (["priorityClassName"], "high"),
        (
            ["affinity"],
            {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"labelSelector": {}}]}},
        ),
        ([*C, "image"], "registry.example/app:2"),
        ([*C, "imagePullPolicy"], "Always"),
        ([*C, "env"], ENV[::-1]),
        ([*C, "resources", "requests", "cpu"], "2"),
        ([*C, "ports", 0, "protocol"], "UDP"),
        ([*C, "readinessProbe", "periodSeconds"], True),
        (["volumes", 1, "emptyDir"], {"medium": "Memory"}),
        (["fieldOfTheFuture"], False),
    ],
)
def test_every_field_that_reaches_the_pods_makes_a_difference(path: list[str | int], value: Any) -> None:
    assert hash_of(changed(path, value)) != hash_of(POD)


def test_an_empty_selector_is_not_an_absent_one() -> None:
    def affinity(term: dict[str, Any]) -> str:
        return hash_of(POD | {"affinity": {"podAffinity": {"required": [term]}}})

    assert affinity({"topologyKey": "k", "labelSelector": {}}) != affinity({"topologyKey": "k"})


def test_the_default_pull_policy_depends_on_the_image() -> None:
    for image, policy in (
        ("a", "Always"),
        ("a:latest", "Always"),
        ("h:5000/a", "Always"),
        ("a@sha256:0", "IfNotPresent"),
    ):
        pod = {"containers": [{"name": "c", "image": image}]}
        assert hash_of(pod) == hash_of(
            {"containers": [{"name": "c", "image": image, "imagePullPolicy": policy}]}
        )


def test_labels_and_annotations_of_the_pods_count() -> None:
    hashes = {hash_of(POD), hash_of(POD, labels={"a": "1"}), hash_of(POD, annotations={"a": "1"})}
    assert len(hashes) == 3


def test_a_hash_is_a_label_value_that_never_changes_between_versions() -> None:
    assert hash_of({"containers": [{"name": "c", "image": "i"}]}) == "pm6tm77b5f"


def test_replicas_order_and_gang_priority_restart_no_pod() -> None:
    a, b = clique("a", podSpec=POD), clique("b")
    first = generation_hash(pcs(a, b).spec.template)
    assert (
        generation_hash(pcs(b, clique("a", podSpec=POD, replicas=9), priorityClassName="x").spec.template)
        == first
    )
    assert generation_hash(pcs(a, clique("b", labels={"x": "y"})).spec.template) != first
