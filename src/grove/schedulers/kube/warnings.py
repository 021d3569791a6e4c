"""What a set says that has no effect with kube-scheduler, or not the effect that it seems to have."""

from collections.abc import Iterator

from grove.api.podcliqueset import PodCliqueSet
from grove.api.validation import Problem
from grove.api.validation.cliques import PATH
from grove.api.validation.problem import warning
from grove.api.validation.topology import places
from grove.schedulers.kube.priorities import SYSTEM, class_of


def warnings_of(pcs: PodCliqueSet) -> Iterator[Problem]:
    yield from _of_priorities(pcs)
    for place in places(pcs):
        if place.constraint.preferred:
            yield warning(
                (*place.path, "pack", "preferred"),
                place.constraint.preferred,
                "kube-scheduler's gangs know required topologies only, so this has no effect",
                "use pack.required, or a scheduler that knows preferred ones",
            )


def _of_priorities(pcs: PodCliqueSet) -> Iterator[Problem]:
    cliques, own = pcs.spec.template.cliques, pcs.spec.template.priority_class_name
    if own and own.startswith(SYSTEM):
        yield warning(
            ("spec", "template", "priorityClassName"),
            own,
            "groups of pods cannot have a priority class of the system in Kubernetes 1.36 and later",
            "use a class of your own, of at most 1000000000",
        )
    named = {c.name: class_of(c) for c in cliques}
    if own:
        for i, clique in enumerate(cliques):
            if (found := named[clique.name]) and found != own:
                yield warning(
                    (*PATH, i, "spec", "podSpec", "priorityClassName"),
                    found,
                    "in Kubernetes 1.37 and later all pods of a gang have the priority of the gang, so this has no "
                    "effect",
                    "remove it, or change spec.template.priorityClassName",
                )
    elif len(set(named.values())) > 1:
        yield warning(
            PATH,
            ", ".join(f"{name}: {found or 'none'}" for name, found in named.items()),
            "in Kubernetes 1.37 and later all pods of a gang have one priority, and podSpec.priorityClassName differs "
            "among these cliques, so in a gang of them it has no effect: its pods get the cluster's default",
            "name the same class in all of them, or set spec.template.priorityClassName",
        )
    elif any(found and found.startswith(SYSTEM) for found in named.values()):
        yield warning(
            PATH,
            ", ".join(named),
            "groups of pods cannot have a priority class of the system, so in Kubernetes 1.37 and later the one in "
            "podSpec.priorityClassName of these cliques has no effect",
            "use a class of your own, of at most 1000000000",
        )
