"""Events have two faces over one storage: core/v1, which kubectl reads, and events.k8s.io/v1."""

from typing import Any

from grove.sandbox.apiserver.resources import Conversion

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
