"""Rules for updates of a set: names of cliques and groups, start order, scheduler, and all immutable fields."""

from collections.abc import Iterator

from grove.api.podcliqueset import PodCliqueSet
from grove.api.validation.cliques import PATH as CLIQUES
from grove.api.validation.groups import PATH as GROUPS
from grove.api.validation.immutable import REMEDY, check_immutable
from grove.api.validation.mnnvl import check_mnnvl_unchanged
from grove.api.validation.podspec import scheduler_name
from grove.api.validation.problem import Problem, forbidden
from grove.api.validation.topology import check_topology_unchanged
from grove.schema.errors import Path


def check_update(new: PodCliqueSet, old: PodCliqueSet) -> Iterator[Problem]:
    now, was = new.spec.template, old.spec.template
    cliques_now, cliques_were = [c.name for c in now.cliques], [c.name for c in was.cliques]
    yield from _check_same_names("clique", CLIQUES, cliques_now, cliques_were)
    groups_now = [g.name for g in now.pod_clique_scaling_groups]
    groups_were = [g.name for g in was.pod_clique_scaling_groups]
    yield from _check_same_names("scaling group", GROUPS, groups_now, groups_were)
    reordered = cliques_now != cliques_were and sorted(cliques_now) == sorted(cliques_were)
    if reordered and now.clique_startup_type != "CliqueStartupTypeAnyOrder":
        yield forbidden(
            CLIQUES,
            f"the order of the cliques is the order in which they start; it was {', '.join(cliques_were)}",
            "restore the order",
        )
    yield from check_immutable(new.spec, old.spec, ("spec",))
    yield from _check_scheduler_names(new, old)
    yield from check_topology_unchanged(new, old)
    yield from check_mnnvl_unchanged(new, old)


def _check_same_names(what: str, path: Path, now: list[str], were: list[str]) -> Iterator[Problem]:
    added, removed = sorted(set(now) - set(were)), sorted(set(were) - set(now))
    if added or removed:
        changes = [
            f"{verb} {', '.join(names)}" for verb, names in (("added", added), ("removed", removed)) if names
        ]
        yield forbidden(path, f"a {what} cannot be added, removed or renamed: {'; '.join(changes)}", REMEDY)


def _check_scheduler_names(new: PodCliqueSet, old: PodCliqueSet) -> Iterator[Problem]:
    before = {c.name: scheduler_name(c.spec.pod_spec) for c in old.spec.template.cliques}
    for i, clique in enumerate(new.spec.template.cliques):
        was = before.get(clique.name)
        if was is not None and was != scheduler_name(clique.spec.pod_spec):
            yield forbidden(
                (*CLIQUES, i, "spec", "podSpec", "schedulerName"),
                f"the scheduler of a running set cannot be changed: it was {was or 'not set'}",
                REMEDY,
            )
