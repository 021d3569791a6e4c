"""The columns that `kubectl get` prints for builtin kinds."""

from datetime import datetime
from typing import Any

from grove_sandbox.apiserver.responses.kubectl_table import AGE, CREATED_AT, TableColumn
from grove_sandbox.timestamps import age

Object = dict[str, Any]

__all__ = [
    "ACCOUNTS",
    "AGE",
    "AUTOSCALERS",
    "BINDINGS",
    "CLAIMS",
    "CONFIG_MAPS",
    "CRDS",
    "CREATED_AT",
    "EVENTS",
    "LEASES",
    "NAMESPACES",
    "NODES",
    "PODS",
    "PRIORITY_CLASSES",
    "SECRETS",
    "SERVICES",
    "WEBHOOKS",
]  # fmt: skip


def path(
    name: str, dotted: str, default: Any = "<none>", kind: str = "string", priority: int = 0
) -> TableColumn:
    steps = dotted.split(".")

    def value(obj: Object, now: datetime) -> Any:
        found: Any = obj
        for step in steps:
            found = found.get(step) if isinstance(found, dict) else None
        return default if found is None or found == "" else found

    return TableColumn(name, value, type=kind, priority=priority)


def _pod_ready(obj: Object, now: datetime) -> str:
    statuses = obj.get("status", {}).get("containerStatuses") or []
    total = len(obj.get("spec", {}).get("containers") or ())
    return f"{sum(1 for status in statuses if status.get('ready'))}/{total}"


def _pod_restarts(obj: Object, now: datetime) -> str:
    statuses = obj.get("status", {}).get("containerStatuses") or []
    count = sum(status.get("restartCount", 0) for status in statuses)
    ends = [
        status["lastState"]["terminated"]["finishedAt"]
        for status in statuses
        if status.get("lastState", {}).get("terminated", {}).get("finishedAt")
    ]
    return f"{count} ({age(max(ends), now)} ago)" if count and ends else str(count)


def _pod_status(obj: Object, now: datetime) -> str:
    status = obj.get("status", {})
    if obj["metadata"].get("deletionTimestamp"):
        return "Unknown" if status.get("reason") == "NodeLost" else "Terminating"
    reason: str = status.get("reason") or status.get("phase") or "Unknown"
    for condition in status.get("conditions") or ():
        if condition.get("type") == "PodScheduled" and condition.get("reason") == "SchedulingGated":
            reason = "SchedulingGated"
    for container in status.get("containerStatuses") or ():
        state = container.get("state") or {}
        waiting, terminated = state.get("waiting") or {}, state.get("terminated") or {}
        if waiting.get("reason"):
            return str(waiting["reason"])
        if terminated:
            reason = terminated.get("reason") or f"ExitCode:{terminated.get('exitCode')}"
    return reason


def _readiness_gates(obj: Object, now: datetime) -> str:
    gates = obj.get("spec", {}).get("readinessGates") or []
    if not gates:
        return "<none>"
    true = {c["type"] for c in obj.get("status", {}).get("conditions") or () if c.get("status") == "True"}
    return f"{sum(1 for gate in gates if gate.get('conditionType') in true)}/{len(gates)}"


PODS = (
    TableColumn("Ready", _pod_ready),
    TableColumn("Status", _pod_status),
    TableColumn("Restarts", _pod_restarts),
    AGE,
    path("IP", "status.podIP", priority=1),
    path("Node", "spec.nodeName", priority=1),
    path("Nominated Node", "status.nominatedNodeName", priority=1),
    TableColumn("Readiness Gates", _readiness_gates, priority=1),
)


def _node_status(obj: Object, now: datetime) -> str:
    ready = [c for c in obj.get("status", {}).get("conditions") or () if c.get("type") == "Ready"]
    words = ["Unknown" if not ready else "Ready" if ready[0].get("status") == "True" else "NotReady"]
    if obj.get("spec", {}).get("unschedulable"):
        words.append("SchedulingDisabled")
    return ",".join(words)


def _node_roles(obj: Object, now: datetime) -> str:
    prefix = "node-role.kubernetes.io/"
    labels = obj["metadata"].get("labels") or {}
    roles = sorted(key.removeprefix(prefix) for key in labels if key.startswith(prefix))
    return ",".join(roles) or "<none>"


