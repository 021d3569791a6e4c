"""Labels, annotations, scheduling gates, finalizers and environment variables that Grove reads or writes."""

# Labels
NAME = "app.kubernetes.io/name"
MANAGED_BY = "app.kubernetes.io/managed-by"
PART_OF = "app.kubernetes.io/part-of"
COMPONENT = "app.kubernetes.io/component"
POD_CLIQUE = "grove.io/podclique"
POD_GANG = "grove.io/podgang"
BASE_POD_GANG = "grove.io/base-podgang"
REPLICA_INDEX = "grove.io/podcliqueset-replica-index"
SCALING_GROUP = "grove.io/podcliquescalinggroup"
SCALING_GROUP_REPLICA_INDEX = "grove.io/podcliquescalinggroup-replica-index"
POD_INDEX = "grove.io/podclique-pod-index"
POD_TEMPLATE_HASH = "grove.io/pod-template-hash"
SCHEDULER_NAME = "grove.io/scheduler-name"

# The position of a PodClique in its set. A missing one has a meaning too (the clique is in no scaling group), so a
# user's labels must not contain them.
PLACE = (SCALING_GROUP, SCALING_GROUP_REPLICA_INDEX, BASE_POD_GANG)

# On placeholder pods, which a scheduler creates to reserve room for a gang: the name of that gang.
STAND_IN_FOR = "grove.io/stand-in-for"

# The backend: a label on PodGangs; on a PodCliqueSet an annotation that overrides the choice by schedulerName.
SCHEDULER_BACKEND = "grove.io/scheduler-backend"

# A label on ComputeDomains, and an annotation on sets, groups and cliques.
MNNVL_GROUP = "grove.io/mnnvl-group"
MNNVL_NONE = "none"

# On a ResourceClaimTemplate: the other namespaces whose sets may use it, separated by commas; `*` for all.
SHARED_WITH_NAMESPACES = "grove.io/shared-with-namespaces"

# Annotations
TOPOLOGY_NAME = "grove.io/topology-name"

# Annotations of PodGangs, for their backends: the scheduler's topology object if it has another name than the
# ClusterTopologyBinding, the queue of the set or of its cliques, and the resource requests of the minimum of pods, as
# JSON.
SCHEDULER_TOPOLOGY = "grove.io/scheduler-topology"
QUEUE = "grove.io/queue"
MIN_RESOURCES = "grove.io/min-resources"

# On a PodCliqueSet: whether gangs are refused (strict) or scheduled with a weaker guarantee (best-effort) if the
# cluster cannot promise everything that they ask for.
GANG_GUARANTEE = "grove.io/gang-guarantee"
GUARANTEE_STRICT = "strict"
GUARANTEE_BEST_EFFORT = "best-effort"

GROVE_PREFIX = "grove.io/"

MANAGER = "grove-operator"


class ComponentLabel:
    """Values of the label `app.kubernetes.io/component`."""

    CLIQUE = "pcs-podclique"
    GROUP_CLIQUE = "pcsg-podclique"
    SCALING_GROUP = "pcs-podcliquescalinggroup"
    POD_GANG = "podgang"
    HEADLESS_SERVICE = "pcs-headless-service"
    SERVICE_ACCOUNT = "pod-service-account"
    ROLE = "pod-role"
    ROLE_BINDING = "pod-role-binding"
    TOKEN_SECRET = "pod-sa-token-secret"  # noqa: S105
    HPA = "pcs-hpa"
    RESOURCE_CLAIM = "resource-claim"
    COMPUTE_DOMAIN = "pcs-computedomain"


class Gate:
    """Scheduling gates, one per backend."""

    KUBERNETES = "scheduling.k8s.io/workload"
    KAI = "grove.io/podgang"
    KOORDINATOR = "scheduling.koordinator.sh/gang"
    VOLCANO = "scheduling.volcano.sh/grove-podgang"
    YUNIKORN = "yunikorn.apache.org/grove-podgang"
    REFERENCE = "grove.io/podgang-pending-creation"
    """The only gate of the Go reference, on pods that it created."""


class Finalizer:
    POD_CLIQUE_SET = "grove.io/podcliqueset.grove.io"
    POD_CLIQUE = "grove.io/podclique.grove.io"
    SCALING_GROUP = "grove.io/podcliquescalinggroup.grove.io"
    COMPUTE_DOMAIN = "grove.io/computedomain-finalizer"


class Env:
    """Environment variables of every container in a pod of a PodClique."""

    SET_NAME = "GROVE_PCS_NAME"
    SET_INDEX = "GROVE_PCS_INDEX"
    CLIQUE_NAME = "GROVE_PCLQ_NAME"
    HEADLESS_SERVICE = "GROVE_HEADLESS_SERVICE"
    POD_INDEX = "GROVE_PCLQ_POD_INDEX"
    GROUP_NAME = "GROVE_PCSG_NAME"
    GROUP_POD_COUNT = "GROVE_PCSG_TEMPLATE_NUM_PODS"
    GROUP_INDEX = "GROVE_PCSG_INDEX"


def of_set(pcs: str) -> dict[str, str]:
    """The labels that every object of a set has."""
    return {MANAGED_BY: MANAGER, PART_OF: pcs}


def selector(labels: dict[str, str]) -> str:
    """A label selector as text, with sorted keys."""
    return ",".join(f"{k}={v}" for k, v in sorted(labels.items()))
