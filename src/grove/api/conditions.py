"""Types and reasons of conditions, and reasons of events. Scripts rely on them: they never change."""


class ConditionType:
    # PodCliqueSet
    RUNNING = "Running"
    """Whether everything that the spec asks for runs. Its reasons are in `grove.api.reasons`."""
    TOPOLOGY_LEVELS_UNAVAILABLE = "TopologyLevelsUnavailable"
    INVALID = "Invalid"
    SEVERAL_BACKENDS_MATCH = "SeveralBackendsMatch"
    # PodClique, PodCliqueScalingGroup
    POD_CLIQUE_SCHEDULED = "PodCliqueScheduled"
    MIN_AVAILABLE_BREACHED = "MinAvailableBreached"
    GANG_TERMINATION_IN_PROGRESS = "GangTerminationInProgress"
    """Written by the Go reference. Grove terminates no gangs yet, and only removes it."""
    # PodGang
    INITIALIZED = "Initialized"
    BACKEND_SYNCED = "BackendSynced"
    DIALECT = "SchedulerDialect"
    SCHEDULED = "Scheduled"
    UNSCHEDULABLE = "Unschedulable"
    """Present while the scheduler reports why it does not place the gang; the message has its words."""
    READY = "Ready"
    UNHEALTHY = "Unhealthy"
    DISRUPTION_TARGET = "DisruptionTarget"
    # ClusterTopologyBinding
    SCHEDULER_TOPOLOGY_DRIFT = "SchedulerTopologyDrift"


class Reason:
    # TopologyLevelsUnavailable
    TOPOLOGY_DISABLED = "TopologyAwareSchedulingDisabled"
    TOPOLOGY_NAME_MISSING = "TopologyNameMissing"
    TOPOLOGY_NOT_FOUND = "ClusterTopologyNotFound"
    TOPOLOGY_LEVELS_UNAVAILABLE = "ClusterTopologyLevelsUnavailable"
    TOPOLOGY_LEVELS_AVAILABLE = "AllClusterTopologyLevelsAvailable"
    # PodCliqueScheduled
    INSUFFICIENT_SCHEDULED_PODS = "InsufficientScheduledPods"
    SUFFICIENT_SCHEDULED_PODS = "SufficientScheduledPods"
    # MinAvailableBreached
    UPDATE_IN_PROGRESS = "UpdateInProgress"
    SCHEDULED_BELOW_MIN_AVAILABLE = "ScheduledReplicasBelowMinAvailable"
    INSUFFICIENT_READY_PODS = "InsufficientReadyPods"
    SUFFICIENT_READY_PODS = "SufficientReadyPods"
    INSUFFICIENT_GROUP_REPLICAS = "InsufficientAvailablePodCliqueScalingGroupReplicas"
    SUFFICIENT_GROUP_REPLICAS = "SufficientAvailablePodCliqueScalingGroupReplicas"
    # Initialized
    PODS_CREATION_PENDING = "PodGangPodsCreationPending"
    PODS_CREATED = "PodGangPodsCreated"
    # Scheduled
    PODS_NOT_SCHEDULED = "PodsNotScheduled"
    PODS_SCHEDULED = "PodsScheduled"
    SCHEDULED_PODS_LOST = "ScheduledPodsLost"
    # Ready
    PODS_NOT_READY = "PodsNotReady"
    PODS_READY = "PodsReady"
    READY_PODS_LOST = "ReadyPodsLost"
    PODS_FINISHED = "PodsFinished"
    # Unhealthy
    POD_GROUPS_BELOW_MINIMUM = "PodGroupsBelowMinimum"
    POD_GROUPS_AT_MINIMUM = "PodGroupsAtMinimum"
    # DisruptionTarget
    POD_DISRUPTED = "PodDisrupted"
    # BackendSynced
    BACKEND_IN_SYNC = "InSyncWithScheduler"
    WEAKER_THAN_ASKED = "WeakerThanAsked"
    BACKEND_FAILED = "BackendFailed"
    BACKEND_NOT_ENABLED = "BackendNotEnabled"
    REFUSED_BY_BACKEND = "RefusedByBackend"
    QUEUE_MISSING = "QueueMissing"
    SCHEDULER_NOT_INSTALLED = "SchedulerNotInstalled"
    SCHEDULER_NOT_KNOWN_YET = "SchedulerNotKnownYet"
    OLD_OBJECT_GOING = "OldObjectGoing"
    # SeveralBackendsMatch
    FIRST_PROFILE_WINS = "FirstProfileWins"
    # Invalid
    VALIDATION_FAILED = "ValidationFailed"
    # SchedulerTopologyDrift
    TOPOLOGY_OBJECT_NOT_FOUND = "TopologyNotFound"
    DRIFT = "Drift"
    IN_SYNC = "InSync"


class EventReason:
    VALIDATION_WARNING = "ValidationWarning"
    SEVERAL_BACKENDS_MATCH = "SeveralBackendsMatch"
    POD_CREATE_FAILED = "PodCreateFailed"
    POD_LINK_DROPPED = "PodLinkDropped"
    POD_REPLACED = "PodReplaced"
    POD_DELETE_FAILED = "PodDeleteFailed"
    ALL_SCHEDULED_REPLICAS_LOST = "AllScheduledReplicasLost"
    CLIQUE_CREATE_FAILED = "PodCliqueCreateFailed"
    GANG_CREATE_OR_UPDATE_FAILED = "PodGangCreateOrUpdateFailed"
    SET_REPLICA_DELETE_FAILED = "PodCliqueSetReplicaDeleteFailed"
    TOPOLOGY_DRIFT_DETECTED = "TopologyDriftDetected"
    TOPOLOGY_IN_SYNC = "TopologyInSync"
