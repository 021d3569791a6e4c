"""The headless Service of each replica: one address for all its pods, and a host name for each.

<PodClique>-<p>.<set>-<i>.<namespace>.svc.cluster.local
"""

from grove.api import labels, names
from grove.plan.metadata import Json, metadata
from grove.plan.shape import Shape


def headless_service(shape: Shape, i: int) -> Json:
    name = names.headless_service(shape.name, i)
    replica = {labels.REPLICA_INDEX: str(i)}
    own = {labels.NAME: name, labels.COMPONENT: labels.Component.HEADLESS_SERVICE} | replica
    config = shape.pcs.spec.template.headless_service_config
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata(shape, name, own),
        "spec": {
            "clusterIP": "None",
            "selector": shape.labels | replica,
            "publishNotReadyAddresses": config is None or config.publish_not_ready_addresses,
        },
    }
