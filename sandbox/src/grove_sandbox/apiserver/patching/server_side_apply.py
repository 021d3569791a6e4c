"""Server-side apply: merges the applied configuration and records which manager owns which field.

Fields that the manager applied before and no longer mentions are removed, unless another manager owns them too.
Changing a field of another manager is a conflict, unless the request has `force=true`.
"""

from dataclasses import replace

from grove_sandbox.apiserver.errors import StatusError, bad_request, invalid_object, required
from grove_sandbox.apiserver.patching import managed_fields
from grove_sandbox.apiserver.patching.field_sets import Fields, Typed, path_text
from grove_sandbox.apiserver.patching.managed_fields import BEFORE_FIRST_APPLY, FieldManager, typed_of
from grove_sandbox.apiserver.requests.decoding import read_body
from grove_sandbox.apiserver.state import ApiCall
from grove_sandbox.apiserver.storage import Object, Stored
from grove_sandbox.apiserver.verbs.writes import create_object, modify


async def apply(call: ApiCall) -> tuple[Stored, int]:
    manager = call.query.get("fieldManager", "")
    if not manager:
        error = required("fieldManager", "is required for apply patch")
        raise invalid_object("meta.k8s.io", "PatchOptions", "", [error])
    config = read_body(call)
    meta = config.setdefault("metadata", {})
    if meta.get("managedFields"):
        raise bad_request("metadata.managedFields must be nil")
    if meta.setdefault("name", call.name) != call.name:
        raise bad_request(
            f"the name of the object ({meta['name']}) does not match the name on the URL ({call.name})"
        )
    typed = typed_of(call)
    mine = FieldManager(
        manager,
        "Apply",
        call.type.api_version,
        call.state.timestamp(),
        frozenset(typed.fields(config)),
        call.subresource,
    )
    if call.table.get((call.namespace, call.name)) is None and not call.subresource:
        meta["managedFields"] = managed_fields.write([mine])
        return await create_object(call, config)
    return await modify(call, lambda live: _merged(call, typed, live, config, mine), tracked=False)


def _merged(call: ApiCall, typed: Typed, live: Object, config: Object, mine: FieldManager) -> Object:
    owners = managed_fields.read(live)
    present = typed.fields(live)
    if not owners:
        creation = live["metadata"].get("creationTimestamp", "")
        first = FieldManager(BEFORE_FIRST_APPLY, "Update", mine.api_version, creation, frozenset(present))
        owners = [first]
    merged: Object = typed.merge(live, config)
    after = typed.fields(merged)
    changed = frozenset(path for path in after if path not in present or present[path] != after[path])
    others = [owner for owner in owners if owner.key != mine.key]
    taken = changed & mine.fields
    if call.query.get("force") != "true":
        _refuse_conflicts(others, taken)
    others = [replace(owner, fields=owner.fields - taken) for owner in others]
    previous: Fields = next((owner.fields for owner in owners if owner.key == mine.key), frozenset())
    shared: Fields = frozenset().union(*(owner.fields for owner in others))
    merged = typed.remove(merged, previous - mine.fields - shared)
    if mine.fields == previous:
        time = next(owner.time for owner in owners if owner.key == mine.key)
        mine = replace(mine, time=time)
    meta = dict(merged["metadata"])
    meta["managedFields"] = managed_fields.write([*others, mine])
    if "resourceVersion" not in config["metadata"]:
        meta.pop("resourceVersion", None)
    return {**merged, "metadata": meta}


def _refuse_conflicts(others: list[FieldManager], taken: Fields) -> None:
    causes = []
    lines = []
    for owner in others:
        found = sorted(path_text(path) for path in owner.fields & taken)
        if found:
            using = f" using {owner.api_version} at {owner.time}" if owner.operation == "Update" else ""
            lines.append((owner, found))
            message = f'conflict with "{owner.manager}"{using}'
            causes += [
                {"reason": "FieldManagerConflict", "message": message, "field": field} for field in found
            ]
    if not causes:
        return
    count = len(causes)
    described = [
        f'conflicts with "{owner.manager}":\n' + "\n".join(f"- {f}" for f in found) for owner, found in lines
    ]
    text = f'conflict with "{lines[0][0].manager}": {lines[0][1][0]}' if count == 1 else "\n".join(described)
    plural = "conflict" if count == 1 else "conflicts"
    message = f"Apply failed with {count} {plural}: {text}"
    raise StatusError(409, "Conflict", message, {"causes": causes})
