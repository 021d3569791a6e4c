"""PodGang: the pods that must be placed together. The one language between the operator and the schedulers."""

from typing import Annotated, ClassVar, Literal

import msgspec

from grove.api.groups import SCHEDULER, SCHEDULER_V1ALPHA1, V1ALPHA1
from grove.api.meta import AGE, Column, Condition, ObjectMeta, Resource, ResourceDefinition
from grove.api.serialization.model import About, Int32, Model, default


class NamespacedName(Model):
    namespace: str
    name: str


class GangPackConstraint(Model):
    required: Annotated[str | None, About("Node label: all pods must share its value.")] = None
    preferred: Annotated[str | None, About("Node label: all pods share its value if possible.")] = None


class GangTopologyConstraint(Model):
    pack_constraint: Annotated[GangPackConstraint | None, About("Node labels to pack by.")] = None


class PodGroup(Model):
    name: Annotated[str, About("The PodClique whose pods these are.")]
    pod_references: Annotated[
        list[NamespacedName], About("The pods, once all of them exist; empty until then.")
    ]
    min_replicas: Annotated[Int32, About("How many of the pods must be placed together.")]
    topology_constraint: Annotated[
        GangTopologyConstraint | None, About("Constraint on the pods of this group.")
    ] = None


class TopologyConstraintGroup(Model):
    name: Annotated[str, About("A name, unique in the gang.")]
    pod_group_names: Annotated[
        list[str], About("The pod groups that the constraint holds for, taken together.")
    ]
    topology_constraint: Annotated[
        GangTopologyConstraint | None, About("Constraint on all pods of these groups.")
    ] = None


class PodGangSpec(Model):
    # The reference writes this one name in lower case.
    pod_groups: Annotated[list[PodGroup], About("The groups of pods that make up the gang.", key="name")] = (
        msgspec.field(name="podgroups")
    )
    topology_constraint: Annotated[
        GangTopologyConstraint | None, About("Constraint on all pods of the gang.")
    ] = None
    topology_constraint_group_configs: Annotated[
        list[TopologyConstraintGroup], About("Constraints on several groups taken together.", key="name")
    ] = []
    priority_class_name: Annotated[str | None, About("The priority of the gang as a whole.")] = None
    reuse_reservation_ref: Annotated[
        NamespacedName | None, About("A gang whose room this one may take over, as in a rolling update.")
    ] = None


class PodGangStatus(Model):
    phase: Annotated[str, About("Pending, Starting, Running, Failed or Succeeded.")]
    conditions: Annotated[
        list[Condition],
        About(
            "Initialized, BackendSynced, SchedulerDialect, Scheduled, Unschedulable, Ready, Unhealthy, "
            "DisruptionTarget. The reason of SchedulerDialect names the API of its scheduler that the objects and pods "
            "of this gang are made for, where there are several; Unschedulable has the scheduler's own words.",
            key="type",
        ),
    ] = []
    pods: Annotated[Int32, About("Pods that the gang names.")] = default(0)
    scheduled_pods: Annotated[Int32, About("Pods of the gang that have a node.")] = default(0)
    placement_score: Annotated[float | None, About("How well the gang is placed; 1.0 is best.")] = None


class PodGang(Resource):
    """Pods that are placed together or not at all. Made by Grove; a scheduler backend translates it."""

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
    spec: Annotated[PodGangSpec, About("Which pods, and how they must be placed.")]
    status: Annotated[PodGangStatus | None, About("What was observed.")] = None
