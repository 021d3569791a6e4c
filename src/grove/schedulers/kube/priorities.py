"""The priority class of a gang whose set names none: that of its cliques, if they all name the same one.

In Kubernetes 1.37 and later all pods of a gang must have the priority of the gang. If only some cliques name a class,
or if they differ, the gang gets none of them: that would raise or lower the pods of the other cliques.
"""

from collections.abc import Iterable

import msgspec

from grove.api.podcliqueset import Clique

SYSTEM_PREFIX = "system-"
"""The prefix of Kubernetes' own priority classes. Their values are above the maximum for a PodGroup."""


class _PodSpecPriority(msgspec.Struct, rename="camel"):
    priority_class_name: str | None = None


def priority_class_of(clique: Clique) -> str | None:
    """The priority class in the pod template of a clique."""
    return msgspec.json.decode(clique.spec.pod_spec, type=_PodSpecPriority).priority_class_name or None


def common_priority_class(cliques: Iterable[Clique]) -> str | None:
    """The class that all cliques name, if a PodGroup can have it; otherwise None."""
    classes = {priority_class_of(c) for c in cliques}
    common = classes.pop() if len(classes) == 1 else None
    return common if common and not common.startswith(SYSTEM_PREFIX) else None
