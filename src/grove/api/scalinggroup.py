"""PodCliqueScalingGroup: cliques that are scaled as one unit."""

from typing import Annotated, ClassVar, Literal

from grove.api.groups import GROVE, GROVE_V1ALPHA1, V1ALPHA1
from grove.api.meta import AGE, Column, Condition, LastError, ObjectMeta, Resource, ResourceDefinition, Scale
from grove.api.scalars import Time
from grove.api.serialization.model import About, Int32, Int64, Model, default


class PodCliqueScalingGroupSpec(Model):
    replicas: Annotated[
        Int32, About("How many copies of the group to run; an autoscaler or `kubectl scale` changes it.")
    ] = default(1)
    min_available: Annotated[Int32, About("How many copies belong to the base gang.")] = default(1)
    clique_names: Annotated[list[str], About("The cliques of the group, by their names in the PodCliqueSet.")]


class ReplicaUpdate(Model):
    current: Annotated[Int32, About("The copy that is being replaced.")]
    completed: Annotated[list[Int32], About("The copies that were replaced.")] = []


class ScalingGroupUpdateProgress(Model):
    update_started_at: Annotated[Time, About("When the update began.")]
    update_ended_at: Annotated[Time | None, About("When it was complete.")] = None
    pod_clique_set_generation_hash: Annotated[
        str, About("The generation hash of the set that is rolled out.")
    ]
    updated_pod_cliques_count: Annotated[Int32, About("PodCliques that are up to date.")] = default(0)
    total_pod_cliques_count: Annotated[Int32, About("PodCliques in all.")] = default(0)
    ready_replica_indices_selected_to_update: Annotated[
        ReplicaUpdate | None, About("Which ready copies were chosen for replacement.")
    ] = None


class PodCliqueScalingGroupStatus(Model):
    replicas: Annotated[Int32 | None, About("Copies asked for.")] = None
    scheduled_replicas: Annotated[Int32, About("Copies whose every clique is scheduled.")] = default(0)
    available_replicas: Annotated[
        Int32, About("Scheduled copies whose every clique has its minimum ready.")
    ] = default(0)
    updated_replicas: Annotated[Int32, About("Available copies that are up to date.")] = default(0)
    selector: Annotated[str | None, About("The label selector of the pods, for autoscalers.")] = None
    observed_generation: Annotated[Int64 | None, About("The generation that this status describes.")] = None
    last_errors: Annotated[
        list[LastError], About("What went wrong in the last reconcile; empty when nothing did.")
    ] = []
    conditions: Annotated[
        list[Condition], About("MinAvailableBreached, GangTerminationInProgress.", key="type")
    ] = []
    current_pod_clique_set_generation_hash: Annotated[
        str | None, About("The generation hash of the set that all copies follow.")
    ] = None
    update_progress: Annotated[ScalingGroupUpdateProgress | None, About("How far an update has come.")] = None


class PodCliqueScalingGroup(Resource):
    """Cliques that scale together. Made by Grove from a PodCliqueSet."""

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
    spec: Annotated[PodCliqueScalingGroupSpec, About("What to run.")]
    status: Annotated[PodCliqueScalingGroupStatus | None, About("What was observed.")] = None
