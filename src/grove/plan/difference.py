"""The smallest patch that turns an observed object into the desired one.

The desired object has only the fields that Grove sets. Everything that others added (labels, annotations, finalizers,
fields that the API server fills in) stays, except inside `owned_fields`: there Grove owns everything, and fields that
are not desired are removed. The result is a JSON merge patch (RFC 7386), or None if nothing differs.
"""

from collections.abc import Collection
from typing import Any

from grove.schema.quantity import Quantity

Json = dict[str, Any]


def difference(observed: Json, desired: Json, owned_fields: Collection[str] = ()) -> Json | None:
    """`owned_fields` are paths, such as `spec.podSpec`, in which Grove owns everything."""
    patch = _objects(observed, desired, "", owned_fields)
    wanted = desired.get("metadata")
    if not wanted:
        return patch or None
    meta = observed.get("metadata") or {}
    for field, same in (("finalizers", _same_text), ("ownerReferences", _same_owner)):
        merged = _union(meta.get(field) or [], wanted.get(field) or [], same)
        patch.get("metadata", {}).pop(field, None)
        if merged is not None:
            patch.setdefault("metadata", {})[field] = merged
    if not patch.get("metadata", True):
        del patch["metadata"]
    return patch or None


def left_behind(observed: Json, desired: Json, manager: str) -> Json | None:
    """A merge patch that removes labels and annotations that `manager` wrote earlier and no longer wants.

    `metadata.managedFields` tells them from the keys that somebody else wrote.
    """
    meta, wanted = observed.get("metadata") or {}, desired.get("metadata") or {}
    patch: Json = {}
    for field in ("labels", "annotations"):
        extra = (meta.get(field) or {}).keys() - (wanted.get(field) or {}).keys()
        gone = extra & _written_by(manager, meta.get("managedFields") or [], field) if extra else set()
        if gone:
            patch[field] = dict.fromkeys(sorted(gone))
    return {"metadata": patch} if patch else None


def _written_by(manager: str, managed: list[Any], field: str) -> set[str]:
    """The keys of a map in the metadata that this manager wrote and no other."""
    ours: set[str] = set()
    others: set[str] = set()
    for entry in managed:
        written = ((entry.get("fieldsV1") or {}).get("f:metadata") or {}).get(f"f:{field}") or {}
        keys = {k.removeprefix("f:") for k in written if k.startswith("f:")}
        if entry.get("manager") == manager:
            ours |= keys
        else:
            others |= keys
    return ours - others


def _objects(observed: Json, desired: Json, path: str, owned_fields: Collection[str]) -> Json:
    patch: Json = {}
    exclusive = any(path == o or path.startswith(f"{o}.") for o in owned_fields)
    for key, wanted in desired.items():
        here = f"{path}.{key}" if path else key
        found = observed.get(key)
        if isinstance(wanted, dict) and isinstance(found, dict):
            inner = _objects(found, wanted, here, owned_fields)
            if inner:
                patch[key] = inner
        elif not _covers(found, wanted, exclusive or here in owned_fields or path.startswith("metadata.")):
            patch[key] = wanted
    for key in observed.keys() - desired.keys():
        if observed[key] is None:
            continue
        if exclusive or (f"{path}.{key}" if path else key) in owned_fields:
            patch[key] = None
    return patch


def _covers(found: Any, wanted: Any, exclusive: bool) -> bool:
    """Whether a value is as wanted. Unless `exclusive`, objects in a list may have more fields, which the API server
    filled in, and quantities may be spelled differently."""
    if exclusive:
        return bool(found == wanted)
    if isinstance(wanted, list) and isinstance(found, list):
        return len(found) == len(wanted) and all(
            _covers(f, w, False) for f, w in zip(found, wanted, strict=True)
        )
    if isinstance(wanted, dict) and isinstance(found, dict):
        return all(k in found and _covers(found[k], w, False) for k, w in wanted.items())
    return (
        bool(found == wanted) or (found is None and wanted in ({}, [], False)) or _same_amount(found, wanted)
    )


def _same_amount(found: Any, wanted: Any) -> bool:
    """An API server stores 100 as "100", and "1000m" as "1"."""
    if not isinstance(found, str) or isinstance(wanted, bool) or not isinstance(wanted, str | int | float):
        return False
    try:
        return Quantity(found) == Quantity(wanted)
    except ValueError:
        return False


def _union(found: list[Any], wanted: list[Any], same: Any) -> list[Any] | None:
    """The found list with the missing items added; None if no item is missing."""
    missing = [w for w in wanted if not any(same(f, w) for f in found)]
    if not missing:
        return None
    replaced = [f for f in found if not any(_same_uid(f, m) for m in missing)]
    return [*replaced, *missing]


def _same_text(a: Any, b: Any) -> bool:
    return bool(a == b)


def _same_owner(found: Any, wanted: Any) -> bool:
    return all(found.get(k) == v for k, v in wanted.items())


def _same_uid(a: Any, b: Any) -> bool:
    return isinstance(a, dict) and isinstance(b, dict) and a.get("uid") == b.get("uid")
