"""Where in its set a PodClique stands: which replica, which clique of the template, which copy of which group.

Names are compared as a whole and never cut apart: `worker` is not mistaken for the end of `decode-worker`.
"""

from typing import NamedTuple

from grove.api import labels, names
from grove.api.podclique import PodClique
from grove.api.podcliqueset import Clique
from grove.plan.shape import Group, Shape


class Place(NamedTuple):
    """`i` is the replica of the set; `group` and the copy `j` are None for a clique that stands alone."""

    i: int
    clique: Clique
    group: Group | None = None
    j: int | None = None


def find_place(shape: Shape, clique: PodClique) -> Place | None:
    """None for a PodClique that the set does not describe, or whose labels say otherwise."""
    found = _by_name(shape, clique)
    if found is None or clique.metadata.labels.get(labels.POD_GANG) != gang_of(shape, found):
        return None
    return found


def gang_of(shape: Shape, place: Place) -> str:
    """The name of the gang that the pods belong to."""
    if place.group is None or place.j is None:
        return names.base_gang(shape.name, place.i)
    full = names.scaling_group(shape.name, place.i, place.group.name)
    return names.gang_of_group_replica(shape.name, place.i, full, place.j, place.group.min_available)


def place_of(shape: Shape, clique: PodClique) -> Place:
    """Raises LookupError for a PodClique that the set does not describe."""
    found = find_place(shape, clique)
    if found is None:
        name = clique.metadata.name
        raise LookupError(f"PodCliqueSet {shape.name} describes no clique that PodClique {name} belongs to")
    return found


def _by_name(shape: Shape, clique: PodClique) -> Place | None:
    meta = clique.metadata
    i = _index(clique, labels.REPLICA_INDEX)
    if i is None:
        return None
    full = meta.labels.get(labels.SCALING_GROUP)
    if full is None:
        for template in shape.standalone:
            if names.clique(shape.name, i, template.name) == meta.name:
                return Place(i, template)
        return None
    j = _index(clique, labels.SCALING_GROUP_REPLICA_INDEX)
    if j is None:
        return None
    for group in shape.groups:
        if names.scaling_group(shape.name, i, group.name) == full:
            for template in group.cliques:
                if names.clique_in_group(full, j, template.name) == meta.name:
                    return Place(i, template, group, j)
    return None


def _index(clique: PodClique, label: str) -> int | None:
    text = clique.metadata.labels.get(label, "")
    return int(text) if text.isdigit() else None
