"""The garbage collector deletes objects whose owners are deleted.

Every write updates one index, from the uid of an owner to its dependents. The collector runs right after the request
that gives it work. Background: dependents are deleted after the owner. Foreground: the owner keeps the finalizer
`foregroundDeletion` until no dependent with `blockOwnerDeletion` is left. Orphan: the owner references are removed
first.
"""

from collections import deque

from grove_sandbox.apiserver.errors import GroupResource
from grove_sandbox.apiserver.resources.metadata import FOREGROUND, ORPHAN
from grove_sandbox.apiserver.resources.resource_types import ServedResource
from grove_sandbox.apiserver.state import ApiCall, ServerState
from grove_sandbox.apiserver.storage import Key, Object, Stored, StoredChange, Table
from grove_sandbox.apiserver.verbs.deletes import DeletionOptions, remove
from grove_sandbox.apiserver.verbs.writes import save

ObjectRef = tuple[GroupResource, Key]


class GarbageCollector:
    """Listens to the store. Work that a write causes runs after the request."""

    def __init__(self, state: ServerState) -> None:
        self._state = state
        self._dependents: dict[str, set[ObjectRef]] = {}
        self._queue: deque[ObjectRef] = deque()
        self._queued: set[ObjectRef] = set()
        state.store.listeners.append(self._on_change)

    def _on_change(self, table: Table, change: StoredChange) -> None:
        ref = (table.resource, change.key)
        owners = _owners(change.now.obj)
        before = _owners(change.before.obj) if change.before else []
        if change.type == "DELETED":
            for owner in before:
                self._remove_dependent(owner["uid"], ref)
                self._enqueue_owner(owner, change.key[0])
            for dependent in sorted(self._dependents.get(change.now.uid, ()), key=_order):
                self._enqueue(dependent)
            return
        if owners != before:
            for owner in before:
                self._remove_dependent(owner["uid"], ref)
            for owner in owners:
                self._dependents.setdefault(owner["uid"], set()).add(ref)
            for owner in before:
                self._enqueue_owner(owner, change.key[0])
            if owners:
                self._enqueue(ref)
        meta = change.now.obj["metadata"]
        finalizers = meta.get("finalizers") or ()
        if meta.get("deletionTimestamp") and (FOREGROUND in finalizers or ORPHAN in finalizers):
            self._enqueue(ref)

    def _enqueue(self, ref: ObjectRef) -> None:
        if ref not in self._queued:
            self._queued.add(ref)
            self._queue.append(ref)
            if len(self._queue) == 1:
                self._state.later(self._run)

    def _enqueue_owner(self, owner: Object, namespace: str) -> None:
        """A dependent changed: an owner in foreground deletion may now be removable."""
        found = self._find(owner, namespace)
        if found is not None and found[1].obj["metadata"].get("deletionTimestamp"):
            self._enqueue((found[0].storage, found[1].key))

    def _run(self) -> None:
        while self._queue:
            ref = self._queue.popleft()
            self._queued.discard(ref)
            resource_type = self._state.registry.served(ref[0])
            stored = self._state.store.table(ref[0]).get(ref[1]) if resource_type else None
            if resource_type is not None and stored is not None:
                self._reconcile(resource_type, stored)

    def _reconcile(self, resource_type: ServedResource, stored: Stored) -> None:
        meta = stored.obj["metadata"]
        finalizers = meta.get("finalizers") or ()
        if meta.get("deletionTimestamp"):
            if ORPHAN in finalizers:
                self._orphan_dependents(resource_type, stored)
            elif FOREGROUND in finalizers:
                self._delete_dependents_first(resource_type, stored)
            return
        self._delete_if_abandoned(resource_type, stored)

    def _orphan_dependents(self, resource_type: ServedResource, owner: Stored) -> None:
        for ref in sorted(self._dependents.get(owner.uid, ()), key=_order):
            self._drop_owners(ref, {owner.uid})
        self._drop_finalizer(resource_type, owner, ORPHAN)

    def _delete_dependents_first(self, resource_type: ServedResource, owner: Stored) -> None:
        blocking = False
        for ref in sorted(self._dependents.get(owner.uid, ()), key=_order):
            dependent = self._state.store.table(ref[0]).get(ref[1])
            if dependent is None:
                continue
            owner_refs = [owner_ref for owner_ref in _owners(dependent.obj) if owner_ref["uid"] == owner.uid]
            if any(owner_ref.get("blockOwnerDeletion") for owner_ref in owner_refs):
                blocking = True
                self._enqueue(ref)
        if not blocking:
            self._drop_finalizer(resource_type, owner, FOREGROUND)

    def _delete_if_abandoned(self, resource_type: ServedResource, stored: Stored) -> None:
        solid: set[str] = set()
        waiting: set[str] = set()
        dangling: set[str] = set()
        for owner in _owners(stored.obj):
            if self._unknown(owner, stored.key[0]):
                return  # the kind is not served, so the owner may still exist
            found = self._find(owner, stored.key[0])
            if found is None or found[1].uid != owner["uid"]:
                dangling.add(owner["uid"])
            elif _waits_for_dependents(found[1].obj) and owner.get("blockOwnerDeletion"):
                waiting.add(owner["uid"])
            else:
                solid.add(owner["uid"])
        if not dangling and not waiting:
            return
        if solid:
            self._drop_owners((resource_type.storage, stored.key), dangling | waiting)
            return
        finalizers = stored.obj["metadata"].get("finalizers") or ()
        policy = "Background"
        if ORPHAN in finalizers:
            policy = "Orphan"
        elif FOREGROUND in finalizers or (waiting and self._dependents.get(stored.uid)):
            policy = "Foreground"
        remove(self._call(resource_type, stored), stored, DeletionOptions(policy=policy, uid=stored.uid))

    def _drop_owners(self, ref: ObjectRef, uids: set[str]) -> None:
        resource_type = self._state.registry.served(ref[0])
        stored = self._state.store.table(ref[0]).get(ref[1])
        if resource_type is None or stored is None:
            return
        meta = dict(stored.obj["metadata"])
        meta["ownerReferences"] = [
            owner_ref for owner_ref in _owners(stored.obj) if owner_ref["uid"] not in uids
        ]
        if not meta["ownerReferences"]:
            del meta["ownerReferences"]
        save(self._call(resource_type, stored), {**stored.obj, "metadata": meta}, stored)

    def _drop_finalizer(self, resource_type: ServedResource, stored: Stored, finalizer: str) -> None:
        meta = dict(stored.obj["metadata"])
        meta["finalizers"] = [f for f in meta.get("finalizers") or () if f != finalizer]
        if not meta["finalizers"]:
            del meta["finalizers"]
        save(self._call(resource_type, stored), {**stored.obj, "metadata": meta}, stored)

    def _call(self, resource_type: ServedResource, stored: Stored) -> ApiCall:
        return ApiCall(self._state, resource_type, *stored.key)

    def _unknown(self, owner: Object, namespace: str) -> bool:
        resource_type = self._state.registry.by_kind(owner["apiVersion"], owner["kind"])
        return resource_type is None or (resource_type.namespaced and not namespace)

    def _find(self, owner: Object, namespace: str) -> tuple[ServedResource, Stored] | None:
        resource_type = self._state.registry.by_kind(owner["apiVersion"], owner["kind"])
        if resource_type is None:
            return None
        key = (namespace if resource_type.namespaced else "", owner["name"])
        stored = self._state.table(resource_type).get(key)
        return (resource_type, stored) if stored is not None else None

    def _remove_dependent(self, uid: str, ref: ObjectRef) -> None:
        refs = self._dependents.get(uid)
        if refs is not None:
            refs.discard(ref)
            if not refs:
                del self._dependents[uid]


def _owners(obj: Object) -> list[Object]:
    owners: list[Object] = obj["metadata"].get("ownerReferences") or []
    return owners


def _waits_for_dependents(obj: Object) -> bool:
    meta = obj["metadata"]
    return bool(meta.get("deletionTimestamp")) and FOREGROUND in (meta.get("finalizers") or ())


def _order(ref: ObjectRef) -> tuple[str, str, Key]:
    return ref[0].group, ref[0].resource, ref[1]
