"""Makes an object as desired: creates it, or writes the difference, or finds that there is nothing to do.

What was found to be as desired is remembered by its version, so that looking again costs nothing. The memory is only
a shortcut: losing it costs a comparison.
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


class ForeignObjectError(ExternalError):
    """An object that Grove would make exists already and is not its own."""

    def __init__(self, kind: str, key: ObjectKey, owner: str) -> None:
        super().__init__(
            f"{kind} {key} exists already and does not belong to {owner}; delete it, or rename one of the two"
        )


class FixedFieldsError(ExternalError):
    """An object differs from what is desired in fields that cannot be changed."""

    def __init__(self, kind: str, key: ObjectKey, uid: str, paths: Collection[str]) -> None:
        super().__init__(f"{kind} {key} has another {', '.join(paths)}, which cannot be changed")
        self.key = key
        self.uid = uid


class Applier:
    def __init__(self) -> None:
        self._settled: OrderedDict[str, tuple[str | None, int]] = OrderedDict()

    async def ensure(
        self,
        informer: Informer[Obj],
        key: ObjectKey,
        desired: bytes,
        *,
        owner_uid: str,
        ours: Collection[str] = (),
        fixed: Collection[str] = (),
        all_but_fixed: bool = False,
    ) -> Obj | None:
        """The object as it is afterwards; None while its predecessor is still going away, or has just gone: its end is
        an event, upon which it is to be looked at again.

        `desired` is its JSON, with the name and namespace of `key`, and the owner reference. An object that differs in
        a `fixed` field raises FixedFieldsError, or with `all_but_fixed` keeps that field. One that an owner of the same
        name left behind is taken up. Raises ForeignObjectError, and the errors of requests.
        """
        found = informer.cache.get(key)
        if found is not None and self._is_settled(found, desired):
            return found
        if found is None:
            try:
                made = await informer.objects.create(key.namespace, desired)
                self._remember(made, desired)
                return made
            except AlreadyExists:
                # Our own create whose answer was lost, or an object that the cache does not select.
                found = await informer.objects.peek(key)
        wanted: Json = orjson.loads(desired)
        ours_already = not owner_uid or owner_uid in [o.uid for o in _owners(found)]
        if not ours_already and not _is_left(found, wanted):
            owner = next(f"{o['kind']} {o['name']}" for o in wanted["metadata"]["ownerReferences"])
            if owner in [f"{o.kind} {o.name}" for o in _owners(found)]:
                return None  # it belongs to a predecessor of its owner, and garbage collection takes it
            # Also while it is going away: nobody may tell of its end.
            raise ForeignObjectError(wanted["kind"], key, owner)
        if _is_going(found):
            return None
        observed = _as_json(found)
        patch = _joined(
            difference(observed, wanted, ours), left_behind(observed, wanted, informer.objects.manager)
        )
        stuck = [path for path in fixed if _take(patch or {}, path.split("."))]
        if stuck and not all_but_fixed:
            raise FixedFieldsError(wanted["kind"], key, uid_of(found), stuck)
        if patch:
            try:
                found = await informer.objects.merge_patch(key, orjson.dumps(patch))
            except Vanished:
                return None
        if not stuck:
            self._remember(found, desired)
        return found

    def _is_settled(self, obj: KubeObject, desired: bytes) -> bool:
        return self._settled.get(uid_of(obj)) == (obj.metadata.resource_version, hash(desired))

    def _remember(self, obj: KubeObject, desired: bytes) -> None:
        uid = uid_of(obj)
        self._settled[uid] = (obj.metadata.resource_version, hash(desired))
        self._settled.move_to_end(uid)
        if len(self._settled) > MOST_REMEMBERED:
            self._settled.popitem(last=False)


# What is forgotten costs a comparison.
MOST_REMEMBERED = 50_000


def key_of_json(obj: Json) -> ObjectKey:
    return ObjectKey(obj["metadata"].get("namespace", ""), obj["metadata"]["name"])


def _joined(patch: Json | None, removed: Json | None) -> Json | None:
    """One merge patch from two that touch different keys."""
    if patch is None or removed is None:
        return patch or removed
    meta = patch.setdefault("metadata", {})
    for field, keys in removed["metadata"].items():
        meta[field] = (meta.get(field) or {}) | keys
    return patch


def _take(patch: Json, path: list[str]) -> bool:
    """Takes a path out of a patch, with what is empty then; whether it was there."""
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


def _is_going(obj: KubeObject) -> bool:
    return getattr(obj.metadata, "deletion_timestamp", None) is not None


def _is_left(found: KubeObject, wanted: Json) -> bool:
    """Whether Grove made it for a set of this name that went without it: `kubectl delete --cascade=orphan`."""
    given, ours = getattr(found.metadata, "labels", {}), wanted["metadata"].get("labels", {})
    same = all(given.get(k) == ours.get(k) for k in (labels.MANAGED_BY, labels.PART_OF))
    return not _owners(found) and labels.PART_OF in ours and same


def _owners(obj: KubeObject) -> list[Any]:
    return [o for o in getattr(obj.metadata, "owner_references", ()) if o.controller]
