"""Which cliques form a gang: the gangs of one replica of a set, before anybody decided how to schedule them.

    base gang of replica i      every standalone clique, and of each scaling group the copies below minAvailable
    scaled gang of a group      one per copy from minAvailable on; it waits for its base gang

The cliques of a gang are in this order: standalone cliques as the user wrote them, then the cliques of each copy.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from grove.api import names
from grove.api.podcliqueset import Clique
from grove.api.serialization.model import replace
from grove.plan.layout.set_layout import Group, SetLayout


@dataclass(frozen=True)
class GroupCopy:
    """A copy of a scaling group that belongs to a gang."""

    name: str
    group: Group
    clique_names: tuple[str, ...]
    """Of its PodCliques."""


@dataclass(frozen=True)
class GangMembers:
    """The members of one gang. A scaled gang has exactly one copy, a base gang any number."""

    name: str
    cliques: Mapping[str, Clique]
    """By the name of the PodClique. `minAvailable` is the one of the PodClique, if that exists."""
    copies: tuple[GroupCopy, ...]
    is_base: bool


def gang_members(
    layout: SetLayout, i: int, copies: Mapping[str, int], minimums: Mapping[str, int] = MappingProxyType({})
) -> list[GangMembers]:
    """All gangs of replica i, the base gang first.

    `copies` has the current number of copies of each scaling group; the template's number counts for a group that is
    not in it. `minimums` has `minAvailable` of the PodCliques that exist, by name: a PodClique keeps the minimum that
    it was created with.
    """
    return [
        GangMembers(
            gang.name,
            {name: _with_minimum(c, minimums.get(name)) for name, c in gang.cliques.items()},
            gang.copies,
            gang.is_base,
        )
        for gang in _gangs(layout, i, copies)
    ]


def gang_names(layout: SetLayout, i: int, copies: Mapping[str, int]) -> set[str]:
    """The names of all gangs of replica i; `copies` as in `gang_members`."""
    return {gang.name for gang in _gangs(layout, i, copies)}


def _gangs(layout: SetLayout, i: int, copies: Mapping[str, int]) -> Iterator[GangMembers]:
    yield _base_gang(layout, i)
    for group in layout.groups:
        for j in range(group.min_available, copies.get(group.name, group.template.replicas)):
            yield _scaled_gang(layout, group, i, j)


def _base_gang(layout: SetLayout, i: int) -> GangMembers:
    cliques = {names.clique(layout.name, i, c.name): c for c in layout.standalone}
    copies: list[GroupCopy] = []
    for group in layout.groups:
        for j in range(group.min_available):
            members = _cliques_of_copy(layout, group, i, j)
            cliques |= members
            copies.append(_copy(layout, group, i, j, members))
    return GangMembers(names.base_gang(layout.name, i), cliques, tuple(copies), is_base=True)


def _scaled_gang(layout: SetLayout, group: Group, i: int, j: int) -> GangMembers:
    members = _cliques_of_copy(layout, group, i, j)
    name = names.scaled_gang(names.scaling_group(layout.name, i, group.name), j, group.min_available)
    return GangMembers(name, members, (_copy(layout, group, i, j, members),), is_base=False)


def _copy(layout: SetLayout, group: Group, i: int, j: int, members: Mapping[str, Clique]) -> GroupCopy:
    full = names.scaling_group(layout.name, i, group.name)
    return GroupCopy(names.scaling_group_replica(full, j), group, tuple(members))


def _cliques_of_copy(layout: SetLayout, group: Group, i: int, j: int) -> dict[str, Clique]:
    full = names.scaling_group(layout.name, i, group.name)
    return {names.clique_in_group(full, j, c.name): c for c in group.cliques}


def _with_minimum(clique: Clique, minimum: int | None) -> Clique:
    if minimum is None:
        return clique
    return replace(clique, spec=replace(clique.spec, min_available=minimum))
