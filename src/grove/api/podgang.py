"""PodGang: pods that must be placed together. Backends translate it into the objects of their schedulers."""

from typing import Annotated, ClassVar, Literal

import msgspec

from grove.api.groups import SCHEDULER, SCHEDULER_V1ALPHA1, V1ALPHA1
from grove.api.meta import AGE, Column, Condition, ObjectMeta, Resource, ResourceDefinition
from grove.api.serialization.model import About, Int32, Model, default


class NamespacedName(Model):
    namespace: str
    name: str


class GangPackConstraint(Model):
    required: Annotated[
        str | None, About("A node label: the nodes of all pods must have the same value of it.")
    ] = None
    preferred: Annotated[
        str | None, About("A node label: the nodes of all pods should have the same value of it.")
    ] = None


class GangTopologyConstraint(Model):
    pack_constraint: Annotated[GangPackConstraint | None, About("The node labels to pack the pods by.")] = (
        None
    )


class PodGroup(Model):
    name: Annotated[str, About("The PodClique that the pods belong to.")]
    pod_references: Annotated[
        list[NamespacedName], About("The pods of the group. Empty until all pods of the gang exist.")
    ]
    min_replicas: Annotated[Int32, About("How many of the pods must be placed together.")]
    topology_constraint: Annotated[
        GangTopologyConstraint | None, About("The constraint on the pods of this group.")
    ] = None


class TopologyConstraintGroup(Model):
    name: Annotated[str, About("The name of the constraint group, unique in the gang.")]
    pod_group_names: Annotated[
        list[str], About("The pod groups that the constraint applies to, as one unit.")
    ]
    topology_constraint: Annotated[
        GangTopologyConstraint | None, About("The constraint on all pods of these groups.")
    ] = None


class PodGangSpec(Model):
    # The reference spells this field in lower case.
    pod_groups: Annotated[list[PodGroup], About("The groups of pods that make up the gang.", key="name")] = (
        msgspec.field(name="podgroups")
    )
    topology_constraint: Annotated[
        GangTopologyConstraint | None, About("The constraint on all pods of the gang.")
    ] = None
    topology_constraint_group_configs: Annotated[
        list[TopologyConstraintGroup], About("Constraints on several pod groups as one unit.", key="name")
    ] = []
    priority_class_name: Annotated[str | None, About("The priority class of the gang as a whole.")] = None
    reuse_reservation_ref: Annotated[
        NamespacedName | None, About("Not used: a gang whose reserved resources this one may reuse.")
    ] = None


class PodGangStatus(Model):
    phase: Annotated[str, About("Pending, Starting, Running, Failed or Succeeded.")]
    conditions: Annotated[
        list[Condition],
        About(
            "Initialized, BackendSynced, SchedulerDialect, Scheduled, Unschedulable, Ready, Unhealthy, "
            "DisruptionTarget. The reason of SchedulerDialect is the dialect: which of the scheduler's gang APIs the "
            "objects and pods of this gang use. The message of Unschedulable is the scheduler's own.",
            key="type",
        ),
    ] = []
    pods: Annotated[Int32, About("The number of pods in podReferences.")] = default(0)
    scheduled_pods: Annotated[Int32, About("Pods of the gang that have a node.")] = default(0)
    placement_score: Annotated[
        float | None, About("The quality of the placement, if the scheduler reports it; 1.0 is best.")
    ] = None


class PodGang(Resource):
    """Pods that are placed together or not at all. Grove creates PodGangs; a scheduler backend translates them."""

    resource: ClassVar = ResourceDefinition(
        group=SCHEDULER,
        version=V1ALPHA1,
        kind="PodGang",
        plural="podgangs",
        short_names=("pg",),
        columns=(
            Column("Backend", "string", r".metadata.labels.grove\.io/scheduler-backend"),
            Column("Phase", "string", ".status.phase"),
            Column("Scheduled", "integer", ".status.scheduledPods"),
            Column("Pods", "integer", ".status.pods"),
            AGE,
        ),
    )
    api_version: Literal["scheduler.grove.io/v1alpha1"] = default(SCHEDULER_V1ALPHA1)
    kind: Literal["PodGang"] = default("PodGang")
    metadata: ObjectMeta
    spec: Annotated[PodGangSpec, About("The pods, and how they must be placed.")]
    status: Annotated[PodGangStatus | None, About("The observed state.")] = None
