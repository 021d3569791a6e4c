"""The pods/binding subresource, by which a scheduler assigns a pod to a node."""

from typing import Any

from grove_sandbox.apiserver.errors import GroupResource, StatusError, conflict, not_found
from grove_sandbox.apiserver.state import ApiCall
from grove_sandbox.apiserver.storage import Object


def bind(call: ApiCall, binding: Object) -> Object:
    """The pod with its node and the condition PodScheduled. Raises StatusError if it cannot be bound."""
    stored = call.table.get((call.namespace, call.name))
    if stored is None:
        raise not_found(call.type.resource, call.name)
    wanted, current = binding.get("metadata") or {}, stored.obj["metadata"]
    target = binding.get("target") or {}
    if not target.get("name"):
        raise StatusError(500, "", "target.name: Required value")
    pod, spec = stored.obj, stored.obj["spec"]
    problem = ""
    if wanted.get("uid") and wanted["uid"] != current["uid"]:
        uids = f"UID in precondition: {wanted['uid']}, UID in object meta: {current['uid']}"
        raise conflict(call.type.resource, call.name, f"Precondition failed: {uids}")
    if current.get("deletionTimestamp"):
        problem = f"pod {call.name} is being deleted, cannot be assigned to a host"
    elif spec.get("nodeName"):
        problem = f'pod {call.name} is already assigned to node "{spec["nodeName"]}"'
    elif spec.get("schedulingGates"):
        problem = f"pod {call.name} has non-empty .spec.schedulingGates"
    if problem:
        raise conflict(GroupResource("", "pods/binding"), call.name, problem)
    status = dict(pod.get("status") or {})
    status.pop("nominatedNodeName", None)
    others = [c for c in status.get("conditions") or () if c["type"] != "PodScheduled"]
    scheduled: dict[str, Any] = {
        "type": "PodScheduled",
        "status": "True",
        "lastProbeTime": None,
        "lastTransitionTime": call.state.timestamp(),
    }
    status["conditions"] = [*others, scheduled]
    new_metadata = dict(current)
    for field in ("annotations", "labels"):
        if wanted.get(field):
            new_metadata[field] = {**(current.get(field) or {}), **wanted[field]}
    return {**pod, "metadata": new_metadata, "spec": {**spec, "nodeName": target["name"]}, "status": status}
