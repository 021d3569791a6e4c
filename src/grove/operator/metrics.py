"""What Grove counts beside its runtime, on the same endpoint. docs/metrics.md lists all of it."""

from collections import Counter as Tally
from collections.abc import Iterable, Iterator

from prometheus_client import CollectorRegistry, Counter
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from grove.api import PodGang, labels
from grove.api.conditions import ConditionType, Reason
from grove.plan.status.conditions import find, gang_conditions
from grove.schedulers.recorded_dialect import dialect_of


class GroveMetrics(Collector):
    """For the life of a process, in which configurations and with them caches may follow one another."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._gangs: Iterable[PodGang] = ()
        self._selections = Counter(
            "grove_backend_selections",
            "Versions of sets for which a scheduler backend was selected.",
            ["backend"],
            registry=registry,
        )
        registry.register(self)

    def selected(self, backend: str) -> None:
        self._selections.labels(backend).inc()

    def count(self, gangs: Iterable[PodGang]) -> None:
        """From now on these gangs are counted, whenever Prometheus asks."""
        self._gangs = gangs

    def collect(self) -> Iterator[Metric]:
        gangs = list(self._gangs)
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


def _by_dialect(name: str, help_: str, gangs: Iterable[PodGang]) -> Metric:
    found = GaugeMetricFamily(name, help_, labels=["backend", "dialect"])
    tally = Tally((g.metadata.labels.get(labels.SCHEDULER_BACKEND, ""), dialect_of(g)) for g in gangs)
    for names, number in sorted(tally.items()):
        found.add_metric(names, number)
    return found


def _is_weaker(gang: PodGang) -> bool:
    synced = find(gang_conditions(gang), ConditionType.BACKEND_SYNCED)
    return synced is not None and synced.reason == Reason.WEAKER_THAN_ASKED
