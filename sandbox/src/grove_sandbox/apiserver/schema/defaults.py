"""Default values of builtin objects, by OpenAPI definition."""

import base64
from collections.abc import Callable
from typing import Any

Default = Callable[[dict[str, Any]], None]


def values(**fields: Any) -> Default:
    """Constant defaults. They must be scalars, because all objects share them."""

    def fill(obj: dict[str, Any]) -> None:
        for field, value in fields.items():
            if obj.get(field) in (None, "", 0) and not (obj.get(field) == 0 and value == 0):
                obj[field] = value

    return fill


def container(obj: dict[str, Any]) -> None:
    image: str = obj.get("image", "")
    if not obj.get("imagePullPolicy"):
        tag = image.rpartition("/")[2].partition("@")[0].partition(":")[2]
        latest = "@" not in image and tag in ("", "latest")
        obj["imagePullPolicy"] = "Always" if latest else "IfNotPresent"
    obj.setdefault("terminationMessagePath", "/dev/termination-log")
    obj.setdefault("terminationMessagePolicy", "File")
    obj.setdefault("resources", {})


def volume(obj: dict[str, Any]) -> None:
    if len(obj) <= 1:
        obj["emptyDir"] = {}


def pod_spec(obj: dict[str, Any]) -> None:
    obj.setdefault("dnsPolicy", "ClusterFirst")
    obj.setdefault("restartPolicy", "Always")
    obj.setdefault("securityContext", {})
    obj.setdefault("terminationGracePeriodSeconds", 30)
    obj.setdefault("schedulerName", "default-scheduler")
    account = obj.get("serviceAccountName") or obj.get("serviceAccount")
    if account:
        obj["serviceAccountName"] = obj["serviceAccount"] = account


def pod_status(obj: dict[str, Any]) -> None:
    if obj.get("podIP"):
        addresses = obj.get("podIPs") or []
        if not addresses or addresses[0].get("ip") != obj["podIP"]:
            obj["podIPs"] = [{"ip": obj["podIP"]}]
    elif obj.get("podIPs"):
        obj["podIP"] = obj["podIPs"][0].get("ip")


def node_status(obj: dict[str, Any]) -> None:
    if obj.get("capacity") is not None and obj.get("allocatable") is None:
        obj["allocatable"] = dict(obj["capacity"])


def secret(obj: dict[str, Any]) -> None:
    obj.setdefault("type", "Opaque")
    plain = obj.pop("stringData", None)
    if plain:
        encoded = {key: base64.b64encode(value.encode()).decode() for key, value in plain.items()}
        obj["data"] = {**(obj.get("data") or {}), **encoded}


def service_spec(obj: dict[str, Any]) -> None:
    obj.setdefault("sessionAffinity", "None")
    obj.setdefault("type", "ClusterIP")
    if obj["type"] != "ExternalName":
        obj.setdefault("internalTrafficPolicy", "Cluster")


def service_port(obj: dict[str, Any]) -> None:
    obj.setdefault("protocol", "TCP")
    if obj.get("targetPort") in (None, 0, ""):
        obj["targetPort"] = obj.get("port", 0)


def autoscaler_spec(obj: dict[str, Any]) -> None:
    obj.setdefault("minReplicas", 1)
    if not obj.get("metrics"):
        target = {"type": "Utilization", "averageUtilization": 80}
        obj["metrics"] = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]


def webhook(obj: dict[str, Any]) -> None:
    obj.setdefault("failurePolicy", "Fail")
    obj.setdefault("matchPolicy", "Equivalent")
    obj.setdefault("namespaceSelector", {})
    obj.setdefault("objectSelector", {})
    obj.setdefault("timeoutSeconds", 10)


def mutating_webhook(obj: dict[str, Any]) -> None:
    webhook(obj)
    obj.setdefault("reinvocationPolicy", "Never")


_CORE = "io.k8s.api.core.v1."
_HOOKS = "io.k8s.api.admissionregistration.v1."
DEFAULTS: dict[str, Default] = {
    _CORE + "Container": container,
    _CORE + "ContainerPort": values(protocol="TCP"),
    _CORE + "Volume": volume,
    _CORE + "PodSpec": pod_spec,
    _CORE + "PodStatus": pod_status,
    _CORE + "NodeStatus": node_status,
    _CORE + "NamespaceStatus": values(phase="Active"),
    _CORE + "Probe": values(timeoutSeconds=1, periodSeconds=10, successThreshold=1, failureThreshold=3),
    _CORE + "HTTPGetAction": values(path="/", scheme="HTTP"),
    _CORE + "ObjectFieldSelector": values(apiVersion="v1"),
    _CORE + "SecretVolumeSource": values(defaultMode=420),
    _CORE + "ConfigMapVolumeSource": values(defaultMode=420),
    _CORE + "DownwardAPIVolumeSource": values(defaultMode=420),
    _CORE + "ProjectedVolumeSource": values(defaultMode=420),
    _CORE + "ServiceAccountTokenProjection": values(expirationSeconds=3600),
    _CORE + "Secret": secret,
    _CORE + "ServiceSpec": service_spec,
    _CORE + "ServicePort": service_port,
    _CORE + "PersistentVolumeClaimSpec": values(volumeMode="Filesystem"),
    "io.k8s.api.scheduling.v1.PriorityClass": values(preemptionPolicy="PreemptLowerPriority"),
    "io.k8s.api.autoscaling.v2.HorizontalPodAutoscalerSpec": autoscaler_spec,
    "io.k8s.api.rbac.v1.RoleRef": values(apiGroup="rbac.authorization.k8s.io"),
    _HOOKS + "ValidatingWebhook": webhook,
    _HOOKS + "MutatingWebhook": mutating_webhook,
    _HOOKS + "RuleWithOperations": values(scope="*"),
    _HOOKS + "ServiceReference": values(port=443),
}
