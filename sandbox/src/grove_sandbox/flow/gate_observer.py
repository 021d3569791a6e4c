"""Checks Grove's first guarantee on every write: no gate opens early.

When a pod loses its gate, its gang must be Initialized and reference the pod, the backend must be synced with this
generation of the gang, every pod that the gang needs must exist, and the base gang of a scaled gang must be Scheduled.
"""

from collections import Counter
from collections.abc import Collection
from typing import Any

from grove.api import labels

from grove_sandbox.apiserver import Write

Json = dict[str, Any]


class NoGateOpensEarly:
    """An observer of writes, for `EmbeddedCluster.on_write`. It knows the cluster only by the writes that it saw.

    `gates` are the gates to observe, by default those of Grove's own backends. `opened` counts the pods that lost one.
    """

    def __init__(self, gates: Collection[str] = ()) -> None:
        self.opened = 0
        self._watched = {*gates} or {v for k, v in vars(labels.Gate).items() if not k.startswith("_")}
        self._gangs: dict[tuple[str, str], Json] = {}
        self._last_ready: dict[tuple[str, str], Json] = {}
        self._pods: dict[tuple[str, str], Json] = {}
        # UIDs of pods whose gates could open when their base gang lost Scheduled: the patch may have been in flight.
        self._could_open: set[str] = set()

    def __call__(self, write: Write) -> None:
        objects = {"podgangs": self._gangs, "pods": self._pods}.get(write.resource.plural)
        if objects is None:
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
        if objects is self._gangs and _spec_changed(write):
            before = write.before or write.now
            if _is_ready(before) or write.key not in self._last_ready:
                self._last_ready[write.key] = before
        if objects is self._gangs and _lost_its_place(write):
            self._could_open |= self._openable_pods(write.key)
        if write.type == "DELETED":
            objects.pop(write.key, None)
        else:
            objects[write.key] = write.now

    def _check(self, key: tuple[str, str], pod: Json) -> None:
        """Raises unless the rules hold for the present gang, or for the gang before its last change or deletion.

        The second is allowed because others may change, delete or recreate a gang after the operator has read it and
        before its write arrives. The operator cannot know, and was right about the gang that it read. This excuses
        nothing that only the change introduced, such as a pod that the gang did not reference before. In the same way
        a base gang may lose Scheduled while the patch of a pod is in flight, whose gate could open until then.
        """
        pod_labels = pod["metadata"]["labels"]
        gangs = self._versions_of((key[0], pod_labels[labels.POD_GANG]))
        assert gangs, f"{key} lost its gate without a gang"
        base = pod_labels.get(labels.BASE_POD_GANG)
        if pod["metadata"].get("uid") in self._could_open:
            base = None
        violations = [self._violation(key, gang, base) for gang in gangs]
        assert not all(violations), violations[0]

    def _openable_pods(self, base: tuple[str, str]) -> set[str]:
        """UIDs of the gated pods whose base gang this is and whose gates may open now."""
        found: set[str] = set()
        for key, pod in self._pods.items():
            pod_labels = pod["metadata"].get("labels", {})
            gang = self._gangs.get((key[0], pod_labels.get(labels.POD_GANG, "")))
            if (key[0], pod_labels.get(labels.BASE_POD_GANG)) != base or gang is None:
                continue
            if not self._violation(key, gang, base[1]):
                found.add(pod["metadata"]["uid"])
        return found

    def _versions_of(self, key: tuple[str, str]) -> list[Json]:
        """The present gang, and the last one that was ready before a change or deletion."""
        return [g[key] for g in (self._gangs, self._last_ready) if key in g]

    def _violation(self, key: tuple[str, str], gang: Json, base: str | None) -> str:
        """The rule that the gang violates. Empty if it violates none."""
        conditions = _conditions(gang)
        if conditions.get("Initialized", {}).get("status") != "True":
            return f"{key} lost its gate before its gang was initialized"
        synced = conditions.get("BackendSynced", {})
        if synced.get("status") != "True":
            return f"{key} lost its gate before the backend was in sync"
        if synced.get("observedGeneration") != gang["metadata"]["generation"]:
            return f"{key} lost its gate while the backend was synced with an older generation"
        if key[1] not in {r["name"] for g in gang["spec"]["podgroups"] for r in g["podReferences"]}:
            return f"{key} lost its gate before its gang named it"
        if base and not any(_is_scheduled(b) for b in self._versions_of((key[0], base))):
            return f"{key} of a scaled gang lost its gate before the base gang was scheduled"
        return self._missing_pods(key[0], gang)

    def _missing_pods(self, namespace: str, gang: Json) -> str:
        """Which pod groups have fewer pods than their minimum. Terminating pods count: all did exist together."""
        counts = Counter(
            p["metadata"]["labels"].get(labels.POD_CLIQUE)
            for (space, _), p in self._pods.items()
            if space == namespace and p["metadata"]["labels"].get(labels.POD_GANG) == gang["metadata"]["name"]
        )
        named = [r["name"] for g in gang["spec"]["podgroups"] for r in g["podReferences"]]
        if any((namespace, name) not in self._pods for name in named):
            return ""  # a referenced pod was deleted since: it is being replaced
        short = [g["name"] for g in gang["spec"]["podgroups"] if counts[g["name"]] < g["minReplicas"]]
        return f"{', '.join(short)} has too few pods" if short else ""


def _spec_changed(write: Write) -> bool:
    before = write.before
    return write.type == "DELETED" or (
        before is not None and before["metadata"]["generation"] != write.now["metadata"]["generation"]
    )


def _lost_its_place(write: Write) -> bool:
    return write.before is not None and _is_scheduled(write.before) and not _is_scheduled(write.now)


def _is_ready(gang: Json) -> bool:
    """Whether the conditions of the gang allow its gates to open."""
    conditions = _conditions(gang)
    synced = conditions.get("BackendSynced", {})
    return (
        conditions.get("Initialized", {}).get("status") == "True"
        and synced.get("status") == "True"
        and synced.get("observedGeneration") == gang["metadata"]["generation"]
    )


def _is_scheduled(gang: Json) -> bool:
    return _conditions(gang).get("Scheduled", {}).get("status") == "True"


def _conditions(gang: Json) -> dict[str, Json]:
    return {c["type"]: c for c in gang.get("status", {}).get("conditions", [])}


def _gates(pod: Json) -> list[str]:
    return [g["name"] for g in pod["spec"].get("schedulingGates", [])]
