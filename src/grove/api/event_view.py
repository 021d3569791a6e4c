"""The few fields of Events (`events.k8s.io/v1`) that Grove reads."""

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
    """The API server serves events written through core/v1 in this form too; their own fields are `deprecated*`."""

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
    def reporter(self) -> str:
        return self.reporting_controller or (
            self.deprecated_source.component if self.deprecated_source else ""
        )

    @property
    def last_seen(self) -> str:
        """RFC 3339 text, which sorts by time."""
        latest = self.series.last_observed_time if self.series else ""
        return latest or self.deprecated_last_timestamp or self.event_time or ""
