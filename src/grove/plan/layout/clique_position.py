"""Where a PodClique stands in its set: in which replica, for which clique of the template, in which copy of a group.

The indices come from the PodClique's labels. Its name must be exactly the one that Grove gives to a clique at this
position; names are never cut apart, so `worker` is not mistaken for the end of `decode-worker`. The label of its gang
must agree too, so a PodClique with edited labels has no position.
"""

from dataclasses import dataclass

from grove.api import labels, names
from grove.api.podclique import PodClique
from grove.api.podcliqueset import Clique
from grove.plan.layout.set_layout import Group, SetLayout


@dataclass(frozen=True)
class CliquePosition:
    """`i` is the replica of the set. `group` and its copy `j` are None for a standalone clique."""

    i: int
    clique: Clique
    group: Group | None = None
    j: int | None = None


def find_position(layout: SetLayout, clique: PodClique) -> CliquePosition | None:
    """None for a PodClique that the set does not describe, or whose labels contradict its name."""
    found = _by_name(layout, clique)
    if found is None or clique.metadata.labels.get(labels.POD_GANG) != gang_of(layout, found):
        return None
    return found


def position_of(layout: SetLayout, clique: PodClique) -> CliquePosition:
    """As `find_position`, but raises LookupError where that returns None."""
    found = find_position(layout, clique)
    if found is None:
        name = clique.metadata.name
        raise LookupError(f"PodCliqueSet {layout.name} describes no clique that PodClique {name} belongs to")
    return found


def gang_of(layout: SetLayout, position: CliquePosition) -> str:
    """The name of the gang that the pods of the clique belong to."""
    if position.group is None or position.j is None:
        return names.base_gang(layout.name, position.i)
    full = names.scaling_group(layout.name, position.i, position.group.name)
    return names.gang_of_group_replica(
        layout.name, position.i, full, position.j, position.group.min_available
    )


def _by_name(layout: SetLayout, clique: PodClique) -> CliquePosition | None:
    own, name = clique.metadata.labels, clique.metadata.name
    i = _index(own.get(labels.REPLICA_INDEX))
    if i is None:
        return None
    full = own.get(labels.SCALING_GROUP)
    if full is None:
        for template in layout.standalone:
            if names.clique(layout.name, i, template.name) == name:
                return CliquePosition(i, template)
        return None
    j = _index(own.get(labels.SCALING_GROUP_REPLICA_INDEX))
    if j is None:
        return None
    for group in layout.groups:
        if names.scaling_group(layout.name, i, group.name) == full:
            for template in group.cliques:
                if names.clique_in_group(full, j, template.name) == name:
                    return CliquePosition(i, template, group, j)
    return None


def _index(text: str | None) -> int | None:
    return int(text) if text is not None and text.isascii() and text.isdigit() else None
