"""Pods: the fields that the API server sets, and deletion with a grace period. Validation is in `pod_rules`."""

from fractions import Fraction

from grove_sandbox.apiserver.errors import FieldViolation
from grove_sandbox.apiserver.kinds import pod_rules, priorities
from grove_sandbox.apiserver.resources import names
from grove_sandbox.apiserver.resources.strategy import Strategy, keep
from grove_sandbox.apiserver.schema.quantities import parse
from grove_sandbox.apiserver.schema.shapes import Shape
from grove_sandbox.apiserver.state import ApiCall
from grove_sandbox.apiserver.storage import Object

GATED = {
    "type": "PodScheduled",
    "status": "False",
    "reason": "SchedulingGated",
    "message": "Scheduling is blocked due to non-empty scheduling gates",
}
_TAINTS = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")


class PodStrategy(Strategy):
    has_generation = True
    returns_deleted = True

    def __init__(self, shape: Shape) -> None:
        super().__init__(shape, names.subdomain)

    def prepare_create(self, obj: Object, call: ApiCall) -> None:
        obj["spec"] = dict(obj.get("spec") or {})
        _admit(obj, call)
        super().prepare_create(obj, call)

    def initial_status(self, obj: Object, call: ApiCall) -> Object:
        status: Object = {"phase": "Pending"}
        if obj["spec"].get("schedulingGates"):
            since = {"lastProbeTime": None, "lastTransitionTime": call.state.timestamp()}
            status["conditions"] = [{**GATED, **since}]
        status["qosClass"] = quality(obj["spec"])
        return status

    def validate(self, obj: Object, call: ApiCall) -> list[FieldViolation]:
        return pod_rules.validate(obj.get("spec") or {})

    def validate_update(self, new: Object, old: Object, call: ApiCall) -> list[FieldViolation]:
        errors = super().validate_update(new, old, call)
        return errors + pod_rules.validate_update(new["spec"], old["spec"])

    def prepare_status(self, new: Object, old: Object, call: ApiCall) -> None:
        keep(new, old, "spec")
        keep(new["metadata"], old["metadata"], "ownerReferences")
        status = new["status"] = dict(new.get("status") or {})
        before = old.get("status") or {}
        for field in ("qosClass", "resourceClaimStatuses", "observedGeneration"):
            if not status.get(field) and field in before:
                status[field] = before[field]

    def grace_period(self, obj: Object, requested: int | None) -> int | None:
        spec, status = obj.get("spec") or {}, obj.get("status") or {}
        if not spec.get("nodeName") or status.get("phase") in ("Succeeded", "Failed"):
            return 0
        period = spec.get("terminationGracePeriodSeconds", 0) if requested is None else requested
        return 1 if period < 0 else int(period)


def _admit(obj: Object, call: ApiCall) -> None:
    """Sets what defaulting and the default admission plugins add to a new pod."""
    spec = obj["spec"]
    if spec.get("terminationGracePeriodSeconds", 0) < 0:
        spec["terminationGracePeriodSeconds"] = 1
    spec.setdefault("enableServiceLinks", True)
    for field in ("containers", "initContainers"):
        if field in spec:
            spec[field] = [_requests_from_limits(container) for container in spec[field]]
    chosen = priorities.admit(obj, call, "pod")
    spec.setdefault("preemptionPolicy", chosen.get("preemptionPolicy", "PreemptLowerPriority"))
    tolerations = list(spec.get("tolerations") or [])
    for taint in _TAINTS:
        if not any(_tolerates(toleration, taint) for toleration in tolerations):
            forgiving = {"key": taint, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
            tolerations.append(forgiving)
    spec["tolerations"] = tolerations


def _tolerates(toleration: Object, taint: str) -> bool:
    return toleration.get("key") in (taint, None, "") and toleration.get("effect") in ("NoExecute", None, "")


def _requests_from_limits(container: Object) -> Object:
    resources = container.get("resources") or {}
    limits = resources.get("limits")
    if not limits:
        return container
    requests = {**limits, **(resources.get("requests") or {})}
    return {**container, "resources": {**resources, "requests": requests}}


def quality(spec: Object) -> str:
    """The QoS class, by the requests and limits of the containers: Guaranteed, Burstable or BestEffort."""
    classes = {
        _container_quality(container.get("resources") or {})
        for container in (*(spec.get("initContainers") or ()), *(spec.get("containers") or ()))
    }
    return classes.pop() if len(classes) == 1 else "Burstable" if classes else "BestEffort"


def _container_quality(resources: Object) -> str:
    requests, limits = _counted(resources.get("requests")), _counted(resources.get("limits"))
    if not requests and not limits:
        return "BestEffort"
    if limits.keys() == {"cpu", "memory"} and requests == limits:
        return "Guaranteed"
    return "Burstable"


def _counted(amounts: Object | None) -> dict[str, Fraction]:
    return {name: parse(amounts[name]) for name in ("cpu", "memory") if amounts and amounts.get(name)}
