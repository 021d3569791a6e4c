"""Events seen in part (`events.k8s.io/v1`): who said what about which object, and when last."""

import msgspec

from grove.api.pod_view import PartialView, PodMetadata


class Regarding(PartialView):
    kind: str = ""
    name: str = ""
    uid: str = ""


class EventSeries(PartialView):
    last_observed_time: str = ""


class EventSource(PartialView):
    component: str = ""


class Event(PartialView):
    """Events of the older core/v1 are served in this form too, with what is only theirs in `deprecated` fields."""

    metadata: PodMetadata
    regarding: Regarding = msgspec.field(default_factory=Regarding)
    type: str | None = None
    reason: str | None = None
    note: str | None = None
    reporting_controller: str | None = None
    event_time: str | None = None
    series: EventSeries | None = None
    deprecated_source: EventSource | None = None
    deprecated_last_timestamp: str | None = None

    @property
    def said_by(self) -> str:
        return self.reporting_controller or (
            self.deprecated_source.component if self.deprecated_source else ""
        )

    @property
    def last_seen(self) -> str:
        """In a form that sorts by time among events."""
        latest = self.series.last_observed_time if self.series else ""
        return latest or self.deprecated_last_timestamp or self.event_time or ""
