"""HorizontalPodAutoscalers: one for each clique and each scaling group that asks for it, in each replica of the set.

An autoscaler has the name of the PodClique or PodCliqueScalingGroup that it scales, through the scale subresource.
Cliques of a scaling group scale with their group and get no autoscaler. Kubernetes' default metric is written out, so
that an autoscaler returns to it when the user removes the metrics.
"""

import msgspec

from grove.api import labels, names
from grove.api.meta import ResourceDefinition
from grove.api.podclique import AutoScalingConfig, PodClique
from grove.api.scalinggroup import PodCliqueScalingGroup
from grove.plan.layout.set_layout import SetLayout
from grove.plan.objects.metadata import Json, metadata


def autoscalers(layout: SetLayout, i: int) -> list[Json]:
    """All autoscalers of replica i."""
    cliques = [
        _autoscaler(layout, PodClique.resource, names.clique(layout.name, i, c.name), config)
        for c in layout.standalone
        if (config := c.spec.auto_scaling_config) is not None
    ]
    groups = [
        _autoscaler(
            layout, PodCliqueScalingGroup.resource, names.scaling_group(layout.name, i, g.name), config
        )
        for g in layout.groups
        if (config := g.template.scale_config) is not None
    ]
    return [*cliques, *groups]


def _autoscaler(layout: SetLayout, target: ResourceDefinition, name: str, config: AutoScalingConfig) -> Json:
    spec: Json = {
        "scaleTargetRef": {"apiVersion": target.api_version, "kind": target.kind, "name": name},
        "minReplicas": config.min_replicas,
        "maxReplicas": config.max_replicas,
        "metrics": [msgspec.json.decode(m) for m in config.metrics] or [_DEFAULT_METRIC],
    }
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": metadata(layout, name, {labels.NAME: name, labels.COMPONENT: labels.ComponentLabel.HPA}),
        "spec": spec,
    }


_DEFAULT_METRIC: Json = {
    "type": "Resource",
    "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}},
}
