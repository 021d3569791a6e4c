"""The priority of pods and PodGroups, which only a PriorityClass can set."""

from grove_sandbox.apiserver.errors import GroupResource, forbidden
from grove_sandbox.apiserver.state import ApiCall
from grove_sandbox.apiserver.storage import Object

PRIORITY_CLASSES = GroupResource("scheduling.k8s.io", "priorityclasses")


def admit(obj: Object, call: ApiCall, what: str) -> Object:
    """Resolves the PriorityClass that `obj` names, or the global default. Empty if there is none.

    `what` names the object in messages.
    """
    spec, name = obj["spec"], obj["metadata"].get("name", "")
    found = _find(spec, name, call)
    value = found.get("value", 0)
    if spec.get("priority", value) != value:
        why = (
            f"the integer value of priority ({spec['priority']}) must not be provided in {what} spec; "
            f"priority admission controller computed {value} from the given PriorityClass name"
        )
        raise forbidden(call.type.resource, name, why)
    spec["priority"] = value
    return found


def _find(spec: Object, name: str, call: ApiCall) -> Object:
    classes = call.state.store.table(PRIORITY_CLASSES)
    chosen = spec.get("priorityClassName") or ""
    if chosen:
        stored = classes.get(("", chosen))
        if stored is None:
            raise forbidden(call.type.resource, name, f"no PriorityClass with name {chosen} was found")
        return stored.obj
    defaults = [stored.obj for stored in classes.scan(None) if stored.obj.get("globalDefault")]
    if not defaults:
        return {}
    lowest = min(defaults, key=lambda item: item.get("value", 0))
    spec["priorityClassName"] = lowest["metadata"]["name"]
    return lowest
