"""Types and reasons of conditions, and reasons of events. A reason says why a condition has its status."""


class ConditionType:
    # PodCliqueSet
    RUNNING = "Running"
    """Whether all that is asked for runs. Its reasons are those of `grove.api.reasons`."""
    TOPOLOGY_LEVELS_UNAVAILABLE = "TopologyLevelsUnavailable"
    INVALID = "Invalid"
    SEVERAL_BACKENDS_MATCH = "SeveralBackendsMatch"
    # PodClique, PodCliqueScalingGroup
    POD_CLIQUE_SCHEDULED = "PodCliqueScheduled"
    MIN_AVAILABLE_BREACHED = "MinAvailableBreached"
    GANG_TERMINATION_IN_PROGRESS = "GangTerminationInProgress"
    # PodGang
    INITIALIZED = "Initialized"
    BACKEND_SYNCED = "BackendSynced"
    DIALECT = "SchedulerDialect"
    SCHEDULED = "Scheduled"
    UNSCHEDULABLE = "Unschedulable"
    """There while the scheduler says why it does not place the gang, in its own words."""
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
    # GangTerminationInProgress
    GANG_TERMINATION_ACTIVE = "GangTerminationActive"
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
    POD_CREATED = "PodCreateSuccessful"
    POD_CREATE_FAILED = "PodCreateFailed"
    POD_LINK_DROPPED = "PodLinkDropped"
    POD_REPLACED = "PodReplaced"
    POD_DELETED = "PodDeleteSuccessful"
    POD_DELETE_FAILED = "PodDeleteFailed"
    ALL_SCHEDULED_REPLICAS_LOST = "AllScheduledReplicasLost"
    CLIQUE_CREATED = "PodCliqueCreateSuccessful"
    CLIQUE_CREATE_FAILED = "PodCliqueCreateFailed"
    CLIQUE_DELETED = "PodCliqueDeleteSuccessful"
    CLIQUE_DELETE_FAILED = "PodCliqueDeleteFailed"
    GROUP_CREATED = "PodCliqueScalingGroupCreateSuccessful"
    GROUP_CREATE_OR_UPDATE_FAILED = "PodCliqueScalingGroupCreateOrUpdateFailed"
    GROUP_DELETED = "PodCliqueScalingGroupDeleteSuccessful"
    GROUP_DELETE_FAILED = "PodCliqueScalingGroupDeleteFailed"
    GROUP_REPLICA_DELETED = "PodCliqueScalingGroupReplicaDeleteSuccessful"
    GROUP_REPLICA_DELETE_FAILED = "PodCliqueScalingGroupReplicaDeleteFailed"
    GANG_CREATED_OR_UPDATED = "PodGangCreateOrUpdateSuccessful"
    GANG_CREATE_OR_UPDATE_FAILED = "PodGangCreateOrUpdateFailed"
    GANG_DELETED = "PodGangDeleteSuccessful"
    GANG_DELETE_FAILED = "PodGangDeleteFailed"
    SET_REPLICA_DELETED = "PodCliqueSetReplicaDeleteSuccessful"
    SET_REPLICA_DELETE_FAILED = "PodCliqueSetReplicaDeleteFailed"
    COMPUTE_DOMAIN_CREATED = "ComputeDomainCreateSuccessful"
    COMPUTE_DOMAIN_CREATE_FAILED = "ComputeDomainCreateFailed"
    COMPUTE_DOMAIN_DELETED = "ComputeDomainDeleteSuccessful"
    COMPUTE_DOMAIN_DELETE_FAILED = "ComputeDomainDeleteFailed"
    TOPOLOGY_DRIFT_DETECTED = "TopologyDriftDetected"
    TOPOLOGY_IN_SYNC = "TopologyInSync"
