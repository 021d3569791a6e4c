"""PodClique: pods of one role that start, scale and count together."""

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

# A core/v1 PodSpec, kept as the bytes that the user wrote. The API server checks it when it becomes a pod; its schema
# changes with every Kubernetes release and is not repeated here.
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
        Int32 | None, About("The fewest replicas; by default the replicas of the owner.")
    ] = None
    max_replicas: Annotated[Int32, About("The most replicas.")]
    metrics: Annotated[
        list[Raw],
        About(
            "autoscaling/v2 metrics, passed on to the HorizontalPodAutoscaler; none means 80 % CPU.",
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
            "How many pods. In a PodCliqueSet: how many to start with; later the PodClique is scaled.",
            above=0,
        ),
    ]
    min_available: Annotated[
        Int32 | None,
        About(
            "How many pods must be placed together, and below how many the gang counts as broken; by default all "
            "that a PodClique is made with.",
            above=0,
            immutable=True,
        ),
    ] = None
    starts_after: Annotated[
        list[str],
        About(
            "Cliques whose pods must be ready before these start. Names of cliques in a PodCliqueSet, names of "
            "PodClique objects in a PodClique.",
            immutable=True,
        ),
    ] = []
    auto_scaling_config: Annotated[
        AutoScalingConfig | None, About("Scales this clique on its own; not for members of a scaling group.")
    ] = None


class PodUpdate(Model):
    current: Annotated[str, About("The pod that is being replaced.")]
    completed: Annotated[list[str], About("The pods that were replaced.")] = []


class PodCliqueUpdateProgress(Model):
    update_started_at: Annotated[Time | None, About("When the update began.")] = None
    update_ended_at: Annotated[Time | None, About("When it was complete.")] = None
    pod_clique_set_generation_hash: Annotated[
        str, About("The generation hash of the set that is rolled out.")
    ]
    pod_template_hash: Annotated[str, About("The pod template hash that is rolled out.")]
    ready_pods_selected_to_update: Annotated[
        PodUpdate | None, About("Which ready pods were chosen for replacement.")
    ] = None


class PodCliqueStatus(Model):
    observed_generation: Annotated[Int64 | None, About("The generation that this status describes.")] = None
    last_errors: Annotated[
        list[LastError], About("What went wrong in the last reconcile; empty when nothing did.")
    ] = []
    replicas: Annotated[Int32 | None, About("Pods that exist and are not going away.")] = None
    ready_replicas: Annotated[Int32, About("Pods that are ready.")] = default(0)
    updated_replicas: Annotated[Int32, About("Pods of the current template.")] = default(0)
    schedule_gated_replicas: Annotated[Int32, About("Pods that still wait behind their scheduling gate.")] = (
        default(0)
    )
    scheduled_replicas: Annotated[Int32, About("Pods that have a node.")] = default(0)
    hpa_pod_selector: Annotated[str | None, About("The label selector of the pods, for autoscalers.")] = None
    conditions: Annotated[
        list[Condition], About("PodCliqueScheduled, MinAvailableBreached.", key="type")
    ] = []
    current_pod_clique_set_generation_hash: Annotated[
        str | None, About("The generation hash of the set that all pods follow.")
    ] = None
    current_pod_template_hash: Annotated[str | None, About("The pod template hash that all pods follow.")] = (
        None
    )
    update_progress: Annotated[PodCliqueUpdateProgress | None, About("How far an update has come.")] = None


class PodClique(Resource):
    """Pods of one role. Made by Grove from a PodCliqueSet."""

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
    spec: Annotated[PodCliqueSpec, About("What to run.")]
    status: Annotated[PodCliqueStatus | None, About("What was observed.")] = None
