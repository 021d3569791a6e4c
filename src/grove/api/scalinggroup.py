"""PodCliqueScalingGroup: cliques that are scaled together."""

from typing import Annotated, ClassVar, Literal

from grove.api.groups import GROVE, GROVE_V1ALPHA1, V1ALPHA1
from grove.api.meta import AGE, Column, Condition, LastError, ObjectMeta, Resource, ResourceDefinition, Scale
from grove.api.scalars import Time
from grove.api.serialization.model import About, Int32, Int64, Model, default


class PodCliqueScalingGroupSpec(Model):
    replicas: Annotated[
        Int32, About("How many copies of the group to run. An autoscaler or `kubectl scale` may change it.")
    ] = default(1)
    min_available: Annotated[Int32, About("How many copies belong to the base gang.")] = default(1)
    clique_names: Annotated[list[str], About("The cliques of the group, by their names in the PodCliqueSet.")]


class ReplicaUpdate(Model):
    current: Annotated[Int32, About("The copy that is being replaced.")]
    completed: Annotated[list[Int32], About("The copies that have been replaced.")] = []


class ScalingGroupUpdateProgress(Model):
    update_started_at: Annotated[Time, About("When the update began.")]
    update_ended_at: Annotated[Time | None, About("When the update ended.")] = None
    pod_clique_set_generation_hash: Annotated[
        str, About("The generation hash of the set that is being rolled out.")
    ]
    updated_pod_cliques_count: Annotated[Int32, About("PodCliques that are up to date.")] = default(0)
    total_pod_cliques_count: Annotated[Int32, About("All PodCliques.")] = default(0)
    ready_replica_indices_selected_to_update: Annotated[
        ReplicaUpdate | None, About("The ready copies that are selected for replacement.")
    ] = None


class PodCliqueScalingGroupStatus(Model):
    replicas: Annotated[Int32 | None, About("The copies of the spec.")] = None
    scheduled_replicas: Annotated[Int32, About("Copies in which every clique is scheduled.")] = default(0)
    available_replicas: Annotated[
        Int32, About("Scheduled copies in which every clique has its minimum of ready pods.")
    ] = default(0)
    updated_replicas: Annotated[Int32, About("Available copies that are up to date.")] = default(0)
    selector: Annotated[str | None, About("The label selector of the pods, for autoscalers.")] = None
    observed_generation: Annotated[Int64 | None, About("The generation that this status describes.")] = None
    last_errors: Annotated[
        list[LastError], About("The errors of the last reconcile; empty if it succeeded.")
    ] = []
    conditions: Annotated[list[Condition], About("MinAvailableBreached, UpdateInProgress.", key="type")] = []
    current_pod_clique_set_generation_hash: Annotated[
        str | None, About("The generation hash of the set that all copies were created from.")
    ] = None
    update_progress: Annotated[
        ScalingGroupUpdateProgress | None,
        About("Progress of the last update."),
    ] = None


class PodCliqueScalingGroup(Resource):
    """Cliques that are scaled together. Grove creates PodCliqueScalingGroups from a PodCliqueSet."""

    resource: ClassVar = ResourceDefinition(
        group=GROVE,
        version=V1ALPHA1,
        kind="PodCliqueScalingGroup",
        plural="podcliquescalinggroups",
        short_names=("pcsg",),
        scale=Scale(".status.selector"),
        columns=(
            Column("MinAvail", "integer", ".spec.minAvailable"),
            Column("Replicas", "integer", ".spec.replicas"),
            Column("Available", "integer", ".status.availableReplicas"),
            Column("Scheduled", "integer", ".status.scheduledReplicas"),
            Column("Updated", "integer", ".status.updatedReplicas"),
            Column("PCLQs-Updated", "integer", ".status.updateProgress.updatedPodCliquesCount"),
            Column("PCLQs-Total", "integer", ".status.updateProgress.totalPodCliquesCount"),
            Column(
                "MinBreached",
                "string",
                '.status.conditions[?(@.type=="MinAvailableBreached")].status',
                wide=True,
            ),
            AGE,
        ),
    )
    api_version: Literal["grove.io/v1alpha1"] = default(GROVE_V1ALPHA1)
    kind: Literal["PodCliqueScalingGroup"] = default("PodCliqueScalingGroup")
    metadata: ObjectMeta
    spec: Annotated[PodCliqueScalingGroupSpec, About("The desired state.")]
    status: Annotated[PodCliqueScalingGroupStatus | None, About("The observed state.")] = None
