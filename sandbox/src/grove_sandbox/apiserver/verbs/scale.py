"""The `autoscaling/v1` Scale of an object, read from and written to the paths that its kind declares."""

from typing import Any

from grove_sandbox.apiserver.state import ApiCall
from grove_sandbox.apiserver.storage import Object

_SHARED_METADATA = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")


def read(call: ApiCall, obj: Object) -> Object:
    paths = call.type.scale
    assert paths is not None
    meta = obj["metadata"]
    status: Object = {"replicas": dig(obj, paths.status_replicas) or 0}
    selector = dig(obj, paths.selector) if paths.selector else None
    if selector:
        status["selector"] = selector
    replicas = dig(obj, paths.spec_replicas)
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {field: meta[field] for field in _SHARED_METADATA if field in meta},
        "spec": {"replicas": replicas} if replicas else {},
        "status": status,
    }


def write(obj: Object, path: str, value: int) -> Object:
    """A copy of `obj` with `value` at `path`. Everything else is shared with `obj`."""
    head, _, rest = path.strip(".").partition(".")
    if not rest:
        return {**obj, head: value}
    return {**obj, head: write(obj.get(head) or {}, rest, value)}


def dig(obj: Object, path: str) -> Any:
    found: Any = obj
    for step in path.strip(".").split("."):
        found = found.get(step) if isinstance(found, dict) else None
    return found