def _internal_address(obj: Object, now: datetime) -> str:
    addresses = obj.get("status", {}).get("addresses") or []
    return next((a["address"] for a in addresses if a.get("type") == "InternalIP"), "<none>")


NODES = (
    TableColumn("Status", _node_status),
    TableColumn("Roles", _node_roles),
    AGE,
    path("Version", "status.nodeInfo.kubeletVersion", ""),
    TableColumn("Internal-IP", _internal_address, priority=1),
)
NAMESPACES = (path("Status", "status.phase", ""), AGE)


def _external_address(obj: Object, now: datetime) -> str:
    return ",".join(obj.get("spec", {}).get("externalIPs") or ()) or "<none>"


def _ports(obj: Object, now: datetime) -> str:
    ports = obj.get("spec", {}).get("ports") or []
    return ",".join(f"{p.get('port')}/{p.get('protocol', 'TCP')}" for p in ports) or "<none>"


def _selector(obj: Object, now: datetime) -> str:
    selector = obj.get("spec", {}).get("selector") or {}
    return ",".join(f"{key}={value}" for key, value in sorted(selector.items())) or "<none>"


SERVICES = (
    path("Type", "spec.type"),
    path("Cluster-IP", "spec.clusterIP"),
    TableColumn("External-IP", _external_address),
    TableColumn("Port(s)", _ports),
    AGE,
    TableColumn("Selector", _selector, priority=1),
)


def _event_about(obj: Object, now: datetime) -> str:
    about = obj.get("involvedObject") or obj.get("regarding") or {}
    return f"{about.get('kind', '').lower()}/{about.get('name', '')}"


def _event_last_seen(obj: Object, now: datetime) -> str:
    series = obj.get("series") or {}
    last = (
        series.get("lastObservedTime")
        or obj.get("lastTimestamp")
        or obj.get("deprecatedLastTimestamp")
        or obj.get("eventTime")
        or obj["metadata"].get("creationTimestamp", "")
    )
    return age(last, now)


def _event_message(obj: Object, now: datetime) -> str:
    return (obj.get("message") or obj.get("note") or "").strip()


EVENTS = (
    TableColumn("Last Seen", _event_last_seen),
    path("Type", "type", ""),
    path("Reason", "reason", ""),
    TableColumn("Object", _event_about),
    TableColumn("Message", _event_message),
    TableColumn("Name", lambda obj, now: obj["metadata"]["name"], format="name", priority=1),
)


def _count(name: str, field: str) -> TableColumn:
    return TableColumn(name, lambda obj, now: len(obj.get(field) or ()), type="integer")


ACCOUNTS = (_count("Secrets", "secrets"), AGE)
SECRETS = (path("Type", "type"), _count("Data", "data"), AGE)
CONFIG_MAPS = (_count("Data", "data"), AGE)
CLAIMS = (path("Status", "status.phase"), path("StorageClass", "spec.storageClassName", ""), AGE)
LEASES = (path("Holder", "spec.holderIdentity", ""), AGE)
WEBHOOKS = (_count("Webhooks", "webhooks"), AGE)


def _reference(obj: Object, now: datetime) -> str:
    target = obj.get("spec", {}).get("scaleTargetRef") or {}
    return f"{target.get('kind', '')}/{target.get('name', '')}"


AUTOSCALERS = (
    TableColumn("Reference", _reference),
    path("MinPods", "spec.minReplicas", "<unset>"),
    path("MaxPods", "spec.maxReplicas", 0, kind="integer"),
    path("Replicas", "status.currentReplicas", 0, kind="integer"),
    AGE,
)
PRIORITY_CLASSES = (
    path("Value", "value", 0, kind="integer"),
    path("Global-Default", "globalDefault", default=False, kind="boolean"),
    AGE,
    path("PreemptionPolicy", "preemptionPolicy"),
)


def _role(obj: Object, now: datetime) -> str:
    role = obj.get("roleRef") or {}
    return f"{role.get('kind', '')}/{role.get('name', '')}"


BINDINGS = (TableColumn("Role", _role), AGE)
CRDS = (CREATED_AT,)
