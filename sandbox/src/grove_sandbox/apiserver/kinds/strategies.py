"""Strategies of builtin kinds that have only a rule or two of their own."""

from grove_sandbox.apiserver.errors import (
    FieldViolation,
    forbidden,
    forbidden_field,
    invalid,
    not_implemented,
    required,
)
from grove_sandbox.apiserver.resources import names
from grove_sandbox.apiserver.resources.strategy import Strategy, keep
from grove_sandbox.apiserver.schema.shapes import Shape
from grove_sandbox.apiserver.state import ApiCall
from grove_sandbox.apiserver.storage import Object

KUBERNETES_FINALIZER = "kubernetes"
PERMANENT_NAMESPACES = ("default", "kube-public", "kube-system")
NAME_LABEL = "kubernetes.io/metadata.name"
HIGHEST_USER_PRIORITY = 1_000_000_000


class NamespaceStrategy(Strategy):
    """A deleted namespace is Terminating until `controllers.namespaces` has emptied it."""

    returns_deleted = True

    def __init__(self, shape: Shape) -> None:
        super().__init__(shape, names.label)

    def prepare_create(self, obj: Object, call: ApiCall) -> None:
        super().prepare_create(obj, call)
        obj["spec"] = {"finalizers": [KUBERNETES_FINALIZER]}
        meta = obj["metadata"]
        meta["labels"] = {NAME_LABEL: meta.get("name", ""), **(meta.get("labels") or {})}

    def initial_status(self, obj: Object, call: ApiCall) -> Object:
        return {"phase": "Active"}

    def prepare_update(self, new: Object, old: Object, call: ApiCall) -> None:
        super().prepare_update(new, old, call)
        keep(new, old, "spec")
        meta = new["metadata"]
        meta["labels"] = {**(meta.get("labels") or {}), NAME_LABEL: meta["name"]}

    def check_delete(self, name: str, call: ApiCall) -> None:
        if name in PERMANENT_NAMESPACES:
            raise forbidden(call.type.resource, name, "this namespace may not be deleted")

    def held(self, obj: Object) -> bool:
        return bool((obj.get("spec") or {}).get("finalizers"))

    def mark_deleting(self, obj: Object) -> None:
        obj["status"] = {**(obj.get("status") or {}), "phase": "Terminating"}
        obj["metadata"].pop("deletionGracePeriodSeconds", None)


class NodeStrategy(Strategy):
    """A node is created with its status, and a status write may change its labels."""

    def prepare_create(self, obj: Object, call: ApiCall) -> None:
        obj.setdefault("spec", {})
        obj.setdefault("status", {})

    def prepare_status(self, new: Object, old: Object, call: ApiCall) -> None:
        keep(new, old, "spec")


class PriorityClassStrategy(Strategy):
    has_generation = True

    def validate(self, obj: Object, call: ApiCall) -> list[FieldViolation]:
        name, value = obj["metadata"].get("name", ""), obj.get("value", 0)
        if name.startswith("system-") and name not in ("system-node-critical", "system-cluster-critical"):
            reserved = "priority class names with 'system-' prefix are reserved for system use only"
            detail = f"{reserved}. error: {name} is not a known system priority class"
            return [forbidden_field("metadata.name", detail)]
        if not name.startswith("system-") and value > HIGHEST_USER_PRIORITY:
            detail = f"maximum allowed value of a user defined priority is {HIGHEST_USER_PRIORITY}"
            return [forbidden_field("value", detail)]
        return []

    def validate_update(self, new: Object, old: Object, call: ApiCall) -> list[FieldViolation]:
        errors = super().validate_update(new, old, call)
        if new.get("value", 0) != old.get("value", 0):
            errors.append(forbidden_field("value", "may not be changed in an update."))
        if new.get("preemptionPolicy") != old.get("preemptionPolicy"):
            detail = "field is immutable"
            errors.append(invalid("preemptionPolicy", new.get("preemptionPolicy"), detail))
        return errors

    def changes_generation(self, new: Object, old: Object) -> bool:
        return False


class AutoscalerStrategy(Strategy):
    has_generation = True

    def initial_status(self, obj: Object, call: ApiCall) -> Object:
        return {"desiredReplicas": 0, "currentMetrics": None}

    def validate(self, obj: Object, call: ApiCall) -> list[FieldViolation]:
        spec = obj.get("spec") or {}
        errors: list[FieldViolation] = []
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

    def validate(self, obj: Object, call: ApiCall) -> list[FieldViolation]:
        spec = obj.get("spec") or {}
        errors: list[FieldViolation] = []
        duration, transitions = spec.get("leaseDurationSeconds"), spec.get("leaseTransitions")
        if duration is not None and duration <= 0:
            errors.append(invalid("spec.leaseDurationSeconds", duration, "must be greater than 0"))
        if transitions is not None and transitions < 0:
            errors.append(invalid("spec.leaseTransitions", transitions, "must be greater than or equal to 0"))
        return errors


class DataStrategy(Strategy):
    """ConfigMaps and Secrets, whose data cannot change once `immutable` is set."""

    def validate_update(self, new: Object, old: Object, call: ApiCall) -> list[FieldViolation]:
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

    def initial_status(self, obj: Object, call: ApiCall) -> Object:
        return {"phase": "Pending"}


class ReturnsDeletedStrategy(Strategy):
    """For kinds whose DELETE responds with the object."""

    returns_deleted = True


class RoleStrategy(Strategy):
    creates_on_update = True

    def __init__(self, shape: Shape) -> None:
        super().__init__(shape, names.path_segment)


class ConditionalStrategy(Strategy):
    """For kinds whose PUT requires a resourceVersion."""

    unconditional_update = False


class ConfigurationStrategy(ConditionalStrategy):
    """Webhook configurations. The server refuses webhooks that it could never call."""

    has_generation = True

    def prepare_create(self, obj: Object, call: ApiCall) -> None:
        _refuse_uncallable(obj, call)
        super().prepare_create(obj, call)

    def prepare_update(self, new: Object, old: Object, call: ApiCall) -> None:
        _refuse_uncallable(new, call)
        super().prepare_update(new, old, call)

    def changes_generation(self, new: Object, old: Object) -> bool:
        return bool(new.get("webhooks") != old.get("webhooks"))


def _refuse_uncallable(obj: Object, call: ApiCall) -> None:
    for hook in obj.get("webhooks") or ():
        if call.state.call_webhook is None:
            raise not_implemented("admission webhooks: this server has no network to call them")
        if "url" not in (hook.get("clientConfig") or {}):
            raise not_implemented("webhooks behind a Service; give clientConfig.url")
        if hook.get("matchConditions"):
            raise not_implemented("matchConditions of webhooks")
