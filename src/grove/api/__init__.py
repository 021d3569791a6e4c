"""Grove's vocabulary: kinds, names, labels, conditions. This package is also the SDK that users import::

    from grove.api import Clique, ObjectMeta, PodCliqueSet, PodCliqueSetSpec, PodCliqueSetTemplate

    pod = {"containers": [{"name": "worker", "image": "example.com/worker:1"}]}
    pcs = PodCliqueSet(
        metadata=ObjectMeta(name="llama"),
        spec=PodCliqueSetSpec(
            replicas=2,
            template=PodCliqueSetTemplate(cliques=[Clique.of("worker", pod, replicas=4, min_available=3)]),
        ),
    )
    print(pcs.to_yaml())

podcliqueset, podclique, scalinggroup,
podgang, topology, sharing, config      the kinds, and the operator's configuration
meta, scalars, groups                   what the kinds share
names, labels, conditions, reasons      the names and codes that Grove writes
defaults                                the defaults of a PodCliqueSet
pod_view, event_view                    the fields of Pods and Events that Grove reads
validation/                             rules for the kinds
serialization/                          JSON, YAML, CRDs, manifests
"""

from grove.api.config import OperatorConfiguration, SchedulerProfile
from grove.api.meta import Condition, LastError, ObjectMeta, OwnerReference, Resource
from grove.api.podclique import AutoScalingConfig, PodClique, PodCliqueSpec, PodCliqueStatus
from grove.api.podcliqueset import (
    Clique,
    HeadlessServiceConfig,
    PodCliqueSet,
    PodCliqueSetSpec,
    PodCliqueSetStatus,
    PodCliqueSetTemplate,
    ScalingGroup,
    UpdateStrategy,
)
from grove.api.podgang import (
    GangPackConstraint,
    GangTopologyConstraint,
    NamespacedName,
    PodGang,
    PodGangSpec,
    PodGangStatus,
    PodGroup,
    TopologyConstraintGroup,
)
from grove.api.scalars import Duration, IntOrString, MicroTime, Time
from grove.api.scalinggroup import (
    PodCliqueScalingGroup,
    PodCliqueScalingGroupSpec,
    PodCliqueScalingGroupStatus,
)
from grove.api.serialization.codec import DecodeError, raw
from grove.api.sharing import (
    CliqueFilter,
    CliqueResourceSharing,
    NamedClaimTemplate,
    ScalingGroupResourceSharing,
    SetFilter,
    SetResourceSharing,
)
from grove.api.topology import (
    ClusterTopologyBinding,
    ClusterTopologyBindingSpec,
    ClusterTopologyBindingStatus,
    SchedulerTopologyBinding,
    TopologyConstraint,
    TopologyLevel,
    TopologyPack,
)
from grove.schema.quantity import Quantity

__all__ = [
    "AutoScalingConfig",
    "Clique",
    "CliqueFilter",
    "CliqueResourceSharing",
    "ClusterTopologyBinding",
    "ClusterTopologyBindingSpec",
    "ClusterTopologyBindingStatus",
    "Condition",
    "DecodeError",
    "Duration",
    "GangPackConstraint",
    "GangTopologyConstraint",
    "HeadlessServiceConfig",
    "IntOrString",
    "LastError",
    "MicroTime",
    "NamedClaimTemplate",
    "NamespacedName",
    "ObjectMeta",
    "OperatorConfiguration",
    "OwnerReference",
    "PodClique",
    "PodCliqueScalingGroup",
    "PodCliqueScalingGroupSpec",
    "PodCliqueScalingGroupStatus",
    "PodCliqueSet",
    "PodCliqueSetSpec",
    "PodCliqueSetStatus",
    "PodCliqueSetTemplate",
    "PodCliqueSpec",
    "PodCliqueStatus",
    "PodGang",
    "PodGangSpec",
    "PodGangStatus",
    "PodGroup",
    "Quantity",
    "Resource",
    "ScalingGroup",
    "ScalingGroupResourceSharing",
    "SchedulerProfile",
    "SchedulerTopologyBinding",
    "SetFilter",
    "SetResourceSharing",
    "Time",
    "TopologyConstraint",
    "TopologyConstraintGroup",
    "TopologyLevel",
    "TopologyPack",
    "UpdateStrategy",
    "raw",
]
