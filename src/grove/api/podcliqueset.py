"""PodCliqueSet, the kind that users write: cliques, their scaling groups, placement and start order."""

from typing import Annotated, Any, ClassVar, Literal

from grove.api.groups import GROVE, GROVE_V1ALPHA1, V1ALPHA1
from grove.api.meta import AGE, Column, Condition, LastError, ObjectMeta, Resource, ResourceDefinition, Scale
from grove.api.podclique import AutoScalingConfig, PodCliqueSpec
from grove.api.scalars import Duration, Time
from grove.api.serialization.codec import raw
from grove.api.serialization.model import About, Cel, Int32, Int64, Model, default
from grove.api.sharing import (
    CliqueResourceSharing,
    NamedClaimTemplate,
    ScalingGroupResourceSharing,
    SetResourceSharing,
)
from grove.api.topology import TopologyConstraint

StartupType = Literal["CliqueStartupTypeAnyOrder", "CliqueStartupTypeInOrder", "CliqueStartupTypeExplicit"]
UpdateStrategyType = Literal["RollingRecreate", "OnDelete"]
PodGangPhase = Literal["Pending", "Starting", "Running", "Failed", "Succeeded"]

_TOPOLOGY = About("How close together the pods must be placed.", immutable=True)


class RollingUpdate(Model):
    """How fast RollingRecreate replaces the pods of a clique, or the copies of a scaling group."""

    max_unavailable: Annotated[
        Int32 | None,
        About(
            "How many pods of the clique, or copies of the group, may be unavailable because of an update. Pods and "
            "copies that are unavailable anyway count too, and are replaced first. Default: 1.",
            above=0,
        ),
    ] = None
    progress_deadline: Annotated[
        Duration | None,
        About(
            "How long an update may make no progress before the condition UpdateInProgress gets the reason "
            "ProgressDeadlineExceeded. The update goes on. Default: no deadline."
        ),
    ] = None


_ROLLING_UPDATE = About("How fast an update replaces this, with RollingRecreate.")


class Clique(Model):
    """The template from which a set creates PodCliques."""

    name: Annotated[str, About("The name of the clique, unique in the set.")]
    labels: Annotated[dict[str, str], About("Labels for the PodClique and its pods.")] = {}
    annotations: Annotated[dict[str, str], About("Annotations for the PodClique and its pods.")] = {}
    topology_constraint: Annotated[TopologyConstraint | None, _TOPOLOGY] = None
    resource_sharing: Annotated[
        list[CliqueResourceSharing],
        About("Resource claims that the pods of this clique share.", immutable=True),
    ] = []
    rolling_update: Annotated[RollingUpdate | None, _ROLLING_UPDATE] = None
    spec: Annotated[PodCliqueSpec, About("The desired state.")]

    @classmethod
    def of(
        cls, name: str, pod_spec: dict[str, Any], *, replicas: int = 1, role: str | None = None, **spec: Any
    ) -> "Clique":
        """A shorthand: `Clique.of("worker", {"containers": [...]}, replicas=4, min_available=3)`."""
        return cls(
            name=name,
            spec=PodCliqueSpec(role_name=role or name, pod_spec=raw(pod_spec), replicas=replicas, **spec),
        )


class ScalingGroup(Model):
    """The template from which a set creates PodCliqueScalingGroups."""

    name: Annotated[str, About("The name of the group, unique in the set.")]
    clique_names: Annotated[list[str], About("The cliques that are scaled together.", immutable=True)]
    annotations: Annotated[dict[str, str], About("Annotations for the PodCliqueScalingGroup.")] = {}
    replicas: Annotated[
        Int32,
        About("The initial number of copies; to change it later, scale the PodCliqueScalingGroup.", above=0),
    ] = default(1)
    min_available: Annotated[
        Int32,
        About(
            "How many copies belong to the base gang. Each further copy is a scaled gang of its own.",
            above=0,
            immutable=True,
        ),
    ] = default(1)
    scale_config: Annotated[AutoScalingConfig | None, About("Autoscaling of the group as a whole.")] = None
    resource_sharing: Annotated[
        list[ScalingGroupResourceSharing],
        About("Resource claims that the pods of a copy share.", immutable=True),
    ] = []
    topology_constraint: Annotated[TopologyConstraint | None, _TOPOLOGY] = None
    rolling_update: Annotated[RollingUpdate | None, _ROLLING_UPDATE] = None


