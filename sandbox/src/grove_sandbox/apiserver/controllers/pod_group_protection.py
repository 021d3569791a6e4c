"""PodGroup protection: a finalizer keeps a PodGroup while an unfinished pod refers to it."""

from grove_sandbox.apiserver.errors import GroupResource
from grove_sandbox.apiserver.state import ApiCall, ServerState
from grove_sandbox.apiserver.storage import Key, Object, StoredChange, Table
from grove_sandbox.apiserver.verbs.writes import save

POD_GROUPS = GroupResource("scheduling.k8s.io", "podgroups")
PODS = GroupResource("", "pods")
PROTECTION = "scheduling.k8s.io/podgroup-protection"


class PodGroupProtection:
    """Removes the finalizer of a deleted PodGroup once no unfinished pod refers to it."""

    def __init__(self, state: ServerState) -> None:
        self._state = state
        self._terminating: set[Key] = set()
        state.store.listeners.append(self._on_change)

    def _on_change(self, table: Table, change: StoredChange) -> None:
        if table.resource == POD_GROUPS:
            if change.type == "DELETED":
                self._terminating.discard(change.key)
            elif change.now.obj["metadata"].get("deletionTimestamp") and change.key not in self._terminating:
                self._terminating.add(change.key)
                self._state.later(self._remove_finalizers)
        elif table.resource == PODS and self._refers_to_terminating(change):
            self._state.later(self._remove_finalizers)

    def _refers_to_terminating(self, change: StoredChange) -> bool:
        return bool(self._terminating) and (change.key[0], _link(change.now.obj)) in self._terminating

    def _remove_finalizers(self) -> None:
        resource_type = self._state.registry.served(POD_GROUPS)
        assert resource_type is not None
        pods = self._state.store.table(PODS)
        for key in sorted(self._terminating):
            stored = self._state.table(resource_type).get(key)
            in_use = any(_link(pod.obj) == key[1] and not _is_finished(pod.obj) for pod in pods.scan(key[0]))
            if stored is not None and not in_use:
                meta = dict(stored.obj["metadata"])
                meta["finalizers"] = [f for f in meta.get("finalizers") or () if f != PROTECTION]
                save(ApiCall(self._state, resource_type, *key), {**stored.obj, "metadata": meta}, stored)


def _link(pod: Object) -> str:
    name: str = (pod["spec"].get("schedulingGroup") or {}).get("podGroupName", "")
    return name


def _is_finished(pod: Object) -> bool:
    return (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")
