"""Checks on every write that the scheduler's objects exist before the gates of their pods open."""

from typing import Any

from grove.api import labels
from grove.schedulers.backend import Backend

from grove_sandbox.apiserver import Write


class ObjectsBeforeGates:
    """An observer of writes. It raises if an object of a gang is created after pods of the gang lost their gates."""

    def __init__(self, backend: Backend) -> None:
        self._gate = backend.gate
        self._kinds = {(k.group, k.plural) for k in backend.kinds}
        self._with_objects: set[tuple[str, str]] = set()
        self._released_without: set[tuple[str, str]] = set()

    def __call__(self, write: Write) -> None:
        namespace, now = write.key[0], write.now
        if (write.resource.group, write.resource.plural) in self._kinds and write.type == "ADDED":
            for owner in now["metadata"].get("ownerReferences", ()):
                gang = (namespace, owner["name"])
                assert gang not in self._released_without, (
                    f"pods of {gang} lost their gates before {write.key} existed"
                )
                self._with_objects.add(gang)
        elif write.resource.plural == "pods" and write.before is not None and write.type != "DELETED":
            gang = (namespace, now["metadata"].get("labels", {}).get(labels.POD_GANG, ""))
            opened = self._gate in gates_of(write.before) and self._gate not in gates_of(now)
            if opened and gang not in self._with_objects:
                self._released_without.add(gang)


def gates_of(pod: dict[str, Any]) -> list[str]:
    return [g["name"] for g in pod["spec"].get("schedulingGates", ())]
