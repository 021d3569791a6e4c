"""Builtin kinds with a rule or two of their own."""

from grove.sandbox.apiserver import names
from grove.sandbox.apiserver.shapes import Shape
from grove.sandbox.apiserver.state import Call
from grove.sandbox.apiserver.status import (
    FieldError,
    duplicate,
    forbidden,
    forbidden_field,
    invalid,
    not_implemented,
    required,
    unsupported,
)
from grove.sandbox.apiserver.storage import Object
from grove.sandbox.apiserver.strategy import Strategy, keep

KUBERNETES_FINALIZER = "kubernetes"
PERMANENT_NAMESPACES = ("default", "kube-public", "kube-system")
NAME_LABEL = "kubernetes.io/metadata.name"
HIGHEST_USER_PRIORITY = 1_000_000_000
SERVICE_TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")


class NamespaceStrategy(Strategy):
    """A namespace leaves in two steps: Terminating while its content goes, then gone (`namespaces`)."""

    returns_deleted = True

    def __init__(self, shape: Shape) -> None:
        super().__init__(shape, names.label)

    def prepare_create(self, obj: Object, call: Call) -> None:
        super().prepare_create(obj, call)
        obj["spec"] = {"finalizers": [KUBERNETES_FINALIZER]}
        meta = obj["metadata"]
        meta["labels"] = {NAME_LABEL: meta.get("name", ""), **(meta.get("labels") or {})}

    def first_status(self, obj: Object, call: Call) -> Object:
        return {"phase": "Active"}

    def prepare_update(self, new: Object, old: Object, call: Call) -> None:
        super().prepare_update(new, old, call)
        keep(new, old, "spec")
        meta = new["metadata"]
        meta["labels"] = {**(meta.get("labels") or {}), NAME_LABEL: meta["name"]}

    def check_delete(self, name: str, call: Call) -> None:
        if name in PERMANENT_NAMESPACES:
            raise forbidden(call.type.resource, name, "this namespace may not be deleted")

    def held(self, obj: Object) -> bool:
        return bool((obj.get("spec") or {}).get("finalizers"))

    def mark_deleting(self, obj: Object) -> None:
        obj["status"] = {**(obj.get("status") or {}), "phase": "Terminating"}
        obj["metadata"].pop("deletionGracePeriodSeconds", None)


class NodeStrategy(Strategy):
    """A node registers with its status, and its status may carry labels."""

    def prepare_create(self, obj: Object, call: Call) -> None:
        obj.setdefault("spec", {})
        obj.setdefault("status", {})

    def prepare_status(self, new: Object, old: Object, call: Call) -> None:
        keep(new, old, "spec")


class ServiceStrategy(Strategy):
    creates_on_update = True
    returns_deleted = True

    def __init__(self, shape: Shape) -> None:
        super().__init__(shape, names.service_name)
        self._next_address = 1

    def prepare_create(self, obj: Object, call: Call) -> None:
        super().prepare_create(obj, call)
        spec = obj["spec"] = dict(obj.get("spec") or {})
        if spec.get("type", "ClusterIP") != "ExternalName" and not spec.get("clusterIP"):
            self._next_address += 1
            spec["clusterIP"] = f"10.96.{self._next_address // 250 % 250}.{self._next_address % 250 + 1}"
        if spec.get("clusterIP"):
            spec["clusterIPs"] = [spec["clusterIP"]]
            spec.setdefault("ipFamilies", ["IPv4"])
            spec.setdefault("ipFamilyPolicy", "SingleStack")

    def first_status(self, obj: Object, call: Call) -> Object:
        return {"loadBalancer": {}}

    def prepare_update(self, new: Object, old: Object, call: Call) -> None:
        super().prepare_update(new, old, call)
        spec = new["spec"] = dict(new.get("spec") or {})
        for field in ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"):
            if not spec.get(field):
                keep(spec, old["spec"], field)

    def validate(self, obj: Object, call: Call) -> list[FieldError]:
        spec = obj.get("spec") or {}
        kind, ports = spec.get("type"), spec.get("ports") or []
        errors: list[FieldError] = []
        if kind not in SERVICE_TYPES:
            errors.append(unsupported("spec.type", kind, SERVICE_TYPES))
        if not ports and spec.get("clusterIP") != "None" and kind != "ExternalName":
            errors.append(required("spec.ports"))
        seen: set[str] = set()
        for index, port in enumerate(ports):
            path, name = f"spec.ports[{index}]", port.get("name", "")
            if not name and len(ports) > 1:
                errors.append(required(f"{path}.name"))
            elif name:
                errors += [invalid(f"{path}.name", name, problem) for problem in names.label(name)]
            if name and name in seen:
                errors.append(duplicate(f"{path}.name", name))
            seen.add(name)
            if not 1 <= port.get("port", 0) <= 65535:
                errors.append(
                    invalid(f"{path}.port", port.get("port", 0), "must be between 1 and 65535, inclusive")
                )
        return errors

    def validate_update(self, new: Object, old: Object, call: Call) -> list[FieldError]:
        errors: list[FieldError] = []
        fresh, stored = new["spec"].get("clusterIP"), old["spec"].get("clusterIP")
        if fresh != stored and stored and new["spec"].get("type") != "ExternalName":
            errors.append(invalid("spec.clusterIPs[0]", [fresh], "may not change once set"))
        return errors + super().validate_update(new, old, call)


