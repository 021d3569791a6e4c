"""Events are served in two versions over one storage: core/v1, which kubectl reads, and events.k8s.io/v1."""

from typing import Any

from grove_sandbox.apiserver.errors import FieldViolation, invalid, required
from grove_sandbox.apiserver.resources.resource_types import Conversion
from grove_sandbox.apiserver.resources.strategy import Strategy
from grove_sandbox.apiserver.state import ApiCall
from grove_sandbox.apiserver.storage import Object

_CORE_TO_V1 = {
    "involvedObject": "regarding",
    "message": "note",
    "reportingComponent": "reportingController",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
}
_V1_TO_CORE = {new: old for old, new in _CORE_TO_V1.items()}


def _renamed(obj: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    return {names.get(field, field): value for field, value in obj.items()}


EVENTS_V1 = Conversion(
    to_stored=lambda obj: _renamed(obj, _V1_TO_CORE),
    to_served=lambda obj: _renamed(obj, _CORE_TO_V1),
)


class EventStrategy(Strategy):
    """Validates the stored form, core/v1. An event written through events.k8s.io must also be complete."""

    creates_on_update = True

    def validate(self, obj: Object, call: ApiCall) -> list[FieldViolation]:
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

    def _validate_new(self, obj: Object, call: ApiCall) -> list[FieldViolation]:
        controller = "reportingController" if call.type.group else "reportingComponent"
        fields = {controller: "reportingComponent", "reportingInstance": "reportingInstance"}
        fields |= {"action": "action", "reason": "reason"}
        errors = [required(shown) for shown, stored in fields.items() if not obj.get(stored)]
        if call.type.group and obj.get("type") not in ("Normal", "Warning"):
            errors.append(invalid("type", "", f"has invalid value: {obj.get('type', '')}"))
        return errors


def _stray(namespace: str) -> FieldViolation:
    return invalid("involvedObject.namespace", namespace, "does not match event.namespace")
