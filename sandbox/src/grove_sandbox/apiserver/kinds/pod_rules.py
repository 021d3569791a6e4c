"""Validation of pods: the spec of a new pod, and the fields that an update may change."""

from grove_sandbox.apiserver.errors import (
    FieldViolation,
    duplicate,
    forbidden_field,
    invalid,
    required,
    unsupported,
)
from grove_sandbox.apiserver.resources import metadata, names
from grove_sandbox.apiserver.resources.strategy import keep
from grove_sandbox.apiserver.schema.quantities import parse
from grove_sandbox.apiserver.storage import Object

RESTART_POLICIES = ("Always", "OnFailure", "Never")
DNS_POLICIES = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_UPDATABLE = (
    "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,"
    "`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` "
    "(allow it to be set to 1 if it was previously negative)"
)


def validate(spec: Object) -> list[FieldViolation]:
    errors: list[FieldViolation] = []
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
    if "schedulingGroup" in spec and not spec["schedulingGroup"].get("podGroupName"):
        detail = "must specify one of: `podGroupName`"
        errors.append(invalid("spec.schedulingGroup.podGroupName", None, detail))
    return errors


def _validate_container(container: Object, path: str, seen: set[str]) -> list[FieldViolation]:
    errors: list[FieldViolation] = []
    name = container.get("name", "")
    if not name:
        errors.append(required(f"{path}.name"))
    else:
        errors += [invalid(f"{path}.name", name, problem) for problem in names.label(name)]
    if not container.get("image"):
        errors.append(required(f"{path}.image"))
    if name in seen:
        errors.append(duplicate(f"{path}.name", name))
    seen.add(name)
    resources = container.get("resources") or {}
    limits = resources.get("limits") or {}
    for resource, amount in (resources.get("requests") or {}).items():
        if resource in limits and parse(amount) > parse(limits[resource]):
            detail = f"must be less than or equal to {resource} limit of {limits[resource]}"
            errors.append(invalid(f"{path}.resources.requests", amount, detail))
    return errors


def validate_update(new: Object, old: Object) -> list[FieldViolation]:
    errors: list[FieldViolation] = []
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


def _validate_gates(new: list[Object], old: list[Object]) -> list[FieldViolation]:
    known = {gate["name"] for gate in old}
    return [
        forbidden_field(
            f"spec.schedulingGates[{index}].name",
            f"only deletion is allowed, but found new scheduling gate '{gate['name']}'",
        )
        for index, gate in enumerate(new)
        if gate["name"] not in known
    ]


def _validate_tolerations(new: list[Object], old: list[Object]) -> list[FieldViolation]:
    def without_seconds(toleration: Object) -> Object:
        return {k: v for k, v in toleration.items() if k != "tolerationSeconds"}

    present = [without_seconds(toleration) for toleration in new]
    if all(without_seconds(toleration) in present for toleration in old):
        return []
    detail = "existing toleration can not be modified except its tolerationSeconds"
    return [forbidden_field("spec.tolerations", detail)]


def _validate_directives(munged: Object, old: Object) -> list[FieldViolation]:
    """A gated pod may only narrow its node selection. Restores the checked fields of `munged` to `old`."""
    errors: list[FieldViolation] = []
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


def _validate_node_affinity(new: list[Object], old: list[Object]) -> list[FieldViolation]:
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
