"""Which objects of a replica to prune: the set no longer describes them.

An object belongs to a replica if both its labels and its name say so. Labels alone are not enough: a user may have
edited them, and Grove is about to restore them.
"""

from collections.abc import Collection

from grove.api import labels
from grove.api.podclique import PodClique
from grove.api.scalinggroup import PodCliqueScalingGroup
from grove.plan.layout.clique_position import find_position
from grove.plan.layout.set_layout import SetLayout


def is_unwanted(name: str, wanted: Collection[str], set_name: str, replica: int) -> bool:
    """`name` is that of an object with the labels of this replica; `wanted` are the wanted names of the same kind."""
    stem = f"{set_name}-{replica}"
    return name not in wanted and (name == stem or name.startswith(f"{stem}-"))


def is_unwanted_part(
    part: PodClique | PodCliqueScalingGroup,
    wanted: Collection[str],
    layout: SetLayout,
    replica: int,
    copies: dict[str, int | None],
) -> bool:
    """As `is_unwanted`, for a clique or scaling group. A clique of a scaling group is deleted with its group, not here.

    `copies` has the number of copies of each wanted scaling group, by the name of its object; None for a group that
    does not exist right now. A clique whose group was deleted and orphaned it (`kubectl delete --cascade=orphan`) stays
    for the new group to adopt, if that has its copy.
    """
    if not is_unwanted(part.metadata.name or "", wanted, layout.name, replica):
        return False
    if any(o.uid != layout.owner.uid for o in part.metadata.owner_references if o.controller):
        return False
    group = part.metadata.labels.get(labels.SCALING_GROUP, "")
    if not isinstance(part, PodClique) or group not in copies:
        return True
    position, count = find_position(layout, part), copies[group]
    if position is None or position.j is None:
        return True
    return count is not None and position.j >= count
