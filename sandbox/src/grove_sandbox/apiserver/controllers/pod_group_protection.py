"""PodGroups in use are protected: a finalizer keeps them while a pod that may still run is linked to them."""

from grove_sandbox.apiserver.errors import GroupResource
from grove_sandbox.apiserver.state import ApiCall, ServerState
from grove_sandbox.apiserver.storage import Key, Object, StoredChange, Table
from grove_sandbox.apiserver.verbs.writes import save

POD_GROUPS = GroupResource("scheduling.k8s.io", "podgroups")
PODS = GroupResource("", "pods")
PROTECTION = "scheduling.k8s.io/podgroup-protection"


class GroupProtection:
    """Lets a deleted PodGroup go once no pod that still runs, or may run, is linked to it."""

    def __init__(self, state: ServerState) -> None:
        self._state = state
        self._leaving: set[Key] = set()
        state.store.listeners.append(self._notice)

    def _notice(self, table: Table, change: StoredChange) -> None:
        if table.resource == POD_GROUPS:
            if change.type == "DELETED":
                self._leaving.discard(change.key)
            elif change.now.obj["metadata"].get("deletionTimestamp") and change.key not in self._leaving:
                self._leaving.add(change.key)
                self._state.later(self._release)
        elif table.resource == PODS and self._is_awaited(change):
            self._state.later(self._release)

    def _is_awaited(self, change: StoredChange) -> bool:
        return bool(self._leaving) and (change.key[0], _link(change.now.obj)) in self._leaving

    def _release(self) -> None:
        resource_type = self._state.registry.served(POD_GROUPS)
        assert resource_type is not None
        pods = self._state.store.table(PODS)
        for key in sorted(self._leaving):
            stored = self._state.table(resource_type).get(key)
            in_use = any(_link(pod.obj) == key[1] and not _is_over(pod.obj) for pod in pods.scan(key[0]))
            if stored is not None and not in_use:
                meta = dict(stored.obj["metadata"])
                meta["finalizers"] = [f for f in meta.get("finalizers") or () if f != PROTECTION]
                save(ApiCall(self._state, resource_type, *key), {**stored.obj, "metadata": meta}, stored)


def _link(pod: Object) -> str:
    name: str = (pod["spec"].get("schedulingGroup") or {}).get("podGroupName", "")
    return name


def _is_over(pod: Object) -> bool:
    return (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")
