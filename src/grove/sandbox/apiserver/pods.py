"""Pods: what the API server fills in, what may change after creation, binding and eviction."""

from typing import Any

from grove.sandbox.apiserver import metadata, names
from grove.sandbox.apiserver.quantities import parse
from grove.sandbox.apiserver.shapes import Shape
from grove.sandbox.apiserver.state import Call
from grove.sandbox.apiserver.status import (
    ApiError,
    FieldError,
    GroupResource,
    duplicate,
    forbidden,
    forbidden_field,
    invalid,
    not_found,
    required,
    unsupported,
)
from grove.sandbox.apiserver.storage import Object
from grove.sandbox.apiserver.strategy import Strategy, keep

RESTART_POLICIES = ("Always", "OnFailure", "Never")
DNS_POLICIES = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
GATED = {
    "type": "PodScheduled",
    "status": "False",
    "reason": "SchedulingGated",
    "message": "Scheduling is blocked due to non-empty scheduling gates",
}
_UPDATABLE = (
    "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,"
    "`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` "
    "(allow it to be set to 1 if it was previously negative)"
)
_TAINTS = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")


class PodStrategy(Strategy):
    has_generation = True
    returns_deleted = True

    def __init__(self, shape: Shape) -> None:
        super().__init__(shape, names.subdomain)

    def prepare_create(self, obj: Object, call: Call) -> None:
        spec = obj["spec"] = dict(obj.get("spec") or {})
        _admit(obj, spec, call)
        super().prepare_create(obj, call)

    def first_status(self, obj: Object, call: Call) -> Object:
        status: Object = {"phase": "Pending"}
        if obj["spec"].get("schedulingGates"):
            since = {"lastProbeTime": None, "lastTransitionTime": call.state.timestamp()}
            status["conditions"] = [{**GATED, **since}]
        status["qosClass"] = quality(obj["spec"])
        return status

    def validate(self, obj: Object, call: Call) -> list[FieldError]:
        return _validate_spec(obj.get("spec") or {})

    def validate_update(self, new: Object, old: Object, call: Call) -> list[FieldError]:
        errors = super().validate_update(new, old, call)
        return errors + _validate_spec_update(new["spec"], old["spec"])

    def prepare_status(self, new: Object, old: Object, call: Call) -> None:
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


def _admit(obj: Object, spec: Object, call: Call) -> None:
    """What defaulting and the admission plugins of a plain cluster add to a new pod."""
    if spec.get("terminationGracePeriodSeconds", 0) < 0:
        spec["terminationGracePeriodSeconds"] = 1
    spec.setdefault("enableServiceLinks", True)
    for field in ("containers", "initContainers"):
        if field in spec:
            spec[field] = [_requests_from_limits(container) for container in spec[field]]
    _admit_priority(obj, spec, call)
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


def _admit_priority(obj: Object, spec: Object, call: Call) -> None:
    chosen = spec.get("priorityClassName") or ""
    found: Object | None = None
    if chosen:
        stored = call.state.find("scheduling.k8s.io", "v1", "priorityclasses", chosen)
        if stored is None:
            name = obj["metadata"].get("name", "")
            raise forbidden(call.type.resource, name, f"no PriorityClass with name {chosen} was found")
        found = stored.obj
    else:
        classes = call.state.store.table(GroupResource("scheduling.k8s.io", "priorityclasses"))
        defaults = [s.obj for s in classes.scan(None) if s.obj.get("globalDefault")]
        if defaults:
            found = min(defaults, key=lambda item: item.get("value", 0))
            spec["priorityClassName"] = found["metadata"]["name"]
    priority = found.get("value", 0) if found else 0
    if spec.get("priority", priority) != priority:
        name = obj["metadata"].get("name", "")
        why = (
            f"the integer value of priority ({spec['priority']}) must not be provided in pod spec; "
            f"priority admission controller computed {priority} from the given PriorityClass name"
        )
        raise forbidden(call.type.resource, name, why)
    spec["priority"] = priority
    policy = (found or {}).get("preemptionPolicy", "PreemptLowerPriority")
    spec.setdefault("preemptionPolicy", policy)


def quality(spec: Object) -> str:
    """Guaranteed, Burstable or BestEffort, from what the containers request and are limited to."""
    classes = {
        _container_quality(container.get("resources") or {})
        for container in (*(spec.get("initContainers") or ()), *(spec.get("containers") or ()))
    }
    return classes.pop() if len(classes) == 1 else "Burstable" if classes else "BestEffort"


