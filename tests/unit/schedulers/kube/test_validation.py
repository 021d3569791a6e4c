"""Warnings about fields of a set that have no effect with kube-scheduler."""

import pytest

from grove.api.podcliqueset import PodCliqueSet
from grove.api.serialization import codec
from grove.schedulers.kube import Kubernetes
from tests.unit.schedulers.kube.gangs import with_priorities


def test_fields_without_effect_give_warnings() -> None:
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


@pytest.mark.parametrize(
    ("pcs", "expected"),
    [
        (with_priorities(a="high", b="high"), []),
        (with_priorities(a=None, b=None), []),
        (with_priorities("high", a="high", b=None), []),
        (with_priorities(a="high", b="low", c=None), ["a: high, b: low, c: none"]),
        (with_priorities("high", a="low", b="high"), ["low"]),
        (with_priorities(a="system-node-critical", b="system-node-critical"), ["a, b"]),
    ],
)
def test_priority_classes_that_differ_give_a_warning(pcs: PodCliqueSet, expected: list[str]) -> None:
    problems = list(Kubernetes({}).validate(pcs))
    assert [p.value for p in problems] == expected
    assert all(p.warning and p.remedy for p in problems)
