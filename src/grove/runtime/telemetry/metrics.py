"""The metrics of the runtime, in a Prometheus registry of their own.

Sizes (queue depth, cache size) are read when Prometheus scrapes.
"""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

RECONCILE_BUCKETS_SECONDS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)


class Metrics:
    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._requests = Counter(
            "kube_requests",
            "Answers of the API server; code is 'none' for a request without an answer.",
            ["verb", "resource", "code"],
            registry=self.registry,
        )
        self.retries = Counter(
            "kube_request_retries",
            "Requests that were retried.",
            ["verb", "resource"],
            registry=self.registry,
        )
        self.watch_restarts = Counter(
            "watch_restarts",
            "Watches that ended and were started again, by reason.",
            ["resource", "reason"],
            registry=self.registry,
        )
        self.undecodable = Counter(
            "undecodable_objects",
            "Objects that could not be decoded and were skipped.",
            ["resource"],
            registry=self.registry,
        )
        self.cache_size = Gauge("cache_objects", "Objects in a cache.", ["resource"], registry=self.registry)
        self.queue_depth = Gauge(
            "queue_depth", "Keys that wait for a worker.", ["controller"], registry=self.registry
        )
        self._reconciles = Counter(
            "reconciles", "Reconciles by result.", ["controller", "result"], registry=self.registry
        )
        self._reconcile_seconds = Histogram(
            "reconcile_seconds",
            "Duration of a reconcile.",
            ["controller"],
            buckets=RECONCILE_BUCKETS_SECONDS,
            registry=self.registry,
        )
        self.events_dropped = Counter(
            "events_dropped", "Kubernetes events that were not written.", registry=self.registry
        )

    def answered(self, verb: str, resource: str, code: str) -> None:
        self._requests.labels(verb, resource, code).inc()

    def reconciled(self, controller: str, result: str, seconds: float) -> None:
        self._reconciles.labels(controller, result).inc()
        self._reconcile_seconds.labels(controller).observe(seconds)

    def text(self) -> bytes:
        """All metrics in the Prometheus text format."""
        return generate_latest(self.registry)
