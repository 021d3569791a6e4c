"""PodClique: pods of one role, created from one template and scaled together."""

from typing import Annotated, ClassVar, Literal

from msgspec import Raw

from grove.api.groups import GROVE, GROVE_V1ALPHA1, V1ALPHA1
from grove.api.meta import AGE, Column, Condition, LastError, ObjectMeta, Resource, ResourceDefinition, Scale
from grove.api.scalars import Time
from grove.api.serialization.model import About, Int32, Int64, Model, default

_CONTAINERS = {
    "type": "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["name"],
    "items": {
        "type": "object",
        "required": ["name"],
        "properties": {"name": {"type": "string"}},
        "x-kubernetes-preserve-unknown-fields": True,
    },
}

# A core/v1 PodSpec, kept as the bytes that the user wrote. The API server validates it when Grove creates a pod. Its
# schema changes with every Kubernetes release, so the CRD does not repeat it.
PodSpec = Annotated[
    Raw,
    About(
        schema={
            "type": "object",
            "required": ["containers"],
            "properties": {"containers": _CONTAINERS, "initContainers": _CONTAINERS},
            "x-kubernetes-preserve-unknown-fields": True,
        }
    ),
]


class AutoScalingConfig(Model):
    min_replicas: Annotated[
        Int32 | None,
        About("The lower limit of replicas. Default: the replicas of the clique or scaling group."),
    ] = None
    max_replicas: Annotated[Int32, About("The upper limit of replicas.")]
    metrics: Annotated[
        list[Raw],
        About(
            "autoscaling/v2 metrics for the HorizontalPodAutoscaler. Default: 80 % CPU.",
            atomic=True,
            schema={"items": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
        ),
    ] = []


class PodCliqueSpec(Model):
    role_name: Annotated[str, About("The role of these pods, unique in the set.", immutable=True)]
    pod_spec: Annotated[PodSpec, About("A core/v1 PodSpec.")]
    replicas: Annotated[
        Int32,
        About(
            "The number of pods. In a PodCliqueSet: the initial number; to change it later, scale the PodClique.",
            above=0,
        ),
    ]
    min_available: Annotated[
        Int32 | None,
        About(
            "How many of the pods must be placed together. With fewer ready pods, MinAvailableBreached is True. "
            "Default: the replicas that the PodClique is created with.",
            above=0,
            immutable=True,
        ),
    ] = None
    starts_after: Annotated[
        list[str],
        About(
            "The cliques whose pods must be ready before these pods start: in a PodCliqueSet names of cliques, in a "
            "PodClique names of PodCliques. Needs the image grove-initc, which Grove does not build yet.",
            immutable=True,
        ),
    ] = []
    auto_scaling_config: Annotated[
        AutoScalingConfig | None,
        About("Autoscaling of this clique alone. Not allowed for members of a scaling group."),
    ] = None


class PodUpdate(Model):
    current: Annotated[str, About("The pod that is being replaced.")]
    completed: Annotated[list[str], About("The pods that have been replaced.")] = []


class PodCliqueUpdateProgress(Model):
    update_started_at: Annotated[Time | None, About("When the update began.")] = None
    update_ended_at: Annotated[Time | None, About("When the update ended.")] = None
    pod_clique_set_generation_hash: Annotated[
        str, About("The generation hash of the set that is being rolled out.")
    ]
    pod_template_hash: Annotated[str, About("The pod template hash that is being rolled out.")]
    ready_pods_selected_to_update: Annotated[
        PodUpdate | None, About("The ready pods that are selected for replacement.")
    ] = None


class PodCliqueStatus(Model):
    observed_generation: Annotated[Int64 | None, About("The generation that this status describes.")] = None
    last_errors: Annotated[
        list[LastError], About("The errors of the last reconcile; empty if it succeeded.")
    ] = []
    replicas: Annotated[Int32 | None, About("Pods that exist and are not being deleted.")] = None
    ready_replicas: Annotated[Int32, About("Pods that are ready.")] = default(0)
    updated_replicas: Annotated[Int32, About("Pods that were created from the current template.")] = default(
        0
    )
    schedule_gated_replicas: Annotated[Int32, About("Pods that have a scheduling gate.")] = default(0)
    scheduled_replicas: Annotated[Int32, About("Pods that have a node.")] = default(0)
    hpa_pod_selector: Annotated[str | None, About("The label selector of the pods, for autoscalers.")] = None
    conditions: Annotated[
        list[Condition], About("PodCliqueScheduled, MinAvailableBreached, UpdateInProgress.", key="type")
    ] = []
    current_pod_clique_set_generation_hash: Annotated[
        str | None, About("The generation hash of the set that all pods were created from.")
    ] = None
    current_pod_template_hash: Annotated[str | None, About("The template hash that all pods have.")] = None
    update_progress: Annotated[
        PodCliqueUpdateProgress | None,
        About("Progress of the last update. A member of a scaling group has none: it is recreated."),
    ] = None


class PodClique(Resource):
    """Pods of one role. Grove creates PodCliques from a PodCliqueSet."""

    resource: ClassVar = ResourceDefinition(
        group=GROVE,
        version=V1ALPHA1,
        kind="PodClique",
        plural="podcliques",
        short_names=("pclq",),
        scale=Scale(".status.hpaPodSelector"),
        columns=(
            Column("MinAvail", "integer", ".spec.minAvailable"),
            Column("Replicas", "integer", ".spec.replicas"),
            Column("Ready", "integer", ".status.readyReplicas"),
            Column("Scheduled", "integer", ".status.scheduledReplicas"),
            Column("Updated", "integer", ".status.updatedReplicas"),
            Column("Gated", "integer", ".status.scheduleGatedReplicas", wide=True),
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
    kind: Literal["PodClique"] = default("PodClique")
    metadata: ObjectMeta
    spec: Annotated[PodCliqueSpec, About("The desired state.")]
    status: Annotated[PodCliqueStatus | None, About("The observed state.")] = None
