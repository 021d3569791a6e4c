"""The priority of a gang whose set names none: the class on which the pods of all its cliques agree.

In Kubernetes 1.37 and later all pods of a gang must have the priority of the gang. A class that only some of the
cliques name, or that differs among them, is not taken for the gang: it would raise or lower the pods of the others.
"""

from collections.abc import Iterable

import msgspec

from grove.api.podcliqueset import Clique

SYSTEM = "system-"
"""How classes of the system begin. Their values are above what a group of pods may have."""


class _PodSpec(msgspec.Struct, rename="camel"):
    priority_class_name: str | None = None


def class_of(clique: Clique) -> str | None:
    """The class that the pods of a clique ask for."""
    return msgspec.json.decode(clique.spec.pod_spec, type=_PodSpec).priority_class_name or None


def agreed(cliques: Iterable[Clique]) -> str | None:
    """The class that all of them name, if a group of pods can have it."""
    found = {class_of(c) for c in cliques}
    only = found.pop() if len(found) == 1 else None
    return only if only and not only.startswith(SYSTEM) else None
