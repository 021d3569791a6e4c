"""Every clique and scaling group with a scale config gets an autoscaler with its own name."""

from grove.plan.objects.autoscaling import autoscalers
from tests.unit.api.sets import clique
from tests.unit.plan.samples import layout


def test_cliques_and_groups_with_a_scale_config_get_an_autoscaler() -> None:
    metric = {"type": "Resource", "resource": {"name": "cpu", "novel": 1}}
    found = layout(
        clique("a", autoScalingConfig={"maxReplicas": 9, "metrics": [metric]}),
        clique("b"),
        clique("c"),
        podCliqueScalingGroups=[
            {"name": "g", "cliqueNames": ["b"], "replicas": 3, "scaleConfig": {"maxReplicas": 5}},
            {"name": "h", "cliqueNames": ["c"]},
        ],
    )
    first, second = autoscalers(found, 1)
    assert first["spec"] == {
        "scaleTargetRef": {"apiVersion": "grove.io/v1alpha1", "kind": "PodClique", "name": "train-1-a"},
        "minReplicas": 2,
        "maxReplicas": 9,
        "metrics": [metric],
    }
    assert second["metadata"]["name"] == second["spec"]["scaleTargetRef"]["name"] == "train-1-g"
    assert second["spec"]["scaleTargetRef"]["kind"] == "PodCliqueScalingGroup"
    assert second["spec"]["minReplicas"] == 3
    usual = {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}
    assert second["spec"]["metrics"] == [{"type": "Resource", "resource": usual}]


def test_cliques_and_groups_without_a_scale_config_get_none() -> None:
    assert autoscalers(layout(clique("a")), 0) == []