def _container_quality(resources: Object) -> str:
    requests = {
        k: v for k, v in (resources.get("requests") or {}).items() if k in ("cpu", "memory") and parse(v)
    }
    limits = {k: v for k, v in (resources.get("limits") or {}).items() if k in ("cpu", "memory") and parse(v)}
    if not requests and not limits:
        return "BestEffort"
    if limits.keys() == {"cpu", "memory"} and all(
        parse(requests.get(k, v)) == parse(v) for k, v in limits.items()
    ):
        return "Guaranteed"
    return "Burstable"


def _validate_spec(spec: Object) -> list[FieldError]:
    errors: list[FieldError] = []
    containers = spec.get("containers") or []
    if not containers:
        errors.append(required("spec.containers"))
    seen: set[str] = set()
    for field in ("containers", "initContainers"):
        for index, container in enumerate(spec.get(field) or ()):
            errors += _validate_container(container, f"spec.{field}[{index}]", seen)
    if spec.get("restartPolicy") not in RESTART_POLICIES:
        errors.append(unsupported("spec.restartPolicy", spec.get("restartPolicy"), RESTART_POLICIES))
    if spec.get("dnsPolicy") not in DNS_POLICIES:
        errors.append(unsupported("spec.dnsPolicy", spec.get("dnsPolicy"), DNS_POLICIES))
    errors += metadata.validate_labels(spec.get("nodeSelector") or {}, "spec.nodeSelector")
    gates: set[str] = set()
    for index, gate in enumerate(spec.get("schedulingGates") or ()):
        path = f"spec.schedulingGates[{index}]"
        name = gate.get("name", "")
        errors += [invalid(path, name, problem) for problem in names.qualified_name(name)]
        if name in gates:
            errors.append(duplicate(path, name))
        gates.add(name)
    if gates and spec.get("nodeName"):
        detail = "cannot be set until all schedulingGates have been cleared"
        errors.append(forbidden_field("spec.nodeName", detail))
    for field in ("hostname", "subdomain"):
        value = spec.get(field)
        if value:
            errors += [invalid(f"spec.{field}", value, problem) for problem in names.label(value)]
    link = (spec.get("schedulingGroup") or {}).get("podGroupName")
    if "schedulingGroup" in spec and not link:
        errors.append(required("spec.schedulingGroup.podGroupName"))
    return errors


def _validate_container(container: Object, path: str, seen: set[str]) -> list[FieldError]:
    errors: list[FieldError] = []
    name = container.get("name", "")
    if not name:
        errors.append(required(f"{path}.name"))
    else:
        errors += [invalid(f"{path}.name", name, problem) for problem in names.label(name)]
    if name in seen:
        errors.append(duplicate(f"{path}.name", name))
    seen.add(name)
    if not container.get("image"):
        errors.append(required(f"{path}.image"))
    resources = container.get("resources") or {}
    limits = resources.get("limits") or {}
    for resource, amount in (resources.get("requests") or {}).items():
        if resource in limits and parse(amount) > parse(limits[resource]):
            detail = f"must be less than or equal to {resource} limit of {limits[resource]}"
            errors.append(invalid(f"{path}.resources.requests", amount, detail))
    return errors


def _validate_spec_update(new: Object, old: Object) -> list[FieldError]:
    errors: list[FieldError] = []
    munged = dict(new)
    for field in ("containers", "initContainers"):
        if len(new.get(field) or ()) != len(old.get(field) or ()):
            return [forbidden_field(f"spec.{field}", "pod updates may not add or remove containers")]
        if field in new:
            munged[field] = [
                {**fresh, "image": stored.get("image")}
                for fresh, stored in zip(new[field], old[field], strict=True)
            ]
    errors += _validate_gates(new.get("schedulingGates") or [], old.get("schedulingGates") or [])
    errors += _validate_tolerations(new.get("tolerations") or [], old.get("tolerations") or [])
    for field in ("schedulingGates", "tolerations"):
        keep(munged, old, field)
    deadline, before = new.get("activeDeadlineSeconds"), old.get("activeDeadlineSeconds")
    if before is not None and (deadline is None or deadline > before):
        detail = "must not update from a positive integer to nil value"
        if deadline is not None:
            detail = "must be less than or equal to previous value"
        errors.append(invalid("spec.activeDeadlineSeconds", deadline, detail))
    keep(munged, old, "activeDeadlineSeconds")
    if old.get("schedulingGates"):
        errors += _validate_directives(munged, old)
    if {k: v for k, v in munged.items() if v} != {k: v for k, v in old.items() if v}:
        changed = sorted(k for k in munged.keys() | old.keys() if munged.get(k) != old.get(k))
        detail = f"pod updates may not change fields other than {_UPDATABLE}\nchanged: {', '.join(changed)}"
        errors.append(forbidden_field("spec", detail))
    return errors


