"""Where in its set a PodClique stands: which replica, which clique of the template, which copy of which group.

Names are compared as a whole and never cut apart: `worker` is not mistaken for the end of `decode-worker`.
"""

from typing import NamedTuple

from grove.api import labels, names
from grove.api.podclique import PodClique
from grove.api.podcliqueset import Clique
from grove.plan.layout.set_layout import Group, SetLayout


class CliquePosition(NamedTuple):
    """`i` is the replica of the set; `group` and the copy `j` are None for a clique that stands alone."""

    i: int
    clique: Clique
    group: Group | None = None
    j: int | None = None


def find_position(layout: SetLayout, clique: PodClique) -> CliquePosition | None:
    """None for a PodClique that the set does not describe, or whose labels say otherwise."""
    found = _by_name(layout, clique)
    if found is None or clique.metadata.labels.get(labels.POD_GANG) != gang_of(layout, found):
        return None
    return found


def gang_of(layout: SetLayout, position: CliquePosition) -> str:
    """The name of the gang that the pods belong to."""
    if position.group is None or position.j is None:
        return names.base_gang(layout.name, position.i)
    full = names.scaling_group(layout.name, position.i, position.group.name)
    return names.gang_of_group_replica(
        layout.name, position.i, full, position.j, position.group.min_available
    )


def position_of(layout: SetLayout, clique: PodClique) -> CliquePosition:
    """Raises LookupError for a PodClique that the set does not describe."""
    found = find_position(layout, clique)
    if found is None:
        name = clique.metadata.name
        raise LookupError(f"PodCliqueSet {layout.name} describes no clique that PodClique {name} belongs to")
    return found


def _by_name(layout: SetLayout, clique: PodClique) -> CliquePosition | None:
    meta = clique.metadata
    i = _index(clique, labels.REPLICA_INDEX)
    if i is None:
        return None
    full = meta.labels.get(labels.SCALING_GROUP)
    if full is None:
        for template in layout.standalone:
            if names.clique(layout.name, i, template.name) == meta.name:
                return CliquePosition(i, template)
        return None
    j = _index(clique, labels.SCALING_GROUP_REPLICA_INDEX)
    if j is None:
        return None
    for group in layout.groups:
        if names.scaling_group(layout.name, i, group.name) == full:
            for template in group.cliques:
                if names.clique_in_group(full, j, template.name) == meta.name:
                    return CliquePosition(i, template, group, j)
    return None


def _index(clique: PodClique, label: str) -> int | None:
    text = clique.metadata.labels.get(label, "")
    return int(text) if text.isdigit() else None
