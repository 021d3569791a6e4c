"""Refuses sets in which two cliques, or two claims, could get the same name in the cluster.

Dashes join names and indices, so a clique `decode-0-worker` and the clique `worker` of a scaling group `decode` would
both become `<set>-<i>-decode-0-worker`. The rule considers every number of copies, not only the current one.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from grove.api.podcliqueset import PodCliqueSet
from grove.api.sharing import CliqueResourceSharing
from grove.api.validation.cliques import PATH as CLIQUES
from grove.api.validation.groups import PATH as GROUPS
from grove.api.validation.problem import Problem, invalid
from grove.api.validation.sharing import SHARING
from grove.schema.errors import Path

_INDEX = "*"


def check_collisions(pcs: PodCliqueSet) -> Iterator[Problem]:
    cliques = _cliques(pcs)
    yield from _check(cliques, "clique")
    yield from _check(_claims(pcs, cliques), "resource claim")


@dataclass(frozen=True)
class _Name:
    """The part of a name after `<set>-`, split at dashes, with `*` for an index; and the field that it comes from."""

    pieces: tuple[str, ...]
    path: Path
    value: str

    def __str__(self) -> str:
        return "-".join(self.pieces)

    def repeats(self, other: "_Name") -> bool:
        """Whether the user wrote the same name twice, which another rule reports."""
        return self.value == other.value and self.path[:-2] == other.path[:-2]

    def may_equal(self, other: "_Name") -> bool:
        return len(self.pieces) == len(other.pieces) and all(
            a == b or (a == _INDEX and _is_index(b)) or (b == _INDEX and _is_index(a))
            for a, b in zip(self.pieces, other.pieces, strict=True)
        )


def _is_index(piece: str) -> bool:
    return piece.isdecimal() and str(int(piece)) == piece


def _check(found: Sequence[_Name], what: str) -> Iterator[Problem]:
    for one, other in combinations(found, 2):
        if one.may_equal(other) and not one.repeats(other):
            yield invalid(
                other.path,
                other.value,
                f"a {what} would be called <set>-{other}, and another one <set>-{one}, with numbers for *: "
                "the names can be equal",
                "rename one of them",
            )


def _cliques(pcs: PodCliqueSet) -> list[_Name]:
    template = pcs.spec.template
    groups = {c: g.name for g in template.pod_clique_scaling_groups for c in g.clique_names}
    found = []
    for k, clique in enumerate(template.cliques):
        group = groups.get(clique.name)
        before = (_INDEX,) if group is None else (_INDEX, *group.split("-"), _INDEX)
        found.append(_Name((*before, *clique.name.split("-")), (*CLIQUES, k, "name"), clique.name))
    return found


def _claims(pcs: PodCliqueSet, cliques: Iterable[_Name]) -> list[_Name]:
    template = pcs.spec.template
    found = _claims_of((), template.resource_sharing, SHARING)
    for k, group in enumerate(template.pod_clique_scaling_groups):
        owner = (_INDEX, *group.name.split("-"))
        found += _claims_of(owner, group.resource_sharing, (*GROUPS, k, "resourceSharing"))
    for k, (name, clique) in enumerate(zip(cliques, template.cliques, strict=True)):
        found += _claims_of(name.pieces, clique.resource_sharing, (*CLIQUES, k, "resourceSharing"))
    return found


def _claims_of(owner: tuple[str, ...], sharing: Sequence[CliqueResourceSharing], path: Path) -> list[_Name]:
    return [
        _Name(
            (*owner, "all" if e.scope == "AllReplicas" else _INDEX, *e.name.split("-")),
            (*path, k, "name"),
            e.name,
        )
        for k, e in enumerate(sharing)
    ]