def _validate_gates(new: list[Object], old: list[Object]) -> list[FieldError]:
    known = {gate["name"] for gate in old}
    return [
        forbidden_field(
            f"spec.schedulingGates[{index}].name",
            f"only deletion is allowed, but found new scheduling gate '{gate['name']}'",
        )
        for index, gate in enumerate(new)
        if gate["name"] not in known
    ]


def _validate_tolerations(new: list[Object], old: list[Object]) -> list[FieldError]:
    def without_seconds(toleration: Object) -> Object:
        return {k: v for k, v in toleration.items() if k != "tolerationSeconds"}

    present = [without_seconds(toleration) for toleration in new]
    if all(without_seconds(toleration) in present for toleration in old):
        return []
    detail = "existing toleration can not be modified except its tolerationSeconds"
    return [forbidden_field("spec.tolerations", detail)]


def _validate_directives(munged: Object, old: Object) -> list[FieldError]:
    """Where a gated pod may go can be narrowed, never widened. Takes the narrowed fields out of `munged`."""
    errors: list[FieldError] = []
    selector, before = munged.get("nodeSelector") or {}, old.get("nodeSelector") or {}
    if any(selector.get(key) != value for key, value in before.items()):
        detail = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
        errors.append(invalid("spec.nodeSelector", selector, detail))
    keep(munged, old, "nodeSelector")
    affinity, former = munged.get("affinity") or {}, old.get("affinity") or {}
    if affinity.get("nodeAffinity") != former.get("nodeAffinity"):
        errors += _validate_node_affinity(_terms(affinity), _terms(former))
        rest = dict(affinity)
        keep(rest, former, "nodeAffinity")
        munged["affinity"] = rest
    return errors


def _terms(affinity: Object) -> list[Object]:
    needed = (affinity.get("nodeAffinity") or {}).get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    terms: list[Object] = needed.get("nodeSelectorTerms") or []
    return terms


def _validate_node_affinity(new: list[Object], old: list[Object]) -> list[FieldError]:
    path = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
    if not old:
        return []
    if len(new) != len(old):
        return [invalid(path, new, "no additions/deletions to non-empty NodeSelectorTerms list are allowed")]
    return [
        invalid(f"{path}[{index}]", fresh, "only additions are allowed (no mutations or deletions)")
        for index, (fresh, stored) in enumerate(zip(new, old, strict=True))
        for field in ("matchExpressions", "matchFields")
        if not all(need in (fresh.get(field) or ()) for need in stored.get(field) or ())
    ]


def bind(call: Call, binding: Object) -> Object:
    """The pod with its node, or a refusal; `binding` is what a scheduler posts to pods/binding."""
    stored = call.table.get((call.namespace, call.name))
    if stored is None:
        raise not_found(call.type.resource, call.name)
    wanted, current = binding.get("metadata") or {}, stored.obj["metadata"]
    target = binding.get("target") or {}
    if not target.get("name"):
        raise ApiError(500, "", "target.name: Required value")
    pod, spec = stored.obj, stored.obj["spec"]
    problem = ""
    if wanted.get("uid") and wanted["uid"] != current["uid"]:
        raise ApiError(
            409,
            "Conflict",
            f'Operation cannot be fulfilled on pods "{call.name}": Precondition failed: UID in precondition: '
            f"{wanted['uid']}, UID in object meta: {current['uid']}",
            call.type.resource.details(call.name),
        )
    if current.get("deletionTimestamp"):
        problem = f"pod {call.name} is being deleted, cannot be assigned to a host"
    elif spec.get("nodeName"):
        problem = f'pod {call.name} is already assigned to node "{spec["nodeName"]}"'
    elif spec.get("schedulingGates"):
        problem = f"pod {call.name} has non-empty .spec.schedulingGates"
    if problem:
        message = f'Operation cannot be fulfilled on pods/binding "{call.name}": {problem}'
        raise ApiError(409, "Conflict", message, {"name": call.name, "kind": "pods/binding"})
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
