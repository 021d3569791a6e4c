"""What every controller is given beside the informers: configuration, backends, clock, and a way to emit events."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from grove.api.config import OperatorConfiguration
from grove.api.meta import Resource
from grove.runtime.controller.events import EventRecorder, reference
from grove.runtime.telemetry.metrics import Metrics
from grove.schedulers.registry import Registry


@dataclass(frozen=True, kw_only=True)
class OperatorContext:
    """Lives as long as one configuration does. `now` is wall-clock time, for timestamps in objects.

    `registry` has every enabled backend, whether it runs in this process or in a deployment of its own.
    """

    configuration: OperatorConfiguration
    registry: Registry
    recorder: EventRecorder
    now: Callable[[], datetime]
    metrics: Metrics = field(default_factory=Metrics)
    """Of the runtime: the controllers count their reconciles there."""
    count_selection: Callable[[str], None] = lambda backend: None
    """Counts a version of a set for which this backend was selected (`grove_backend_selections_total`)."""

    def warning_event(self, obj: Resource, reason: str, note: str, action: str) -> None:
        """Emits a Warning event on an object. Never blocks and never raises; `action` says what Grove was doing."""
        self.recorder.record(reference(obj.resource, obj), reason, note, action=action, type="Warning")

    def normal_event(self, obj: Resource, reason: str, note: str, action: str) -> None:
        """As `warning_event`, for good news."""
        self.recorder.record(reference(obj.resource, obj), reason, note, action=action)
