"""What the runtime counts, in a Prometheus registry of its own.

Sizes (queue depth, cache size) are read when Prometheus asks, so keeping them costs nothing.
"""

from functools import cache

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest


class Metrics:
    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "kube_requests",
            "Answers from the API server; code is 'none' where no answer came.",
            ["verb", "resource", "code"],
            registry=self.registry,
        )
        self.retries = Counter(
            "kube_request_retries", "Requests sent again.", ["verb", "resource"], registry=self.registry
        )
        self.watch_restarts = Counter(
            "watch_restarts",
            "Watches begun again, by reason.",
            ["resource", "reason"],
            registry=self.registry,
        )
        self.undecodable = Counter(
            "undecodable_objects", "Objects that could not be read.", ["resource"], registry=self.registry
        )
        self.cache_size = Gauge("cache_objects", "Objects in a cache.", ["resource"], registry=self.registry)
        self.queue_depth = Gauge(
            "queue_depth", "Keys that wait for a worker.", ["controller"], registry=self.registry
        )
        self.reconciles = Counter(
            "reconciles", "Reconciles by result.", ["controller", "result"], registry=self.registry
        )
        self.reconcile_seconds = Histogram(
            "reconcile_seconds",
            "How long a reconcile took.",
            ["controller"],
            registry=self.registry,
            buckets=(0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0),
        )
        self.events_dropped = Counter(
            "events_dropped", "Kubernetes events that were not written.", registry=self.registry
        )

        # Finding a counter by its labels takes longer than a look at what was found before.
        self._answered = cache(self.requests.labels)
        self._reconciled = cache(self.reconciles.labels)
        self._took = cache(self.reconcile_seconds.labels)

    def answered(self, verb: str, resource: str, code: str) -> None:
        """Counts an answer of the API server."""
        self._answered(verb, resource, code).inc()

    def reconciled(self, controller: str, result: str, seconds: float) -> None:
        self._reconciled(controller, result).inc()
        self._took(controller).observe(seconds)

    def text(self) -> bytes:
        """Everything, in the Prometheus text format."""
        return generate_latest(self.registry)
