"""What the runtime counts, in a Prometheus registry of its own.

Sizes (queue depth, cache size) are read when Prometheus asks, so keeping them costs nothing. What is counted for each
request and each reconcile is kept in plain numbers, since counters that take locks would show in what those cost.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator
from itertools import accumulate

from prometheus_client import CollectorRegistry, Counter, Gauge, generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector


class Metrics:
    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._requests = _Tally(
            "kube_requests",
            "Answers from the API server; code is 'none' where no answer came.",
            ["verb", "resource", "code"],
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
        self._reconciles = _Tally("reconciles", "Reconciles by result.", ["controller", "result"])
        self._reconcile_seconds = _Times("reconcile_seconds", "How long a reconcile took.", "controller")
        self.events_dropped = Counter(
            "events_dropped", "Kubernetes events that were not written.", registry=self.registry
        )
        for collector in (self._requests, self._reconciles, self._reconcile_seconds):
            self.registry.register(collector)

    def answered(self, verb: str, resource: str, code: str) -> None:
        """Counts an answer of the API server."""
        self._requests.counts[verb, resource, code] += 1

    def reconciled(self, controller: str, result: str, seconds: float) -> None:
        self._reconciles.counts[controller, result] += 1
        self._reconcile_seconds.note(controller, seconds)

    def text(self) -> bytes:
        """Everything, in the Prometheus text format."""
        return generate_latest(self.registry)


class _Tally(Collector):
    """A counter by labels, for one thread."""

    def __init__(self, name: str, text: str, labels: list[str]) -> None:
        self.counts: defaultdict[tuple[str, ...], int] = defaultdict(int)
        self._described = name, text, labels

    def collect(self) -> Iterator[Metric]:
        name, text, labels = self._described
        family = CounterMetricFamily(name, text, labels=labels)
        for values, count in self.counts.items():
            family.add_metric(values, count)
        yield family


class _Times(Collector):
    """A histogram of seconds by one label, for one thread."""

    BOUNDS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)

    def __init__(self, name: str, text: str, label: str) -> None:
        self._counts: defaultdict[str, list[int]] = defaultdict(lambda: [0] * (len(self.BOUNDS) + 1))
        self._sums: defaultdict[str, float] = defaultdict(float)
        self._described = name, text, label

    def note(self, value: str, seconds: float) -> None:
        self._counts[value][bisect_left(self.BOUNDS, seconds)] += 1
        self._sums[value] += seconds

    def collect(self) -> Iterator[Metric]:
        name, text, label = self._described
        family = HistogramMetricFamily(name, text, labels=[label])
        bounds = [*map(str, self.BOUNDS), "+Inf"]
        for value, counts in self._counts.items():
            family.add_metric([value], list(zip(bounds, accumulate(counts), strict=True)), self._sums[value])
        yield family
