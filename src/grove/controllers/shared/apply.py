"""Makes an object equal to a desired one: creates it, patches the difference, or finds nothing to do.

An object that was found equal is remembered by its resourceVersion, so that the next comparison is free. Forgetting
costs a comparison and nothing else.
"""

from collections import OrderedDict
from collections.abc import Collection
from typing import Any

import orjson

from grove.api import labels
from grove.api.serialization import codec
from grove.controllers.shared.companions import Companion
from grove.plan.difference import difference, left_behind
from grove.runtime.cache.informer import Informer
from grove.runtime.client.errors import AlreadyExists, ExternalError, Vanished
from grove.runtime.client.objects import KubeObject, Obj, ObjectKey, uid_of

Json = dict[str, Any]

# Beyond this many objects, those that were compared longest ago are compared again.
MAX_REMEMBERED_OBJECTS = 50_000


class ForeignObjectError(ExternalError):
    """An object with the name of one that Grove would create exists, and is not Grove's."""

    def __init__(self, kind: str, key: ObjectKey, owner: str) -> None:
        super().__init__(
            f"{kind} {key} exists already and does not belong to {owner}; delete it, or rename one of the two"
        )


class ImmutableFieldsError(ExternalError):
    """An object differs from the desired one in fields that the API server lets nobody change."""

    def __init__(self, kind: str, key: ObjectKey, uid: str, paths: Collection[str]) -> None:
        super().__init__(f"{kind} {key} has another {', '.join(paths)}, which cannot be changed")
        self.key = key
        self.uid = uid


class Applier:
    def __init__(self) -> None:
        # By uid: the resourceVersion that equals the desired object with this hash.
        self._equal: OrderedDict[str, tuple[str | None, int]] = OrderedDict()

    async def ensure(
        self,
        informer: Informer[Obj],
        key: ObjectKey,
        desired: bytes,
        *,
        owner_uid: str,
        owned_fields: Collection[str] = (),
        immutable_fields: Collection[str] = (),
        keep_immutable: bool = False,
    ) -> Obj | None:
        """Returns the object after the write; None if an older object of this name is being deleted.

        In that case the end of the older object is an event that triggers the caller again. `desired` is JSON, with the
        name and namespace of `key` and the owner reference. In `owned_fields` Grove alone decides; elsewhere it only
        sets the fields of `desired`. An object that differs in one of the `immutable_fields` keeps it with
        `keep_immutable`, and else raises ImmutableFieldsError. Objects of an earlier owner of the same name that were
        orphaned are adopted. Raises ForeignObjectError, and RequestError.
        """
        found = informer.cache.get(key)
        if found is not None and self._is_equal(found, desired):
            return found
        if found is None:
            try:
                created = await informer.objects.create(key.namespace, desired)
                self._remember(created, desired)
                return created
            except AlreadyExists:
                # Our own create whose answer was lost, or an object that the informer does not select.
                found = await informer.objects.peek(key)
        wanted: Json = orjson.loads(desired)
        is_ours = not owner_uid or owner_uid in [o.uid for o in _controllers(found)]
        if not is_ours and not _is_orphan(found, wanted):
            owner = next(f"{o['kind']} {o['name']}" for o in wanted["metadata"]["ownerReferences"])
            if owner in [f"{o.kind} {o.name}" for o in _controllers(found)]:
                return None  # It belongs to a predecessor of its owner, and garbage collection deletes it.
            # Raised even while it is being deleted: no event may ever tell of its end.
            raise ForeignObjectError(wanted["kind"], key, owner)
        if getattr(found.metadata, "deletion_timestamp", None) is not None:
            return None
        observed = _as_json(found)
        patch = _merged(
            difference(observed, wanted, owned_fields),
            left_behind(observed, wanted, informer.objects.manager),
        )
        immutable = [path for path in immutable_fields if _take(patch or {}, path.split("."))]
        if immutable and not keep_immutable:
            raise ImmutableFieldsError(wanted["kind"], key, uid_of(found), immutable)
        if patch:
            try:
                found = await informer.objects.merge_patch(key, orjson.dumps(patch))
            except Vanished:
                return None
        if not immutable:
            self._remember(found, desired)
        return found

    def _is_equal(self, obj: KubeObject, desired: bytes) -> bool:
        return self._equal.get(uid_of(obj)) == (obj.metadata.resource_version, hash(desired))

    def _remember(self, obj: KubeObject, desired: bytes) -> None:
        uid = uid_of(obj)
        self._equal[uid] = (obj.metadata.resource_version, hash(desired))
        self._equal.move_to_end(uid)
        if len(self._equal) > MAX_REMEMBERED_OBJECTS:
            self._equal.popitem(last=False)


def key_of_json(obj: Json) -> ObjectKey:
    return ObjectKey(obj["metadata"].get("namespace", ""), obj["metadata"]["name"])


def _merged(patch: Json | None, removed: Json | None) -> Json | None:
    """One merge patch from two that touch different keys of the metadata."""
    if patch is None or removed is None:
        return patch or removed
    meta = patch.setdefault("metadata", {})
    for field, keys in removed["metadata"].items():
        meta[field] = (meta.get(field) or {}) | keys
    return patch


def _take(patch: Json, path: list[str]) -> bool:
    """Removes a path from a patch, with parents that are empty then. Returns whether it was there."""
    if path[0] not in patch:
        return False
    if len(path) > 1:
        inner = patch[path[0]]
        if not isinstance(inner, dict) or not _take(inner, path[1:]):
            return False
        if inner:
            return True
    del patch[path[0]]
    return True


def _as_json(obj: KubeObject) -> Json:
    found: Json = orjson.loads(obj.body) if isinstance(obj, Companion) else orjson.loads(codec.encode(obj))
    return found


def _is_orphan(found: KubeObject, wanted: Json) -> bool:
    """Whether Grove created it for a set of this name that left it behind: `kubectl delete --cascade=orphan`."""
    existing, ours = getattr(found.metadata, "labels", {}), wanted["metadata"].get("labels", {})
    same = all(existing.get(k) == ours.get(k) for k in (labels.MANAGED_BY, labels.PART_OF))
    return not _controllers(found) and labels.PART_OF in ours and same


def _controllers(obj: KubeObject) -> list[Any]:
    return [o for o in getattr(obj.metadata, "owner_references", ()) if o.controller]
