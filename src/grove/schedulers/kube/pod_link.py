"""The fields of a pod's spec that tie it to its gang."""

from grove.api import labels
from grove.api.pod_view import Pod
from grove.schedulers.types import Json, ObjectKind, Probe

PODS = ObjectKind("", "v1", "pods", "Pod")


def link_of(pod: Pod) -> Json:
    """The link that a pod in the cluster has, comparable with `Dialect.link`; empty if the server dropped it."""
    link: Json = {}
    if pod.spec.scheduling_group is not None:
        link["schedulingGroup"] = {"podGroupName": pod.spec.scheduling_group.pod_group_name}
    if pod.spec.workload_ref is not None:
        ref = pod.spec.workload_ref
        link["workloadRef"] = {"name": ref.name, "podGroup": ref.pod_group}
    return link


def link_probe(link: Json) -> Probe:
    """Asks whether the server keeps the field of this link. The probe's pod passes the strictest admission policies."""
    field = next(iter(link))
    resources = {"cpu": "1m", "memory": "1Mi"}
    container = {
        "name": "probe",
        "image": "registry.k8s.io/pause:3.10",
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
        "resources": {"requests": resources, "limits": resources},
    }
    spec = {
        "schedulingGates": [{"name": labels.Gate.KUBERNETES}],
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": 65535,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [container],
        **link,
    }
    return Probe(field, PODS, {"metadata": {"name": "grove-probe"}, "spec": spec}, f"spec.{field}")


SCHEDULING_GROUP = link_probe({"schedulingGroup": {"podGroupName": "grove-probe"}})
"""The link of Kubernetes 1.36 and later."""

WORKLOAD_REF = link_probe({"workloadRef": {"name": "grove-probe", "podGroup": "gang"}})
"""The link of Kubernetes 1.35."""
