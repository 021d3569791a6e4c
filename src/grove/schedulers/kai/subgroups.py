"""The tree of subgroups in a PodGroup, and the topology constraints of its parts."""

from typing import Any

from grove.api import labels
from grove.api.podgang import GangTopologyConstraint, PodGang
from grove.schedulers.types import Json, ObjectKind, Refusal, Served

POD_GROUPS = ObjectKind("scheduling.run.ai", "v2alpha2", "podgroups", "PodGroup")
TOPOLOGY_ANNOTATION = "kai.scheduler/topology"


def check_subgroup_fields(gang: PodGang, served: Served) -> None:
    """Raises Refusal if the PodGroups of this KAI lack a field that the gang needs."""
    if POD_GROUPS not in served:
        return  # The framework reports that the scheduler is not installed.
    needed = ["spec.subGroups"]
    if any(g.topology_constraint or g.pod_group_names for g in gang.spec.topology_constraint_group_configs):
        needed.append("spec.subGroups.parent")
    if any(g.topology_constraint for g in gang.spec.pod_groups):
        needed.append("spec.subGroups.topologyConstraint")
    missing = [path for path in needed if not served.has(POD_GROUPS, path)]
    if missing:
        raise Refusal(
            f"the PodGroups of this KAI have no {' and no '.join(missing)}, which this gang needs",
            "upgrade KAI to 0.15 or later",
        )


def subgroups_of(gang: PodGang, served: Served) -> list[Json]:
    """The subgroups of constraint groups first, then those of pod groups, each sorted by name. Raises Refusal.

    Fields that the cluster's CRD does not have are left out.
    """
    pod_group_names = {g.name for g in gang.spec.pod_groups}
    parents: dict[str, str] = {}
    inner: list[Json] = []
    for config in gang.spec.topology_constraint_group_configs:
        if not config.pod_group_names:
            continue
        name = _unique_name(config.name, pod_group_names)
        for member in config.pod_group_names:
            if member not in pod_group_names or member in parents:
                what = f"is also in {parents[member]!r}" if member in parents else "does not exist"
                raise Refusal(f"pod group {member!r} of the constraint group {config.name!r} {what}")
            parents[member] = name
        constraint = topology_constraint(gang, config.topology_constraint)
        inner.append(
            _without_none(name=name, minSubGroup=len(config.pod_group_names), topologyConstraint=constraint)
        )
    leaves: list[Json] = []
    for group in gang.spec.pod_groups:
        if group.min_replicas < 1:
            raise Refusal(
                f"pod group {group.name!r} has a minimum of {group.min_replicas}, KAI needs 1 or more"
            )
        leaves.append(
            _without_none(
                name=group.name,
                parent=parents.get(group.name),
                minMember=group.min_replicas,
                topologyConstraint=topology_constraint(gang, group.topology_constraint),
            )
        )
    subgroups = [*sorted(inner, key=_name_of), *sorted(leaves, key=_name_of)]
    return [
        {k: v for k, v in subgroup.items() if served.has(POD_GROUPS, f"spec.subGroups.{k}")}
        for subgroup in subgroups
    ]


def topology_constraint(gang: PodGang, constraint: GangTopologyConstraint | None) -> Json | None:
    """None for a constraint without a level: KAI can never satisfy one. Raises Refusal."""
    pack = constraint.pack_constraint if constraint else None
    if pack is None or not (pack.required or pack.preferred):
        return None
    annotations = gang.metadata.annotations
    keys = (labels.SCHEDULER_TOPOLOGY, labels.TOPOLOGY_NAME, TOPOLOGY_ANNOTATION)
    topology = next((annotations[k] for k in keys if annotations.get(k)), None)
    if not topology:
        raise Refusal(
            f"PodGang {gang.metadata.name} has a topology constraint and names no topology",
            f"name one in the annotation {labels.TOPOLOGY_NAME}",
        )
    # A preference equal to the requirement adds nothing, and KAI before 0.13 misreads the pair.
    preferred = pack.preferred if pack.preferred != pack.required else None
    return _without_none(
        topology=topology, requiredTopologyLevel=pack.required, preferredTopologyLevel=preferred
    )


def _unique_name(name: str, pod_group_names: set[str]) -> str:
    """A standalone clique may have the name of a copy of a scaling group, but names of subgroups must be unique."""
    while name in pod_group_names:
        name += "-group"
    return name


def _without_none(**fields: Any) -> Json:
    return {k: v for k, v in fields.items() if v is not None}


def _name_of(subgroup: Json) -> str:
    return str(subgroup["name"])
