"""What Grove counts, as Prometheus reads it."""

from prometheus_client import generate_latest

from grove.api.conditions import ConditionType
from grove.api.meta import Condition
from grove.api.podgang import PodGang, PodGangStatus
from grove.api.scalars import Time
from grove.operator.metrics import GroveMetrics
from grove.runtime.telemetry.metrics import Metrics
from tests.unit.plan.observed import NOW
from tests.unit.schedulers.gangs import gang


def written(backend: str, dialect: str = "") -> PodGang:
    made = gang(tags={"grove.io/scheduler-backend": backend})
    said = Condition(
        type=ConditionType.DIALECT,
        status="True",
        reason=dialect,
        message="",
        last_transition_time=Time.at(NOW),
    )
    made.status = PodGangStatus(phase="Pending", conditions=[said] if dialect else [])
    return made


def test_gangs_are_counted_by_backend_and_dialect_whenever_they_are_asked_for() -> None:
    runtime = Metrics()
    metrics = GroveMetrics(runtime.registry)
    gangs = [written("default", "PodGroupV1beta1"), written("kai")]
    metrics.count_gangs(gangs)
    gangs.append(written("kai"))
    text = generate_latest(runtime.registry).decode()
    assert 'grove_gangs{backend="default",dialect="PodGroupV1beta1"} 1.0' in text
    assert 'grove_gangs{backend="kai",dialect=""} 2.0' in text
    metrics.count_gangs([])
    assert "grove_gangs{" not in generate_latest(runtime.registry).decode()


def test_selections_are_counted_by_backend() -> None:
    runtime = Metrics()
    metrics = GroveMetrics(runtime.registry)
    for name in ("kai", "default", "kai"):
        metrics.count_selection(name)
    assert 'grove_backend_selections_total{backend="kai"} 2.0' in generate_latest(runtime.registry).decode()
