"""The objects of a new cluster: namespaces and the system priority classes."""

from grove_sandbox.apiserver.resources.resource_types import ServedResource
from grove_sandbox.apiserver.state import ApiCall, ServerState
from grove_sandbox.apiserver.storage import Object
from grove_sandbox.apiserver.verbs.writes import save

NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")
PRIORITIES = {
    "system-cluster-critical": (
        2_000_000_000,
        "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.",
    ),
    "system-node-critical": (
        2_000_001_000,
        "Used for system critical pods that must not be moved from their current node.",
    ),
}


def create_initial_objects(state: ServerState) -> None:
    for name in NAMESPACES:
        install(state, state.registry.by_kind("v1", "Namespace"), {"metadata": {"name": name}})
    priority_class = state.registry.by_kind("scheduling.k8s.io/v1", "PriorityClass")
    for name, (value, description) in PRIORITIES.items():
        manifest = {"metadata": {"name": name}, "value": value, "description": description}
        install(state, priority_class, {**manifest, "preemptionPolicy": "PreemptLowerPriority"})


def install(state: ServerState, resource_type: ServedResource | None, obj: Object) -> None:
    """Creates an object unless it exists, without a request."""
    assert resource_type is not None
    meta = obj["metadata"]
    key = (meta.get("namespace", ""), meta["name"])
    if state.table(resource_type).get(key) is not None:
        return
    call = ApiCall(state, resource_type, *key)
    stamped = {"uid": state.new_uid(), "creationTimestamp": state.timestamp()}
    new = {**obj, "metadata": {**meta, **stamped}}
    resource_type.strategy.prepare_create(new, call)
    save(call, new, None)
