"""Rules for scaling groups."""

from collections.abc import Iterator

from grove.api.podcliqueset import PodCliqueSet, ScalingGroup
from grove.api.validation.cliques import PATH as CLIQUES
from grove.api.validation.cliques import check_autoscaling, check_length, set_name
from grove.api.validation.problem import Problem, duplicate, forbidden, invalid, required
from grove.api.validation.syntax import check_annotations, check_name
from grove.schema.errors import Path

PATH: Path = ("spec", "template", "podCliqueScalingGroups")


def check_groups(pcs: PodCliqueSet) -> Iterator[Problem]:
    template = pcs.spec.template
    seen: dict[str, int] = {}
    member_of: dict[str, str] = {}
    for i, group in enumerate(template.pod_clique_scaling_groups):
        path = (*PATH, i)
        yield from _check_group(pcs, group, path)
        if group.name in seen:
            yield duplicate(
                (*path, "name"),
                group.name,
                "another scaling group has this name too",
                "give each group its own name",
            )
        seen[group.name] = i
        yield from _check_members(pcs, group, path, member_of)
    standalone = {c.name for c in template.cliques} - member_of.keys()
    for name in sorted(standalone & seen.keys()):
        yield invalid(
            (*PATH, seen[name], "name"),
            name,
            "a clique outside scaling groups has this name too, and their autoscalers would collide",
            "rename the group or the clique",
        )
    for i, clique in enumerate(template.cliques):
        if clique.name in member_of and clique.spec.auto_scaling_config is not None:
            yield forbidden(
                (*CLIQUES, i, "spec", "autoScalingConfig"),
                f"the clique scales with its scaling group {member_of[clique.name]!r}",
                "move it to scaleConfig of the group, or take the clique out of the group",
            )


def _check_group(pcs: PodCliqueSet, group: ScalingGroup, path: Path) -> Iterator[Problem]:
    yield from check_name((*path, "name"), group.name)
    yield from check_annotations((*path, "annotations"), group.annotations)
    if group.min_available > group.replicas:
        yield invalid(
            (*path, "minAvailable"),
            group.min_available,
            f"must not be more than replicas, which is {group.replicas}",
            f"lower minAvailable to {group.replicas} or less, or raise replicas to {group.min_available}",
        )
    if group.scale_config is not None:
        yield from check_autoscaling(
            group.scale_config, (*path, "scaleConfig"), group.replicas, group.min_available
        )


def _check_members(
    pcs: PodCliqueSet, group: ScalingGroup, path: Path, member_of: dict[str, str]
) -> Iterator[Problem]:
    positions = {c.name: i for i, c in enumerate(pcs.spec.template.cliques)}
    if not group.clique_names:
        yield required(
            (*path, "cliqueNames"), "a group has at least one clique", "list the cliques that scale together"
        )
    for k, name in enumerate(group.clique_names):
        here = (*path, "cliqueNames", k)
        if name not in positions:
            yield invalid(here, name, "there is no such clique", f"the cliques are {', '.join(positions)}")
            continue
        if name in member_of:
            yield duplicate(
                here,
                name,
                f"the clique is already in the scaling group {member_of[name]!r}",
                "a clique belongs to one group, once: remove it from one of them",
            )
        member_of[name] = group.name
        parts = [(name, (*CLIQUES, positions[name], "name")), (group.name, (*path, "name")), set_name(pcs)]
        yield from check_length(parts)
