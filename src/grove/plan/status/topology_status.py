"""The status of a ClusterTopologyBinding, from how each scheduler's own topology object compares with it.

    no topology-aware scheduler                        no condition
    the binding names one that is not here             SchedulerTopologyDrift Unknown, TopologyNotFound
    all objects have the levels of the binding         False, InSync
    else                                               True, Drift

The observed generation advances only when every object could be looked at.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from grove.api.conditions import ConditionType, Reason
from grove.api.meta import ConditionStatus
from grove.api.topology import ClusterTopologyBinding, ClusterTopologyBindingStatus, SchedulerTopologyStatus
from grove.plan.status.conditions import put, without


@dataclass(frozen=True)
class Compared:
    """What came of one scheduler. `unknown`: there is no such scheduler here; `failed`: it could not be told."""

    scheduler_name: str
    reference: str
    in_sync: bool
    message: str = ""
    generation: int | None = None
    unknown: bool = False
    failed: bool = False


def topology_status(
    binding: ClusterTopologyBinding, compared: Sequence[Compared], now: datetime
) -> ClusterTopologyBindingStatus:
    old = binding.status or ClusterTopologyBindingStatus()
    generation = binding.metadata.generation
    return ClusterTopologyBindingStatus(
        observed_generation=old.observed_generation if any(c.failed for c in compared) else generation,
        conditions=(
            put(
                old.conditions,
                ConditionType.SCHEDULER_TOPOLOGY_DRIFT,
                *_drift(compared),
                now,
                observed_generation=generation,
            )
            if compared
            else without(old.conditions, ConditionType.SCHEDULER_TOPOLOGY_DRIFT)
        ),
        scheduler_topology_statuses=[
            SchedulerTopologyStatus(
                scheduler_name=c.scheduler_name,
                topology_reference=c.reference,
                in_sync=c.in_sync,
                scheduler_backend_topology_observed_generation=c.generation,
                message=c.message or None,
            )
            for c in compared
        ],
    )


def _drift(compared: Sequence[Compared]) -> tuple[ConditionStatus, str, str]:
    unknown = [c for c in compared if c.unknown]
    if unknown:
        return "Unknown", Reason.TOPOLOGY_OBJECT_NOT_FOUND, _listed(unknown)
    differing = [c for c in compared if not c.in_sync]
    if differing:
        return "True", Reason.DRIFT, _listed(differing)
    return "False", Reason.IN_SYNC, "the schedulers' topologies have the levels of this binding"


def _listed(compared: Sequence[Compared]) -> str:
    return "; ".join(f"{c.scheduler_name}: {c.message}" for c in compared)[:1000]
