"""ClusterTopologyBinding, the levels of a cluster's topology; and the constraints that refer to them."""

from typing import Annotated, ClassVar, Literal

from grove.api.groups import GROVE, GROVE_V1ALPHA1, V1ALPHA1
from grove.api.meta import AGE, Column, Condition, ObjectMeta, Resource, ResourceDefinition
from grove.api.serialization.model import About, Cel, Int64, Model, default
from grove.schema.name_syntax import QUALIFIED_NAME

_DOMAIN = r"^[a-z][a-z0-9-]*$"
# Looser than Kubernetes on the part before the slash, as the reference's CRD is.
_LABEL_KEY = f"^({QUALIFIED_NAME}/)?{QUALIFIED_NAME}$"

TopologyDomain = Annotated[str, About(min_length=1, max_length=63, pattern=_DOMAIN)]


class TopologyLevel(Model):
    domain: Annotated[
        TopologyDomain, About("The name of the level for constraints, such as zone, rack or host.")
    ]
    key: Annotated[
        str,
        About(
            "The node label whose value is the domain of a node on this level.",
            min_length=1,
            max_length=63,
            pattern=_LABEL_KEY,
        ),
    ]


class SchedulerTopologyBinding(Model):
    scheduler_name: Annotated[str, About("The scheduler whose topology object somebody else manages.")]
    topology_reference: Annotated[str, About("The name of the scheduler's topology object.")]


class ClusterTopologyBindingSpec(Model):
    levels: Annotated[list[TopologyLevel], About("The levels, broadest first.", min_items=1, key="domain")]
    scheduler_topology_bindings: Annotated[
        list[SchedulerTopologyBinding],
        About(
            "Schedulers whose topology object somebody else manages: Grove compares it and reports drift. For every "
            "other topology-aware scheduler, Grove creates and owns one.",
            key="schedulerName",
        ),
    ] = []


class SchedulerTopologyStatus(Model):
    scheduler_name: Annotated[str, About("The scheduler.")]
    topology_reference: Annotated[str, About("The scheduler's topology object.")]
    in_sync: Annotated[bool, About("Whether its levels are the levels of this binding.")]
    scheduler_backend_topology_observed_generation: Annotated[
        Int64 | None, About("The generation of the topology object that Grove compared.")
    ] = None
    message: Annotated[str | None, About("Why it is not in sync.")] = None


class ClusterTopologyBindingStatus(Model):
    observed_generation: Annotated[Int64 | None, About("The generation that this status describes.")] = None
    conditions: Annotated[list[Condition], About("SchedulerTopologyDrift.", key="type")] = []
    scheduler_topology_statuses: Annotated[
        list[SchedulerTopologyStatus], About("One entry per topology-aware scheduler.", key="schedulerName")
    ] = []


class ClusterTopologyBinding(Resource):
    """The levels of a cluster's topology, broadest first, and the node label of each."""

    resource: ClassVar = ResourceDefinition(
        group=GROVE,
        version=V1ALPHA1,
        kind="ClusterTopologyBinding",
        plural="clustertopologybindings",
        short_names=("ct",),
        namespaced=False,
        columns=(Column("Domains", "string", ".spec.levels[*].domain"), AGE),
    )
    api_version: Literal["grove.io/v1alpha1"] = default(GROVE_V1ALPHA1)
    kind: Literal["ClusterTopologyBinding"] = default("ClusterTopologyBinding")
    metadata: ObjectMeta
    spec: Annotated[ClusterTopologyBindingSpec, About("The desired state.")]
    status: Annotated[ClusterTopologyBindingStatus | None, About("The observed state.")] = None


class TopologyPack(Model):
    required: Annotated[
        TopologyDomain | None, About("All pods must be placed in one domain of this level.")
    ] = None
    preferred: Annotated[
        TopologyDomain | None, About("All pods should be placed in one domain of this level.")
    ] = None
    cel: ClassVar = (
        Cel(
            "has(self.required) || has(self.preferred)",
            "at least one of 'required' or 'preferred' must be set",
            reason="FieldValueRequired",
        ),
    )


class TopologyConstraint(Model):
    topology_name: Annotated[
        str | None,
        About(
            "The ClusterTopologyBinding that defines the levels. Default: that of the enclosing constraint."
        ),
    ] = None
    pack: Annotated[TopologyPack | None, About("The levels to pack the pods by.")] = None
    pack_domain: Annotated[TopologyDomain | None, About("Deprecated: use pack.required.")] = None
    cel: ClassVar = (
        Cel(
            "has(self.pack) || has(self.packDomain)",
            "at least one of 'pack' or 'packDomain' must be set",
            reason="FieldValueRequired",
            field_path=".pack",
        ),
        Cel(
            "!(has(self.packDomain) && has(self.pack) && has(self.pack.required))",
            "packDomain is the old name of pack.required: set only pack.required",
            field_path=".pack.required",
        ),
    )

    @property
    def required(self) -> str | None:
        """The required level, from `pack.required` or the deprecated `packDomain`."""
        return (self.pack and self.pack.required) or self.pack_domain

    @property
    def preferred(self) -> str | None:
        return self.pack.preferred if self.pack else None