class PriorityClassStrategy(Strategy):
    has_generation = True

    def validate(self, obj: Object, call: Call) -> list[FieldError]:
        name, value = obj["metadata"].get("name", ""), obj.get("value", 0)
        if name.startswith("system-") and name not in ("system-node-critical", "system-cluster-critical"):
            detail = "priority class names with 'system-' prefix are reserved for system use only"
            return [forbidden_field("metadata.name", detail)]
        if not name.startswith("system-") and value > HIGHEST_USER_PRIORITY:
            detail = f"maximum allowed value of a user defined priority is {HIGHEST_USER_PRIORITY}"
            return [forbidden_field("value", detail)]
        return []

    def validate_update(self, new: Object, old: Object, call: Call) -> list[FieldError]:
        errors = super().validate_update(new, old, call)
        if new.get("value", 0) != old.get("value", 0):
            errors.append(forbidden_field("value", "may not be changed in an update."))
        if new.get("preemptionPolicy") != old.get("preemptionPolicy"):
            detail = "field is immutable"
            errors.append(invalid("preemptionPolicy", new.get("preemptionPolicy"), detail))
        return errors

    def differs(self, new: Object, old: Object) -> bool:
        return False


class AutoscalerStrategy(Strategy):
    has_generation = True

    def first_status(self, obj: Object, call: Call) -> Object:
        return {"desiredReplicas": 0, "currentReplicas": 0, "currentMetrics": None}

    def validate(self, obj: Object, call: Call) -> list[FieldError]:
        spec = obj.get("spec") or {}
        errors: list[FieldError] = []
        low, high = spec.get("minReplicas", 1), spec.get("maxReplicas", 0)
        if high < 1:
            errors.append(invalid("spec.maxReplicas", high, "must be greater than 0"))
        elif high < low:
            errors.append(invalid("spec.maxReplicas", high, "must be greater than or equal to `minReplicas`"))
        target = spec.get("scaleTargetRef") or {}
        errors += [
            required(f"spec.scaleTargetRef.{field}") for field in ("kind", "name") if not target.get(field)
        ]
        return errors


class LeaseStrategy(Strategy):
    creates_on_update = True
    unconditional_update = False

    def validate(self, obj: Object, call: Call) -> list[FieldError]:
        spec = obj.get("spec") or {}
        errors: list[FieldError] = []
        duration, transitions = spec.get("leaseDurationSeconds"), spec.get("leaseTransitions")
        if duration is not None and duration <= 0:
            errors.append(invalid("spec.leaseDurationSeconds", duration, "must be greater than 0"))
        if transitions is not None and transitions < 0:
            errors.append(invalid("spec.leaseTransitions", transitions, "must be greater than or equal to 0"))
        return errors


