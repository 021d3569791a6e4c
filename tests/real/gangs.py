"""A gang in each scheduler's own words, written by hand: what Grove must translate to, at its simplest.

Each function gives the objects of a gang ``name`` of ``size`` pods of 1.5 CPU each, all or nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

Json = dict[str, Any]

CPU, MEMORY = "1500m", "64Mi"


def pod(name: str, scheduler: str, *, labels: Json, annotations: Json, **spec: Any) -> Json:
    resources = {"requests": {"cpu": CPU, "memory": MEMORY}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": labels, "annotations": annotations},
        "spec": {
            "schedulerName": scheduler,
            "automountServiceAccountToken": False,
            "containers": [{"name": "main", "image": "app:1", "resources": resources}],
            **spec,
        },
    }


def pods(
    name: str,
    size: int,
    scheduler: str,
    *,
    labels: Json | None = None,
    annotations: Json | None = None,
    **spec: Any,
) -> list[Json]:
    labels = {"gang": name, **(labels or {})}
    return [
        pod(f"{name}-{index}", scheduler, labels=labels, annotations=annotations or {}, **spec)
        for index in range(size)
    ]


def kube_135(name: str, size: int) -> list[Json]:
    workload = {
        "apiVersion": "scheduling.k8s.io/v1alpha1",
        "kind": "Workload",
        "metadata": {"name": name},
        "spec": {"podGroups": [{"name": "gang", "policy": {"gang": {"minCount": size}}}]},
    }
    link = {"name": name, "podGroup": "gang"}
    return [workload, *pods(name, size, "default-scheduler", workloadRef=link)]


def kube(version: str) -> Callable[[str, int], list[Json]]:
    def gang(name: str, size: int) -> list[Json]:
        group = {
            "apiVersion": f"scheduling.k8s.io/{version}",
            "kind": "PodGroup",
            "metadata": {"name": name},
            "spec": {"schedulingPolicy": {"gang": {"minCount": size}}},
        }
        return [group, *pods(name, size, "default-scheduler", schedulingGroup={"podGroupName": name})]

    return gang


def volcano(name: str, size: int) -> list[Json]:
    group = {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": name},
        "spec": {"minMember": size, "queue": "default"},
    }
    return [group, *pods(name, size, "volcano", annotations={"scheduling.k8s.io/group-name": name})]


def koordinator(name: str, size: int) -> list[Json]:
    group = {
        "apiVersion": "scheduling.sigs.k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": name},
        "spec": {"minMember": size},
    }
    link = {"pod-group.scheduling.sigs.k8s.io": name}
    return [group, *pods(name, size, "koord-scheduler", labels=link)]


def yunikorn(name: str, size: int) -> list[Json]:
    groups = [{"name": "main", "minMember": size, "minResource": {"cpu": CPU, "memory": MEMORY}}]
    return pods(
        name,
        size,
        "yunikorn",
        labels={"applicationId": name},
        annotations={
            "yunikorn.apache.org/task-group-name": "main",
            "yunikorn.apache.org/task-groups": json.dumps(groups),
        },
    )


def kai(name: str, size: int) -> list[Json]:
    group = {
        "apiVersion": "scheduling.run.ai/v2alpha2",
        "kind": "PodGroup",
        "metadata": {"name": name},
        "spec": {"minMember": size, "queue": "default-queue"},
    }
    return [group, *pods(name, size, "kai-scheduler", annotations={"pod-group-name": name})]


# scheduler -> Kubernetes minor version ("" for any) -> gang
GANGS: dict[str, dict[str, Callable[[str, int], list[Json]]]] = {
    "default": {"1.35": kube_135, "1.36": kube("v1alpha2"), "1.37": kube("v1beta1")},
    "volcano": {"": volcano},
    "koordinator": {"": koordinator},
    "yunikorn": {"": yunikorn},
    "kai": {"": kai},
}
