"""PodCliqueSet: what a user writes. Cliques, how they group into gangs and scale, and how they update."""

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

_TOPOLOGY = About("Where the pods must stand in relation to each other.", immutable=True)


class Clique(Model):
    """A clique as the set describes it: the template of PodClique objects."""

    name: Annotated[str, About("The name of the clique, unique in the set.")]
    labels: Annotated[dict[str, str], About("Labels for the PodClique and its pods.")] = {}
    annotations: Annotated[dict[str, str], About("Annotations for the PodClique and its pods.")] = {}
    topology_constraint: Annotated[TopologyConstraint | None, _TOPOLOGY] = None
    resource_sharing: Annotated[
        list[CliqueResourceSharing],
        About("Resource claims that the pods of this clique share.", immutable=True),
    ] = []
    spec: Annotated[PodCliqueSpec, About("What to run.")]

    @classmethod
    def of(
        cls, name: str, pod_spec: dict[str, Any], *, replicas: int = 1, role: str | None = None, **spec: Any
    ) -> "Clique":
        """A clique in one line: `Clique.of("worker", {"containers": [...]}, replicas=4, min_available=3)`."""
        return cls(
            name=name,
            spec=PodCliqueSpec(role_name=role or name, pod_spec=raw(pod_spec), replicas=replicas, **spec),
        )


class ScalingGroup(Model):
    """A scaling group as the set describes it: the template of PodCliqueScalingGroup objects."""

    name: Annotated[str, About("The name of the group, unique in the set.")]
    clique_names: Annotated[list[str], About("The cliques that scale together.", immutable=True)]
    annotations: Annotated[dict[str, str], About("Annotations for the PodCliqueScalingGroup.")] = {}
    replicas: Annotated[
        Int32, About("How many copies to start with; later the PodCliqueScalingGroup is scaled.", above=0)
    ] = default(1)
    min_available: Annotated[
        Int32,
        About(
            "How many copies belong to the base gang; each further copy is a gang of its own.",
            above=0,
            immutable=True,
        ),
    ] = default(1)
    scale_config: Annotated[AutoScalingConfig | None, About("Scales the group as a whole.")] = None
    resource_sharing: Annotated[
        list[ScalingGroupResourceSharing],
        About("Resource claims that the pods of a copy share.", immutable=True),
    ] = []
    topology_constraint: Annotated[TopologyConstraint | None, _TOPOLOGY] = None


class HeadlessServiceConfig(Model):
    publish_not_ready_addresses: Annotated[
        bool, About("Whether pods have addresses before they are ready.")
    ] = default(True)


class PodCliqueSetTemplate(Model):
    cliques: Annotated[
        list[Clique],
        About("The cliques; their order matters when they start in order.", key="name", merged=True),
    ]
    clique_startup_type: Annotated[
        StartupType,
        About(
            "Whether cliques start in any order, in the order written, or as startsAfter says.",
            immutable=True,
        ),
    ] = default("CliqueStartupTypeAnyOrder")
    priority_class_name: Annotated[
        str | None, About("The priority of the gangs. Pods have their own in podSpec.priorityClassName.")
    ] = None
    headless_service_config: Annotated[
        HeadlessServiceConfig | None, About("The headless Service of each replica.")
    ] = None
    topology_constraint: Annotated[TopologyConstraint | None, _TOPOLOGY] = None
    termination_delay: Annotated[
        Duration | None,
        About(
            "How long a gang may stay below its minimum before it is terminated as a whole; by default 4h."
        ),
    ] = None
    resource_claim_templates: Annotated[
        list[NamedClaimTemplate],
        About("Templates of resource claims, for resourceSharing.", key="name", immutable=True),
    ] = []
    resource_sharing: Annotated[
        list[SetResourceSharing], About("Resource claims that pods of the whole set share.", immutable=True)
    ] = []
    pod_clique_scaling_groups: Annotated[
        list[ScalingGroup], About("Cliques that scale together.", key="name")
    ] = []


class UpdateStrategy(Model):
    type: Annotated[
        UpdateStrategyType,
        About("RollingRecreate replaces pods step by step; OnDelete waits until a user deletes them."),
    ] = default("RollingRecreate")


class PodCliqueSetSpec(Model):
    replicas: Annotated[Int32, About("How many copies of the template to run.", at_least=0)] = default(0)
    update_strategy: Annotated[UpdateStrategy | None, About("How pods follow a changed template.")] = None
    template: Annotated[PodCliqueSetTemplate, About("What one replica consists of.")]


class PodGangSummary(Model):
    name: Annotated[str, About("The name of the PodGang.")]
    phase: Annotated[PodGangPhase, About("How far it has come.")]
    conditions: Annotated[list[Condition], About("Its conditions.", key="type")] = []


class ReplicaUpdateProgress(Model):
    replica_index: Annotated[Int32, About("The replica that is being updated.")]
    update_started_at: Annotated[Time | None, About("When its update began.")] = None
    update_ended_at: Annotated[Time | None, About("When it was complete.")] = None


class PodCliqueSetUpdateProgress(Model):
    update_started_at: Annotated[Time | None, About("When the update began.")] = None
    update_ended_at: Annotated[Time | None, About("When it was complete.")] = None
    updated_pod_cliques_count: Annotated[
        Int32, About("Cliques outside scaling groups that are up to date.")
    ] = default(0)
    total_pod_cliques_count: Annotated[Int32, About("Cliques outside scaling groups in all.")] = default(0)
    updated_pod_clique_scaling_groups_count: Annotated[
        Int32, About("Scaling groups that are up to date.")
    ] = default(0)
    total_pod_clique_scaling_groups_count: Annotated[Int32, About("Scaling groups in all.")] = default(0)
    currently_updating: Annotated[
        list[ReplicaUpdateProgress], About("The replica that is being updated now.")
    ] = []


class PodCliqueSetStatus(Model):
    observed_generation: Annotated[Int64 | None, About("The generation that this status describes.")] = None
    conditions: Annotated[
        list[Condition],
        About(
            "Running: whether all that is asked for runs, else why not, with the reasons that `grove explain` gives; "
            "Invalid; SeveralBackendsMatch; TopologyLevelsUnavailable.",
            key="type",
        ),
    ] = []
    last_errors: Annotated[
        list[LastError], About("What went wrong in the last reconcile; empty when nothing did.")
    ] = []
    replicas: Annotated[Int32 | None, About("Replicas asked for.")] = None
    updated_replicas: Annotated[Int32, About("Available replicas that are up to date.")] = default(0)
    available_replicas: Annotated[Int32, About("Replicas whose every clique and group has its minimum.")] = (
        default(0)
    )
    hpa_pod_selector: Annotated[str | None, About("The label selector of the pods, for autoscalers.")] = None
    pod_gang_statuses: Annotated[list[PodGangSummary], About("The gangs of this set.", key="name")] = []
    current_generation_hash: Annotated[str | None, About("The hash of all pod templates.")] = None
    update_progress: Annotated[PodCliqueSetUpdateProgress | None, About("How far an update has come.")] = None


def _no_pack_domain(rule: str, field_path: str) -> Cel:
    return Cel(
        rule,
        "packDomain is deprecated: use pack.required",
        reason="FieldValueForbidden",
        field_path=field_path,
        create_only=True,
    )


class PodCliqueSet(Resource):
    """Groups of pods that are placed, started, scaled and updated as gangs."""

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
    spec: Annotated[PodCliqueSetSpec, About("What to run.")]
    status: Annotated[PodCliqueSetStatus | None, About("What was observed.")] = None
