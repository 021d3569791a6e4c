"""The tree of groups that CompositePodGroups form."""

import pytest

from grove.schedulers.kube import Kubernetes
from grove.schedulers.types import Refusal
from tests.unit.schedulers.gangs import check_golden, group, packed, together, translated
from tests.unit.schedulers.kube.gangs import RACK, ZONE, Json, cluster, gang, objects


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


def test_a_single_group_with_another_constraint_than_its_gang_keeps_both() -> None:
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


def test_a_gang_with_more_shapes_than_a_tree_can_list_is_refused() -> None:
    found = gang("CompositePodGroup", *(group(f"g{n}", n + 1) for n in range(65)))
    with pytest.raises(Refusal, match=r"kinds of groups.*minAvailable"):
        Kubernetes({}).translate(found, cluster("CompositePodGroup"))


def test_constraints_that_do_not_form_a_tree_are_refused() -> None:
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
