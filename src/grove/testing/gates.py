"""The first guarantee, checked on every write: no gate opens early.

At the moment when a pod loses its gate, its gang must be initialized and name the pod, the backend must be in sync with
this generation of the gang, every pod that the gang needs must exist, and the base gang of a scaled gang must be
scheduled.
"""

from collections import Counter
from collections.abc import Collection
from typing import Any

from grove.api import labels
from grove.sandbox.apiserver import Write

Json = dict[str, Any]


class NoGateOpensEarly:
    """An observer of writes, which keeps its own picture of the cluster, from the writes alone.

    `gates` are those that it watches, by default those of Grove's own backends. `opened` counts the pods that lost one.
    """

    def __init__(self, gates: Collection[str] = ()) -> None:
        self.opened = 0
        self._watched = {*gates} or {v for k, v in vars(labels.Gate).items() if not k.startswith("_")}
        self._gangs: dict[tuple[str, str], Json] = {}
        self._cliques: dict[tuple[str, str], Json] = {}
        self._pods: dict[tuple[str, str], Json] = {}

    def __call__(self, write: Write) -> None:
        kept = {"podgangs": self._gangs, "podcliques": self._cliques, "pods": self._pods}.get(
            write.resource.plural
        )
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
        if write.type == "DELETED":
            kept.pop(write.key, None)
        else:
            kept[write.key] = write.now

    def _check(self, key: tuple[str, str], pod: Json) -> None:
        tags = pod["metadata"]["labels"]
        namespace = key[0]
        gang = self._gangs.get((namespace, tags[labels.POD_GANG]))
        assert gang is not None, f"{key} lost its gate without a gang"
        said = {c["type"]: c for c in gang.get("status", {}).get("conditions", [])}
        assert said.get("Initialized", {}).get("status") == "True", (
            f"{key} lost its gate before its gang was initialized"
        )
        synced = said.get("BackendSynced", {})
        assert synced.get("status") == "True", f"{key} lost its gate before the backend was in sync"
        generation = gang["metadata"]["generation"]
        assert synced.get("observedGeneration") == generation, (
            f"{key} lost its gate while the backend was behind"
        )
        named = {r["name"] for g in gang["spec"]["podgroups"] for r in g["podReferences"]}
        assert key[1] in named, f"{key} lost its gate before its gang named it"
        self._check_complete(namespace, gang)
        base = tags.get(labels.BASE_POD_GANG)
        if base:
            conditions = self._gangs[namespace, base].get("status", {}).get("conditions", [])
            assert any(c["type"] == "Scheduled" and c["status"] == "True" for c in conditions), (
                f"{key} of a scaled gang lost its gate before the base gang was scheduled"
            )

    def _check_complete(self, namespace: str, gang: Json) -> None:
        """Of every group there is at least its minimum of pods, alive or dying: they did exist together."""
        counts = Counter(
            p["metadata"]["labels"].get(labels.POD_CLIQUE)
            for (space, _), p in self._pods.items()
            if space == namespace and p["metadata"]["labels"].get(labels.POD_GANG) == gang["metadata"]["name"]
        )
        if any(
            r
            for g in gang["spec"]["podgroups"]
            for r in g["podReferences"]
            if (namespace, r["name"]) not in self._pods
        ):
            return  # a pod that was there is gone again: it is being replaced
        for group in gang["spec"]["podgroups"]:
            assert counts[group["name"]] >= group["minReplicas"], f"{group['name']} lacks pods"


def _gates(pod: Json) -> list[str]:
    return [g["name"] for g in pod["spec"].get("schedulingGates", [])]
