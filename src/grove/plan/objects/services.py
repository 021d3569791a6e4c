"""The headless Service of each replica. It gives every pod a DNS name:

<PodClique>-<p>.<set>-<i>.<namespace>.svc.cluster.local
"""

from grove.api import labels, names
from grove.plan.layout.set_layout import SetLayout
from grove.plan.objects.metadata import Json, metadata


def headless_service(layout: SetLayout, i: int) -> Json:
    name = names.headless_service(layout.name, i)
    replica = {labels.REPLICA_INDEX: str(i)}
    own = {labels.NAME: name, labels.COMPONENT: labels.ComponentLabel.HEADLESS_SERVICE} | replica
    config = layout.pcs.spec.template.headless_service_config
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata(layout, name, own),
        "spec": {
            "clusterIP": "None",
            "selector": layout.labels | replica,
            "publishNotReadyAddresses": config is None or config.publish_not_ready_addresses,
        },
    }
