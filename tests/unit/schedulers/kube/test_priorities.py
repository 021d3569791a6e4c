"""The priority class of gangs whose set names none."""

import pytest
from grove_sandbox.conformance.outputs import all_outputs
from grove_sandbox.conformance.samples import gangs_of

from grove.api.podcliqueset import PodCliqueSet
from grove.schedulers.kube import Kubernetes
from tests.unit.schedulers.kube.gangs import cluster, with_priorities


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
def test_a_gang_gets_the_priority_class_that_all_its_cliques_name(
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