class HeadlessServiceConfig(Model):
    publish_not_ready_addresses: Annotated[
        bool, About("Whether the Service publishes the addresses of pods that are not ready.")
    ] = default(True)


class PodCliqueSetTemplate(Model):
    cliques: Annotated[
        list[Clique],
        About("The cliques. Their order matters for CliqueStartupTypeInOrder.", key="name", merged=True),
    ]
    clique_startup_type: Annotated[
        StartupType,
        About(
            "Whether cliques start in any order, in the order in which they are listed, or as startsAfter says.",
            immutable=True,
        ),
    ] = default("CliqueStartupTypeAnyOrder")
    priority_class_name: Annotated[
        str | None,
        About("The priority class of the gangs. Pods may have their own in podSpec.priorityClassName."),
    ] = None
    headless_service_config: Annotated[
        HeadlessServiceConfig | None, About("The headless Service of each replica.")
    ] = None
    topology_constraint: Annotated[TopologyConstraint | None, _TOPOLOGY] = None
    termination_delay: Annotated[
        Duration | None,
        About(
            "How long a gang may stay below its minimum before it is terminated as a whole. Default: 4h. Not used yet: "
            "Grove terminates no gangs."
        ),
    ] = None
    resource_claim_templates: Annotated[
        list[NamedClaimTemplate],
        About("Templates of resource claims that resourceSharing refers to.", key="name", immutable=True),
    ] = []
    resource_sharing: Annotated[
        list[SetResourceSharing], About("Resource claims that pods of several cliques share.", immutable=True)
    ] = []
    pod_clique_scaling_groups: Annotated[
        list[ScalingGroup], About("Groups of cliques that are scaled together.", key="name")
    ] = []


class UpdateStrategy(Model):
    type: Annotated[
        UpdateStrategyType,
        About(
            "RollingRecreate replaces pods when their template changes: one replica of the set at a time, in it the "
            "pods of cliques one by one and the copies of scaling groups one by one. With OnDelete a pod gets the new "
            "template when somebody deletes it."
        ),
    ] = default("RollingRecreate")
    paused: Annotated[
        bool,
        About("Stops a rolling update, and keeps a new one from beginning, until it is false again."),
    ] = default(False)
    partition: Annotated[
        Int32,
        About("A rolling update leaves replicas with a lower index as they are.", at_least=0),
    ] = default(0)


class PodCliqueSetSpec(Model):
    replicas: Annotated[Int32, About("How many replicas of the template to run.", at_least=0)] = default(0)
    update_strategy: Annotated[
        UpdateStrategy | None, About("How pods are updated when the template changes.")
    ] = None
    template: Annotated[PodCliqueSetTemplate, About("The content of one replica.")]


class PodGangSummary(Model):
    name: Annotated[str, About("The name of the PodGang.")]
    phase: Annotated[PodGangPhase, About("The phase of the PodGang.")]
    conditions: Annotated[
        list[Condition], About("The conditions of the PodGang, if it does not run.", key="type")
    ] = []


class ReplicaUpdateProgress(Model):
    replica_index: Annotated[Int32, About("The replica that is being updated.")]
    update_started_at: Annotated[Time | None, About("When the update of this replica began.")] = None
    update_ended_at: Annotated[Time | None, About("When the update ended.")] = None


class PodCliqueSetUpdateProgress(Model):
    update_started_at: Annotated[Time | None, About("When the update began.")] = None
    update_ended_at: Annotated[Time | None, About("When the update ended.")] = None
    updated_pod_cliques_count: Annotated[
        Int32, About("Cliques outside scaling groups that are up to date.")
    ] = default(0)
    total_pod_cliques_count: Annotated[Int32, About("All cliques outside scaling groups.")] = default(0)
    updated_pod_clique_scaling_groups_count: Annotated[
        Int32, About("Scaling groups that are up to date.")
    ] = default(0)
    total_pod_clique_scaling_groups_count: Annotated[Int32, About("All scaling groups.")] = default(0)
    currently_updating: Annotated[
        list[ReplicaUpdateProgress], About("The replica that is being updated now.")
    ] = []


