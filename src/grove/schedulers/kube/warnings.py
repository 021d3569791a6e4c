"""What a set says that has no effect with kube-scheduler, or not the effect that it seems to have."""

from collections.abc import Iterator

import msgspec

from grove.api.podcliqueset import PodCliqueSet
from grove.api.validation import Problem
from grove.api.validation.cliques import PATH
from grove.api.validation.problem import warning
from grove.api.validation.topology import places


class _Template(msgspec.Struct, rename="camel"):
    priority_class_name: str | None = None


def warnings_of(pcs: PodCliqueSet) -> Iterator[Problem]:
    own = pcs.spec.template.priority_class_name
    if own and own.startswith("system-"):
        yield warning(
            ("spec", "template", "priorityClassName"),
            own,
            "groups of pods cannot have a priority class of the system in Kubernetes 1.36 and later",
            "use a class of your own, of at most 1000000000",
        )
    for i, clique in enumerate(pcs.spec.template.cliques):
        found = msgspec.json.decode(clique.spec.pod_spec, type=_Template).priority_class_name
        if found and found != own:
            yield warning(
                (*PATH, i, "spec", "podSpec", "priorityClassName"),
                found,
                "in Kubernetes 1.37 and later all pods of a gang have the priority of the gang, so this has no effect",
                "set spec.template.priorityClassName instead",
            )
    for place in places(pcs):
        if place.constraint.preferred:
            yield warning(
                (*place.path, "pack", "preferred"),
                place.constraint.preferred,
                "kube-scheduler's gangs know required topologies only, so this has no effect",
                "use pack.required, or a scheduler that knows preferred ones",
            )
