"""Rules for the cliques of a set."""

from collections import Counter
from collections.abc import Iterator

from grove.api import names
from grove.api.podclique import AutoScalingConfig
from grove.api.podcliqueset import Clique, PodCliqueSet
from grove.api.validation.problem import Problem, duplicate, invalid, required
from grove.api.validation.syntax import check_annotations, check_labels, check_name
from grove.schema.errors import Path

PATH: Path = ("spec", "template", "cliques")


def check_cliques(pcs: PodCliqueSet) -> Iterator[Problem]:
    template = pcs.spec.template
    if not template.cliques:
        yield required(PATH, "a set has at least one clique", "describe the pods in spec.template.cliques")
    in_groups = {name for g in template.pod_clique_scaling_groups for name in g.clique_names}
    for i, clique in enumerate(template.cliques):
        yield from _check_clique(pcs, clique, (*PATH, i), standalone=clique.name not in in_groups)
    yield from _check_unique("name", [(c.name, (*PATH, i, "name")) for i, c in enumerate(template.cliques)])
    roles = [(c.spec.role_name, (*PATH, i, "spec", "roleName")) for i, c in enumerate(template.cliques)]
    yield from _check_unique("role", roles)


def check_autoscaling(
    config: AutoScalingConfig, path: Path, replicas: int, min_available: int
) -> Iterator[Problem]:
    """`config` must have its defaults. `replicas` and `min_available` are of the clique or group that it scales."""
    fewest, most = config.min_replicas, config.max_replicas
    if fewest is not None and fewest < min_available:
        yield invalid(
            (*path, "minReplicas"),
            fewest,
            f"must be at least minAvailable, which is {min_available}",
            f"set minReplicas to {min_available} or more: with fewer, MinAvailableBreached would become True",
        )
    lowest = max(fewest or 0, replicas)
    if most < lowest:
        yield invalid(
            (*path, "maxReplicas"),
            most,
            f"must be at least minReplicas ({fewest}) and replicas ({replicas})",
            f"set maxReplicas to {lowest} or more",
        )


def _check_clique(pcs: PodCliqueSet, clique: Clique, path: Path, *, standalone: bool) -> Iterator[Problem]:
    spec = clique.spec
    if not clique.name.strip():
        yield required(
            (*path, "name"), "a clique has a name", "name it after what its pods do, such as prefill"
        )
    else:
        yield from check_name((*path, "name"), clique.name)
        if standalone:
            yield from check_length([(clique.name, (*path, "name")), set_name(pcs)])
    yield from check_labels((*path, "labels"), clique.labels)
    yield from check_annotations((*path, "annotations"), clique.annotations)
    minimum = spec.min_available
    if minimum is not None and minimum > spec.replicas:
        yield invalid(
            (*path, "spec", "minAvailable"),
            minimum,
            f"must not be more than replicas, which is {spec.replicas}",
            f"lower minAvailable to {spec.replicas} or less, or raise replicas to {minimum}",
        )
    if spec.auto_scaling_config is not None:
        here = (*path, "spec", "autoScalingConfig")
        yield from check_autoscaling(spec.auto_scaling_config, here, spec.replicas, minimum or 0)


def check_length(parts: list[tuple[str, Path]]) -> Iterator[Problem]:
    """The names of pods contain all these names and have at most 63 characters. Reports the problem on each name."""
    length = sum(len(name) for name, _ in parts)
    if length <= names.MAX_COMBINED_LENGTH:
        return
    for name, path in parts:
        yield invalid(
            path,
            name,
            f"the names {', '.join(repr(n) for n, _ in parts)} have {length} characters together, "
            f"and the limit is {names.MAX_COMBINED_LENGTH}: the names of pods contain them all",
            f"shorten them by {length - names.MAX_COMBINED_LENGTH} in all",
        )


def set_name(pcs: PodCliqueSet) -> tuple[str, Path]:
    """The name and its path. With generateName: the prefix and five characters, which the API server appends."""
    meta = pcs.metadata
    if meta.name is None and meta.generate_name is not None:
        return meta.generate_name + "xxxxx", ("metadata", "generateName")
    return meta.name or "", ("metadata", "name")


def _check_unique(what: str, found: list[tuple[str, Path]]) -> Iterator[Problem]:
    counts = Counter(name for name, _ in found)
    seen: set[str] = set()
    for name, path in found:
        if counts[name] > 1 and name in seen:
            yield duplicate(
                path, name, f"another clique has this {what} too", f"give each clique a {what} of its own"
            )
        seen.add(name)
