"""Grove's own metrics, served beside those of the runtime. docs/metrics.md lists them all."""

from collections import Counter as Tally
from collections.abc import Iterable, Iterator, Sequence

from prometheus_client import CollectorRegistry, Counter
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from grove.api import PodGang, labels
from grove.api.conditions import ConditionType, Reason
from grove.plan.status.conditions import find, gang_conditions
from grove.schedulers.installed import BackendFailure
from grove.schedulers.recorded_dialect import dialect_of


class GroveMetrics(Collector):
    """Lives as long as the process. The caches that it counts are replaced when the configuration changes."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._gangs: Iterable[PodGang] = ()
        self._failures: Sequence[BackendFailure] = ()
        self._selections = Counter(
            "grove_backend_selections",
            "Versions of sets for which a scheduler backend was selected.",
            ["backend"],
            registry=registry,
        )
        registry.register(self)

    def count_selection(self, backend: str) -> None:
        """A version of a set selected this backend."""
        self._selections.labels(backend).inc()

    def count_gangs(self, gangs: Iterable[PodGang]) -> None:
        """Whenever Prometheus scrapes, these gangs are counted from now on."""
        self._gangs = gangs

    def report_failures(self, failures: Sequence[BackendFailure]) -> None:
        """The backends that the configuration enables and that cannot be used."""
        self._failures = failures

    def collect(self) -> Iterator[Metric]:
        gangs = list(self._gangs)
        failed = GaugeMetricFamily(
            "grove_backend_failed",
            "Enabled scheduler backends that cannot be used; always 1.",
            labels=["profile", "backend", "package"],
        )
        for failure in self._failures:
            failed.add_metric((failure.profile, failure.backend, failure.package), 1)
        yield failed
        yield _by_dialect(
            "grove_gangs",
            "PodGangs, by scheduler backend and by the dialect of its API that they are written in.",
            gangs,
        )
        yield _by_dialect(
            "grove_gangs_weaker_than_asked",
            "PodGangs that ask for more than their scheduler can promise in this cluster.",
            [g for g in gangs if _is_weaker(g)],
        )


def _by_dialect(name: str, documentation: str, gangs: Iterable[PodGang]) -> Metric:
    metric = GaugeMetricFamily(name, documentation, labels=["backend", "dialect"])
    tally = Tally((g.metadata.labels.get(labels.SCHEDULER_BACKEND, ""), dialect_of(g)) for g in gangs)
    for label_values, count in sorted(tally.items()):
        metric.add_metric(label_values, count)
    return metric


def _is_weaker(gang: PodGang) -> bool:
    synced = find(gang_conditions(gang), ConditionType.BACKEND_SYNCED)
    return synced is not None and synced.reason == Reason.WEAKER_THAN_ASKED
