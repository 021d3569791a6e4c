"""The PodCliques and PodCliqueScalingGroups of a set.

Labels come from three sources, and a later one overrides an earlier one: the user's labels of the clique template, the
labels of every object of the set, the labels that identify the clique. The pods inherit all of them. The user cannot
set a label that would give the clique another position in its set.
"""

from grove.api import labels, names
from grove.api.meta import ObjectMeta
from grove.api.podclique import PodClique, PodCliqueSpec
from grove.api.podcliqueset import Clique
from grove.api.scalinggroup import PodCliqueScalingGroup, PodCliqueScalingGroupSpec
from grove.api.serialization.model import replace
from grove.plan.layout.set_layout import Group, SetLayout, owner_reference
from grove.plan.objects.mnnvl import claim_domain
from grove.plan.objects.podspec import PodSpecEditor

OWNED_CLIQUE_FIELDS = (
    "spec.podSpec",
    "spec.startsAfter",
    "spec.autoScalingConfig",
    *(f"metadata.labels.{key}" for key in labels.PLACE),
)
"""The fields of a PodClique that belong to Grove alone. Its replicas do not: users and autoscalers set them."""
OWNED_GROUP_FIELDS = ("spec.cliqueNames",)
"""The same, of a PodCliqueScalingGroup."""


def standalone_clique(layout: SetLayout, clique: Clique, i: int) -> PodClique:
    """The PodClique of a standalone clique, in replica i of the set."""
    name = names.clique(layout.name, i, clique.name)
    own = {
        labels.NAME: name,
        labels.COMPONENT: labels.ComponentLabel.CLIQUE,
        labels.REPLICA_INDEX: str(i),
        labels.POD_GANG: names.base_gang(layout.name, i),
        labels.POD_TEMPLATE_HASH: layout.hashes[clique.name],
    }
    metadata = ObjectMeta(
        name=name,
        namespace=layout.namespace,
        labels=_users_labels(clique) | layout.labels | own,
        annotations=_annotations(clique),
        finalizers=[labels.Finalizer.POD_CLIQUE],
        owner_references=[layout.owner],
    )
    return PodClique(metadata=metadata, spec=_spec(layout, clique, i, None))


def scaling_group(layout: SetLayout, group: Group, i: int) -> PodCliqueScalingGroup:
    name = names.scaling_group(layout.name, i, group.name)
    annotations = dict(group.template.annotations)
    inherited = layout.pcs.metadata.annotations.get(labels.MNNVL_GROUP)
    if inherited is not None:
        annotations.setdefault(labels.MNNVL_GROUP, inherited)
    own = {
        labels.NAME: name,
        labels.COMPONENT: labels.ComponentLabel.SCALING_GROUP,
        labels.REPLICA_INDEX: str(i),
    }
    metadata = ObjectMeta(
        name=name,
        namespace=layout.namespace,
        labels=layout.labels | own,
        annotations=annotations,
        finalizers=[labels.Finalizer.SCALING_GROUP],
        owner_references=[layout.owner],
    )
    spec = PodCliqueScalingGroupSpec(
        replicas=group.template.replicas,
        min_available=group.min_available,
        clique_names=list(group.template.clique_names),
    )
    return PodCliqueScalingGroup(metadata=metadata, spec=spec)


def member_clique(
    layout: SetLayout, group: Group, clique: Clique, i: int, j: int, owner: PodCliqueScalingGroup
) -> PodClique:
    """The PodClique of a clique in copy j of a scaling group, in replica i of the set.

    `owner` is the PodCliqueScalingGroup, which has a uid.
    """
    group_name = names.scaling_group(layout.name, i, group.name)
    name = names.clique_in_group(group_name, j, clique.name)
    base = names.base_gang(layout.name, i)
    gang = names.gang_of_group_replica(layout.name, i, group_name, j, group.min_available)
    own = {
        labels.NAME: name,
        labels.COMPONENT: labels.ComponentLabel.GROUP_CLIQUE,
        labels.REPLICA_INDEX: str(i),
        labels.SCALING_GROUP: group_name,
        labels.SCALING_GROUP_REPLICA_INDEX: str(j),
        labels.POD_GANG: gang,
        labels.POD_TEMPLATE_HASH: layout.hashes[clique.name],
    }
    if gang != base:
        own[labels.BASE_POD_GANG] = base
    metadata = ObjectMeta(
        name=name,
        namespace=layout.namespace,
        labels=_users_labels(clique) | layout.labels | own,
        annotations=_annotations(clique),
        finalizers=[labels.Finalizer.POD_CLIQUE],
        owner_references=[owner_reference(owner)],
    )
    return PodClique(metadata=metadata, spec=_spec(layout, clique, i, j))


def as_scaled(layout: SetLayout, clique: Clique, wanted: PodClique, existing: PodClique | None) -> PodClique:
    """`wanted` with the size of the PodClique that exists, if it does.

    Users and autoscalers own its replicas. A minimum that the user leaves open is the number of pods that the PodClique
    was created with, and stays so.
    """
    if existing is None:
        return wanted
    keeps_minimum = existing.spec.min_available is not None and clique.name in layout.open_minimums
    minimum = existing.spec.min_available if keeps_minimum else wanted.spec.min_available
    return replace(wanted, spec=replace(wanted.spec, replicas=existing.spec.replicas, min_available=minimum))


def as_scaled_group(
    wanted: PodCliqueScalingGroup, existing: PodCliqueScalingGroup | None
) -> PodCliqueScalingGroup:
    """`wanted` with the number of copies of the scaling group that exists: users and autoscalers decide it."""
    if existing is None:
        return wanted
    return replace(wanted, spec=replace(wanted.spec, replicas=existing.spec.replicas))


def _spec(layout: SetLayout, clique: Clique, i: int, j: int | None) -> PodCliqueSpec:
    editor = PodSpecEditor(clique.spec.pod_spec)
    group = layout.group_of.get(clique.name)
    if group is not None:
        editor.prepend_env(_group_env(group))
    claim_domain(editor, layout, clique, i)
    return replace(clique.spec, pod_spec=editor.result(), starts_after=layout.starts_after(clique, i, j))


def _group_env(group: Group) -> list[dict[str, object]]:
    return [
        _from_label(labels.Env.GROUP_NAME, labels.SCALING_GROUP),
        {"name": labels.Env.GROUP_POD_COUNT, "value": str(group.pods_per_copy)},
        _from_label(labels.Env.GROUP_INDEX, labels.SCALING_GROUP_REPLICA_INDEX),
    ]


def _from_label(name: str, label: str) -> dict[str, object]:
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": f"metadata.labels['{label}']"}}}


def _users_labels(clique: Clique) -> dict[str, str]:
    return {k: v for k, v in clique.labels.items() if k not in labels.PLACE}


def _annotations(clique: Clique) -> dict[str, str]:
    """Without the name of the topology, which only the gang carries."""
    return {k: v for k, v in clique.annotations.items() if k != labels.TOPOLOGY_NAME}