class DataStrategy(Strategy):
    """ConfigMaps and Secrets: once immutable, their data stays."""

    def validate_update(self, new: Object, old: Object, call: Call) -> list[FieldError]:
        errors = super().validate_update(new, old, call)
        if "type" in old and new.get("type") != old["type"]:
            errors.append(invalid("type", new.get("type"), "field is immutable"))
        if old.get("immutable"):
            errors += [
                forbidden_field(field, "field is immutable when `immutable` is set")
                for field in ("immutable", "data", "binaryData")
                if new.get(field) != old.get(field)
            ]
        return errors


class ClaimStrategy(Strategy):
    returns_deleted = True

    def first_status(self, obj: Object, call: Call) -> Object:
        return {"phase": "Pending"}


class AccountStrategy(Strategy):
    returns_deleted = True


class RoleStrategy(Strategy):
    creates_on_update = True

    def __init__(self, shape: Shape) -> None:
        super().__init__(shape, names.path_segment)


class EventStrategy(Strategy):
    """Judged in its stored form, core/v1; through events.k8s.io an event must be complete."""

    creates_on_update = True

    def validate(self, obj: Object, call: Call) -> list[FieldError]:
        about = (obj.get("involvedObject") or {}).get("namespace", "")
        place = obj["metadata"].get("namespace", "")
        if obj.get("eventTime"):
            errors = [] if about or place in ("default", "kube-system") else [_stray(about)]
            return errors + self._validate_new(obj, call)
        fits = about == place if about else place == "default"
        errors = [] if fits else [_stray(about)]
        if call.type.group:
            errors.append(required("eventTime"))
        return errors

    def _validate_new(self, obj: Object, call: Call) -> list[FieldError]:
        controller = "reportingController" if call.type.group else "reportingComponent"
        fields = {controller: "reportingComponent", "reportingInstance": "reportingInstance"}
        fields |= {"action": "action", "reason": "reason"}
        errors = [required(shown) for shown, stored in fields.items() if not obj.get(stored)]
        if call.type.group and obj.get("type") not in ("Normal", "Warning"):
            errors.append(invalid("type", "", f"has invalid value: {obj.get('type', '')}"))
        return errors


def _stray(namespace: str) -> FieldError:
    return invalid("involvedObject.namespace", namespace, "does not match event.namespace")


class ConditionalStrategy(Strategy):
    """For kinds whose PUT must say which version it replaces."""

    unconditional_update = False


class ConfigurationStrategy(ConditionalStrategy):
    """Webhook configurations."""

    has_generation = True

    def prepare_create(self, obj: Object, call: Call) -> None:
        _refuse_uncallable(obj, call)
        super().prepare_create(obj, call)

    def prepare_update(self, new: Object, old: Object, call: Call) -> None:
        _refuse_uncallable(new, call)
        super().prepare_update(new, old, call)

    def differs(self, new: Object, old: Object) -> bool:
        return bool(new.get("webhooks") != old.get("webhooks"))


def _refuse_uncallable(obj: Object, call: Call) -> None:
    for hook in obj.get("webhooks") or ():
        if call.state.call_webhook is None:
            raise not_implemented("admission webhooks: this server has no network to call them")
        if "url" not in (hook.get("clientConfig") or {}):
            raise not_implemented("webhooks behind a Service; give clientConfig.url")
        if hook.get("matchConditions"):
            raise not_implemented("matchConditions of webhooks")


def admit_group_priority(obj: Object, call: Call) -> None:
    """Gangs take their priority from a PriorityClass, as pods do."""
    spec = obj["spec"] = dict(obj.get("spec") or {})
    name = spec.get("priorityClassName") or ""
    value = 0
    if name:
        found = call.state.find("scheduling.k8s.io", "v1", "priorityclasses", name)
        if found is None:
            why = f"no PriorityClass with name {name} was found"
            raise forbidden(call.type.resource, obj["metadata"].get("name", ""), why)
        value = found.obj.get("value", 0)
    if spec.get("priority", value) != value:
        why = (
            f"the integer value of priority ({spec['priority']}) must not be provided in pod group spec; "
            f"priority admission controller computed {value} from the given PriorityClass name"
        )
        raise forbidden(call.type.resource, obj["metadata"].get("name", ""), why)
    spec["priority"] = value
