"""Builders of views, and results of a scheduling round in a form that is easy to compare."""

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
from grove_sandbox.schedulers.objects import PolicyObject, PriorityClass, SchedulerNode, SchedulerPod
from grove_sandbox.schedulers.policy import Policy, Round, View

from grove.runtime.client.objects import PartialMetadata

START = datetime(2026, 1, 1, tzinfo=UTC)
GATE = [{"name": "grove.io/podgang-pending-creation"}]


def node(
    name: str, cpu: str = "4", *, taints: list[dict[str, str]] | None = None, **labels: str
) -> SchedulerNode:
    return msgspec.convert(
        {
            "metadata": {"name": name, "uid": name, "labels": {_key(k): v for k, v in labels.items()}},
            "spec": {"taints": taints or []},
            "status": {"allocatable": {"cpu": cpu, "memory": "64Gi", "pods": "110"}},
        },
        SchedulerNode,
    )


def pod(
    name: str,
    scheduler: str,
    *,
    cpu: str = "1",
    age: int = 0,
    gated: bool = False,
    on: str = "",
    labels: dict[str, str] | None = None,
    annotations: dict[str, str] | None = None,
    namespace: str = "demo",
    **spec: Any,
) -> SchedulerPod:
    requests = {"cpu": cpu} if cpu else {}
    return msgspec.convert(
        {
            "metadata": {
                "name": name,
                "namespace": namespace,
                "uid": f"{namespace}/{name}",
                "resourceVersion": "1",
                "creationTimestamp": (START - timedelta(seconds=age)).strftime("%Y-%m-%dT%H:%M:%SZ"),
                "labels": labels or {},
                "annotations": annotations or {},
            },
            "spec": {
                "schedulerName": scheduler,
                "containers": [{"resources": {"requests": requests}}],
                **({"schedulingGates": GATE} if gated else {}),
                **({"nodeName": on} if on else {}),
                **spec,
            },
            "status": {"phase": "Running" if on else "Pending"},
        },
        SchedulerPod,
    )


def policy_object(
    name: str,
    spec: dict[str, Any],
    *,
    status: dict[str, Any] | None = None,
    namespace: str | None = "demo",
    labels: dict[str, str] | None = None,
    annotations: dict[str, str] | None = None,
    age: int = 0,
) -> PolicyObject:
    meta = PartialMetadata(
        name=name,
        namespace=namespace,
        uid=f"{namespace}/{name}",
        labels=labels or {},
        annotations=annotations or {},
        creation_timestamp=(START - timedelta(seconds=age)).strftime("%Y-%m-%dT%H:%M:%SZ"),
    )
    return PolicyObject(meta, spec, status or {})


def priority_class(name: str, value: int) -> PriorityClass:
    return PriorityClass(PartialMetadata(name=name, uid=name), value)


def look(
    policy: Policy,
    nodes: list[SchedulerNode],
    pods: list[SchedulerPod],
    *,
    after: float = 0,
    classes: list[PriorityClass] | None = None,
    **objects: Any,
) -> Round:
    """Runs one round, `after` so many seconds."""
    return policy.round(View(START + timedelta(seconds=after), nodes, pods, objects, classes or ()))


def bound(result: Round) -> list[str]:
    return sorted(pod.metadata.name or "" for pod, _ in result.bindings)


def where(result: Round) -> dict[str, str]:
    return {pod.metadata.name or "": node_name for pod, node_name in result.bindings}


def reasons(result: Round) -> dict[str, str]:
    return {pod.metadata.name or "": condition.reason for pod, condition in result.conditions.values()}


def _key(name: str) -> str:
    return {
        "rack": "example.com/rack",
        "zone": "topology.kubernetes.io/zone",
        "host": "kubernetes.io/hostname",
    }[name]