class PodCliqueSetStatus(Model):
    observed_generation: Annotated[Int64 | None, About("The generation that this status describes.")] = None
    conditions: Annotated[
        list[Condition],
        About(
            "Running (with the same reasons as `grove explain`), UpdateInProgress, Invalid, SeveralBackendsMatch, "
            "TopologyLevelsUnavailable.",
            key="type",
        ),
    ] = []
    last_errors: Annotated[
        list[LastError], About("The errors of the last reconcile; empty if it succeeded.")
    ] = []
    replicas: Annotated[Int32 | None, About("The replicas of the spec.")] = None
    updated_replicas: Annotated[Int32, About("Available replicas that are up to date.")] = default(0)
    available_replicas: Annotated[
        Int32, About("Replicas in which every clique and scaling group has its minimum.")
    ] = default(0)
    hpa_pod_selector: Annotated[str | None, About("The label selector of the pods, for autoscalers.")] = None
    pod_gang_statuses: Annotated[list[PodGangSummary], About("The gangs of this set.", key="name")] = []
    current_generation_hash: Annotated[str | None, About("The hash of all pod templates.")] = None
    update_progress: Annotated[
        PodCliqueSetUpdateProgress | None,
        About("Progress of the last update."),
    ] = None


def _no_pack_domain(rule: str, field_path: str) -> Cel:
    return Cel(
        rule,
        "packDomain is deprecated: use pack.required",
        reason="FieldValueForbidden",
        field_path=field_path,
        create_only=True,
    )


class PodCliqueSet(Resource):
    """Groups of pods that are placed and scaled as gangs."""

    resource: ClassVar = ResourceDefinition(
        group=GROVE,
        version=V1ALPHA1,
        kind="PodCliqueSet",
        plural="podcliquesets",
        short_names=("pcs",),
        scale=Scale(".status.hpaPodSelector"),
        columns=(
            Column("Replicas", "integer", ".spec.replicas"),
            Column("Available", "integer", ".status.availableReplicas"),
            Column("Updated", "integer", ".status.updatedReplicas"),
            Column("Reason", "string", '.status.conditions[?(@.type=="Running")].reason'),
            Column("PCLQs-Updated", "integer", ".status.updateProgress.updatedPodCliquesCount"),
            Column("PCLQs-Total", "integer", ".status.updateProgress.totalPodCliquesCount"),
            Column("PCSGs-Updated", "integer", ".status.updateProgress.updatedPodCliqueScalingGroupsCount"),
            Column("PCSGs-Total", "integer", ".status.updateProgress.totalPodCliqueScalingGroupsCount"),
            AGE,
        ),
    )
    cel: ClassVar = (
        _no_pack_domain(
            "!has(self.spec.template.topologyConstraint) || !has(self.spec.template.topologyConstraint.packDomain)",
            ".spec.template.topologyConstraint.packDomain",
        ),
        _no_pack_domain(
            "self.spec.template.cliques.all(c, !has(c.topologyConstraint) || !has(c.topologyConstraint.packDomain))",
            ".spec.template.cliques",
        ),
        _no_pack_domain(
            "!has(self.spec.template.podCliqueScalingGroups) || self.spec.template.podCliqueScalingGroups.all("
            "g, !has(g.topologyConstraint) || !has(g.topologyConstraint.packDomain))",
            ".spec.template.podCliqueScalingGroups",
        ),
    )
    api_version: Literal["grove.io/v1alpha1"] = default(GROVE_V1ALPHA1)
    kind: Literal["PodCliqueSet"] = default("PodCliqueSet")
    metadata: ObjectMeta
    spec: Annotated[PodCliqueSetSpec, About("The desired state.")]
    status: Annotated[PodCliqueSetStatus | None, About("The observed state.")] = None
