"""The first guarantee, checked on every write: no gate opens early.

At the moment when a pod loses its gate, its gang must be initialized and name the pod, the backend must be in sync with
this generation of the gang, every pod that the gang needs must exist, and the base gang of a scaled gang must be
scheduled.
"""

from collections import Counter
from collections.abc import Collection
from typing import Any

from grove.api import labels

from grove_sandbox.apiserver import Write

Json = dict[str, Any]


class NoGateOpensEarly:
    """An observer of writes, which keeps its own picture of the cluster, from the writes alone.

    `gates` are those that it watches, by default those of Grove's own backends. `opened` counts the pods that lost one.
    """

    def __init__(self, gates: Collection[str] = ()) -> None:
        self.opened = 0
        self._watched = {*gates} or {v for k, v in vars(labels.Gate).items() if not k.startswith("_")}
        self._gangs: dict[tuple[str, str], Json] = {}
        self._before: dict[tuple[str, str], Json] = {}
        self._pods: dict[tuple[str, str], Json] = {}

    def __call__(self, write: Write) -> None:
        kept = {"podgangs": self._gangs, "pods": self._pods}.get(write.resource.plural)
        if kept is None:
            return
        if write.resource.plural == "pods" and write.type != "DELETED" and write.before is not None:
            closed, still = _gates(write.before), _gates(write.now)
            if any(g in self._watched and g not in still for g in closed):
                self.opened += 1
                self._check(write.key, write.now)
        if write.resource.plural == "pods" and write.type == "ADDED":
            ours = write.now["metadata"].get("labels", {}).get(labels.POD_GANG)
            assert not ours or any(g in self._watched for g in _gates(write.now)), (
                f"{write.key} was created without a gate"
            )
        if kept is self._gangs and _spec_changed(write):
            before = write.before or write.now
            if _is_ready(before) or write.key not in self._before:
                self._before[write.key] = before
        if write.type == "DELETED":
            kept.pop(write.key, None)
        else:
            kept[write.key] = write.now

    def _check(self, key: tuple[str, str], pod: Json) -> None:
        """Raises unless everything held of the gang, or did when it was last ready, before it was changed or deleted.

        Somebody may change or delete a gang between the operator's look at it and its write, and while the write is on
        its way the gang may be made again and filled. No operator can know that, and it was right about the gang that
        it saw. What the change brought, such as a pod that the gang did not name before, is not excused by this.
        """
        tags = pod["metadata"]["labels"]
        gangs = self._known((key[0], tags[labels.POD_GANG]))
        assert gangs, f"{key} lost its gate without a gang"
        objections = [self._objection(key, gang, tags.get(labels.BASE_POD_GANG)) for gang in gangs]
        assert not all(objections), objections[0]

    def _known(self, key: tuple[str, str]) -> list[Json]:
        """The gang as it is, and as it was when it was last ready, before it was changed or deleted."""
        return [g[key] for g in (self._gangs, self._before) if key in g]

    def _objection(self, key: tuple[str, str], gang: Json, base: str | None) -> str:
        """What was not yet so; empty when nothing was missing."""
        said = _conditions(gang)
        if said.get("Initialized", {}).get("status") != "True":
            return f"{key} lost its gate before its gang was initialized"
        synced = said.get("BackendSynced", {})
        if synced.get("status") != "True":
            return f"{key} lost its gate before the backend was in sync"
        if synced.get("observedGeneration") != gang["metadata"]["generation"]:
            return f"{key} lost its gate while the backend was behind"
        if key[1] not in {r["name"] for g in gang["spec"]["podgroups"] for r in g["podReferences"]}:
            return f"{key} lost its gate before its gang named it"
        if base and not any(_is_scheduled(b) for b in self._known((key[0], base))):
            return f"{key} of a scaled gang lost its gate before the base gang was scheduled"
        return self._lacking(key[0], gang)

    def _lacking(self, namespace: str, gang: Json) -> str:
        """Of every group there is at least its minimum of pods, alive or dying: they did exist together."""
        counts = Counter(
            p["metadata"]["labels"].get(labels.POD_CLIQUE)
            for (space, _), p in self._pods.items()
            if space == namespace and p["metadata"]["labels"].get(labels.POD_GANG) == gang["metadata"]["name"]
        )
        named = [r["name"] for g in gang["spec"]["podgroups"] for r in g["podReferences"]]
        if any((namespace, name) not in self._pods for name in named):
            return ""  # a pod that was there is gone again: it is being replaced
        short = [g["name"] for g in gang["spec"]["podgroups"] if counts[g["name"]] < g["minReplicas"]]
        return f"{', '.join(short)} lacks pods" if short else ""


def _spec_changed(write: Write) -> bool:
    before = write.before
    return write.type == "DELETED" or (
        before is not None and before["metadata"]["generation"] != write.now["metadata"]["generation"]
    )


def _is_ready(gang: Json) -> bool:
    """Whether its pods may go, as far as the gang itself says."""
    said = _conditions(gang)
    synced = said.get("BackendSynced", {})
    return (
        said.get("Initialized", {}).get("status") == "True"
        and synced.get("status") == "True"
        and synced.get("observedGeneration") == gang["metadata"]["generation"]
    )


def _is_scheduled(gang: Json) -> bool:
    return _conditions(gang).get("Scheduled", {}).get("status") == "True"


def _conditions(gang: Json) -> dict[str, Json]:
    return {c["type"]: c for c in gang.get("status", {}).get("conditions", [])}


def _gates(pod: Json) -> list[str]:
    return [g["name"] for g in pod["spec"].get("schedulingGates", [])]
