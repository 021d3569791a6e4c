"""Warnings about fields of a set that have no effect, or another effect than expected, with kube-scheduler."""

from collections.abc import Iterator

from grove.api.podcliqueset import PodCliqueSet
from grove.api.validation import Problem
from grove.api.validation.cliques import PATH
from grove.api.validation.problem import warning
from grove.api.validation.topology import placed_constraints
from grove.schedulers.kube.priorities import SYSTEM_PREFIX, priority_class_of


def warnings_for(pcs: PodCliqueSet) -> Iterator[Problem]:
    yield from _priority_warnings(pcs)
    for place in placed_constraints(pcs):
        if place.constraint.preferred:
            yield warning(
                (*place.path, "pack", "preferred"),
                place.constraint.preferred,
                "kube-scheduler supports only required topologies for gangs, so this has no effect",
                "use pack.required, or a scheduler that supports preferred topologies",
            )


def _priority_warnings(pcs: PodCliqueSet) -> Iterator[Problem]:
    cliques, set_class = pcs.spec.template.cliques, pcs.spec.template.priority_class_name
    if set_class and set_class.startswith(SYSTEM_PREFIX):
        yield warning(
            ("spec", "template", "priorityClassName"),
            set_class,
            "in Kubernetes 1.36 and later a PodGroup cannot have one of the system's priority classes",
            "use a class of your own, with a value of at most 1000000000",
        )
    classes = {c.name: priority_class_of(c) for c in cliques}
    if set_class:
        for i, clique in enumerate(cliques):
            if (own := classes[clique.name]) and own != set_class:
                yield warning(
                    (*PATH, i, "spec", "podSpec", "priorityClassName"),
                    own,
                    "in Kubernetes 1.37 and later all pods of a gang have the priority of the gang, so this has no "
                    "effect",
                    "remove it, or change spec.template.priorityClassName",
                )
    elif len(set(classes.values())) > 1:
        yield warning(
            PATH,
            ", ".join(f"{name}: {own or 'none'}" for name, own in classes.items()),
            "in Kubernetes 1.37 and later all pods of a gang have one priority. podSpec.priorityClassName differs "
            "among these cliques, so it has no effect in a gang of them: its pods get the cluster's default priority",
            "name the same class in all of them, or set spec.template.priorityClassName",
        )
    elif any(own and own.startswith(SYSTEM_PREFIX) for own in classes.values()):
        yield warning(
            PATH,
            ", ".join(classes),
            "in Kubernetes 1.37 and later a PodGroup cannot have one of the system's priority classes, so "
            "podSpec.priorityClassName of these cliques has no effect",
            "use a class of your own, with a value of at most 1000000000",
        )
