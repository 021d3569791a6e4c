"""Refuses sets that ask for more pods than the operator is configured for, or for gangs that fit into no object.

    pods of a set = replicas x (pods of standalone cliques + copies of each scaling group x pods per copy)

Only numbers are multiplied here: nothing has the length of what a user wrote.
"""

from collections.abc import Callable, Iterator

from grove.api.podcliqueset import PodCliqueSet, ScalingGroup
from grove.api.validation.problem import Problem, invalid

# etcd refuses requests above 1.5 MiB. A PodGang names every pod of its gang; conditions, labels and the managedFields
# of the writers take the rest.
MAX_POD_REFERENCE_BYTES = 1_000_000


def check_size(pcs: PodCliqueSet, max_pods: int) -> Iterator[Problem]:
    """`pcs` with its defaults. `max_pods` is `maxPodsPerSet` of the operator's configuration."""
    pods = pods_of_replica(pcs)
    total = pcs.spec.replicas * pods
    if total > max_pods:
        yield invalid(
            ("spec", "replicas"),
            pcs.spec.replicas,
            f"the set asks for {total} pods ({pods} in each replica), and the operator allows {max_pods} in a set",
            "lower the replicas of the set, of its cliques or of its scaling groups, divide it into several sets, "
            "or raise maxPodsPerSet in the operator's configuration",
        )
    in_gang = _pods_of_base_gang(pcs)
    size = in_gang * _reference_bytes(pcs)
    if size > MAX_POD_REFERENCE_BYTES and total <= max_pods:
        yield invalid(
            ("spec", "template", "cliques"),
            in_gang,
            f"a gang of {in_gang} pods fits into no PodGang: the names of its pods take {size} bytes, "
            f"and {MAX_POD_REFERENCE_BYTES} have room",
            "make the gang smaller: fewer replicas of its cliques, or a lower minAvailable of its scaling groups",
        )


def pods_of_replica(pcs: PodCliqueSet) -> int:
    return _pods(pcs, lambda group: group.replicas)


def _pods_of_base_gang(pcs: PodCliqueSet) -> int:
    return _pods(pcs, lambda group: group.min_available)


def _pods(pcs: PodCliqueSet, copies: Callable[[ScalingGroup], int]) -> int:
    template = pcs.spec.template
    copies_of = {name: copies(g) for g in template.pod_clique_scaling_groups for name in g.clique_names}
    # A negative number is another rule's problem, and must not hide a large one.
    return sum(max(c.spec.replicas, 0) * max(copies_of.get(c.name, 1), 0) for c in template.cliques)


def _reference_bytes(pcs: PodCliqueSet) -> int:
    """The most that one entry of podReferences takes: a name of 63 characters at most, and the namespace."""
    return len('{"namespace":"","name":""},') + len(pcs.metadata.namespace or "") + 63
